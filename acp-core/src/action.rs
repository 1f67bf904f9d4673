//! What the host is told, in the order of the wire. A client cannot be told what only an agent is told.

mod outcome;
mod permission;

use alloc::boxed::Box;
use core::time::Duration;

use crate::{
    error::{CloseReason, Violation},
    ticket::{
        IncomingKey, InitializeTicket, PermissionTicket, RequestKey, SessionKey, SessionTicket, Ticket, TurnKey,
        TurnTicket,
    },
    wire::{ErrorObject, Method, MethodName, Payload, StopReason, code},
};

pub use outcome::NoResult;
pub use permission::{Decision, Offer, PermissionOption};

/// What either end is told.
#[derive(Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Common {
    /// The peer asks for something. Answer with `respond`.
    Request {
        /// The right to answer.
        ticket: Ticket,
        /// What is asked.
        method: MethodName,
        /// The session it names, if that is known here.
        session: Option<SessionKey>,
        /// The parameters, as they came.
        params: Option<Payload>,
    },
    /// The peer, or the end of the turn or the connection, asks to cancel a request that you were told of. Told once. It
    /// stays yours to answer: with a result, or with an error of code -32800.
    CancelRequested(IncomingKey),
    /// A notification.
    Notification {
        /// What is told.
        method: MethodName,
        /// The parameters, as they came.
        params: Option<Payload>,
    },
    /// A request of ours is resolved. Told once for each, whatever happens.
    Resolved(Resolved),
    /// We asked to cancel this request of ours, and [`Config::cancel_confirm`](crate::Config::cancel_confirm) has passed
    /// without an answer to it; or the cancel could not be delivered, and may be asked again. The request stays open:
    /// support for cancelling it is optional.
    CancelUnconfirmed(RequestKey),
    /// Nothing arrived for this long, [`Config::silence`](crate::Config::silence), while a request of ours is open and
    /// nothing waits for us. Told once for each silence. Nothing is decided by it: what to do is yours to say.
    Silent(Duration),
    /// The peer did something against the protocol.
    Violation(Violation),
    /// The connection is over. Told last, and once.
    Closed(CloseReason),
}

/// What a client is told.
#[derive(Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientAction {
    /// The agent reports progress: a `session/update`.
    Update {
        /// The session, or `None` if this connection knows none of that id.
        session: Option<SessionKey>,
        /// What it belongs to.
        origin: Origin,
        /// The parameters, as they came: `sessionId` and `update`.
        params: Payload,
    },
    /// The agent asks for permission. Answer with `decide`.
    PermissionRequested {
        /// The right to answer.
        ticket: PermissionTicket,
        /// The session.
        session: SessionKey,
        /// The turn that runs there, if one of ours does.
        turn: Option<TurnKey>,
        /// What is offered.
        offer: Box<Offer>,
        /// The parameters, as they came.
        params: Payload,
    },
    /// A permission request that you were told of is void: it was answered `cancelled`. Take the dialog down.
    PermissionRevoked(IncomingKey),
    /// A permission request has been open for [`Config::permission`](crate::Config::permission). It stays open, and yours
    /// to decide: to reject is an answer, `cancelled` says that the turn was cancelled.
    PermissionOverdue(IncomingKey),
    /// Version 2: a prompt of ours was inserted into the session. Its end is told as [`TurnEnded`](Self::TurnEnded); until
    /// then it may share its work with others.
    PromptInserted {
        /// The session.
        session: SessionKey,
        /// The turn.
        turn: TurnKey,
        /// The id under which the agent tells the user's message. `None`: the agent follows an older draft.
        message: Option<Box<str>>,
    },
    /// A turn of ours is over, as is told next, and these tool calls of it have no result. A client "SHOULD" show those of a
    /// cancelled turn as cancelled (ACP v1, Prompt Turn, "Cancellation"); at once, with
    /// [`Connection::open_tool_calls`](crate::Connection::open_tool_calls).
    ToolCallsLeftOpen {
        /// The session.
        session: SessionKey,
        /// The turn.
        turn: TurnKey,
        /// The calls, oldest first; at most [`Limits::open_tool_calls`](crate::Limits::open_tool_calls).
        calls: Box<[Box<str>]>,
    },
    /// A prompt turn of ours is over. Told once for each.
    TurnEnded {
        /// The session.
        session: SessionKey,
        /// The turn.
        turn: TurnKey,
        /// What was asked and what the wire said, in one word.
        settlement: Settlement,
        /// What the wire said.
        outcome: Outcome,
    },
    /// A cancel could not be delivered. The turn goes on, or waits at the agent as before; ask again.
    CancelUndelivered {
        /// The turn.
        turn: TurnKey,
        /// Whether a Stop has to be asked again.
        stop: bool,
        /// Whether a Steer has to be asked again.
        steer: bool,
    },
    /// The cancel of a session in which no turn of ours ran could not be delivered: ask again.
    SessionStopUndelivered {
        /// The session.
        session: SessionKey,
    },
    /// What either end is told.
    Common(Common),
}

