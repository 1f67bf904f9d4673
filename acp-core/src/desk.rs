//! Layer 5: a connection with its host's post sorted, for adapters: who awaits what, which token belongs to which turn,
//! and what is left for the host's stream of actions. It is plain data too: no waker, no lock, no channel.
//!
//! An adapter puts a [`Desk`] behind whatever its runtime shares things with, and its driver waits for what
//! [`Desk::next`] says. After every input and every command it carries out what [`Desk::sort`] says.

mod children;
mod happened;
mod input;
mod rounds;

use alloc::collections::{BTreeMap, VecDeque};

pub use self::{
    happened::Happened,
    input::Input,
    rounds::{Next, PIECE, Round},
};
use crate::{
    action::{Delivery, Outcome, Resolved, Settlement, TurnEnd},
    connection::{Connection, Role},
    host::{HostAction, TurnSignal},
    machine::Few,
    role::Agent,
    ticket::{RequestKey, TurnKey, TurnTicket},
    time::Timestamp,
};

/// What an adapter keeps beside a connection. `A` is who awaits the outcome of a request, `P` who awaits the end of a
/// prompt, `T` the token of a turn.
#[derive(Debug)]
pub struct Desk<R: Role, A, P, T> {
    conn: Connection<R>,
    inbox: VecDeque<R::Action>,
    awaited: Few<RequestKey, A>,
    prompts: Few<TurnKey, P>,
    tokens: BTreeMap<TurnKey, T>,
    children: children::Children<T>,
    sweep_at: usize,
    output: rounds::Output,
    bytes_read: u64,
    deaf: bool,
    called: bool,
    awaits_room: bool,
    finished: bool,
}

/// What [`Desk::sort`] asks the adapter to do.
#[derive(Debug)]
#[must_use = "whoever waits for it waits for ever"]
pub enum Wake<A, P> {
    /// Somebody awaited this request.
    Answer(A, Resolved),
    /// Somebody awaited the end of this prompt.
    Prompt(P, Settlement, Outcome),
    /// Fire the token of this turn, which stays fired.
    Token(TurnKey),
}

/// Tokens of turns that are over are looked for when there are this many more than at the last time.
const SWEEP: usize = 64;

impl<R: Role, A, P, T: Default> Desk<R, A, P, T> {
    /// A desk with nothing on it.
    #[must_use]
    pub fn new(conn: Connection<R>) -> Self {
        Self {
            conn,
            inbox: VecDeque::new(),
            awaited: Few::new(),
            prompts: Few::new(),
            tokens: BTreeMap::new(),
            children: children::Children::default(),
            sweep_at: SWEEP,
            output: rounds::Output::default(),
            bytes_read: 0,
            deaf: false,
            called: false,
            awaits_room: false,
            finished: false,
        }
    }

    /// The connection: for commands. Its actions, frames and deadlines are the desk's to take.
    pub const fn conn(&mut self) -> &mut Connection<R> {
        &mut self.conn
    }

    /// The connection, to look at.
    #[must_use]
    pub const fn view(&self) -> &Connection<R> {
        &self.conn
    }

    /// Whether to read more: the connection wants it, and the host keeps up.
    #[must_use]
    pub fn wants_input(&self) -> bool {
        self.conn.wants_input() && self.inbox.len() < self.conn.config().limits.actions
    }

    /// Whether taking one action has just made room to read again.
    #[must_use]
    pub fn reads_again(&self) -> bool {
        self.inbox.len() + 1 == self.conn.config().limits.actions
    }

    /// Takes what the connection tells, at once, so that tokens never wait behind what the host has not taken. To be
    /// called after every input and command, until it answers `None`.
    #[inline]
    pub fn sort(&mut self, now: Timestamp) -> Option<Wake<A, P>> {
        if self.conn.tells() || self.deaf { self.sort_out(now) } else { None }
    }

    fn sort_out(&mut self, now: Timestamp) -> Option<Wake<A, P>> {
        loop {
            while let Some(action) = self.conn.poll_action() {
                if let Some(wake) = self.file(action) {
                    return Some(wake);
                }
            }
            // Nobody listens: what is left is declined, which may lead to more.
            let action = if self.deaf { self.inbox.pop_front()? } else { return None };
            let ended = self.told(&action);
            self.conn.decline(action, now);
            if ended.is_some() {
                return ended;
            }
        }
    }

    fn file(&mut self, action: R::Action) -> Option<Wake<A, P>> {
        let signal = action.turn_signal();
        let mut waiter = None;
        let resolved = action.take_resolved(|request| {
            waiter = self.awaited.remove(&request);
            waiter.is_some()
        });
        match resolved {
            Ok(resolved) => return Some(Wake::Answer(waiter?, resolved)),
            Err(action) => self.inbox.push_back(action),
        }
        match signal? {
            TurnSignal::Begin(turn) => {
                self.begin(turn);
                None
            }
            TurnSignal::Abort(turn) => Some(Wake::Token(turn)),
        }
    }

    /// Takes the next action for the host. If it is the end of a prompt that somebody awaits, they are woken now: all its
    /// updates have been taken.
    pub fn take(&mut self) -> (Option<R::Action>, Option<Wake<A, P>>) {
        let action = self.inbox.pop_front();
        let wake = action.as_ref().and_then(|action| self.told(action));
        (action, wake)
    }

    /// Whether the host has something to take.
    #[must_use]
    pub fn has_mail(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// What follows from an action only when the host is told of it.
    fn told(&mut self, action: &R::Action) -> Option<Wake<A, P>> {
        if let Some(released) = action.released_session() {
            self.children.let_go(|_, session| session == released);
        }
        let (turn, settlement, outcome) = action.turn_ended(|turn| self.prompts.contains_key(&turn))?;
        Some(Wake::Prompt(self.prompts.remove(&turn)?, settlement, outcome))
    }

    /// Somebody awaits the outcome of a request that was sent in the same step.
    pub fn await_request(&mut self, request: RequestKey, waiter: A) {
        self.awaited.insert(request, waiter);
    }

    /// Somebody awaits the end of a prompt that was sent in the same step.
    pub fn await_prompt(&mut self, turn: TurnKey, waiter: P) {
        self.prompts.insert(turn, waiter);
    }

    /// The token of a turn: fresh for each.
    pub fn token(&mut self, turn: TurnKey) -> &mut T {
        self.tokens.entry(turn).or_default()
    }

    /// Nobody takes actions any more: what is told from now on is declined.
    pub const fn deafen(&mut self) {
        self.deaf = true;
    }

    fn begin(&mut self, turn: TurnKey) {
        if self.tokens.len() >= self.sweep_at {
            self.tokens.retain(|turn, _| self.conn.is_live(*turn));
            self.sweep_at = self.tokens.len() * 2 + SWEEP;
        }
        self.tokens.entry(turn).or_default();
    }
}

impl<A, P, T: Default> Desk<Agent, A, P, T> {
    /// Ends a turn, whose token is not needed here any more. That does not fire it.
    pub fn end_turn(&mut self, ticket: TurnTicket, end: &TurnEnd, now: Timestamp) -> Delivery {
        self.tokens.remove(&ticket.turn());
        self.conn.end_turn(ticket, end, now)
    }

    /// Nobody ends a turn any more: it is answered in the host's place.
    pub fn abandon_turn(&mut self, ticket: &TurnTicket, now: Timestamp) -> Delivery {
        self.tokens.remove(&ticket.turn());
        self.conn.abandon(ticket.key(), now)
    }
}
