//! What an agent does, on paper.

use std::collections::{BTreeMap, VecDeque};

use acp_core::Overlap;

use super::{
    end::{Due, End},
    words::{Cause, Ending, Kind, Message, Of, Reason, Report, Resolution, Said, Told, Update},
};

/// How long a cancelled turn's host has, and the answer to a request that a machine answers, in milliseconds.
const FLOOR: u64 = 30_000;

/// A prompt that is not answered.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) number: usize,
    /// As the so manieth it came.
    place: usize,
    session: usize,
    cause: Option<Cause>,
    /// Its tool calls without a result.
    calls: Vec<usize>,
}

/// One session.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    running: Option<usize>,
    cancelled: bool,
    waiting: VecDeque<usize>,
}

/// A request of ours that is not resolved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// The turn that waits for it: none, if that came to its own end.
    turn: usize,
    kind: Kind,
    taken_back: bool,
}

/// The agent.
#[derive(Clone, Debug)]
pub(super) struct Agent {
    /// What it has in common with the client.
    pub(super) end: End,
    overlap: Overlap,
    places: Vec<Place>,
    /// Prompts that are not answered, in the order in which they came.
    pub(super) turns: Vec<Turn>,
    /// How many there were.
    came: usize,
    /// Requests that are not resolved.
    pub(super) asks: BTreeMap<usize, Asked>,
}

impl Agent {
    pub(super) fn new(overlap: Overlap, sessions: usize) -> Self {
        let places = vec![Place::default(); sessions];
        Self { end: End::default(), overlap, places, turns: Vec::new(), came: 0, asks: BTreeMap::new() }
    }

    fn place(&mut self, session: usize) -> &mut Place {
        &mut self.places[session - 1]
    }

    fn turn(&mut self, number: usize) -> Option<&mut Turn> {
        self.turns.iter_mut().find(|turn| turn.number == number)
    }

    /// Whether the end still waits for the host.
    pub(super) fn owes(&self) -> bool {
        !self.turns.is_empty()
    }

    // ---- its host --------------------------------------------------------------------------------------------------

