//! What the driver, the handles and the host's stream of actions share: the connection, behind a lock.
//!
//! The core takes commands in one call and answers at once, so they are made under a lock that is never held across an
//! `await`: no command queue, and nothing that a slow reader, writer or host could hold up.
//!
//! Both adapters have this file: one of them has a link to it.

use core::{
    future::Future,
    pin::Pin,
    task::{Poll, Waker},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp_core::{ChildKey, Connection, Desk, Next, Outcome, Resolved, Role, Round, Settlement, Timestamp, Wake};

use crate::runtime::{Event, Instant, Token, oneshot};

/// Who awaits the outcome of a request.
pub(crate) type Waiter = oneshot::Sender<Resolved>;
/// Who awaits the end of a prompt.
pub(crate) type PromptWaiter = oneshot::Sender<(Settlement, Outcome)>;

/// One connection, shared.
#[derive(Debug)]
pub(crate) struct Shared<R: Role> {
    state: Mutex<State<R>>,
    /// Wakes senders: the queue of output fell below the mark or was flushed, or the connection ended.
    pub(crate) room: Event,
    /// Wakes who waits for the end, of the connection or of a child.
    pub(crate) over: Event,
}

/// What is behind the lock.
#[derive(Debug)]
pub(crate) struct State<R: Role> {
    pub(crate) desk: Desk<R, Waiter, PromptWaiter, Token>,
    /// Children that the driver does not attend to yet.
    pub(crate) arrivals: Arrivals,
    started: Instant,
    /// Wakes the driver: the host made a command.
    driver: Option<Waker>,
    /// Wakes the host's stream: there is an action, or the end.
    host: Option<Waker>,
    host_waits: bool,
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
            state: Mutex::new(State {
                desk: Desk::new(conn),
                arrivals: Arrivals::default(),
                started: Instant::now(),
                driver: None,
                host: None,
                host_waits: false,
            }),
            room: Event::default(),
            over: Event::default(),
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
        let now = state.now();
        let result = act(state, now);
        state.settle(now);
        state.call();
        result
    }

    /// For the driver: tells what happened, and asks what is next and when at the latest.
    pub(crate) fn round(&self, tell: impl FnOnce(&mut State<R>, Timestamp)) -> (Next, Option<Instant>) {
        let mut state = self.lock();
        let now = state.now();
        tell(&mut state, now);
        state.settle(now);
        let next = state.desk.next(now);
        state.settle(now);
        if state.desk.calls_senders() {
            self.room.happen();
        }
        let until = if let Next::Wait(Round { until, .. }) = &next { *until } else { None };
        (next, until.map(|at| state.instant(at)))
    }

    /// The driver is done, or was dropped: whoever waits is woken. The children that nobody attends to come back; to drop
    /// them kills them.
    pub(crate) fn finish(&self) -> Vec<Attendance> {
        let arrivals = self.with(|state, now| {
            state.desk.finish(now);
            state.tell();
            core::mem::take(&mut state.arrivals.0)
        });
        self.room.happen();
        self.over.happen();
        arrivals
    }

    /// A child has ended.
    pub(crate) fn child_ended(&self, child: ChildKey) {
        self.lock().desk.child_ended(child);
        self.over.happen();
    }

    /// Nobody drives any more.
    pub(crate) fn forsake(&self) {
        drop(self.finish());
        drop(self.lock().desk.forsake_children());
        self.over.happen();
    }
}

impl<R: Role> State<R> {
    /// Fresh each time: a time kept from before an `await` would fire timers late.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_elapsed(self.started.elapsed())
    }

    /// The time of a deadline on the clock of the driver.
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
    #[inline]
    fn release(&mut self) {
        while let Some(token) = self.desk.release() {
            token.cancel();
        }
    }

    /// What follows from what was done: whoever waits for it is woken.
    fn settle(&mut self, now: Timestamp) {
        while let Some(wake) = self.desk.sort(now) {
            self.carry_out(wake);
        }
        self.release();
        if self.desk.has_mail() {
            self.tell();
        }
    }

    fn tell(&mut self) {
        if let (true, Some(host)) = (core::mem::take(&mut self.host_waits), &self.host) {
            host.wake_by_ref();
        }
    }

    /// Wakes the driver, if nobody did since it looked.
    pub(crate) fn call(&mut self) {
        if self.desk.call() {
            self.wake_driver();
        }
    }

    fn wake_driver(&self) {
        if let Some(driver) = &self.driver {
            driver.wake_by_ref();
        }
    }

    /// The driver is woken here from now on. Returns whether the host made a command since it asked what is next.
    pub(crate) fn attend(&mut self, driver: &Waker) -> bool {
        keep(&mut self.driver, driver);
        self.desk.is_called()
    }

    /// Somebody waits for room, or for all to be flushed.
    pub(crate) fn await_room(&mut self) {
        if self.desk.await_room() {
            self.wake_driver();
        }
    }

    /// The next action for the host, which is woken when there is one; `None` is the end.
    pub(crate) fn poll_action(&mut self, host: &Waker) -> Poll<Option<R::Action>> {
        let action = self.next_action();
        if action.is_none() && self.desk.finished().is_none() {
            keep(&mut self.host, host);
            self.host_waits = true;
            return Poll::Pending;
        }
        // The driver may have stopped reading because of this one.
        if action.is_some() && self.desk.reads_again() {
            self.call();
        }
        Poll::Ready(action)
    }

    /// Takes the next action for the host.
    fn next_action(&mut self) -> Option<R::Action> {
        let (action, wake) = self.desk.take();
        if let Some(wake) = wake {
            self.carry_out(wake);
        }
        self.release();
        action
    }
}

/// Keeps a copy of a waker, unless this one was kept already.
fn keep(kept: &mut Option<Waker>, waker: &Waker) {
    if !kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
        *kept = Some(waker.clone());
    }
}