/// What an agent is told.
#[derive(Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AgentAction {
    /// The client opens the connection. Answer with `accept_initialize`.
    Initialize {
        /// The right to answer.
        ticket: InitializeTicket,
        /// The version that will be answered.
        version: u16,
        /// The parameters, as they came.
        params: Payload,
    },
    /// The client opens a session: new, load, resume or fork. Answer with `accept_session`.
    SessionRequested {
        /// The right to answer.
        ticket: SessionTicket,
        /// Which of them.
        method: Method,
        /// The session to load or resume, in which updates may be sent before the answer.
        session: Option<SessionKey>,
        /// Whether its history is to be told before the answer: `session/load`, and in version 2 a `session/resume` that
        /// asks for it. Otherwise it must not be.
        replay: bool,
        /// The parameters, as they came.
        params: Payload,
    },
    /// A prompt turn begins. End it with `end_turn`. In version 2 the prompt is not inserted yet: see `insert_prompt`;
    /// and one that came behind a cancel is told when the cancelled work is over, with [`Overlap::Forward`], too.
    ///
    /// [`Overlap::Forward`]: crate::Overlap::Forward
    Prompt {
        /// The right to end it.
        ticket: TurnTicket,
        /// The parameters, as they came.
        params: Payload,
    },
    /// A prompt that was handed on early is cancelled, and was answered so: have the backend drop it. Always told before
    /// the [`AbortTurn`](Self::AbortTurn) of the same cancel, after which the backend would start it.
    DropQueued {
        /// The session.
        session: SessionKey,
        /// The turn that will not run.
        turn: TurnKey,
    },
    /// Stop the turn's model stream and tools, then end it with `end_turn`: it will be answered `cancelled` whatever you
    /// say. Its open requests to the client are over, too: each is told as [`Outcome::Cancelled`] next.
    AbortTurn {
        /// The session.
        session: SessionKey,
        /// The turn.
        turn: TurnKey,
        /// Who wants it.
        cause: CancelCause,
        /// Whether you were told before: signal again, nothing else is new.
        again: bool,
    },
    /// A turn was answered `cancelled` because its host did not end it in time. Its ticket is worth nothing now.
    TurnForced {
        /// The session.
        session: SessionKey,
        /// The turn.
        turn: TurnKey,
    },
    /// These tool calls of a turn that was cancelled, or failed, had no result: each was reported `failed` before the
    /// turn's answer. Give them a result in your own history, so that it stays valid.
    ToolCallsClosed {
        /// The session.
        session: SessionKey,
        /// The turn, which is over.
        turn: TurnKey,
        /// The calls, oldest first.
        calls: Box<[Box<str>]>,
    },
    /// A cancel arrived and no turn runs there. Nothing to do, unless you work without a prompt.
    IdleCancel {
        /// The session.
        session: SessionKey,
    },
    /// The client closes a session, and its turns are over: release what it owns, then `respond`.
    CloseSession {
        /// The right to answer.
        ticket: Ticket,
        /// The session, which is gone once you have answered.
        session: SessionKey,
    },
    /// What either end is told.
    Common(Common),
}

