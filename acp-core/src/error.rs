//! Three kinds of trouble, three types: what the caller did, what the peer did, and why it all ended.

use alloc::boxed::Box;

use thiserror::Error;

use crate::wire::{ErrorObject, MethodName};

/// Why a command was refused. Nothing was queued and nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The connection is over, or ending.
    #[error("the connection is closed or closing: nothing more can be sent on it")]
    Closed,
    /// A limit is reached. Try again when there is room: after a frame was written, or a request resolved.
    #[error("{what} is at its limit: try again when there is room")]
    Full {
        /// Which limit, by its name in [`Limits`](crate::Limits).
        what: &'static str,
    },
    /// The message would be longer than a line may be.
    #[error("the message would take {size} bytes, and a line may have {limit}: send less, or raise `limits.line`")]
    TooLong {
        /// Bytes it would take, at least.
        size: usize,
        /// Bytes a line may have.
        limit: usize,
    },
    /// The peer did not offer this in `initialize`.
    #[error("the peer did not offer `{0}` when the connection was initialized")]
    NotOffered(MethodName),
    /// The agreed version of the protocol does not have this.
    #[error("`{method}` is not in version {version} of the protocol, which was agreed on")]
    Unsupported {
        /// What was to be sent.
        method: MethodName,
        /// The version in force.
        version: u16,
    },
    /// The turn is over: nothing can be sent in it any more. A race with its end, not a mistake.
    #[error("the turn is over: nothing can be sent in it any more")]
    TurnOver,
    /// The caller used the connection in a way that its code shows to be wrong.
    #[error(transparent)]
    Misuse(#[from] Misuse),
}

/// What one finds by reading the caller's code: never the result of untrusted data, or of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Misuse {
    /// Nothing may be sent before the version is agreed.
    #[error("the connection is not initialized yet: wait for `initialize` to be answered")]
    NotInitialized,
    /// `initialize` is sent once. In version 2 it may be repeated until the first other request, not for an older version.
    #[error("`initialize` was sent already")]
    AlreadyInitialized,
    /// A second prompt in a session whose turn runs; `Config::overlap` refuses it.
    #[error("a turn is running in this session: wait for its end, or cancel it")]
    TurnInProgress,
    /// The session is being loaded, resumed or closed.
    #[error("the session is being opened or closed: wait for the answer")]
    SessionNotOpen,
    /// The session is open on this connection, and was opened with other parameters.
    #[error("the session is open already, with other parameters: use it as it is, or close it first")]
    OpenedOtherwise,
    /// This key names no session, or one that was closed.
    #[error("there is no such session on this connection")]
    UnknownSession,
    /// The session is a child of another one: its agent drives it. It may be watched, and cancelled if the agent says so.
    #[error("the session belongs to another session, and is driven by its agent")]
    ChildSession,
    /// This key names nothing that was given by this connection.
    #[error("this key was not given by this connection")]
    UnknownKey,
    /// The method has a command of its own, which keeps its rules.
    #[error("this method has a command of its own: use that one")]
    HasItsOwnCommand,
    /// Only the other side may send this method.
    #[error("only the other side of the connection may send this method")]
    WrongSide,
    /// It is a notification, and was to be sent as a request, or the reverse.
    #[error("this method is not sent in this form: a request where a notification is due, or the reverse")]
    WrongForm,
    /// The parameters or the result lack what the protocol requires.
    #[error("{0}")]
    Payload(&'static str),
}

/// A refused answer: the ticket comes back, so that the obligation is not lost.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("{why}")]
pub struct Refused<T: core::fmt::Debug> {
    /// What to answer with again.
    pub ticket: T,
    /// Why it was refused.
    pub why: CommandError,
}

/// What the peer did against the protocol. It costs budget, not the connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Violation {
    /// A line that is not JSON: log output, as a rule.
    NotJson {
        /// Bytes of the line.
        size: usize,
    },
    /// JSON that is not a JSON-RPC message.
    NotRpc {
        /// What is wrong with it.
        why: &'static str,
        /// Bytes of the line.
        size: usize,
    },
    /// A line longer than the limit. If it answered or asked something, that was settled.
    TooLong {
        /// Bytes of the line.
        size: u64,
        /// Bytes a line may have.
        limit: usize,
        /// Its method, if readable.
        method: Option<MethodName>,
        /// Its session, if readable.
        session: Option<Box<str>>,
    },
    /// A request whose id an open one has. It gets no answer: any would settle the first.
    DuplicateId {
        /// Its method.
        method: MethodName,
    },
    /// An answer to a request that was never sent.
    NeverIssued,
    /// The peer could not read something we sent, and does not know which: an error with id null.
    PeerRejected(ErrorObject),
    /// A request that was answered in the host's place, since it does not say what it must, or not about what is known
    /// here.
    BadRequest {
        /// Its method.
        method: MethodName,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A notification that does not say what it must.
    BadNotification {
        /// Its method.
        method: MethodName,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// Why a connection ended: only facts that were seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// We closed it.
    #[error("closed on this side")]
    Local,
    /// The peer ended the stream.
    #[error("the peer ended the stream")]
    Eof,
    /// The stream failed, as the transport says.
    #[error("the stream failed: {0}")]
    Lost(Box<str>),
    /// The agent answered with a version that we do not speak.
    #[error("the peer speaks protocol version {theirs} only, which is not spoken here")]
    Version {
        /// The version it answered with.
        theirs: u16,
    },
    /// The answer to `initialize` cannot be read.
    #[error("the answer to `initialize` cannot be read")]
    Handshake,
    /// A Stop was not confirmed in time.
    #[error("the agent did not confirm the cancel in time")]
    StopUnconfirmed,
    /// Too many lines without meaning.
    #[error("too many lines that are not protocol messages")]
    TooMuchNoise,
    /// Nothing happened for the configured time.
    #[error("idle for too long")]
    Idle,
}
