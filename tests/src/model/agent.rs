//! What an agent does, on paper.

mod errands;
mod over;
mod turns;
mod work;

use std::collections::{BTreeMap, VecDeque};

use acp_core::Overlap;

use self::errands::Task;
use super::{
    end::{Due, End},
    places::{Places, Seat, Stage},
    words::{Cause, Kind, Message, Of, Resolution, Said, Told},
    work::Work,
};

/// How long a cancelled turn's host has, and the answer to a request that a machine answers, in milliseconds.
const FLOOR: u64 = 30_000;

/// What the core answers by itself: the method does not exist, or was not offered.
const NOT_FOUND: i64 = -32601;
/// Not now.
const INVALID: i64 = -32600;
/// It cannot be done: what a host says, too.
const INTERNAL: i64 = -32603;
/// There is no such thing, or nothing was agreed.
const NOTHING: i64 = -32002;
/// A login comes first.
const LOGIN: i64 = -32000;

/// A prompt whose turn is not over.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    number: usize,
    /// As the so manieth of the client's requests it came.
    came: usize,
    seat: Seat,
    cause: Option<Cause>,
    /// Whether its host is told of it.
    told: bool,
    /// Version 2: whether its prompt is answered, and has its place.
    inserted: bool,
    /// Its tool calls without a result.
    calls: Vec<usize>,
}

/// One session.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    stage: Stage,
    running: Option<usize>,
    cancelled: bool,
    waiting: VecDeque<usize>,
    work: Work,
}

/// A request of ours that is not resolved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// The turn that waits for it: none, if that came to its own end.
    turn: usize,
    seat: Seat,
    kind: Kind,
    taken_back: bool,
}

/// The agent.
#[derive(Clone, Debug)]
pub(super) struct Agent {
    /// What it has in common with the client.
    pub(super) end: End,
    /// Whether it speaks version 2.
    two: bool,
    overlap: Overlap,
    pub(super) places: Places<Place>,
    /// Turns that are not over, in the order in which their prompts came.
    turns: Vec<Turn>,
    /// Errands that are not answered, in the order in which they came.
    tasks: Vec<Task>,
    /// The requests that came.
    arrivals: Vec<Of>,
    /// Requests that are not resolved.
    pub(super) asks: BTreeMap<usize, Asked>,
    /// Whether a login comes first.
    pub(super) locked: bool,
}

impl Agent {
    pub(super) fn new(version: u16, overlap: Overlap) -> Self {
        Self {
            end: End::default(),
            two: version == 2,
            overlap,
            places: Places::default(),
            turns: Vec::new(),
            tasks: Vec::new(),
            arrivals: Vec::new(),
            asks: BTreeMap::new(),
            locked: false,
        }
    }

    fn turn(&mut self, number: usize) -> Option<&mut Turn> {
        self.turns.iter_mut().find(|turn| turn.number == number)
    }

    /// A request came: as the so manieth.
    fn arrival(&mut self, of: Of) -> usize {
        self.arrivals.push(of);
        self.arrivals.len()
    }

    /// Which request came as the so manieth.
    pub(super) fn arrived(&self, number: usize) -> Option<Of> {
        self.arrivals.get(number.checked_sub(1)?).copied()
    }

    /// How many of the client's requests are not answered.
    pub(super) fn unanswered(&self) -> usize {
        self.turns.iter().filter(|turn| !turn.inserted).count() + self.tasks.len()
    }

    /// Whether the end still waits for the host.
    pub(super) fn owes(&self) -> bool {
        !self.turns.is_empty() || !self.tasks.is_empty()
    }

    fn answer(&mut self, of: Of, said: Said) {
        self.end.send(Message::Answer(of, said));
        self.end.settle(self.owes());
    }

    // ---- what it asks ----------------------------------------------------------------------------------------------

    pub(super) fn ask(&mut self, prompt: usize, kind: Kind, ask: usize) -> &'static str {
        let open = self.end.is_open();
        if prompt == 0 {
            return "UnknownKey";
        }
        let Some(turn) = self.turn(prompt) else { return "TurnOver" };
        if !open {
            return "Closed";
        }
        let seat = turn.seat;
        if let Some(cause) = turn.cause {
            // Nobody waits for it.
            self.end.tell(Told::Resolved(ask, Resolution::Cancelled(cause)));
            return "Done";
        }
        self.insert(prompt, false);
        if kind == Kind::Read {
            self.end.arm(Due::Request(ask), FLOOR);
        }
        self.asks.insert(ask, Asked { turn: prompt, seat, kind, taken_back: false });
        self.end.send(Message::Ask(ask, kind));
        if kind == Kind::Permission {
            self.waits(prompt);
        }
        "Done"
    }

    pub(super) fn withdraw(&mut self, ask: usize) -> &'static str {
        if ask == 0 {
            return "UnknownKey";
        }
        let Some(asked) = self.asks.get_mut(&ask) else { return "Moot" };
        if core::mem::replace(&mut asked.taken_back, true) {
            return "AlreadyRequested";
        }
        if !self.resolve_unsent(ask, Resolution::Cancelled(Cause::Request)) {
            self.end.send(Message::Withdraw(Of::Ask(ask)));
        }
        "Requested"
    }

    pub(super) fn answered(&mut self, ask: usize, said: Said) {
        if self.asks.contains_key(&ask) {
            self.end.over(Of::Ask(ask));
            self.resolve(ask, Resolution::Answered(said));
        }
    }

    fn resolve(&mut self, ask: usize, how: Resolution) {
        let asked = self.asks.remove(&ask);
        self.end.dues.remove(&Due::Request(ask));
        self.end.tell(Told::Resolved(ask, how));
        if let Some(Asked { turn, kind: Kind::Permission, .. }) = asked {
            self.waits(turn);
        }
    }

    /// One that was not written never is. Whether it was one.
    fn resolve_unsent(&mut self, ask: usize, how: Resolution) -> bool {
        let unsent = self.asks.get(&ask).is_some_and(|asked| self.end.unsend(&Message::Ask(ask, asked.kind)));
        if unsent {
            self.resolve(ask, how);
        }
        unsent
    }

    /// Nobody waits for what a turn asked. Version 2 has the client told so.
    fn resolve_of(&mut self, turn: usize, cause: Cause) {
        let of: Vec<_> = self.asks.iter().filter(|(_, asked)| asked.turn == turn).map(|(ask, _)| *ask).collect();
        // The turn has none of them from here on.
        let mut asked: Vec<_> = of.iter().filter_map(|ask| Some((*ask, self.asks.remove(ask)?))).collect();
        for (ask, asked) in asked.drain(..) {
            let unsent = self.end.unsend(&Message::Ask(ask, asked.kind));
            if self.two && !unsent && self.end.is_open() {
                self.end.send(Message::Withdraw(Of::Ask(ask)));
            }
            self.asks.insert(ask, asked);
            self.resolve(ask, Resolution::Cancelled(cause));
        }
    }

    /// Nobody waits for these any more.
    fn resolve_those(&mut self, which: impl Fn(&Asked) -> bool, how: Resolution) {
        let those: Vec<_> = self.asks.iter().filter(|(_, asked)| which(asked)).map(|(ask, _)| *ask).collect();
        for ask in those {
            if !self.resolve_unsent(ask, how) {
                self.resolve(ask, how);
            }
        }
    }
}
