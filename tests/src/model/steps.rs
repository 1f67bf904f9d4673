//! Which steps are possible, how likely each is to be tried, and how a run is brought to its end.

use acp_core::CancelKind;

use super::{
    Model, Setting,
    words::{Break, Choice, Ending, Kind, Pause, Report, Side, Step},
};

const SIDES: [Side; 2] = [Side::Client, Side::Agent];

impl Model {
    /// The steps that are possible, each as often as it is likely. What comes too late is among them, but seldom.
    #[must_use]
    pub fn choices(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut put = |weight: usize, step: Step| steps.extend(core::iter::repeat_n(step, weight));
        for side in SIDES {
            let end = self.end(side);
            if !end.told.is_empty() {
                put(3, Step::Take(side, u8::MAX));
                put(3, Step::Take(side, 1));
            }
            if !end.outbox.is_empty() {
                put(4, Step::HandOut(side, u8::MAX));
                put(3, Step::HandOut(side, 1));
            }
            if self.reads(side) && !self.pipe(side).messages.is_empty() {
                put(4, Step::Deliver(side, u8::MAX, 0, 0));
                put(4, Step::Deliver(side, 1, 0, 64));
                put(1, Step::Deliver(side, 1, 128, 1));
                put(1, Step::Deliver(side, 0, 1, 0));
                put(1, Step::Deliver(side, 0, 255, 7));
            }
            if let Some((at, _)) = end.next() {
                put(if at <= self.now { 4 } else { 1 }, Step::Fire(side));
                put(1, Step::Wait(Pause::Until(side)));
            }
            if self.steps >= self.setting.calm {
                for how in [Break::Close, Break::Eof, Break::Lost] {
                    put(usize::from(self.may_break(side, how)), Step::Break(side, how));
                }
            }
        }
        put(1, Step::Wait(Pause::For(700)));
        let client_open = self.client.end.is_open();
        for session in 1..=self.setting.sessions {
            put(if client_open { 3 } else { 1 }, Step::Prompt(session));
            put(1, Step::Steer(session));
        }
        for prompt in 1..=self.prompts.len() {
            let live = self.client.live.contains_key(&prompt);
            if live || prompt + 2 > self.prompts.len() {
                put(if live { 2 } else { 1 }, Step::Cancel(prompt, CancelKind::Stop));
                put(1, Step::Cancel(prompt, CancelKind::Steer));
            }
        }
        for ask in &self.dialogs {
            put(2, Step::Decide(*ask, Choice::Allow));
            put(1, Step::Decide(*ask, Choice::Dismiss));
            put(1, Step::Decide(*ask, Choice::Foreign));
            put(1, Step::Commit(*ask));
        }
        for ask in &self.requests {
            put(2, Step::Serve(*ask, true));
            put(1, Step::Serve(*ask, false));
        }
        for prompt in &self.known {
            let live = self.tickets.contains(prompt);
            if live || prompt + 2 > self.prompts.len() {
                put(if live { 2 } else { 1 }, Step::Report(*prompt, Report::Text));
                put(if live { 2 } else { 1 }, Step::Ask(*prompt, Kind::Permission));
                put(1, Step::Ask(*prompt, Kind::Read));
                put(1, Step::Report(*prompt, Report::Open));
            }
            if self.calls.contains_key(prompt) {
                put(1, Step::Report(*prompt, Report::Finish));
            }
        }
        for ask in (1..=self.asks.len()).rev().take(3) {
            put(1, Step::Withdraw(ask));
        }
        for prompt in &self.tickets {
            put(2, Step::End(*prompt, Ending::Ended));
            put(1, Step::End(*prompt, Ending::Failed));
            put(1, Step::End(*prompt, Ending::Cancelled));
        }
        steps
    }

