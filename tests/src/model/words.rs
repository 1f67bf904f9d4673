//! The words of the model: what can happen, what goes over the wire, and what a host is told. Prompts, the client's errands,
//! the agent's requests and updates go by numbers, each counted from 1 in the order in which the hosts came up with them;
//! sessions in the order in which they were made. The number 0 is for what nobody ever came up with.

mod step;

use core::fmt::{self, Display};

pub use acp_core::CancelKind;

pub use self::step::Step;

/// Either end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The client.
    Client,
    /// The agent.
    Agent,
}

/// What a client asks for, apart from prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The version agreement.
    Initialize,
    /// A new session.
    New,
    /// This stored session, with its history.
    Load(usize),
    /// The same without.
    Resume(usize),
    /// The end of this session.
    Close(usize),
    /// A login.
    LogIn,
}

/// How it asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// It waits as long as it takes.
    Plain,
    /// It waits for 20 s.
    Bounded,
    /// It may log in once, if the agent demands it, and then ask again.
    LogIn,
}

/// The requests that one errand comes to, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leg {
    /// The first.
    First,
    /// The login that was demanded.
    LogIn,
    /// The first once more.
    Again,
}

/// What an agent asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A permission: a person decides.
    Permission,
    /// A file: a machine answers, within 30 s.
    Read,
}

/// How a client's host decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The option that is offered.
    Allow,
    /// None.
    Dismiss,
    /// An option that is not offered.
    Foreign,
}

/// How an agent's host ends a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It came to its end.
    Ended,
    /// With an error.
    Failed,
    /// It says that it was cancelled.
    Cancelled,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Its host closes.
    Close,
    /// Its input ends. What is still in the pipe is lost.
    Eof,
    /// Its stream fails, both ways.
    Lost,
}

/// What of a turn an agent's host reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// A piece of text.
    Text,
    /// A tool call begins.
    Open,
    /// The latest tool call has its result.
    Finish,
}

/// How much time passes. No deadline fires by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// So many milliseconds.
    For(u64),
    /// Until the next deadline of this end.
    Until(Side),
}

/// What a faulty peer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stray {
    /// A request nobody serves, under the id of this one, which was written before.
    Again(Of),
    /// A second `initialize`.
    Initialize,
    /// A request for what the agent does not offer.
    Delete,
    /// An answer to nothing.
    Answer,
}

/// What a cancel or an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    /// A prompt of the client's.
    Prompt(usize),
    /// An errand of the client's.
    Errand(usize, Leg),
    /// A request of the agent's.
    Ask(usize),
    /// A request that was none of either host's.
    Stray,
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// `end_turn`.
    Ended,
    /// Version 2: the prompt has its place; whether the host gave it one.
    Inserted(bool),
    /// `cancelled`.
    Cancelled,
    /// The error that says that it was cancelled.
    Withdrawn,
    /// An error of another code.
    Failed(i64),
    /// The option was chosen.
    Allowed,
    /// The permission's outcome is `cancelled`.
    Dismissed,
    /// The file.
    File,
    /// A new session.
    Session(usize),
    /// The version.
    Version(u64),
    /// It is done.
    Done,
}

/// Version 2: why work is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It came to its end.
    Ended,
    /// It was cancelled.
    Cancelled,
    /// With an error of this code.
    Error(i64),
}

/// Version 2: what a session is said to be at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Work goes on.
    Running,
    /// It waits for the user.
    Waiting,
    /// None goes on; why it is over, if that is news.
    Rest(Option<Stop>),
}

impl Default for State {
    fn default() -> Self {
        Self::Rest(None)
    }
}

/// One update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Version 2: this session is at this.
    State(usize, State),
    /// Version 2: the message of this prompt; whether its host gave it a place.
    User(usize, bool),
    /// Version 2: the history of this session is told.
    Replayed(usize),
    /// A piece of text.
    Text(usize),
    /// A tool call begins.
    Open(usize),
    /// It has its result.
    Finished(usize),
    /// It never will: the turn is over.
    LastWord(usize),
}

