//! What an adapter looks at in an action before it hands it on. It is the same for every adapter, so it is here.

use crate::{
    action::{AgentAction, ClientAction, Common, Outcome, Resolved, Settlement},
    ticket::{RequestKey, SessionKey, TurnKey},
    wire::Method,
};

/// What an adapter looks at before it hands an action on: whom to wake, which token to fire.
pub trait HostAction: Sized {
    /// What it says about a turn's token.
    fn turn_signal(&self) -> Option<TurnSignal>;

    /// The session that lets go of all it owned when its host is told this.
    fn released_session(&self) -> Option<SessionKey>;

    /// The end of a turn of ours, as a copy for whoever awaits it, if `wanted` says so.
    fn turn_ended(&self, wanted: impl FnOnce(TurnKey) -> bool) -> Option<(TurnKey, Settlement, Outcome)>;

    /// A resolved request, taken out for whoever awaits it if `wanted` says so; anything else comes back.
    ///
    /// # Errors
    ///
    /// It is not one, or not wanted.
    fn take_resolved(self, wanted: impl FnOnce(RequestKey) -> bool) -> Result<Resolved, Self>;
}

/// What an action says about a turn's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TurnSignal {
    /// The turn begins: make a fresh token.
    Begin(TurnKey),
    /// The turn is to stop: fire its token. It is never used again.
    Abort(TurnKey),
}

impl HostAction for ClientAction {
    fn turn_signal(&self) -> Option<TurnSignal> {
        None
    }

    /// What a client opens or closes itself, it knows by itself.
    fn released_session(&self) -> Option<SessionKey> {
        None
    }

    fn turn_ended(&self, wanted: impl FnOnce(TurnKey) -> bool) -> Option<(TurnKey, Settlement, Outcome)> {
        match self {
            Self::TurnEnded { turn, settlement, outcome, .. } if wanted(*turn) => {
                Some((*turn, settlement.clone(), outcome.clone()))
            }
            _ => None,
        }
    }

    fn take_resolved(self, wanted: impl FnOnce(RequestKey) -> bool) -> Result<Resolved, Self> {
        match self {
            Self::Common(Common::Resolved(resolved)) if wanted(resolved.request) => Ok(resolved),
            other => Err(other),
        }
    }
}

impl HostAction for AgentAction {
    fn turn_signal(&self) -> Option<TurnSignal> {
        match self {
            Self::Prompt { ticket, .. } => Some(TurnSignal::Begin(ticket.turn)),
            Self::AbortTurn { turn, .. } | Self::DropQueued { turn, .. } | Self::TurnForced { turn, .. } => {
                Some(TurnSignal::Abort(*turn))
            }
            _ => None,
        }
    }

    fn released_session(&self) -> Option<SessionKey> {
        match self {
            Self::CloseSession { session, .. }
            | Self::SessionRequested {
                method: Method::SessionLoad | Method::SessionResume,
                session: Some(session),
                ..
            } => Some(*session),
            _ => None,
        }
    }

    fn turn_ended(&self, _: impl FnOnce(TurnKey) -> bool) -> Option<(TurnKey, Settlement, Outcome)> {
        None
    }

    fn take_resolved(self, wanted: impl FnOnce(RequestKey) -> bool) -> Result<Resolved, Self> {
        match self {
            Self::Common(Common::Resolved(resolved)) if wanted(resolved.request) => Ok(resolved),
            other => Err(other),
        }
    }
}
