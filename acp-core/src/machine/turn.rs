//! The prompt turns of one session, in the order of the wire.
//!
//! ```text
//!              Prompt                End of the one before         Cancel            End
//!   (nothing) ────────▶ queued ──────────────────────▶ running ──────────▶ cancelling ───▶ settled
//!                 │        │ Cancel: settled as cancelled   │                               ▲
//!                 └────────┼────────────────────────────────┴────────────── End ────────────┘
//!                          └─ delivered: with a backend that queues by itself (`Overlap::Forward`)
//! ```
//!
//! A prompt turn ends with the answer to `session/prompt`; `session/cancel` names the session only (ACP v1, Prompt
//! Turn), so what a cancel covers is decided by order: everything received before it, nothing received after it. The
//! same machine serves the end that sends prompts and the end that receives them. It also keeps the permission requests
//! (*asks*) that are open, since a cancel makes them void, and with them every ask that crosses it. Only an ask whose
//! owner is *committed*, because an approval is being saved, outlives the cancel: its answer is the owner's.

use alloc::collections::{BTreeSet, VecDeque};

use smallvec::SmallVec;

use super::{Asked, Cancel, CancelInput, CancelKind, CancelOutput, CancelReject, Machine, Unsent};

/// What becomes of a prompt while another one runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overlap {
    /// It is refused.
    Refuse,
    /// It waits for its turn; at most this many wait.
    Queue(usize),
    /// It is handed on at once, to a backend that queues by itself; at most this many wait there.
    Forward(usize),
}

/// The turns of one session. Turns and asks are named by numbers of the owner's, never given twice.
#[cfg_attr(doc, doc = "\n\n", doc = include_str!("../../docs/machines/turns.svg"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Turns {
    overlap: Overlap,
    running: Option<Running>,
    queued: VecDeque<u64>,
    asks: BTreeSet<u64>,
    committed: BTreeSet<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Running {
    turn: u64,
    cancel: Cancel,
}

/// What a cancel is aimed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CancelScope {
    /// Every prompt received so far: `session/cancel`, closing, the end of the stream.
    Session,
    /// This prompt only: `$/cancel_request`.
    Turn(u64),
}

/// What may happen to [`Turns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TurnInput {
    /// A prompt was sent or received.
    Prompt(u64),
    /// A prompt that is to take the place of the running one, which is being cancelled for it. It waits even where a
    /// second prompt is refused; one may wait there.
    Follow(u64),
    /// A permission request was sent or received.
    Ask(u64),
    /// Its owner is about to answer, and no cancel shall come between.
    Commit(u64),
    /// It was answered.
    Answered(u64),
    /// A cancel was sent or received.
    Cancel(CancelScope, CancelKind),
    /// The cancel frame of the running turn was handed to the transport.
    Sent(CancelKind),
    /// The transport could not deliver it.
    Failed(CancelKind),
    /// The prompt was answered.
    End(u64),
    /// The prompt came to nothing, so that the two ends may differ about the session.
    Fail(u64),
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TurnOutput {
    /// The prompt runs.
    Start,
    /// The prompt waits.
    Wait,
    /// The prompt waits at the backend: hand it on now.
    Deliver,
    /// The ask is open, in this turn or in none.
    Open(Option<u64>),
    /// The ask crossed a cancel: answer it `cancelled`, and bother nobody.
    Void,
    /// The ask is its owner's, whatever is cancelled.
    Committed,
    /// The ask is answered.
    Answered,
    /// The ask was void, or answered before.
    AlreadyVoid,
    /// What the cancel came to.
    Cancelled(Cancelled),
    /// The cancel frame went out.
    Sent,
    /// The cancel frame did not go out; these have to ask again.
    Unsent(Unsent),
    /// The turn is over.
    Ended(Ended),
    /// The turn is over, and so are those that waited for it.
    Broken(Broken),
    /// It was over before.
    AlreadyOver,
}

