//! Layer 4: the connection. It translates between the wire and the machines, and keeps no rule of its own.
//!
//! The way of the data is one line: bytes → line → envelope → machine → effect → frame or action.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod` | the contract with an event loop |
//! | `gauges` | looking at it: what is open, what waits, what was agreed |
//! | `receive` | lines in: which machine they belong to |
//! | `answer` | the peer's requests: what is owed, and paying it, batches included |
//! | `call` | our requests: sending them, and resolving each once |
//! | `call_cancel` | cancelling one of them by itself |
//! | `opening` | sessions that we ask for |
//! | `ending` | time and the end: deadlines, draining, closing |
//! | `hooks` | where the role enters |
//! | `version` | the version agreement: whose rules are in force |
//! | `turns` | what both ends do about sessions and prompt turns |
//! | `client`, `client_receive` | the client's commands, and what it makes of the agent's messages |
//! | `client_setup` | opening a session, with a login if need be |
//! | `client_cancel` | Stop and Steer |
//! | `client_permission` | the agent's permission requests |
//! | `agent`, `agent_receive` | the agent's commands, and what it makes of the client's messages |
//! | `agent_end` | how the agent's turns and sessions end |
//! | `recording`, `fork` | writing down what happens; copies for model checkers |
//! | `agent_say` | text on the shortest way to the wire |
//! | `agent_work` | version 2: prompts that are inserted, and work that ends apart from them |
//! | `agent_state` | version 2: what a session is at, reported, and what updates may say |
//! | `client_work` | version 2: the same, as the client sees it |

mod agent;
mod agent_end;
mod agent_receive;
mod agent_say;
mod agent_state;
mod agent_work;
mod answer;
mod call;
mod call_cancel;
mod client;
mod client_cancel;
mod client_config;
mod client_permission;
mod client_receive;
mod client_setup;
mod client_work;
mod ending;
mod fork;
mod gauges;
mod hooks;
mod opening;
mod receive;
mod recording;
mod turns;
mod version;

use alloc::{boxed::Box, collections::VecDeque};

use bytes::Bytes;
use smallvec::SmallVec;

use self::{
    answer::{OpenBatches, Served},
    call::Call,
    receive::Noise,
    recording::note,
    turns::Turn,
};
use crate::{
    action::{Common, Outcome},
    config::{Config, ConfigError},
    error::{CloseReason, CommandError, Misuse, Violation},
    host::HostAction,
    machine::{Admission, Few, Handshake, Incoming, Lifecycle, Outgoing},
    outbox::{Frame, Outbox, Tag},
    role::Side,
    session::Sessions,
    tape::{Raw, Tape},
    ticket::{FrameId, IncomingKey, TurnKey},
    time::Timestamp,
    timers::{Deadline, Timers},
    wire::{Capabilities, Deframer, Framed, Id},
};

pub use client_config::OptionValue;
pub use client_setup::SessionPlan;

/// One of the two ends, [`Client`](crate::Client) or [`Agent`](crate::Agent). Sealed.
pub trait Role: hooks::Hooks {
    /// What the host at this end is told.
    type Action: HostAction + core::fmt::Debug + Eq + core::hash::Hash + From<Common> + Send + 'static;
    /// Which end it is.
    const SIDE: Side;
}

/// One end of an ACP connection, as a state machine: see the [crate documentation](crate) for the loop around it.
///
/// Methods come in four kinds. `handle_*` take what happened: they cannot fail, may be called at any time, and after
/// the end do nothing. `poll_*` give what is to be done: independent of each other, in any order, as often as you like.
/// Gauges tell, and change nothing. All others are commands: a refused one changed nothing.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Connection<R: Role> {
    config: Config,
    now: Timestamp,
    /// The clock was seen.
    begun: bool,
    lifecycle: Lifecycle<CloseReason>,
    /// `Closed` was told.
    over: bool,
    handshake: Handshake,
    deframer: Deframer,
    noise: Noise,
    outgoing: Outgoing<Call>,
    incoming: Incoming<Id, Served>,
    batches: OpenBatches,
    sessions: Sessions,
    turns: Few<TurnKey, Turn>,
    last_turn: u64,
    /// What the peer, and what we, offered in `initialize`.
    peer: Capabilities,
    own: Capabilities,
    timers: Timers,
    outbox: Outbox,
    actions: VecDeque<R::Action>,
    role: R::State,
    tape: Tape,
}