impl Update {
    /// The number of the update, or of the tool call, if it has one.
    #[must_use]
    pub const fn number(self) -> Option<usize> {
        match self {
            Self::Text(number) | Self::Open(number) | Self::Finished(number) | Self::LastWord(number) => Some(number),
            Self::State(..) | Self::User(..) | Self::Replayed(_) => None,
        }
    }
}

/// What an update belongs to, for a client's host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The turn of this prompt.
    Turn(usize),
    /// No turn.
    OutOfTurn,
    /// The history of a session that is being opened.
    Replay,
    /// It came before the session was known.
    Early,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// `session/prompt`.
    Prompt(usize),
    /// Any other request of the client's.
    Errand(usize, Leg),
    /// `session/cancel` of this session.
    Cancel(usize),
    /// `$/cancel_request`.
    Withdraw(Of),
    /// `session/update`.
    Update(Update),
    /// A request of the agent's.
    Ask(usize, Kind),
    /// An answer.
    Answer(Of, Said),
    /// What arrived was no message.
    NotUnderstood,
    /// Version 2: an id that is in use was used again.
    UsedTwice,
    /// What a faulty peer says.
    Stray(Stray),
    /// Something that has no place here.
    Other(String),
}

/// Who ended a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// `session/cancel`.
    Session,
    /// `$/cancel_request`.
    Request,
    /// Its session is closed.
    CloseSession,
    /// The connection ends.
    Closing,
}

/// How a prompt came out, for its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// By itself.
    Ended,
    /// As asked.
    Cancelled,
    /// Without being asked.
    CancelledUnasked,
    /// By itself, although it was asked to be cancelled.
    EndedAlthoughCancelled,
    /// With an error.
    Failed,
    /// It was never sent.
    NotSent,
    /// It never arrived.
    Undelivered,
    /// The connection ended first.
    Closed,
}

/// How a request came out, for who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It was answered.
    Answered(Said),
    /// What it belonged to is over, or it was taken back in time.
    Cancelled(Cause),
    /// Nobody answered in time.
    TimedOut,
    /// It never arrived.
    Undelivered,
    /// The connection ended first.
    Closed,
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its host closed it.
    Local,
    /// The input ended.
    Eof,
    /// The stream failed.
    Lost,
    /// A Stop was not confirmed.
    StopUnconfirmed,
}

/// What a host is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The client: an update, in this session, if it is known.
    Update(Update, Option<usize>, Origin),
    /// The client: a permission is asked for, in the turn of this prompt or of none.
    Permission(usize, Option<usize>),
    /// The client: it is void.
    Revoked(usize),
    /// The client: a file is asked for.
    Request(usize),
    /// Nobody needs the answer to this request any more.
    CancelRequested(Of),
    /// A cancel of this request did not arrive.
    CancelUnconfirmed(Of),
    /// The client: a cancel of this turn did not arrive; whether a Stop, or a Steer, has to be asked again.
    CancelUndelivered(usize, bool, bool),
    /// The client, version 2: a prompt has its place; whether the agent's host gave it one.
    Inserted(usize, bool),
    /// The client: these tool calls of a turn that is over have no result.
    CallsLeftOpen(usize, Vec<usize>),
    /// The client: how a prompt came out.
    TurnEnded(usize, Settled),
    /// The client: how an errand came out, and the session that it was about.
    Done(usize, Option<usize>, Resolution),
    /// The agent: the client wants something. Of a session that is opened: whether its history is to be told.
    Errand(usize, Leg, bool),
    /// The agent: a turn begins.
    Prompt(usize),
    /// The agent: a prompt that waits at its backend is not to begin.
    DropQueued(usize),
    /// The agent: a turn is to end; whether it was told before.
    Abort(usize, Cause, bool),
    /// The agent: a turn was ended in its place.
    Forced(usize),
    /// The agent: these tool calls were closed.
    CallsClosed(usize, Vec<usize>),
    /// The agent: a cancel, and nothing runs in this session.
    IdleCancel(usize),
    /// The agent: how a request came out.
    Resolved(usize, Resolution),
    /// Something arrived that it should not have.
    Violation,
    /// It is over.
    Closed(Reason),
    /// Something that has no place here.
    Other(String),
}

impl Side {
    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Agent,
            Self::Agent => Self::Client,
        }
    }
}

impl Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Client { "client" } else { "agent" })
    }
}