/// What a cancel covers, in the order in which it has to be carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cancelled {
    /// Queued prompts: settle them as cancelled, now. They are no longer known here.
    pub dropped: SmallVec<[u64; 2]>,
    /// Whether those were handed to a backend, which has to drop them before the running one is aborted.
    pub delivered: bool,
    /// The running turn, which is to be aborted, and whether this is news.
    pub running: Option<(u64, Asked)>,
    /// Asks that are void, oldest first. They are no longer known here.
    pub void: SmallVec<[u64; 2]>,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ended {
    /// Whether it had been cancelled, so that its answer is `cancelled` whatever else is said.
    pub cancelled: bool,
    /// The prompt that runs now, and whether it has yet to be handed on.
    pub next: Option<(u64, bool)>,
}

/// What became of the prompts behind a cancelled turn that failed. They were written for a session as it would have been,
/// so they are not sent into one that may have to be built anew.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Broken {
    /// Prompts that waited. They are no longer known here.
    pub dropped: SmallVec<[u64; 2]>,
}

/// Why an input was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TurnReject {
    /// A turn runs, and a second prompt is refused.
    Busy,
    /// As many prompts wait as the limit allows.
    Full,
    /// No cancel frame of this kind belongs to the running turn.
    NoSuchFrame,
}

impl Turns {
    /// No turn.
    #[must_use]
    pub const fn new(overlap: Overlap) -> Self {
        Self { overlap, running: None, queued: VecDeque::new(), asks: BTreeSet::new(), committed: BTreeSet::new() }
    }

    /// The running turn.
    #[must_use]
    pub fn running(&self) -> Option<u64> {
        self.running.as_ref().map(|running| running.turn)
    }

