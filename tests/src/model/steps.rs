//! Which steps are possible, how likely each is to be tried, and how a run is brought to its end.

use acp_core::CancelKind;

use super::{
    Model, Setting,
    end::Accord,
    words::{Break, Choice, Ending, Kind, Pause, Plan, Report, Side, Step, Want},
};

const SIDES: [Side; 2] = [Side::Client, Side::Agent];

/// As many sessions are made, and as many errands are under way, at most.
const SESSIONS: usize = 4;
const ERRANDS: usize = 6;

/// Steps, each as often as it is likely.
#[derive(Default)]
struct Steps(Vec<Step>);

impl Steps {
    fn put(&mut self, weight: usize, step: Step) {
        self.0.extend(core::iter::repeat_n(step, weight));
    }
}

impl Model {
    /// The steps that are possible, each as often as it is likely. What comes too late is among them, but seldom.
    #[must_use]
    pub fn choices(&self) -> Vec<Step> {
        let mut steps = Steps::default();
        self.wire_choices(&mut steps);
        self.client_choices(&mut steps);
        self.agent_choices(&mut steps);
        steps.0
    }

    fn wire_choices(&self, steps: &mut Steps) {
        for side in SIDES {
            let end = self.end(side);
            if !end.told.is_empty() {
                steps.put(3, Step::Take(side, u8::MAX));
                steps.put(3, Step::Take(side, 1));
            }
            if !end.outbox.is_empty() {
                steps.put(4, Step::HandOut(side, u8::MAX));
                steps.put(3, Step::HandOut(side, 1));
            }
            let pipe = self.pipe(side);
            if self.reads(side) && !pipe.frames.is_empty() {
                steps.put(4, Step::Deliver(side, u8::MAX, 0, 0));
                steps.put(4, Step::Deliver(side, 1, 0, 64));
                steps.put(1, Step::Deliver(side, 1, 128, 1));
                steps.put(1, Step::Deliver(side, 0, 1, 0));
                steps.put(1, Step::Deliver(side, 0, 255, 7));
            }
            for back in 0..3 {
                let lose = Step::Lose(side, back);
                steps.put(usize::from(self.allows(lose)), lose);
            }
            if self.setting.loses && self.steps % 4 == 1 && !pipe.broken {
                self.strays(side).into_iter().for_each(|stray| steps.put(1, Step::Stray(side, stray)));
            }
            if let Some((at, _)) = end.next() {
                steps.put(if at <= self.now { 4 } else { 1 }, Step::Fire(side));
                steps.put(1, Step::Wait(Pause::Until(side)));
            }
            if self.steps >= self.setting.calm {
                for how in [Break::Close, Break::Eof, Break::Lost] {
                    steps.put(usize::from(self.may_break(side, how)), Step::Break(side, how));
                }
            }
        }
        steps.put(1, Step::Wait(Pause::For(700)));
    }

    fn client_choices(&self, steps: &mut Steps) {
        let open = self.client.end.is_open();
        for session in (1..=self.sessions).filter(|session| self.client.places.knew(*session)) {
            steps.put(if open { 3 } else { 1 }, Step::Prompt(session));
            steps.put(1, Step::Steer(session));
        }
        for prompt in 1..=self.prompts.len() {
            let live = self.client.live.contains_key(&prompt);
            if live || prompt + 2 > self.prompts.len() {
                steps.put(if live { 2 } else { 1 }, Step::Cancel(prompt, CancelKind::Stop));
                steps.put(1, Step::Cancel(prompt, CancelKind::Steer));
            }
        }
        if self.steps % 8 == 1 {
            steps.put(1, Step::Cancel(0, CancelKind::Stop));
        }
        for ask in &self.dialogs {
            steps.put(3, Step::Decide(*ask, Choice::Allow));
            steps.put(2, Step::Decide(*ask, Choice::Dismiss));
            steps.put(2, Step::Decide(*ask, Choice::Foreign));
            steps.put(3, Step::Commit(*ask));
        }
        for ask in &self.requests {
            steps.put(2, Step::Serve(*ask, true));
            steps.put(1, Step::Serve(*ask, false));
        }
        self.errand_choices(steps);
    }

    /// Sessions come and go less often than prompts.
    fn errand_choices(&self, steps: &mut Steps) {
        let agreed = self.client.end.accord == Accord::Agreed;
        steps.put(if agreed { 0 } else { 4 }, Step::Errand(Want::Initialize, Plan::Plain));
        let mut wants = vec![(1, Want::New), (1, Want::LogIn)];
        for session in 1..=self.sessions {
            let here = self.client.places.find(session).is_some();
            let close = if here { 2 } else { 1 };
            let open = if here { 1 } else { 2 };
            wants.extend([(close, Want::Close(session)), (open, Want::Load(session)), (1, Want::Resume(session))]);
        }
        wants.push((1, Want::Initialize));
        for (place, (weight, want)) in wants.into_iter().enumerate() {
            let plan = [Plan::Plain, Plan::Bounded, Plan::LogIn][(self.steps + place) % 3];
            let step = Step::Errand(want, fitting(want, plan));
            let weight = if want == Want::New && self.client.places.seats().is_empty() { 4 } else { weight };
            let now = self.steps % 5 == place % 5 && (self.allows(step));
            steps.put(if now { weight } else { 0 }, step);
        }
        for errand in (1..=self.errands.len()).rev().take(2) {
            steps.put(1, Step::Retract(errand));
        }
    }

    const fn is_two(&self) -> bool {
        self.setting.version == 2
    }