impl From<Common> for ClientAction {
    fn from(common: Common) -> Self {
        Self::Common(common)
    }
}

impl From<Common> for AgentAction {
    fn from(common: Common) -> Self {
        Self::Common(common)
    }
}

/// A request of ours that is resolved.
///
/// A request that opens a session is resolved like any other. If it resolves as anything but [`Outcome::Result`] or
/// [`Outcome::Error`], the agent may or may not have made the session: list the sessions, or open a new one, but do not
/// assume either. It is never repeated by itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Resolved {
    /// Which one.
    pub request: RequestKey,
    /// Its session: the one it was sent in, or the one it opened.
    pub session: Option<SessionKey>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a request of ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The peer's result, as it came.
    Result(Payload),
    /// The peer said no.
    Error(ErrorObject),
    /// The peer's answer cannot be read.
    Invalid {
        /// What is wrong with it.
        why: &'static str,
        /// What there is of it, as it came: the whole answer, or the result that lacks something.
        raw: Payload,
    },
    /// The peer's answer was longer than a line may be, and was skipped.
    TooLong {
        /// Bytes of the answer.
        size: u64,
        /// Bytes a line may have.
        limit: usize,
    },
    /// Its turn was cancelled, so nobody waits for the answer any more.
    Cancelled(CancelCause),
    /// Its time ran out.
    TimedOut,
    /// The transport could not deliver it.
    Undelivered,
    /// It was never sent: a prompt that waited behind one that was cancelled and failed, in a session that was closed, or
    /// for which there was no room when its time came.
    NotSent,
    /// The connection ended first.
    Closed,
}

impl Outcome {
    /// Whether the agent demands a login first, with an error of code -32000. The ways to log in are in its answer to
    /// `initialize`; which one, if any, is the user's choice.
    #[must_use]
    pub fn is_auth_required(&self) -> bool {
        matches!(self, Self::Error(error) if error.code == code::AUTH_REQUIRED)
    }
}

/// Who ended a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelCause {
    /// `session/cancel`.
    Session,
    /// `$/cancel_request` for this prompt.
    Request,
    /// `session/close`.
    CloseSession,
    /// The connection ends.
    Closing,
}

/// What an update belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// History, before `session/load` was answered; in version 2 before `session/resume` was that asks for it, and until
    /// `replay_complete`.
    Replay,
    /// The turn that runs.
    Turn(TurnKey),
    /// No turn of ours: work of the agent's own, or news about the session.
    OutOfTurn,
    /// It arrived before the answer that made its session known.
    Early,
}

/// How a prompt turn ends, as its agent says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TurnEnd {
    /// With this stop reason.
    Stop(StopReason),
    /// With this error.
    Error(ErrorObject),
}

/// What was asked and what the wire said about a turn of ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Settlement {
    /// It ended by itself, for this reason.
    Ended(StopReason),
    /// It was cancelled, as we asked.
    Cancelled,
    /// It was cancelled, and nobody here had asked.
    CancelledUnasked,
    /// We had asked to cancel it, and it ended by itself all the same, for this reason.
    EndedAlthoughCancelled(StopReason),
    /// It failed: see the outcome. The agent's view of the session may differ from ours.
    Failed,
    /// The connection ended first.
    Closed,
}

/// What became of an answer, or of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Delivery {
    /// It is queued, as it was given.
    Queued,
    /// It is queued as `cancelled`: the turn had been cancelled, or the choice was not one of those offered.
    AsCancelled,
    /// It is queued as an error of code -32800: it said `cancelled`, and nobody had asked.
    AsWithdrawn,
    /// It is queued as an error of code -32603: it was too long for a line, or for what may wait to be written.
    AsError,
    /// Nobody waits for it any more. Nothing is queued.
    TooLate,
}

/// What became of the wish to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cancellation {
    /// The cancel is queued.
    Requested,
    /// A cancel is queued or was sent already: this one shares its fate.
    AlreadyRequested,
    /// It is over. Nothing is sent.
    Moot,
}
