//! The host's end: a handle that can be cloned and used from any task, and the one stream of actions.
//!
//! Both adapters have this file: one of them has a link to it.

use core::{future::poll_fn, time::Duration};
use std::sync::Arc;

use acp_core::{
    Agent, CancelKind, Cancellation, Client, CloseReason, CommandError, Connection, Decision, Delivery, ErrorObject,
    InitializeTicket, Payload, PermissionTicket, Refused, RequestKey, Role, Scope, SessionKey, SessionPlan,
    SessionTicket, Ticket, Timestamp, TurnKey, wire::UpdateKind,
};

use crate::{
    Pending, PromptTurn,
    runtime::{Event, oneshot, yield_now},
    shared::{Shared, State},
};

/// A connection in the host's hands. Clone it, send it, use it from any task; commands take effect at once.
#[derive(Debug)]
pub struct Handle<R: Role> {
    pub(crate) shared: Arc<Shared<R>>,
}

impl<R: Role> Clone for Handle<R> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<R: Role> Handle<R> {
    /// Any command or gauge of the core, with the time it needs. It must not block: the connection is locked meanwhile.
    pub fn with<T>(&self, act: impl FnOnce(&mut Connection<R>, Timestamp) -> T) -> T {
        self.shared.with(|state, now| act(state.desk.conn(), now))
    }

    /// Sends a request, and gives a future of its outcome: see [`Connection::request`].
    ///
    /// # Errors
    ///
    /// [`CommandError`]: nothing was sent.
    pub fn request(
        &self,
        method: &str,
        params: Option<Payload>,
        timeout: Option<Duration>,
    ) -> Result<Pending<R>, CommandError> {
        self.pending(|conn, now| conn.request(method, params, timeout, now))
    }

    /// Sends a request that belongs to a session or a turn: see [`Connection::request_in`].
    ///
    /// # Errors
    ///
    /// [`CommandError`]: nothing was sent.
    pub fn request_in(
        &self,
        scope: impl Into<Scope>,
        method: &str,
        params: &Payload,
        timeout: Option<Duration>,
    ) -> Result<Pending<R>, CommandError> {
        self.pending(|conn, now| conn.request_in(scope, method, params, timeout, now))
    }

    pub(crate) fn pending(
        &self,
        send: impl FnOnce(&mut Connection<R>, Timestamp) -> Result<RequestKey, CommandError>,
    ) -> Result<Pending<R>, CommandError> {
        self.shared.with(|state, now| {
            let request = send(state.desk.conn(), now)?;
            let (waiter, outcome) = oneshot::channel();
            state.desk.await_request(request, waiter);
            Ok(Pending { request, outcome, handle: self.clone() })
        })
    }

    /// Answers a request of the peer's: see [`Connection::respond`].
    pub fn respond(&self, ticket: Ticket, answer: Result<Payload, ErrorObject>) -> Delivery {
        self.with(|conn, now| match conn.respond(ticket, answer, now) {
            Ok(delivery) => delivery,
            Err(Refused { ticket, .. }) => conn.abandon(ticket.key(), now),
        })
    }

    /// Waits until little enough is queued to be written, or the connection is over.
    pub async fn room(&self) {
        self.with_room(|_| ()).await;
    }

    /// Waits until everything that was queued so far is written and flushed, or the connection is over.
    pub async fn flush(&self) {
        self.when(&self.shared.room, |state| {
            state.await_room();
            state.desk.is_flushed().then_some(())
        })
        .await;
    }

    /// Does something as soon as there is room.
    async fn with_room<T>(&self, mut act: impl FnMut(&mut State<R>) -> T) -> T {
        self.when(&self.shared.room, |state| {
            if state.desk.has_room() {
                return Some(act(state));
            }
            state.await_room();
            None
        })
        .await
    }

    /// Waits until there is an answer, looking again whenever `event` happens.
    pub(crate) async fn when<T>(&self, event: &Event, mut look: impl FnMut(&mut State<R>) -> Option<T>) -> T {
        // Where it is there already, nobody is asked to wake anybody.
        let answer = look(&mut self.shared.lock());
        if let Some(answer) = answer {
            return answer;
        }
        loop {
            // Listen first, look second: what changes in between is not missed.
            let woken = event.listen();
            let answer = look(&mut self.shared.lock());
            if let Some(answer) = answer {
                return answer;
            }
            woken.await;
        }
    }

    /// Begins the end: see [`Connection::close`]. [`closed`](Self::closed) tells when it is over.
    pub fn close(&self) {
        self.with(Connection::close);
    }

    /// Waits for the end of the connection, and says why it ended.
    pub async fn closed(&self) -> CloseReason {
        self.when(&self.shared.over, |state| state.desk.finished()).await
    }

    /// Whether the connection is over.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.lock().desk.view().is_closed()
    }

    /// The key of the session with this id.
    #[must_use]
    pub fn find_session(&self, id: &str) -> Option<SessionKey> {
        self.shared.lock().desk.view().find_session(id)
    }

    /// The agent's id of a session: see [`Connection::session_id`].
    #[must_use]
    pub fn session_id(&self, session: SessionKey) -> Option<String> {
        self.shared.lock().desk.view().session_id(session).map(str::to_owned)
    }
}

impl Handle<Client> {
    /// Opens the connection: see [`Connection::initialize`].
    ///
    /// # Errors
    ///
    /// [`CommandError`]: nothing was sent.
    pub fn initialize(&self, params: &Payload) -> Result<Pending<Client>, CommandError> {
        self.pending(|conn, now| conn.initialize(params, now))
    }

    /// Opens a session, new or stored, by whichever way the agent offers: see [`Connection::open_session`].
    ///
    /// # Errors
    ///
    /// [`CommandError`]: nothing was sent.
    pub fn open_session(&self, plan: &SessionPlan) -> Result<Pending<Client>, CommandError> {
        self.pending(|conn, now| conn.open_session(plan, now))
    }

