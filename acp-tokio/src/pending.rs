//! Futures of what is under way on the client's or either side: a request, and a prompt turn.
//!
//! Both adapters have this file: one of them has a link to it.

use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use acp_core::{CancelKind, Cancellation, Client, Outcome, RequestKey, Resolved, Role, Settlement, TurnKey};

use crate::{Handle, runtime::oneshot};

/// A request under way: a future of what becomes of it. Dropping it only stops waiting.
#[derive(Debug)]
#[must_use = "the outcome of a request is worth looking at"]
pub struct Pending<R: Role> {
    pub(crate) request: RequestKey,
    pub(crate) outcome: oneshot::Receiver<Resolved>,
    pub(crate) handle: Handle<R>,
}

impl<R: Role> Pending<R> {
    /// Names the request.
    #[must_use]
    pub const fn key(&self) -> RequestKey {
        self.request
    }

    /// Asks the peer to cancel it: see [`Connection::cancel_request`](acp_core::Connection::cancel_request). The
    /// future still gives the outcome.
    pub fn cancel(&self) {
        // The key is one of this connection's: it cannot be refused.
        let _ = self.handle.with(|conn, now| conn.cancel_request(self.request, now));
    }
}

impl<R: Role> Future for Pending<R> {
    type Output = Resolved;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Resolved> {
        let request = self.request;
        Pin::new(&mut self.outcome).poll(cx).map(|resolved| {
            // The driver was dropped: nobody will tell.
            resolved.unwrap_or(Resolved { request, session: None, outcome: Outcome::Closed })
        })
    }
}

/// A prompt turn of ours: await its end, stop it, steer it, or let go of it.
///
/// It resolves when the stream of [`Actions`](crate::Actions) has given its
/// [`TurnEnded`](acp_core::ClientAction::TurnEnded), and so after all its updates; somebody has to take that stream, or
/// drop it. Dropping an unfinished turn cancels it, as a [`CancelKind::Steer`]; [`detach`](Self::detach) does not.
#[derive(Debug)]
#[must_use = "a turn that is dropped is cancelled: await it, or detach it"]
pub struct PromptTurn {
    client: Handle<Client>,
    turn: TurnKey,
    ended: oneshot::Receiver<(Settlement, Outcome)>,
    attached: bool,
}

impl PromptTurn {
    pub(crate) const fn new(
        client: Handle<Client>,
        turn: TurnKey,
        ended: oneshot::Receiver<(Settlement, Outcome)>,
    ) -> Self {
        Self { client, turn, ended, attached: true }
    }

    /// Names the turn.
    #[must_use]
    pub const fn key(&self) -> TurnKey {
        self.turn
    }

    /// Cancels it within a bound, after which the connection closes: see
    /// [`Connection::cancel_turn`](acp_core::Connection::cancel_turn).
    pub fn stop(&self) -> Cancellation {
        self.cancel(CancelKind::Stop)
    }

    /// Cancels it without a bound, to make room for another prompt.
    pub fn steer(&self) -> Cancellation {
        self.cancel(CancelKind::Steer)
    }

    /// Lets go of it: it goes on, and its end is told by the stream of actions only.
    pub fn detach(mut self) -> TurnKey {
        self.attached = false;
        self.turn
    }

    fn cancel(&self, kind: CancelKind) -> Cancellation {
        // The key is one of this connection's: it cannot be refused.
        self.client.cancel_turn(self.turn, kind).unwrap_or(Cancellation::Moot)
    }
}

impl Future for PromptTurn {
    type Output = (Settlement, Outcome);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = core::task::ready!(Pin::new(&mut self.ended).poll(cx));
        self.attached = false;
        // The driver was dropped: nobody will tell.
        Poll::Ready(ended.unwrap_or((Settlement::Closed, Outcome::Closed)))
    }
}

impl Drop for PromptTurn {
    fn drop(&mut self) {
        if self.attached {
            self.cancel(CancelKind::Steer);
        }
    }
}
