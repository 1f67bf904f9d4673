//! What a client does, on paper.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use acp_core::Overlap;

use super::{
    end::{Due, End},
    words::{CancelKind, Choice, Kind, Message, Of, Reason, Said, Settled, Told, Update},
};

/// How long a Stop waits for the turn, in milliseconds.
const STOP: u64 = 10_000;

/// A request of the agent's that is not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owed {
    session: usize,
    /// Who decides. `None`: a permission that nobody can make void any more, since its answer is being saved.
    kind: Option<Kind>,
    signalled: bool,
}

/// One session.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    running: Option<usize>,
    stopped: bool,
    steered: bool,
    waiting: VecDeque<usize>,
}

/// The client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// What it has in common with the agent.
    pub(super) end: End,
    overlap: Overlap,
    places: Vec<Place>,
    /// Prompts that are not over, with their sessions.
    pub(super) live: BTreeMap<usize, usize>,
    /// Prompts that were sent and are not answered, in that order.
    unanswered: Vec<usize>,
    /// Prompts that are to be cancelled.
    wanted: BTreeSet<usize>,
    /// Tool calls of live prompts without a result, in the order in which they came.
    calls: Vec<(usize, usize)>,
    /// Prompts for whose sake others are cut short.
    steering: BTreeSet<usize>,
    /// What the agent waits for.
    pub(super) owed: BTreeMap<usize, Owed>,
}

impl Client {
    pub(super) fn new(overlap: Overlap, sessions: usize) -> Self {
        Self {
            end: End::default(),
            overlap,
            places: vec![Place::default(); sessions],
            live: BTreeMap::new(),
            unanswered: Vec::new(),
            wanted: BTreeSet::new(),
            calls: Vec::new(),
            steering: BTreeSet::new(),
            owed: BTreeMap::new(),
        }
    }

    fn place(&mut self, session: usize) -> &mut Place {
        &mut self.places[session - 1]
    }

    /// How many prompts are sent and not answered.
    pub(super) fn unanswered(&self) -> usize {
        self.unanswered.len()
    }

    /// Whether the end still waits for the host.
    pub(super) fn owes(&self) -> bool {
        !self.owed.is_empty()
    }

    // ---- its host --------------------------------------------------------------------------------------------------

