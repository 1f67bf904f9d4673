//! What the driver, the handles and the host's stream of actions share: the connection, behind a lock.
//!
//! The core takes commands in one call and answers at once, so they are made under a lock that is never held across an
//! `await`: no command queue, and nothing that a slow reader, writer or host could hold up.

use core::{future::Future, pin::Pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp_core::{ChildKey, Connection, Desk, Next, Outcome, Resolved, Role, Round, Settlement, Timestamp, Wake};
use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// Who awaits the outcome of a request.
pub(crate) type Waiter = oneshot::Sender<Resolved>;
/// Who awaits the end of a prompt.
pub(crate) type PromptWaiter = oneshot::Sender<(Settlement, Outcome)>;

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
    /// Wakes who waits for the end, of the connection or of a child.
    pub(crate) over: Notify,
}

/// What is behind the lock.
#[derive(Debug)]
pub(crate) struct State<R: Role> {
    pub(crate) desk: Desk<R, Waiter, PromptWaiter, CancellationToken>,
    /// Children that the driver does not attend to yet.
    pub(crate) arrivals: Arrivals,
    started: Instant,
}

/// What attends to a child that a session owns, up to its end.
pub(crate) type Attendance = Pin<Box<dyn Future<Output = ChildKey> + Send>>;

#[derive(Default)]
pub(crate) struct Arrivals(pub(crate) Vec<Attendance>);

impl core::fmt::Debug for Arrivals {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Arrivals").field("waiting", &self.0.len()).finish()
    }
}

impl<R: Role> Shared<R> {
    pub(crate) fn new(conn: Connection<R>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State { desk: Desk::new(conn), arrivals: Arrivals::default(), started: Instant::now() }),
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
        self.with_locked(&mut self.lock(), act)
    }

    /// The same for who holds the lock already.
    pub(crate) fn with_locked<T>(&self, state: &mut State<R>, act: impl FnOnce(&mut State<R>, Timestamp) -> T) -> T {
        let result = self.step(state, state.now(), act);
        if state.desk.call() {
            self.work.notify_one();
        }
        result
    }

    /// For the driver: tells what happened, and asks what is next and when at the latest.
    pub(crate) fn round(&self, tell: impl FnOnce(&mut State<R>, Timestamp)) -> (Next, Option<Instant>) {
        let mut state = self.lock();
        let now = state.now();
        self.step(&mut state, now, tell);
        let next = self.step(&mut state, now, |state, now| state.desk.next(now));
        if state.desk.calls_senders() {
            self.room.notify_waiters();
        }
        let until = if let Next::Wait(Round { until, .. }) = &next { *until } else { None };
        (next, until.map(|at| state.instant(at)))
    }

    fn step<T>(&self, state: &mut State<R>, now: Timestamp, act: impl FnOnce(&mut State<R>, Timestamp) -> T) -> T {
        let result = act(state, now);
        while let Some(wake) = state.desk.sort(now) {
            state.carry_out(wake);
        }
        state.release();
        if state.desk.has_mail() {
            self.told.notify_one();
        }
        result
    }

    /// The driver is done, or was dropped: whoever waits is woken. The children that nobody attends to come back; to drop
    /// them kills them.
    pub(crate) fn finish(&self) -> Vec<Attendance> {
        let arrivals = self.with(|state, now| {
            state.desk.finish(now);
            core::mem::take(&mut state.arrivals.0)
        });
        self.told.notify_one();
        self.room.notify_waiters();
        self.over.notify_waiters();
        arrivals
    }

    /// A child has ended.
    pub(crate) fn child_ended(&self, child: ChildKey) {
        self.lock().desk.child_ended(child);
        self.over.notify_waiters();
    }

    /// Nobody drives any more.
    pub(crate) fn forsake(&self) {
        drop(self.finish());
        drop(self.lock().desk.forsake_children());
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

    /// Wakes whoever the core says. They may have stopped waiting, which is no news.
    pub(crate) fn carry_out(&mut self, wake: Wake<Waiter, PromptWaiter>) {
        match wake {
            Wake::Answer(waiter, resolved) => drop(waiter.send(resolved)),
            Wake::Prompt(waiter, settlement, outcome) => drop(waiter.send((settlement, outcome))),
            Wake::Token(turn) => self.desk.token(turn).cancel(),
        }
    }

    /// Begins the end of the children that are to go.
    fn release(&mut self) {
        while let Some(token) = self.desk.release() {
            token.cancel();
        }
    }

    /// Takes the next action for the host.
    pub(crate) fn next_action(&mut self) -> Option<R::Action> {
        let (action, wake) = self.desk.take();
        if let Some(wake) = wake {
            self.carry_out(wake);
        }
        self.release();
        action
    }
}