    /// The number is that of the update, or of the tool call.
    pub(super) fn report(&mut self, prompt: usize, report: Report, number: usize) -> &'static str {
        let Some(turn) = self.turn(prompt) else { return "TooLate" };
        let update = match report {
            Report::Text => Update::Text(number),
            Report::Open => {
                turn.calls.push(number);
                Update::Open(number)
            }
            Report::Finish => {
                turn.calls.retain(|call| *call != number);
                Update::Finished(number)
            }
        };
        self.end.send(Message::Update(update));
        "Queued"
    }

    pub(super) fn ask(&mut self, prompt: usize, kind: Kind, ask: usize) -> &'static str {
        let open = self.end.is_open();
        let Some(turn) = self.turn(prompt) else { return "TurnOver" };
        if !open {
            return "Closed";
        }
        if let Some(cause) = turn.cause {
            // Nobody waits for it.
            self.end.tell(Told::Resolved(ask, Resolution::Cancelled(cause)));
            return "Done";
        }
        if kind == Kind::Read {
            self.end.arm(Due::Read(ask), FLOOR);
        }
        self.asks.insert(ask, Asked { turn: prompt, kind, taken_back: false });
        self.end.send(Message::Ask(ask, kind));
        "Done"
    }

    pub(super) fn withdraw(&mut self, ask: usize) -> &'static str {
        let Some(asked) = self.asks.get_mut(&ask) else { return "Moot" };
        if core::mem::replace(&mut asked.taken_back, true) {
            return "AlreadyRequested";
        }
        if !self.resolve_unsent(ask, Resolution::Cancelled(Cause::Request)) {
            self.end.send(Message::Withdraw(Of::Ask(ask)));
        }
        "Requested"
    }

    pub(super) fn end_turn(&mut self, number: usize, ending: Ending) -> &'static str {
        self.settle(number, ending, false)
    }

    // ---- the client ------------------------------------------------------------------------------------------------

    pub(super) fn prompted(&mut self, number: usize, session: usize) {
        let overlap = self.overlap;
        let Place { running, waiting, .. } = self.place(session);
        let starts = match (&running, overlap) {
            (None, _) => {
                *running = Some(number);
                true
            }
            (Some(_), Overlap::Queue(limit) | Overlap::Forward(limit)) if waiting.len() < limit => {
                waiting.push_back(number);
                matches!(overlap, Overlap::Forward(_))
            }
            (Some(_), _) => return self.end.send(Message::Answer(Of::Prompt(number), Said::Failed)),
        };
        self.came += 1;
        self.turns.push(Turn { number, place: self.came, session, cause: None, calls: Vec::new() });
        if starts {
            self.end.tell(Told::Prompt(number));
        }
    }

    /// `session/cancel`: all that came before it.
    pub(super) fn cancelled(&mut self, session: usize, cause: Cause) {
        let Place { running, waiting, .. } = self.place(session);
        let (running, dropped) = (*running, core::mem::take(waiting));
        if running.is_none() && cause == Cause::Session {
            self.end.tell(Told::IdleCancel(session));
        }
        for number in dropped {
            self.drop_waiting(number, cause);
        }
        if let Some(running) = running {
            self.abort(running, session, cause);
        }
    }

    /// `$/cancel_request` of a prompt: that one.
    pub(super) fn prompt_cancelled(&mut self, number: usize) {
        let Some(session) = self.turn(number).map(|turn| turn.session) else { return };
        let place = self.place(session);
        if place.running == Some(number) {
            self.abort(number, session, Cause::Request);
        } else {
            place.waiting.retain(|waiting| *waiting != number);
            self.drop_waiting(number, Cause::Request);
        }
    }

    pub(super) fn answered(&mut self, ask: usize, said: Said) {
        if self.asks.contains_key(&ask) {
            self.end.over(Of::Ask(ask));
            self.resolve(ask, Resolution::Answered(said));
        }
    }

    // ---- time and the end ------------------------------------------------------------------------------------------

    pub(super) fn expire(&mut self, due: Due) {
        match due {
            Due::Read(ask) => {
                if !self.resolve_unsent(ask, Resolution::TimedOut) {
                    self.resolve(ask, Resolution::TimedOut);
                }
            }
            Due::Floor(_, number) => drop(self.settle(number, Ending::Cancelled, true)),
            Due::Drain if self.owes() => {
                self.end.arm_drain();
                for Turn { number, .. } in self.turns.clone() {
                    self.settle(number, Ending::Cancelled, true);
                }
            }
            Due::Drain => self.cut(Reason::Local),
            Due::Stop(_) => {}
        }
    }

    pub(super) fn drain(&mut self, reason: Reason) {
        if self.end.drain(reason) {
            self.resolve_all();
            self.end.arm_drain();
            self.end.settle(self.owes());
        }
    }

    pub(super) fn cut(&mut self, reason: Reason) {
        if self.end.is_closed() {
            return;
        }
        let open = self.end.is_open();
        self.end.cut(reason);
        if open {
            self.resolve_all();
        }
        for turn in core::mem::take(&mut self.turns) {
            self.close_calls(turn);
        }
        self.end.dues.clear();
        self.end.tell_closed();
    }

    fn resolve_all(&mut self) {
        for ask in self.asks.keys().copied().collect::<Vec<_>>() {
            self.end.unsend(&Message::Ask(ask, self.asks[&ask].kind));
            self.resolve(ask, Resolution::Closed);
        }
        for session in 1..=self.places.len() {
            self.cancelled(session, Cause::Closing);
        }
    }

    // ---- inside ----------------------------------------------------------------------------------------------------

    fn resolve(&mut self, ask: usize, how: Resolution) {
        self.asks.remove(&ask);
        self.end.dues.remove(&Due::Read(ask));
        self.end.tell(Told::Resolved(ask, how));
    }

    /// One that was not written never is. Whether it was one.
    fn resolve_unsent(&mut self, ask: usize, how: Resolution) -> bool {
        let unsent = self.asks.get(&ask).is_some_and(|asked| self.end.unsend(&Message::Ask(ask, asked.kind)));
        if unsent {
            self.resolve(ask, how);
        }
        unsent
    }

    /// Nobody waits for what a cancelled turn had asked.
    fn resolve_of(&mut self, turn: usize, cause: Cause) {
        let of: Vec<_> = self.asks.iter().filter(|(_, asked)| asked.turn == turn).map(|(ask, _)| *ask).collect();
        for ask in of {
            if !self.resolve_unsent(ask, Resolution::Cancelled(cause)) {
                self.resolve(ask, Resolution::Cancelled(cause));
            }
        }
    }

    fn drop_waiting(&mut self, number: usize, cause: Cause) {
        if matches!(self.overlap, Overlap::Forward(_)) {
            self.end.tell(Told::DropQueued(number));
        }
        self.resolve_of(number, cause);
        if let Some(turn) = self.retire(number) {
            self.close_calls(turn);
            self.end.send(Message::Answer(Of::Prompt(number), Said::Cancelled));
        }
    }

    fn abort(&mut self, number: usize, session: usize, cause: Cause) {
        let again = core::mem::replace(&mut self.place(session).cancelled, true);
        let Some(turn) = self.turn(number) else { return };
        turn.cause.get_or_insert(cause);
        let came = turn.place;
        self.end.tell(Told::Abort(number, cause, again));
        self.resolve_of(number, cause);
        if !again && self.end.is_open() {
            self.end.arm(Due::Floor(came, number), FLOOR);
        }
    }

    fn retire(&mut self, number: usize) -> Option<Turn> {
        let place = self.turns.iter().position(|turn| turn.number == number)?;
        // What it asked outlives a turn that comes to its own end.
        self.asks.values_mut().filter(|asked| asked.turn == number).for_each(|asked| asked.turn = 0);
        let turn = self.turns.remove(place);
        self.end.dues.remove(&Due::Floor(turn.place, number));
        Some(turn)
    }

    fn close_calls(&mut self, turn: Turn) {
        if !turn.calls.is_empty() {
            for call in &turn.calls {
                self.end.send(Message::Update(Update::LastWord(*call)));
            }
            self.end.tell(Told::CallsClosed(turn.number, turn.calls));
        }
    }

    fn settle(&mut self, number: usize, ending: Ending, forced: bool) -> &'static str {
        let Some(turn) = self.retire(number) else { return "TooLate" };
        let place = self.place(turn.session);
        let (mut cancelled, mut next) = (false, None);
        if place.running == Some(number) {
            cancelled = place.cancelled;
            next = place.waiting.pop_front();
            (place.running, place.cancelled) = (next, false);
        } else {
            place.waiting.retain(|waiting| *waiting != number);
        }
        if cancelled || ending != Ending::Ended {
            self.close_calls(turn);
        }
        let (said, delivery) = match ending {
            Ending::Cancelled if cancelled => (Said::Cancelled, "Queued"),
            _ if cancelled => (Said::Cancelled, "AsCancelled"),
            Ending::Cancelled => (Said::Withdrawn, "AsWithdrawn"),
            Ending::Ended => (Said::Ended, "Queued"),
            Ending::Failed => (Said::Failed, "Queued"),
        };
        self.end.send(Message::Answer(Of::Prompt(number), said));
        if forced {
            self.end.tell(Told::Forced(number));
        }
        if let Some(next) = next.filter(|_| !matches!(self.overlap, Overlap::Forward(_))) {
            self.end.tell(Told::Prompt(next));
        }
        self.end.settle(self.owes());
        delivery
    }
}