    /// A prompt of this number. `steers`: in place of what runs.
    pub(super) fn prompt(&mut self, number: usize, session: usize, steers: bool) -> &'static str {
        if !self.end.is_open() {
            return "Closed";
        }
        let overlap = self.overlap;
        let Place { running, waiting, .. } = self.place(session);
        let before = *running;
        match (before, overlap) {
            (None, _) => *running = Some(number),
            (Some(_), Overlap::Refuse) if !steers => return "TurnInProgress",
            (Some(_), Overlap::Refuse) if !waiting.is_empty() => return "Full",
            (Some(_), Overlap::Queue(limit) | Overlap::Forward(limit)) if waiting.len() >= limit => return "Full",
            (Some(_), _) => waiting.push_back(number),
        }
        self.live.insert(number, session);
        if before.is_none() || matches!(overlap, Overlap::Forward(_)) {
            self.send(number);
        }
        if let Some(running) = before.filter(|_| steers) {
            self.steering.insert(number);
            self.cancel(running, CancelKind::Steer);
        }
        "Done"
    }

    fn send(&mut self, number: usize) {
        self.unanswered.push(number);
        self.end.send(Message::Prompt(number));
    }

    pub(super) fn cancel(&mut self, number: usize, kind: CancelKind) -> &'static str {
        let Some(session) = self.live.get(&number).copied() else { return "Moot" };
        if self.place(session).running != Some(number) {
            if !self.unanswered.contains(&number) {
                // It was never sent.
                self.place(session).waiting.retain(|waiting| *waiting != number);
                self.forget(number);
                self.end.tell(Told::TurnEnded(number, Settled::Cancelled));
                return "Requested";
            }
            // It waits at the agent, and the session's cancel would hit another one.
            if !self.wanted.insert(number) {
                return "AlreadyRequested";
            }
            if self.end.unsend(&Message::Prompt(number)) {
                self.settle(number, Settled::Cancelled);
            } else {
                self.end.send(Message::Withdraw(Of::Prompt(number)));
            }
            return "Requested";
        }
        if kind == CancelKind::Stop && !self.end.dues.contains_key(&Due::Stop(number)) {
            self.end.arm(Due::Stop(number), STOP);
        }
        self.wanted.insert(number);
        let place = self.place(session);
        let shared = match kind {
            CancelKind::Stop => core::mem::replace(&mut place.stopped, true),
            // It rides on whatever there is.
            CancelKind::Steer => core::mem::replace(&mut place.steered, true) || place.stopped,
        };
        if shared {
            return "AlreadyRequested";
        }
        self.end.send(Message::Cancel(session));
        let here = |owed: &Owed| owed.session == session;
        for ask in self.those(|owed| here(owed) && owed.kind == Some(Kind::Permission)) {
            self.withdraw(ask);
        }
        for ask in self.those(here) {
            self.signal(ask);
        }
        "Requested"
    }

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
        self.answer(ask, if well { Said::Done } else { Said::Failed });
        "Queued"
    }

    // ---- the agent -------------------------------------------------------------------------------------------------

    /// An update of a turn in this session.
    pub(super) fn update(&mut self, update: Update, session: usize) {
        let of = self.place(session).running;
        match (update, of) {
            (Update::Open(call), Some(of)) if !self.calls.contains(&(of, call)) => self.calls.push((of, call)),
            (Update::Finished(call) | Update::LastWord(call), Some(of)) => {
                self.calls.retain(|open| *open != (of, call))
            }
            _ => {}
        }
        self.end.tell(Told::Update(update, of));
    }

    /// A request in this session.
    pub(super) fn asked(&mut self, ask: usize, kind: Kind, session: usize) {
        let Place { running, stopped, steered, .. } = *self.place(session);
        let cancelling = stopped || steered;
        match kind {
            Kind::Permission if cancelling => {
                self.end.send(Message::Answer(Of::Ask(ask), Said::Dismissed));
                return;
            }
            Kind::Permission => self.end.tell(Told::Permission(ask, running)),
            Kind::Read => self.end.tell(Told::Request(ask)),
        }
        self.owed.insert(ask, Owed { session, kind: Some(kind), signalled: false });
    }

    /// The agent takes a request back.
    pub(super) fn taken_back(&mut self, ask: usize) {
        match self.owed.get(&ask) {
            Some(Owed { kind: Some(Kind::Permission), .. }) => self.revoke(ask),
            Some(_) => self.signal(ask),
            None => {}
        }
    }

    /// The answer to a prompt.
    pub(super) fn answered(&mut self, number: usize, said: Said) {
        if !self.unanswered.contains(&number) {
            return;
        }
        self.end.over(Of::Prompt(number));
        let wanted = self.wanted.contains(&number);
        self.settle(
            number,
            match said {
                Said::Ended if wanted => Settled::EndedAlthoughCancelled,
                Said::Ended => Settled::Ended,
                Said::Cancelled | Said::Withdrawn if wanted => Settled::Cancelled,
                Said::Cancelled | Said::Withdrawn => Settled::CancelledUnasked,
                _ => Settled::Failed,
            },
        );
    }

    // ---- time and the end ------------------------------------------------------------------------------------------

    pub(super) fn expire(&mut self, due: Due) {
        match due {
            Due::Stop(_) => self.cut(Reason::StopUnconfirmed),
            Due::Drain if self.owes() => {
                self.end.arm_drain();
                for (ask, owed) in core::mem::take(&mut self.owed) {
                    let said = if owed.kind == Some(Kind::Read) { Said::Withdrawn } else { Said::Dismissed };
                    self.answer(ask, said);
                }
                self.end.settle(false);
            }
            Due::Drain => self.cut(Reason::Local),
            Due::Read(_) | Due::Floor(..) => {}
        }
    }

    pub(super) fn drain(&mut self, reason: Reason) {
        if self.end.drain(reason) {
            self.resolve_all();
            for ask in self.those(|owed| owed.kind == Some(Kind::Read)) {
                self.signal(ask);
            }
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
        self.owed.clear();
        self.end.dues.clear();
        self.end.tell_closed();
    }

    fn resolve_all(&mut self) {
        for number in self.unanswered.clone() {
            self.end.unsend(&Message::Prompt(number));
            self.settle(number, Settled::Closed);
        }
        let sessions = 1..=self.places.len();
        for session in sessions {
            for ask in self.those(|owed| owed.session == session && owed.kind != Some(Kind::Read)) {
                match self.owed.get(&ask) {
                    Some(Owed { kind: None, .. }) => self.signal(ask),
                    _ => self.revoke(ask),
                }
            }
        }
    }

    // ---- inside ----------------------------------------------------------------------------------------------------

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

    fn signal(&mut self, ask: usize) {
        if let Some(owed) = self.owed.get_mut(&ask).filter(|owed| !owed.signalled) {
            owed.signalled = true;
            self.end.tell(Told::CancelRequested(ask));
        }
    }

    fn forget(&mut self, number: usize) {
        self.live.remove(&number);
        self.unanswered.retain(|sent| *sent != number);
        self.wanted.remove(&number);
        self.end.dues.remove(&Due::Stop(number));
    }

    /// A prompt that was sent is over.
    fn settle(&mut self, number: usize, how: Settled) {
        let Some(session) = self.live.get(&number).copied() else { return };
        self.forget(number);
        let (open, others) = core::mem::take(&mut self.calls).into_iter().partition(|(of, _)| *of == number);
        self.calls = others;
        let open: Vec<_> = open.into_iter().map(|(_, call)| call).collect();
        if !open.is_empty() {
            self.end.tell(Told::CallsLeftOpen(number, open));
        }
        self.end.tell(Told::TurnEnded(number, how));
        let forwards = matches!(self.overlap, Overlap::Forward(_));
        let place = self.place(session);
        if place.running != Some(number) {
            place.waiting.retain(|waiting| *waiting != number);
            return;
        }
        let cancelled = place.stopped || place.steered;
        let waiting = core::mem::take(&mut place.waiting);
        *place = Place { waiting, ..Place::default() };
        if cancelled {
            // A cancel that was not written in time never is.
            self.end.unsend(&Message::Cancel(session));
        }
        if cancelled && how == Settled::Failed && !forwards {
            for number in core::mem::take(&mut self.place(session).waiting) {
                self.forget(number);
                self.end.tell(Told::TurnEnded(number, Settled::NotSent));
            }
        }
        let place = self.place(session);
        let Some(next) = place.waiting.pop_front() else { return };
        place.running = Some(next);
        if forwards {
            return;
        }
        if !self.end.is_open() {
            return self.settle(next, Settled::Closed);
        }
        self.send(next);
        if self.place(session).waiting.front().copied().is_some_and(|next| self.steering.contains(&next)) {
            self.cancel(next, CancelKind::Steer);
        }
    }
}
