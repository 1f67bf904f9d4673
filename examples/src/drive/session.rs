//! A session of the run, and the turn that runs there.

use acp_core::{SessionKey, TurnKey};
use tokio::time::Instant;

/// A session, with how far its prompts are.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) key: SessionKey,
    /// The agent's id.
    pub(super) id: String,
    /// The prompt that comes next, from 0.
    pub(super) next: usize,
    pub(super) running: Option<Running>,
}

/// A turn that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) turn: TurnKey,
    /// Which prompt, from 0.
    pub(super) prompt: usize,
    /// When it has taken too long.
    pub(super) deadline: Instant,
    /// How it is to be cancelled, if it is, and was not yet.
    pub(super) cancel: Option<Due>,
}

/// When a turn is to be cancelled: whichever comes first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) at: Option<Instant>,
    pub(super) after_updates: Option<u64>,
}

impl Session {
    pub(super) const fn new(key: SessionKey, id: String) -> Self {
        Self { key, id, next: 0, running: None }
    }
}

impl Running {
    /// The next time at which something is to be done about it.
    pub(super) fn wake(&self) -> Instant {
        self.cancel.and_then(|cancel| cancel.at).map_or(self.deadline, |at| at.min(self.deadline))
    }
}
