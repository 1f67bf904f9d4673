//! What a client does, on paper.

pub(super) mod errands;
mod over;
mod peer;
mod work;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use acp_core::Overlap;

use self::errands::Errand;
use super::{
    end::{Accord, Due, End},
    places::{Places, Seat, Stage},
    words::{CancelKind, Choice, Kind, Leg, Message, Of, Said, Settled, Told, Update},
    work::Work,
};

/// How long a Stop waits for the turn, in milliseconds.
const STOP: u64 = 10_000;

/// A request of the agent's that is not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owed {
    seat: Option<Seat>,
    /// Who decides. `None`: a permission that nobody can make void any more, since its answer is being saved.
    kind: Option<Kind>,
    signalled: bool,
}

/// Where a Steer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Steer {
    #[default]
    Unasked,
    /// It has a frame of its own.
    Own,
    /// It rides on that of the Stop.
    Joined,
}

/// One session.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    stage: Stage,
    running: Option<usize>,
    stopped: bool,
    steered: Steer,
    waiting: VecDeque<usize>,
    work: Work,
    /// Whether the history that it tells is told.
    replayed: bool,
}

impl Place {
    fn is_cancelled(&self) -> bool {
        self.stopped || self.steered != Steer::Unasked
    }

    /// Another prompt runs, or none.
    fn run(&mut self, next: Option<usize>) {
        (self.running, self.stopped, self.steered) = (next, false, Steer::Unasked);
    }
}

/// The client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// What it has in common with the agent.
    pub(super) end: End,
    /// Whether it speaks version 2.
    two: bool,
    overlap: Overlap,
    pub(super) places: Places<Place>,
    /// Prompts that are not over, with their sessions.
    pub(super) live: BTreeMap<usize, Seat>,
    /// Errands that are not over.
    pub(super) errands: BTreeMap<usize, Errand>,
    /// Requests that were sent and are not resolved, in that order.
    open: Vec<Of>,
    /// Prompts that are to be cancelled.
    wanted: BTreeSet<usize>,
    /// Those of them for which `$/cancel_request` was sent.
    asked: BTreeSet<usize>,
    /// Version 2: prompts that have their place, and those of them that are cancelled with the one that runs.
    inserted: BTreeSet<usize>,
    riding: BTreeSet<usize>,
    /// Tool calls of live prompts without a result, in the order in which they came.
    calls: Vec<(usize, usize)>,
    /// Prompts for whose sake others are cut short.
    steering: BTreeSet<usize>,
    /// What the agent waits for.
    pub(super) owed: BTreeMap<usize, Owed>,
    /// Updates of sessions that are not known yet.
    early: BTreeMap<usize, Vec<Update>>,
}

impl Client {
    pub(super) fn new(version: u16, overlap: Overlap) -> Self {
        Self {
            end: End::default(),
            two: version == 2,
            overlap,
            places: Places::default(),
            live: BTreeMap::new(),
            errands: BTreeMap::new(),
            open: Vec::new(),
            wanted: BTreeSet::new(),
            asked: BTreeSet::new(),
            inserted: BTreeSet::new(),
            riding: BTreeSet::new(),
            calls: Vec::new(),
            steering: BTreeSet::new(),
            owed: BTreeMap::new(),
            early: BTreeMap::new(),
        }
    }

    /// How many requests are sent and not resolved.
    pub(super) fn unresolved(&self) -> usize {
        self.open.len()
    }

    /// Whether the end still waits for the host.
    pub(super) fn owes(&self) -> bool {
        !self.owed.is_empty()
    }