    /// Whether the running turn is being cancelled.
    #[must_use]
    pub fn is_cancelling(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.cancel.is_asked())
    }

    /// Whether a cancel frame of the running turn waits to be sent.
    #[must_use]
    pub fn has_unsent_cancel(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.cancel.has_unsent())
    }

    /// The prompts that wait, in order.
    pub fn queued(&self) -> impl Iterator<Item = u64> {
        self.queued.iter().copied()
    }

    /// Whether nothing runs, waits or is asked.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.running.is_none() && self.queued.is_empty() && self.asks.is_empty() && self.committed.is_empty()
    }

    /// Whether this ask is open, and its owner committed.
    #[must_use]
    pub fn is_committed(&self, ask: u64) -> bool {
        self.committed.contains(&ask)
    }

    const fn delivers(&self) -> bool {
        matches!(self.overlap, Overlap::Forward(_))
    }

    fn prompt(&mut self, turn: u64) -> Result<TurnOutput, TurnReject> {
        if self.running.is_none() {
            self.running = Some(Running { turn, cancel: Cancel::default() });
            return Ok(TurnOutput::Start);
        }
        match self.overlap {
            Overlap::Refuse => Err(TurnReject::Busy),
            Overlap::Queue(limit) | Overlap::Forward(limit) if self.queued.len() >= limit => Err(TurnReject::Full),
            Overlap::Queue(_) => {
                self.queued.push_back(turn);
                Ok(TurnOutput::Wait)
            }
            Overlap::Forward(_) => {
                self.queued.push_back(turn);
                Ok(TurnOutput::Deliver)
            }
        }
    }

    fn follow(&mut self, turn: u64) -> Result<TurnOutput, TurnReject> {
        match self.overlap {
            Overlap::Refuse if self.running.is_some() && !self.queued.is_empty() => Err(TurnReject::Full),
            Overlap::Refuse if self.running.is_some() => {
                self.queued.push_back(turn);
                Ok(TurnOutput::Wait)
            }
            Overlap::Refuse | Overlap::Queue(_) | Overlap::Forward(_) => self.prompt(turn),
        }
    }

    fn commit(&mut self, ask: u64) -> TurnOutput {
        if self.asks.remove(&ask) {
            self.committed.insert(ask);
        }
        if self.is_committed(ask) { TurnOutput::Committed } else { TurnOutput::AlreadyVoid }
    }

    fn cancel(&mut self, scope: CancelScope, kind: CancelKind) -> Cancelled {
        let mut covered = Cancelled { delivered: self.delivers(), ..Cancelled::default() };
        match scope {
            CancelScope::Session => covered.dropped = self.queued.drain(..).collect(),
            CancelScope::Turn(turn) => {
                if let Some(place) = self.queued.iter().position(|queued| *queued == turn) {
                    self.queued.remove(place);
                    covered.dropped.push(turn);
                }
            }
        }
        let aimed = |running: &&mut Running| match scope {
            CancelScope::Session => true,
            CancelScope::Turn(turn) => running.turn == turn,
        };
        if let Some(running) = self.running.as_mut().filter(aimed) {
            if let Ok(CancelOutput::Asked(asked)) = running.cancel.step(CancelInput::Ask(kind)) {
                covered.running = Some((running.turn, asked));
            }
            covered.void = core::mem::take(&mut self.asks).into_iter().collect();
        }
        covered
    }

    fn end(&mut self, turn: u64) -> TurnOutput {
        match self.running.take_if(|running| running.turn == turn) {
            Some(running) => {
                let next = self.queued.pop_front();
                self.running = next.map(|turn| Running { turn, cancel: Cancel::default() });
                let hand_on = !self.delivers();
                TurnOutput::Ended(Ended { cancelled: running.cancel.settle(), next: next.map(|turn| (turn, hand_on)) })
            }
            // A backend that queues by itself may end them in an order of its own.
            None => match self.queued.iter().position(|queued| *queued == turn) {
                Some(place) => {
                    self.queued.remove(place);
                    TurnOutput::Ended(Ended { cancelled: false, next: None })
                }
                None => TurnOutput::AlreadyOver,
            },
        }
    }

    fn fail(&mut self, turn: u64) -> TurnOutput {
        let cancelled = |running: &Running| running.turn == turn && running.cancel.is_asked();
        if self.delivers() || !self.running.as_ref().is_some_and(cancelled) {
            return self.end(turn);
        }
        self.running = None;
        TurnOutput::Broken(Broken { dropped: self.queued.drain(..).collect() })
    }

    fn report(&mut self, input: CancelInput) -> Result<TurnOutput, TurnReject> {
        let running = self.running.as_mut().ok_or(TurnReject::NoSuchFrame)?;
        match running.cancel.step(input) {
            Ok(CancelOutput::Unsent(unsent)) => Ok(TurnOutput::Unsent(unsent)),
            Ok(CancelOutput::Sent | CancelOutput::Asked(_)) => Ok(TurnOutput::Sent),
            Err(CancelReject::NoSuchFrame) => Err(TurnReject::NoSuchFrame),
        }
    }
}

impl Machine for Turns {
    type Input = TurnInput;
    type Output = TurnOutput;
    type Reject = TurnReject;

    fn step(&mut self, input: TurnInput) -> Result<TurnOutput, TurnReject> {
        match input {
            TurnInput::Prompt(turn) => self.prompt(turn),
            TurnInput::Follow(turn) => self.follow(turn),
            TurnInput::Ask(_) if self.is_cancelling() => Ok(TurnOutput::Void),
            TurnInput::Ask(ask) => {
                self.asks.insert(ask);
                Ok(TurnOutput::Open(self.running()))
            }
            TurnInput::Commit(ask) => Ok(self.commit(ask)),
            TurnInput::Answered(ask) if self.asks.remove(&ask) || self.committed.remove(&ask) => {
                Ok(TurnOutput::Answered)
            }
            TurnInput::Answered(_) => Ok(TurnOutput::AlreadyVoid),
            TurnInput::Cancel(scope, kind) => Ok(TurnOutput::Cancelled(self.cancel(scope, kind))),
            TurnInput::Sent(kind) => self.report(CancelInput::Sent(kind)),
            TurnInput::Failed(kind) => self.report(CancelInput::Failed(kind)),
            TurnInput::End(turn) => Ok(self.end(turn)),
            TurnInput::Fail(turn) => Ok(self.fail(turn)),
        }
    }
}
