//! The words of the model: what can happen, what goes over the wire, and what a host is told. Prompts, the agent's
//! requests and updates go by numbers, each counted from 1 in the order in which the hosts came up with them.

use core::fmt::{self, Display};

pub use acp_core::CancelKind;

/// Either end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The client.
    Client,
    /// The agent.
    Agent,
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

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The client's host prompts in this session.
    Prompt(usize),
    /// The client's host prompts in place of what runs.
    Steer(usize),
    /// The client's host cancels this prompt.
    Cancel(usize, CancelKind),
    /// The client's host decides this permission request.
    Decide(usize, Choice),
    /// The client's host begins to save its decision.
    Commit(usize),
    /// The client's host answers this request, well or not.
    Serve(usize, bool),
    /// The agent's host reports something in this turn.
    Report(usize, Report),
    /// The agent's host asks for something in this turn.
    Ask(usize, Kind),
    /// The agent's host takes this request back.
    Withdraw(usize),
    /// The agent's host ends this turn.
    End(usize, Ending),
    /// This host takes up to so many actions.
    Take(Side, u8),
    /// Up to so many frames of this end are written.
    HandOut(Side, u8),
    /// This end reads so many messages, and so many 256ths of the next one, in pieces of so many bytes (0: in one). One
    /// 256th is one byte.
    Deliver(Side, u8, u8, u8),
    /// Time passes.
    Wait(Pause),
    /// This end is told that time has passed.
    Fire(Side),
    /// This end's connection ends.
    Break(Side, Break),
}

/// What a cancel or an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A prompt of the client's.
    Prompt(usize),
    /// A request of the agent's.
    Ask(usize),
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// `end_turn`.
    Ended,
    /// `cancelled`.
    Cancelled,
    /// The error that says that it was cancelled.
    Withdrawn,
    /// Another error.
    Failed,
    /// The option was chosen.
    Allowed,
    /// The permission's outcome is `cancelled`.
    Dismissed,
    /// The file.
    Done,
}

/// One update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// A piece of text.
    Text(usize),
    /// A tool call begins.
    Open(usize),
    /// It has its result.
    Finished(usize),
    /// It never will: the turn is over.
    LastWord(usize),
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// `session/prompt`.
    Prompt(usize),
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
    /// The connection ended first.
    Closed,
}

/// How a request came out, for the agent's host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It was answered.
    Answered(Said),
    /// Its turn was cancelled, or it was taken back in time.
    Cancelled(Cause),
    /// Nobody answered in time.
    TimedOut,
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
    /// The client: an update, of this prompt or of none.
    Update(Update, Option<usize>),
    /// The client: a permission is asked for, in the turn of this prompt or of none.
    Permission(usize, Option<usize>),
    /// The client: it is void.
    Revoked(usize),
    /// The client: a file is asked for.
    Request(usize),
    /// The client: nobody needs the answer to this request any more.
    CancelRequested(usize),
    /// The client: these tool calls of a turn that is over have no result.
    CallsLeftOpen(usize, Vec<usize>),
    /// The client: how a prompt came out.
    TurnEnded(usize, Settled),
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

impl Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Client { "client" } else { "agent" })
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Prompt(session) => write!(f, "the client prompts in session {session}"),
            Self::Steer(session) => write!(f, "the client steers session {session}"),
            Self::Cancel(prompt, kind) => write!(f, "the client cancels prompt {prompt} ({kind:?})"),
            Self::Decide(ask, choice) => write!(f, "the client decides permission {ask}: {choice:?}"),
            Self::Commit(ask) => write!(f, "the client begins to save its decision of permission {ask}"),
            Self::Serve(ask, true) => write!(f, "the client answers request {ask}"),
            Self::Serve(ask, false) => write!(f, "the client answers request {ask} with an error"),
            Self::Report(prompt, report) => write!(f, "the agent reports in turn {prompt}: {report:?}"),
            Self::Ask(prompt, kind) => write!(f, "the agent asks in turn {prompt}: {kind:?}"),
            Self::Withdraw(ask) => write!(f, "the agent takes back request {ask}"),
            Self::End(prompt, ending) => write!(f, "the agent's host ends turn {prompt}: {ending:?}"),
            Self::Take(side, count) => write!(f, "the {side}'s host takes up to {count} actions"),
            Self::HandOut(side, count) => write!(f, "the {side} writes up to {count} frames"),
            Self::Deliver(side, whole, part, piece) => {
                write!(f, "the {side} reads up to {whole} messages")?;
                match part {
                    0 => {}
                    1 => f.write_str(", and one byte")?,
                    part => write!(f, ", and {part}/256 of the next")?,
                }
                if piece == 0 { Ok(()) } else { write!(f, ", {piece} bytes at a time") }
            }
            Self::Wait(Pause::For(time)) => write!(f, "{time} ms pass"),
            Self::Wait(Pause::Until(side)) => write!(f, "time passes until the next deadline of the {side}"),
            Self::Fire(side) => write!(f, "the {side} looks at the clock"),
            Self::Break(side, Break::Close) => write!(f, "the {side}'s host closes"),
            Self::Break(side, Break::Eof) => write!(f, "the stream to the {side} ends"),
            Self::Break(side, Break::Lost) => write!(f, "the {side} loses the stream"),
        }
    }
}
