//! Names and obligations. A *key* names something and is `Copy`; a *ticket* is the right, and the duty, to answer.
//!
//! Tickets are not `Clone`, and answering consumes them, so nothing is answered twice. The core cannot see one dropped:
//! [`Connection::abandon`](crate::Connection::abandon) tells it, and the adapters call that from `Drop`. None of these
//! is an id of the wire, and none is ever given twice by one connection.

use crate::wire::Method;

macro_rules! key {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u64);

        impl $name {
            /// The number, for logs.
            #[must_use]
            pub const fn number(self) -> u64 {
                self.0
            }
        }
    };
}

key! {
    /// Names a request of ours, from its sending until it is resolved.
    RequestKey
}
key! {
    /// Names a request of the peer's, also after its ticket has gone elsewhere.
    IncomingKey
}
key! {
    /// Names a prompt turn.
    TurnKey
}
key! {
    /// Names a child process that a session owns.
    ChildKey
}
key! {
    /// Names a frame that was handed out to be written.
    FrameId
}

impl FrameId {
    /// The lowest bit says whether the frame is moot when what it was about is settled, so that nobody has to remember it
    /// for as long as it may fail.
    pub(crate) const fn new(sequence: u64, moot_when_settled: bool) -> Self {
        Self(sequence << 1 | moot_when_settled as u64)
    }

    pub(crate) const fn is_moot_when_settled(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Names a session of this connection. The key of a session that was closed names nothing, also when its place is
/// used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

macro_rules! ticket {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, PartialEq, Eq, Hash)]
        #[must_use = "a request that is never answered leaves the peer waiting"]
        pub struct $name {
            pub(crate) key: IncomingKey,
        }

        impl $name {
            /// The request it answers.
            #[must_use]
            pub const fn key(&self) -> IncomingKey {
                self.key
            }
        }
    };
}

ticket! {
    /// Answers a request of the peer's: `respond`.
    Ticket
}
ticket! {
    /// Answers `initialize`: `accept_initialize`, `reject_initialize`.
    InitializeTicket
}
ticket! {
    /// Decides a permission request: `decide`.
    PermissionTicket
}

/// Answers a request that opens a session: `accept_session`, `reject_session`.
#[derive(Debug, PartialEq, Eq, Hash)]
#[must_use = "a request that is never answered leaves the peer waiting"]
pub struct SessionTicket {
    pub(crate) key: IncomingKey,
    pub(crate) method: Method,
}

impl SessionTicket {
    /// The request it answers.
    #[must_use]
    pub const fn key(&self) -> IncomingKey {
        self.key
    }
}

/// Ends a prompt turn: `end_turn`.
#[derive(Debug, PartialEq, Eq, Hash)]
#[must_use = "a turn that is never ended leaves the peer waiting"]
pub struct TurnTicket {
    pub(crate) key: IncomingKey,
    pub(crate) turn: TurnKey,
    pub(crate) session: SessionKey,
}

impl TurnTicket {
    /// The request it answers.
    #[must_use]
    pub const fn key(&self) -> IncomingKey {
        self.key
    }

    /// The turn it ends.
    #[must_use]
    pub const fn turn(&self) -> TurnKey {
        self.turn
    }

    /// The session of that turn.
    #[must_use]
    pub const fn session(&self) -> SessionKey {
        self.session
    }
}

/// Copies tickets, for those who copy a connection with [`Connection::fork`](crate::Connection::fork).
///
/// A model checker has to answer in every copy. In one connection the second of two copies is answered
/// [`TooLate`](crate::Delivery::TooLate).
pub trait Fork {
    /// The same right, to be used in a copy of the connection.
    #[must_use]
    fn fork(&self) -> Self;
}

macro_rules! fork {
    ($($name:ident { $($field:ident),* }),* $(,)?) => { $(
        impl Fork for $name {
            fn fork(&self) -> Self {
                Self { $($field: self.$field),* }
            }
        }
    )* };
}

fork!(
    Ticket { key },
    InitializeTicket { key },
    PermissionTicket { key },
    SessionTicket { key, method },
    TurnTicket { key, turn, session },
);

/// Where an update or a request belongs: to a turn, or to a session apart from any turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// In this turn: it is refused when the turn is over, and requests are resolved when the turn is cancelled.
    Turn(TurnKey),
    /// In this session, whether or not a turn runs.
    Session(SessionKey),
}

impl From<TurnKey> for Scope {
    fn from(turn: TurnKey) -> Self {
        Self::Turn(turn)
    }
}

impl From<SessionKey> for Scope {
    fn from(session: SessionKey) -> Self {
        Self::Session(session)
    }
}

impl From<&TurnTicket> for Scope {
    fn from(ticket: &TurnTicket) -> Self {
        Self::Turn(ticket.turn)
    }
}