impl<R: Role> Connection<R> {
    /// A connection on which nothing has happened yet.
    ///
    /// # Errors
    ///
    /// The configuration holds a zero or an impossible value.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            now: Timestamp::ZERO,
            begun: false,
            lifecycle: Lifecycle::Open,
            over: false,
            handshake: Handshake::Idle,
            deframer: Deframer::new(config.limits.line),
            noise: Noise::default(),
            outgoing: Outgoing::new(config.limits.own_requests),
            incoming: Incoming::new(config.limits.peer_requests),
            batches: OpenBatches::default(),
            sessions: Sessions::new(config.limits.sessions, config.overlap),
            turns: Few::new(),
            last_turn: 0,
            peer: Capabilities::default(),
            own: Capabilities::default(),
            timers: Timers::default(),
            outbox: Outbox::default(),
            actions: VecDeque::new(),
            role: R::State::default(),
            tape: Tape::default(),
            config,
        })
    }

    // ---- in ----------------------------------------------------------------------------------------------------

    /// Bytes of a stream, cut anywhere. Every complete line is processed before this returns.
    pub fn handle_input(&mut self, mut bytes: &[u8], now: Timestamp) {
        note!(self, "input", now, "bytes" = Raw(bytes));
        self.advance(now);
        while self.lifecycle.is_open() && !bytes.is_empty() {
            let Some(framed) = self.deframer.next(&mut bytes) else { break };
            self.receive_framed(framed);
        }
    }

    /// One whole message, from a transport that keeps messages apart.
    pub fn handle_message(&mut self, message: &Bytes, now: Timestamp) {
        note!(self, "message", now, "bytes" = Raw(message));
        self.advance(now);
        if self.lifecycle.is_open() {
            self.receive_framed(Framed::whole(message, self.config.limits.line));
        }
    }

    /// The peer ended its stream. What it left without a line break is tried as a last line; then turns are cancelled,
    /// our requests resolve, what is owed may be answered for [`Config::drain`], the output is flushed, and `Closed` is
    /// told.
    pub fn handle_eof(&mut self, now: Timestamp) {
        note!(self, "eof", now);
        self.advance(now);
        if self.lifecycle.is_open() {
            if let Some(framed) = self.deframer.finish() {
                self.receive_framed(framed);
            }
            self.end(CloseReason::Eof);
        }
    }

    /// The stream failed, in either direction: nothing more can be delivered. Everything resolves at once.
    pub fn handle_lost(&mut self, why: &str, now: Timestamp) {
        note!(self, "lost", now, "why" = why);
        self.advance(now);
        self.cut(CloseReason::Lost(Box::from(why)));
    }

    /// A message transport could not deliver a frame it had taken. A cancel may then be asked again, a request of ours
    /// resolves as undelivered, and neither matters once what it was about is over; if it was anything else, the streams
    /// no longer agree, and the connection ends.
    pub fn handle_transmit_failed(&mut self, frame: FrameId, now: Timestamp) {
        note!(self, "undelivered", now, "frame" = frame);
        self.advance(now);
        if R::on_cancel_failed(self, frame) {
            return;
        }
        if self.cancel_request_failed(frame) {
            return;
        }
        let request = self.outgoing.iter().find(|(_, call)| call.frame == frame).map(|(id, _)| id);
        match request {
            Some(id) => self.resolve_own(id, Outcome::Undelivered),
            // What it was about is over, with or without it.
            None if frame.is_moot_when_settled() => {}
            None => self.cut(CloseReason::Lost(Box::from("a message could not be delivered"))),
        }
    }

    /// Time has passed. Early and repeated calls are harmless.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        note!(self, "timeout", now);
        self.advance(now);
        while let Some(cause) = self.timers.take_due(self.now) {
            self.expire(cause);
        }
    }

    // ---- out ---------------------------------------------------------------------------------------------------

    /// The next message to write. Handing it out is sending it. `None`: nothing for now.
    pub fn poll_transmit(&mut self) -> Option<Frame> {
        let (frame, tag) = self.outbox.pop()?;
        note!(self, "transmit", self.now, "frame" = frame.id(), "bytes" = Raw(&frame.clone().into_line()));
        if let Tag::Cancel { session, turn, kind } = tag {
            self.cancel_sent(session, turn, kind, frame.id());
        }
        self.extend_flush();
        self.settle_end();
        Some(frame)
    }

    /// The same for who writes to a stream, and records nothing: the lines of several frames, up to the one that makes it
    /// `enough` bytes.
    pub(crate) fn transmit(&mut self, enough: usize) -> Option<Bytes> {
        let mut cancels = SmallVec::<[_; 2]>::new();
        let lines = self.outbox.pop_many(enough, |frame, tag| {
            if let Tag::Cancel { session, turn, kind } = tag {
                cancels.push((session, turn, kind, frame));
            }
        })?;
        for (session, turn, kind, frame) in cancels {
            self.cancel_sent(session, turn, kind, frame);
        }
        self.extend_flush();
        self.settle_end();
        Some(lines)
    }

    /// The next thing the host is told. `None`: nothing for now.
    #[must_use = "an action that is not acted on is lost"]
    pub fn poll_action(&mut self) -> Option<R::Action> {
        let action = self.actions.pop_front()?;
        self.note_action(&action);
        Some(action)
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), if nothing else happens. It does not tell of output that
    /// waits: write first, then sleep.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Deadline> {
        self.timers.next()
    }

    // ---- inside ------------------------------------------------------------------------------------------------

    /// Time never runs backwards inside.
    fn advance(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        if !self.begun {
            self.begun = true;
            self.touch_clocks();
        }
    }

    /// Tells the host. Nothing is told after `Closed`.
    fn tell(&mut self, action: impl Into<R::Action>) {
        if !self.over {
            self.actions.push_back(action.into());
        }
    }

    fn violation(&mut self, violation: Violation) {
        self.tell(Common::Violation(violation));
    }

    fn next_turn(&mut self) -> TurnKey {
        self.last_turn += 1;
        TurnKey(self.last_turn)
    }

    /// Whether a command of the host's may send anything at all.
    fn check_open(&self) -> Result<(), CommandError> {
        if !self.lifecycle.is_open() {
            return Err(CommandError::Closed);
        }
        match self.handshake.admission() {
            Admission::Ordinary | Admission::Anything => Ok(()),
            Admission::OnlyInitialize | Admission::Nothing => Err(Misuse::NotInitialized.into()),
        }
    }
}