    fn agent_choices(&self, steps: &mut Steps) {
        for prompt in &self.known {
            let live = self.tickets.contains(prompt);
            if live || prompt + 2 > self.prompts.len() {
                steps.put(if live { 2 } else { 1 }, Step::Report(*prompt, Report::Text));
                steps.put(if live { 5 } else { 1 }, Step::Ask(*prompt, Kind::Permission));
                steps.put(1, Step::Ask(*prompt, Kind::Read));
                steps.put(1, Step::Report(*prompt, Report::Open));
                steps.put(usize::from(self.is_two()), Step::Insert(*prompt));
            }
            if self.calls.contains_key(prompt) {
                steps.put(1, Step::Report(*prompt, Report::Finish));
            }
        }
        for ask in (1..=self.asks.len()).rev().take(3) {
            steps.put(1, Step::Withdraw(ask));
        }
        if self.steps % 8 == 4 {
            steps.put(1, Step::Withdraw(0));
            steps.put(1, Step::Report(0, Report::Text));
            steps.put(1, Step::Ask(0, Kind::Read));
        }
        for prompt in &self.tickets {
            steps.put(2, Step::End(*prompt, Ending::Ended));
            steps.put(1, Step::End(*prompt, Ending::Failed));
            steps.put(1, Step::End(*prompt, Ending::Cancelled));
        }
        for (errand, leg) in &self.desk {
            steps.put(4, Step::Settle(*errand, *leg, true));
            steps.put(1, Step::Settle(*errand, *leg, false));
        }
        for session in (1..=self.sessions).filter(|session| self.agent.places.knew(*session)) {
            steps.put(usize::from(self.steps % 6 == session % 6), Step::Tell(session));
        }
        if self.steps % 12 == 3 {
            steps.put(1, Step::Lock(true));
        }
        if self.agent.locked {
            steps.put(3, Step::Lock(false));
        }
    }

    /// Whether a step is possible, which it may no longer be when others are left out.
    #[must_use]
    pub fn allows(&self, step: Step) -> bool {
        let there = |number: usize, of: usize| (1..=of).contains(&number);
        match step {
            Step::Prompt(of) | Step::Steer(of) => self.client.places.knew(of),
            Step::Cancel(prompt, _) => prompt <= self.prompts.len(),
            Step::Errand(want, plan) => {
                let made = self.errands.iter().filter(|want| **want == Want::New).count();
                let first = self.setting.sessions.max(1);
                let known = match want {
                    Want::New => made < first + SESSIONS,
                    Want::Load(session) | Want::Resume(session) | Want::Close(session) => there(session, self.sessions),
                    // Version 2 lets it come again until anything else is asked, which is not in these books.
                    Want::Initialize => {
                        self.client.end.accord != Accord::Agreed || self.client.end.used || !self.is_two()
                    }
                    Want::LogIn => true,
                };
                known && self.client.errands.len() < ERRANDS && plan == fitting(want, plan)
            }
            Step::Retract(errand) => there(errand, self.errands.len()),
            Step::Decide(ask, _) | Step::Commit(ask) => self.dialogs.contains(&ask),
            Step::Serve(ask, _) => self.requests.contains(&ask),
            Step::Report(0, _) | Step::Ask(0, _) => true,
            Step::Report(prompt, Report::Finish) => self.known.contains(&prompt) && self.calls.contains_key(&prompt),
            Step::Report(prompt, _) | Step::Ask(prompt, _) => self.known.contains(&prompt),
            Step::Insert(prompt) => self.is_two() && self.known.contains(&prompt),
            Step::Tell(session) => self.agent.places.knew(session),
            Step::Withdraw(ask) => ask <= self.asks.len(),
            Step::End(prompt, _) => self.tickets.contains(&prompt),
            Step::Settle(errand, leg, _) => self.desk.contains(&(errand, leg)),
            Step::Lose(side, back) => self.setting.loses && self.pipe(side.other()).place(back.into()).is_some(),
            Step::Stray(side, stray) => !self.pipe(side).broken && self.strays(side).contains(&stray),
            Step::Deliver(side, ..) => self.reads(side) && !self.pipe(side).frames.is_empty(),
            Step::Wait(Pause::Until(side)) => self.next(side).is_some(),
            Step::Break(side, how) => self.may_break(side, how),
            Step::Take(..) | Step::HandOut(..) | Step::Wait(_) | Step::Fire(_) | Step::Lock(_) => true,
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
            if self.reads(side) && !self.pipe(side).frames.is_empty() {
                return Some(Step::Deliver(side, u8::MAX, 0, 0));
            }
        }
        let owed = self.desk.first().map(|(errand, leg)| Step::Settle(*errand, *leg, true));
        let owed = owed.or_else(|| self.dialogs.first().map(|ask| Step::Decide(*ask, Choice::Allow)));
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
            quiet && self.pipe(*side).frames.is_empty() && !self.owes(*side)
        }) && self.dialogs.is_empty()
            && self.requests.is_empty()
            && self.tickets.is_empty()
            && self.desk.is_empty()
    }
}

/// How a client can ask for this: only for a session may it log in, and the version agreement waits as long as it takes.
fn fitting(want: Want, plan: Plan) -> Plan {
    match (want, plan) {
        (Want::Initialize, _) | (Want::Close(_) | Want::LogIn, Plan::LogIn) => Plan::Plain,
        _ => plan,
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
        for (sessions, actions, calm, loses) in [
            (1, 1024, usize::MAX, false),
            (1, 3, 25, false),
            (1, 1024, 12, false),
            (2, 1024, usize::MAX, false),
            (2, 4, 40, false),
            (0, 1024, 60, false),
            (1, 1024, usize::MAX, true),
            (2, 1024, 40, true),
        ] {
            for version in [1, 2] {
                settings.push(Setting { version, sessions, client, agent, actions, calm, loses });
            }
        }
    }
    settings
}
