//! What the driver, the handles and the host's stream of actions share: the connection, and who waits for what.
//!
//! The core takes commands in one call and answers at once, so they are made under a lock that is never held across an
//! `await`: no command queue, and nothing that a slow reader, writer or host could hold up.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use acp_core::{
    Connection, HostAction, Outcome, RequestKey, Resolved, Role, Settlement, Timestamp, TurnKey, TurnSignal,
};
use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// One connection, shared.
#[derive(Debug)]
pub(crate) struct Shared<R: Role> {
    state: Mutex<State<R>>,
    /// Wakes the driver: there is something to write, or another time to wait for.
    pub(crate) work: Notify,
    /// Wakes the host's stream: there is an action, or the end.
    pub(crate) told: Notify,
    /// Wakes senders: the queue of output fell below the mark or was flushed, or the connection ended.
    pub(crate) room: Notify,
    /// Wakes who waits for the end.
    pub(crate) over: Notify,
}

/// What is behind the lock.
#[derive(Debug)]
pub(crate) struct State<R: Role> {
    pub(crate) conn: Connection<R>,
    started: Instant,
    /// Actions taken from the core, so that tokens fire at once, and not yet taken by the host.
    pub(crate) inbox: VecDeque<R::Action>,
    awaited: BTreeMap<RequestKey, oneshot::Sender<Resolved>>,
    prompts: BTreeMap<TurnKey, oneshot::Sender<(Settlement, Outcome)>>,
    tokens: BTreeMap<TurnKey, CancellationToken>,
    /// The host dropped its stream: what is told is declined.
    deaf: bool,
    /// The driver holds bytes that are not written, or not flushed.
    pub(crate) writing: bool,
    /// The driver is done: nothing will be told any more.
    pub(crate) done: bool,
}

impl<R: Role> Shared<R> {
    pub(crate) fn new(conn: Connection<R>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                conn,
                started: Instant::now(),
                inbox: VecDeque::new(),
                awaited: BTreeMap::new(),
                prompts: BTreeMap::new(),
                tokens: BTreeMap::new(),
                deaf: false,
                writing: false,
                done: false,
            }),
            work: Notify::new(),
            told: Notify::new(),
            room: Notify::new(),
            over: Notify::new(),
        })
    }

    /// The state, whatever became of a thread that held it before: the core never leaves a half-done step behind.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One command of the host's, with a fresh time, and everything that follows from it.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State<R>, Timestamp) -> T) -> T {
        let result = self.step(act);
        self.work.notify_one();
        result
    }

    /// The same for the driver, which looks at what there is to do anyway.
    pub(crate) fn step<T>(&self, act: impl FnOnce(&mut State<R>, Timestamp) -> T) -> T {
        let mut state = self.lock();
        let now = state.now();
        let result = act(&mut state, now);
        if state.take_actions() {
            self.told.notify_one();
        }
        result
    }

    /// The driver is done, or was dropped: whoever waits is woken.
    pub(crate) fn finish(&self) {
        let mut state = self.lock();
        state.done = true;
        state.awaited.clear();
        state.prompts.clear();
        drop(state);
        self.told.notify_one();
        self.room.notify_waiters();
        self.over.notify_waiters();
    }
}

impl<R: Role> State<R> {
    /// Fresh each time: a time kept from before an `await` would fire timers late.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_elapsed(self.started.elapsed())
    }

    /// The time of a deadline on the runtime's clock.
    pub(crate) fn instant(&self, at: Timestamp) -> Instant {
        self.started + at.saturating_duration_since(Timestamp::ZERO)
    }

    /// Whether the driver is to read more: the core wants it, and the host keeps up.
    pub(crate) fn wants_input(&self) -> bool {
        self.conn.wants_input() && self.inbox.len() < self.conn.config().limits.actions
    }

    /// Takes what the core tells: fires tokens, wakes who awaits a request, and leaves the rest to the host, or declines
    /// it where nobody listens. Answers whether the host has something to take.
    fn take_actions(&mut self) -> bool {
        let before = self.inbox.len();
        self.sort_actions();
        while self.deaf
            && let Some(action) = self.inbox.pop_front()
        {
            self.resolve_prompt(&action);
            let now = self.now();
            self.conn.decline(action, now);
            self.sort_actions();
        }
        self.inbox.len() > before
    }

    fn sort_actions(&mut self) {
        while let Some(action) = self.conn.poll_action() {
            match action.turn_signal() {
                Some(TurnSignal::Begin(turn)) => drop(self.token(turn)),
                Some(TurnSignal::Abort(turn)) => self.token(turn).cancel(),
                None => {}
            }
            match action.take_resolved(|request| self.awaited.contains_key(&request)) {
                Ok(resolved) => {
                    if let Some(waiter) = self.awaited.remove(&resolved.request) {
                        // Whoever asked may have stopped waiting.
                        let _ = waiter.send(resolved);
                    }
                }
                Err(action) => self.inbox.push_back(action),
            }
        }
    }

    /// Takes the next action for the host. A prompt that somebody awaits resolves now: all its updates were taken.
    pub(crate) fn next_action(&mut self) -> Option<R::Action> {
        let action = self.inbox.pop_front()?;
        self.resolve_prompt(&action);
        Some(action)
    }

    fn resolve_prompt(&mut self, action: &R::Action) {
        if let Some((turn, settlement, outcome)) = action.turn_ended(|turn| self.prompts.contains_key(&turn))
            && let Some(waiter) = self.prompts.remove(&turn)
        {
            // Whoever asked may have stopped waiting.
            let _ = waiter.send((settlement, outcome));
        }
    }

    /// Nobody will take actions any more.
    pub(crate) fn deafen(&mut self) {
        self.deaf = true;
    }

    pub(crate) fn wait_for_turn(&mut self, turn: TurnKey) -> oneshot::Receiver<(Settlement, Outcome)> {
        let (sender, receiver) = oneshot::channel();
        self.prompts.insert(turn, sender);
        receiver
    }

    pub(crate) fn wait_for(&mut self, request: RequestKey) -> oneshot::Receiver<Resolved> {
        let (sender, receiver) = oneshot::channel();
        self.awaited.insert(request, sender);
        receiver
    }

    /// The token of a turn: fresh for each, and fired for good when the turn is aborted.
    pub(crate) fn token(&mut self, turn: TurnKey) -> CancellationToken {
        self.tokens.entry(turn).or_default().clone()
    }

    /// A turn is over: its token is not needed here any more, and was not fired by that.
    pub(crate) fn forget_token(&mut self, turn: TurnKey) {
        self.tokens.remove(&turn);
    }
}