    /// Why nothing can be asked.
    fn closed(&self) -> Option<&'static str> {
        match (self.end.is_open(), self.end.accord) {
            (false, _) => Some("Closed"),
            (true, Accord::Agreed) => None,
            (true, _) => Some("NotInitialized"),
        }
    }

    fn is_running(&self, number: usize, seat: Seat) -> bool {
        self.places.get(seat).is_some_and(|place| place.running == Some(number))
    }

    fn is_open(&self, of: Of) -> bool {
        self.open.contains(&of)
    }

    // ---- prompts ---------------------------------------------------------------------------------------------------

    /// A prompt of this number. `steers`: in place of what runs.
    pub(super) fn prompt(&mut self, number: usize, session: usize, steers: bool) -> &'static str {
        if let Some(why) = self.closed() {
            return why;
        }
        let overlap = self.overlap;
        let Some(seat) = self.places.find(session) else { return "UnknownSession" };
        let Some(Place { running, waiting, stage, .. }) = self.places.get_mut(seat) else { return "UnknownSession" };
        if *stage != Stage::Open {
            return "SessionNotOpen";
        }
        let before = *running;
        match (before, overlap) {
            (None, _) => *running = Some(number),
            (Some(_), Overlap::Refuse) if !steers => return "TurnInProgress",
            (Some(_), Overlap::Refuse) if !waiting.is_empty() => return "Full",
            (Some(_), Overlap::Queue(limit) | Overlap::Forward(limit)) if waiting.len() >= limit => return "Full",
            (Some(_), _) => waiting.push_back(number),
        }
        self.live.insert(number, seat);
        if let Some(running) = before.filter(|_| steers) {
            self.steering.insert(number);
            // The cancel goes first: it is not about what is sent for its sake.
            self.cancel(running, CancelKind::Steer);
        }
        if before.is_none() || matches!(overlap, Overlap::Forward(_)) {
            self.send(number);
        }
        "Done"
    }

    fn send(&mut self, number: usize) {
        self.end.used = true;
        if let Some(place) = self.live.get(&number).copied().and_then(|seat| self.places.get_mut(seat)) {
            // A cancel that is under way is not about it.
            let spared = place.is_cancelled();
            place.work.sent(number, spared);
        }
        self.open.push(Of::Prompt(number));
        self.end.send(Message::Prompt(number));
    }

    pub(super) fn cancel(&mut self, number: usize, kind: CancelKind) -> &'static str {
        if number == 0 {
            return "UnknownKey";
        }
        let Some(seat) = self.live.get(&number).copied() else { return "Moot" };
        let running = self.places.get(seat).and_then(|place| place.running);
        let number = match running {
            Some(running) if running == number => number,
            // Its work is one with that of the turn that runs.
            Some(running) if self.inserted.contains(&number) => {
                self.wanted.insert(number);
                self.riding.insert(number);
                running
            }
            _ => return self.cancel_waiting(number, seat),
        };
        let Some(session) = self.places.name(seat) else { return "Moot" };
        if kind == CancelKind::Stop && !self.end.dues.contains_key(&Due::Stop(number)) {
            self.end.arm(Due::Stop(number), STOP);
        }
        self.wanted.insert(number);
        let Some(place) = self.places.get_mut(seat) else { return "Moot" };
        let shared = match kind {
            CancelKind::Stop => core::mem::replace(&mut place.stopped, true),
            CancelKind::Steer if place.steered != Steer::Unasked => true,
            // It rides on whatever there is.
            CancelKind::Steer if place.stopped => {
                place.steered = Steer::Joined;
                true
            }
            CancelKind::Steer => {
                place.steered = Steer::Own;
                false
            }
        };
        if shared {
            return "AlreadyRequested";
        }
        // It is about all that was sent so far.
        place.work.spare_none();
        self.end.send_cancel(session, number, kind);
        let here = |owed: &Owed| owed.seat == Some(seat);
        for ask in self.those(|owed| here(owed) && owed.kind == Some(Kind::Permission)) {
            self.withdraw(ask);
        }
        for ask in self.those(here) {
            self.signal(ask);
        }
        "Requested"
    }

    fn cancel_waiting(&mut self, number: usize, seat: Seat) -> &'static str {
        if !self.is_open(Of::Prompt(number)) {
            // It was never sent.
            if let Some(place) = self.places.get_mut(seat) {
                place.waiting.retain(|waiting| *waiting != number);
            }
            self.forget_prompt(number);
            self.end.tell(Told::TurnEnded(number, Settled::Cancelled));
            return "Requested";
        }
        // It waits at the agent, and the session's cancel would hit another one.
        self.wanted.insert(number);
        if !self.asked.insert(number) {
            return "AlreadyRequested";
        }
        if self.end.unsend(&Message::Prompt(number)) {
            self.settle(number, Settled::Cancelled);
        } else {
            self.end.send(Message::Withdraw(Of::Prompt(number)));
        }
        "Requested"
    }

    fn forget_prompt(&mut self, number: usize) {
        self.live.remove(&number);
        self.open.retain(|open| *open != Of::Prompt(number));
        self.wanted.remove(&number);
        self.asked.remove(&number);
        self.inserted.remove(&number);
        self.riding.remove(&number);
        self.end.dues.remove(&Due::Stop(number));
    }

    /// A prompt that was sent is over.
    fn settle(&mut self, number: usize, how: Settled) {
        let Some(seat) = self.live.get(&number).copied() else { return };
        self.forget_prompt(number);
        // A cancel that was not written in time never is.
        let uncancelled = self.places.get(seat).is_some_and(Place::is_cancelled) && self.end.unsend_cancels(number);
        if let Some(place) = self.places.get_mut(seat) {
            if uncancelled {
                place.work.spare_none();
            }
            place.work.end(number, false);
        }
        let (open, others) = core::mem::take(&mut self.calls).into_iter().partition(|(of, _)| *of == number);
        self.calls = others;
        let open: Vec<_> = open.into_iter().map(|(_, call)| call).collect();
        if !open.is_empty() {
            self.end.tell(Told::CallsLeftOpen(number, open));
        }
        self.end.tell(Told::TurnEnded(number, how));
        let Some(place) = self.places.get_mut(seat) else { return };
        let forwards = matches!(self.overlap, Overlap::Forward(_));
        if place.running != Some(number) {
            place.waiting.retain(|waiting| *waiting != number);
            return;
        }
        let (cancelled, failed) = (place.is_cancelled(), matches!(how, Settled::Failed | Settled::Undelivered));
        let mut waiting = core::mem::take(&mut place.waiting);
        if cancelled && failed && !forwards {
            place.run(None);
            for number in waiting {
                self.forget_prompt(number);
                self.end.tell(Told::TurnEnded(number, Settled::NotSent));
            }
            return;
        }
        let next = waiting.pop_front();
        place.run(next);
        place.waiting = waiting;
        let Some(next) = next.filter(|_| !forwards) else { return };
        if !self.end.is_open() {
            return self.settle(next, Settled::Closed);
        }
        self.send(next);
        let follower = self.places.get(seat).and_then(|place| place.waiting.front().copied());
        if follower.is_some_and(|next| self.steering.contains(&next)) {
            self.cancel(next, CancelKind::Steer);
        }
    }

    // ---- what it owes ----------------------------------------------------------------------------------------------

    pub(super) fn decide(&mut self, ask: usize, choice: Choice) -> &'static str {
        if self.owed.remove(&ask).is_none() {
            return "TooLate";
        }
        let said = if choice == Choice::Allow { Said::Allowed } else { Said::Dismissed };
        self.answer(ask, said);
        if choice == Choice::Foreign { "AsCancelled" } else { "Queued" }
    }

    pub(super) fn commit(&mut self, ask: usize) -> &'static str {
        let Some(owed) = self.owed.get_mut(&ask) else { return "No" };
        owed.kind = None;
        "Yes"
    }

    pub(super) fn serve(&mut self, ask: usize, well: bool) -> &'static str {
        if self.owed.remove(&ask).is_none() {
            return "TooLate";
        }
        self.answer(ask, if well { Said::File } else { Said::Failed(-32603) });
        "Queued"
    }

    fn those(&self, which: impl Fn(&Owed) -> bool) -> Vec<usize> {
        self.owed.iter().filter(|(_, owed)| which(owed)).map(|(ask, _)| *ask).collect()
    }

    fn answer(&mut self, ask: usize, said: Said) {
        self.end.send(Message::Answer(Of::Ask(ask), said));
        self.end.settle(self.owes());
    }

    /// A permission is void, and its host is told.
    fn revoke(&mut self, ask: usize) {
        self.owed.remove(&ask);
        self.end.tell(Told::Revoked(ask));
        self.answer(ask, Said::Dismissed);
    }

    /// The same by its own host's doing: what it was not told of yet it need not be told.
    fn withdraw(&mut self, ask: usize) {
        let before = self.end.told.len();
        self.end.told.retain(|told| !matches!(told, Told::Permission(of, _) if *of == ask));
        if self.end.told.len() == before {
            return self.revoke(ask);
        }
        self.owed.remove(&ask);
        self.answer(ask, Said::Dismissed);
    }

    /// The end of a session, or of the connection, makes its permissions void; those that are being saved are signalled.
    fn void(&mut self, seat: Seat) {
        for ask in self.those(|owed| owed.seat == Some(seat) && owed.kind != Some(Kind::Read)) {
            match self.owed.get(&ask) {
                Some(Owed { kind: None, .. }) => self.signal(ask),
                _ => self.revoke(ask),
            }
        }
    }

    fn signal(&mut self, ask: usize) {
        if let Some(owed) = self.owed.get_mut(&ask).filter(|owed| !owed.signalled) {
            owed.signalled = true;
            self.end.tell(Told::CancelRequested(Of::Ask(ask)));
        }
    }
}

/// Which request of an errand an answer is to.
pub(super) const fn leg(of: Of) -> Option<(usize, Leg)> {
    match of {
        Of::Errand(number, leg) => Some((number, leg)),
        Of::Prompt(_) | Of::Ask(_) | Of::Stray => None,
    }
}