    /// Whether a step is possible, which it may no longer be when others are left out.
    #[must_use]
    pub fn allows(&self, step: Step) -> bool {
        let session = |session: usize| (1..=self.setting.sessions).contains(&session);
        match step {
            Step::Prompt(of) | Step::Steer(of) => session(of),
            Step::Cancel(prompt, _) => (1..=self.prompts.len()).contains(&prompt),
            Step::Decide(ask, _) | Step::Commit(ask) => self.dialogs.contains(&ask),
            Step::Serve(ask, _) => self.requests.contains(&ask),
            Step::Report(prompt, Report::Finish) => self.known.contains(&prompt) && self.calls.contains_key(&prompt),
            Step::Report(prompt, _) | Step::Ask(prompt, _) => self.known.contains(&prompt),
            Step::Withdraw(ask) => (1..=self.asks.len()).contains(&ask),
            Step::End(prompt, _) => self.tickets.contains(&prompt),
            Step::Deliver(side, ..) => self.reads(side) && !self.pipe(side).messages.is_empty(),
            Step::Wait(Pause::Until(side)) => self.next(side).is_some(),
            Step::Break(side, how) => self.may_break(side, how),
            Step::Take(..) | Step::HandOut(..) | Step::Wait(_) | Step::Fire(_) => true,
        }
    }

    /// A message that is cut off after its id settles what it is about, and how much that takes is not in the books.
    fn may_break(&self, side: Side, how: Break) -> bool {
        how != Break::Eof || self.pipe(side).part <= 1
    }

    /// The next step towards the end of everything: hosts that pay what they owe, pipes that are read, and then a
    /// connection that is closed. `None`: it is there.
    #[must_use]
    pub fn winding_up(&self) -> Option<Step> {
        for side in SIDES {
            let end = self.end(side);
            if !end.told.is_empty() {
                return Some(Step::Take(side, u8::MAX));
            }
            if !end.outbox.is_empty() {
                return Some(Step::HandOut(side, u8::MAX));
            }
            if self.reads(side) && !self.pipe(side).messages.is_empty() {
                return Some(Step::Deliver(side, u8::MAX, 0, 0));
            }
        }
        let owed = self.dialogs.first().map(|ask| Step::Decide(*ask, Choice::Allow));
        let owed = owed.or_else(|| self.requests.first().map(|ask| Step::Serve(*ask, true)));
        let owed = owed.or_else(|| self.tickets.first().map(|prompt| Step::End(*prompt, Ending::Ended)));
        owed.or_else(|| {
            // Nobody owes anything: the client's host closes, and each end that is gone ends the other's stream.
            let (client, agent) = (&self.client.end, &self.agent.end);
            match (client.is_closed(), agent.is_closed()) {
                (true, true) => None,
                (true, false) if agent.is_open() => Some(Step::Break(Side::Agent, Break::Eof)),
                (false, true) if client.is_open() => Some(Step::Break(Side::Client, Break::Eof)),
                (false, false) if client.is_open() => Some(Step::Break(Side::Client, Break::Close)),
                (false, _) if client.next().is_some_and(|(at, _)| at <= self.now) => Some(Step::Fire(Side::Client)),
                (false, _) => Some(Step::Wait(Pause::Until(Side::Client))),
                (true, false) if agent.next().is_some_and(|(at, _)| at <= self.now) => Some(Step::Fire(Side::Agent)),
                (true, false) => Some(Step::Wait(Pause::Until(Side::Agent))),
            }
        })
    }

    /// Whether nothing of the hosts, the pipes or the ends is left, while the connection stands at both.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        SIDES.iter().all(|side| {
            let end = self.end(*side);
            let quiet = end.is_open() && end.told.is_empty() && end.outbox.is_empty();
            quiet && self.pipe(*side).messages.is_empty() && !self.owes(*side)
        }) && self.dialogs.is_empty()
            && self.requests.is_empty()
            && self.tickets.is_empty()
    }
}

/// All settings of the model.
#[must_use]
pub fn settings() -> Vec<Setting> {
    use acp_core::Overlap::{Forward, Queue, Refuse};
    let mut settings = Vec::new();
    for (client, agent) in [
        (Refuse, Queue(128)),
        (Queue(2), Queue(128)),
        (Forward(3), Queue(2)),
        (Forward(2), Forward(2)),
        (Forward(2), Refuse),
        (Refuse, Forward(1)),
    ] {
        for (sessions, actions, calm) in
            [(1, 1024, usize::MAX), (1, 3, 25), (1, 1024, 12), (2, 1024, usize::MAX), (2, 4, 40)]
        {
            settings.push(Setting { sessions, client, agent, actions, calm });
        }
    }
    settings
}
