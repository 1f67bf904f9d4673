//! The cancellation token of a turn.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use event_listener::Event;

/// Says whether a turn is to stop. Clone it into whatever works for the turn. Dropping one, or the turn, fires nothing.
///
/// (The tokens of `stop-token` fire when their source is dropped, and so also when a turn just ends.)
#[derive(Clone, Debug, Default)]
pub struct Token(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    fired: AtomicBool,
    event: Event,
}

impl Token {
    /// Whether it has fired. It stays so.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.fired.load(Ordering::Acquire)
    }

    /// Waits until it fires; at once if it has. It may be dropped half-way.
    pub async fn cancelled(&self) {
        while !self.is_cancelled() {
            let fired = self.0.event.listen();
            // Listen first, look second: what happens in between is not missed.
            if !self.is_cancelled() {
                fired.await;
            }
        }
    }

    pub(crate) fn cancel(&self) {
        self.0.fired.store(true, Ordering::Release);
        self.0.event.notify(usize::MAX);
    }
}