    /// Begins a prompt turn, and gives it into your hands: see [`Connection::prompt`] and [`PromptTurn`].
    ///
    /// # Errors
    ///
    /// [`CommandError`]: nothing was sent.
    pub fn prompt(&self, session: SessionKey, content: &Payload) -> Result<PromptTurn, CommandError> {
        self.begin(|conn, now| conn.prompt(session, content, None, now))
    }

    /// Cuts the running turn short for the sake of another prompt: see [`Connection::steer`].
    ///
    /// # Errors
    ///
    /// [`CommandError`]: nothing was sent, and nothing cancelled.
    pub fn steer(&self, session: SessionKey, content: &Payload) -> Result<PromptTurn, CommandError> {
        self.begin(|conn, now| conn.steer(session, content, None, now))
    }

    fn begin(
        &self,
        send: impl FnOnce(&mut Connection<Client>, Timestamp) -> Result<TurnKey, CommandError>,
    ) -> Result<PromptTurn, CommandError> {
        self.shared.with(|state, now| {
            let turn = send(state.desk.conn(), now)?;
            let (waiter, ended) = oneshot::channel();
            state.desk.await_prompt(turn, waiter);
            Ok(PromptTurn::new(self.clone(), turn, ended))
        })
    }

    /// Cancels a turn: see [`Connection::cancel_turn`].
    ///
    /// # Errors
    ///
    /// The key was never given.
    pub fn cancel_turn(&self, turn: TurnKey, kind: CancelKind) -> Result<Cancellation, CommandError> {
        self.with(|conn, now| conn.cancel_turn(turn, kind, now))
    }

    /// Decides a permission request: see [`Connection::decide`].
    pub fn decide(&self, ticket: PermissionTicket, decision: &Decision) -> Delivery {
        self.with(|conn, now| conn.decide(ticket, decision, now))
    }

    /// Answers what an action still owes: see [`Connection::decline`].
    pub fn decline(&self, action: acp_core::ClientAction) -> Delivery {
        self.with(|conn, now| conn.decline(action, now))
    }
}

impl Handle<Agent> {
    /// Answers `initialize`: see [`Connection::accept_initialize`].
    ///
    /// # Errors
    ///
    /// `result` is not an object. The ticket comes back.
    pub fn accept_initialize(
        &self,
        ticket: InitializeTicket,
        result: &Payload,
    ) -> Result<Delivery, Refused<InitializeTicket>> {
        self.with(|conn, now| conn.accept_initialize(ticket, result, now))
    }

    /// Makes a session known: see [`Connection::accept_session`].
    ///
    /// # Errors
    ///
    /// `sessionId` is missing or taken, or there are too many sessions. The ticket comes back.
    pub fn accept_session(
        &self,
        ticket: SessionTicket,
        result: &Payload,
    ) -> Result<(SessionKey, Delivery), Refused<SessionTicket>> {
        self.with(|conn, now| conn.accept_session(ticket, result, now))
    }

    /// Refuses to open a session: see [`Connection::reject_session`].
    pub fn reject_session(&self, ticket: SessionTicket, error: &ErrorObject) -> Delivery {
        self.with(|conn, now| conn.reject_session(ticket, error, now))
    }

    /// Reports progress, once there is room for it: see [`Connection::update`].
    ///
    /// # Errors
    ///
    /// The update is larger than may wait to be written, or than a line may be.
    pub async fn update(&self, scope: impl Into<Scope>, update: &Payload) -> Result<Delivery, CommandError> {
        let scope = scope.into();
        self.in_room(|conn, now| conn.update(scope, update, now)).await
    }

    /// Reports a piece of text, once there is room for it: see [`Connection::say`].
    ///
    /// # Errors
    ///
    /// The text is larger than may wait to be written, or than a line may be.
    pub async fn say(&self, scope: impl Into<Scope>, kind: &UpdateKind, text: &str) -> Result<Delivery, CommandError> {
        let scope = scope.into();
        self.in_room(|conn, now| conn.say(scope, kind, text, now)).await
    }

    async fn in_room<T>(&self, mut act: impl FnMut(&mut Connection<Agent>, Timestamp) -> T) -> T {
        self.with_room(|state| self.shared.with_locked(state, |state, now| act(state.desk.conn(), now))).await
    }

    /// Answers what an action still owes: see [`Connection::decline`].
    pub fn decline(&self, action: acp_core::AgentAction) -> Delivery {
        self.with(|conn, now| conn.decline(action, now))
    }
}

/// Everything the host is told, in the order of the wire.
///
/// One task takes it; when it falls behind by [`Limits::actions`](acp_core::Limits::actions), the driver stops reading.
/// Dropped, it leaves nobody waiting: whatever is told from then on is declined.
#[derive(Debug)]
pub struct Actions<R: Role> {
    pub(crate) shared: Arc<Shared<R>>,
    pub(crate) taken: u32,
}

/// Actions that a host takes before it lets others in between.
const IN_A_ROW: u32 = 512;

impl<R: Role> Actions<R> {
    /// The next action; `None` once the end has been told. It may be dropped half-way: nothing is lost.
    pub async fn next(&mut self) -> Option<R::Action> {
        // A host that takes one action after the other lets the driver in between, also on a single thread.
        self.taken = self.taken.wrapping_add(1);
        if self.taken.is_multiple_of(IN_A_ROW) {
            yield_now().await;
        }
        poll_fn(|cx| self.shared.lock().poll_action(cx.waker())).await
    }
}

impl<R: Role> Drop for Actions<R> {
    fn drop(&mut self) {
        self.shared.with(|state, _| state.desk.deafen());
    }
}
