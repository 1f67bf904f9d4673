//! A reference model of both ends, as one would keep the books on paper: which prompts there are and how each comes out,
//! which sessions come and go, which permissions are open, what is on the wire, what each host is told and until when it has
//! time. It is plain data, says of every step exactly what must follow, and shares nothing with the machines but the names of
//! the settings.
//!
//! [`Twin`] drives the connections that ship through the same steps, over bytes, and compares.

mod agent;
mod client;
mod end;
mod places;
mod real;
mod steps;
mod wire;
pub mod words;
mod work;

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use acp_core::Overlap;

use self::{
    agent::Agent,
    client::Client,
    end::End,
    wire::Pipe,
    words::{Leg, Message, Of, Pause, Plan, Report, Side, Step, Told, Want},
};
pub use self::{end::Due, real::Twin, steps::settings};

/// What differs from one run to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The version of the protocol that the ends agree on.
    pub version: u16,
    /// Sessions that are open when the run begins. 0: it begins before the version agreement.
    pub sessions: usize,
    /// What the client makes of a prompt while another runs.
    pub client: Overlap,
    /// What the agent makes of one.
    pub agent: Overlap,
    /// How many actions may wait before an end stops reading.
    pub actions: usize,
    /// After how many steps the connection may end.
    pub calm: usize,
    /// Whether frames may get lost, and peers say what nobody should.
    pub loses: bool,
}

/// What a step brings about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What a command answers.
    pub reply: Option<&'static str>,
    /// What the host takes.
    pub told: Vec<Told>,
    /// What is written.
    pub written: Vec<Message>,
}

/// The books.
#[derive(Clone)]
pub struct Model {
    setting: Setting,
    steps: usize,
    now: u64,
    client: Client,
    agent: Agent,
    to_client: Pipe,
    to_agent: Pipe,
    /// How many sessions were made.
    sessions: usize,
    /// The sessions of the prompts.
    prompts: Vec<usize>,
    /// What the client asked for apart from that.
    errands: Vec<Want>,
    /// The sessions of the agent's requests.
    asks: Vec<usize>,
    /// The sessions of the updates.
    updates: Vec<usize>,
    /// The latest tool call of a turn.
    calls: BTreeMap<usize, usize>,
    /// Turns that the agent's host was told of, and those that it has not ended.
    known: BTreeSet<usize>,
    tickets: BTreeSet<usize>,
    /// Errands that it was told of and has not answered.
    desk: BTreeSet<(usize, Leg)>,
    /// Permissions and requests that the client's host was told of and has not answered.
    dialogs: BTreeSet<usize>,
    requests: BTreeSet<usize>,
    /// What the last step brought about.
    outcome: Outcome,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The books themselves are of no use in a report: the steps make them.
        write!(f, "{:?}", self.setting)
    }
}

impl Model {
    /// The sessions are open, and nothing else has happened.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        let mut model = Self::blank(setting);
        Self::opening(setting).into_iter().for_each(|step| model.apply(step));
        model.steps = 0;
        model
    }

    /// Nothing has happened.
    fn blank(setting: Setting) -> Self {
        Self {
            setting,
            steps: 0,
            now: 0,
            client: Client::new(setting.version, setting.client),
            agent: Agent::new(setting.version, setting.agent),
            to_client: Pipe::default(),
            to_agent: Pipe::default(),
            sessions: 0,
            prompts: Vec::new(),
            errands: Vec::new(),
            asks: Vec::new(),
            updates: Vec::new(),
            calls: BTreeMap::new(),
            known: BTreeSet::new(),
            tickets: BTreeSet::new(),
            desk: BTreeSet::new(),
            dialogs: BTreeSet::new(),
            requests: BTreeSet::new(),
            outcome: Outcome::default(),
        }
    }

    /// The steps after which the sessions are open.
    fn opening(setting: Setting) -> Vec<Step> {
        let wants = if setting.sessions == 0 { 0 } else { setting.sessions + 1 };
        let opens = |errand| {
            let want = if errand == 1 { Want::Initialize } else { Want::New };
            let settled = Step::Settle(errand, Leg::First, true);
            let there =
                [Step::HandOut(Side::Client, 1), Step::Deliver(Side::Agent, 1, 0, 0), Step::Take(Side::Agent, 1)];
            let back =
                [Step::HandOut(Side::Agent, 1), Step::Deliver(Side::Client, 1, 0, 0), Step::Take(Side::Client, 1)];
            [&[Step::Errand(want, Plan::Plain)][..], &there, &[settled], &back].concat()
        };
        (1..=wants).flat_map(opens).collect()
    }

    /// The setting.
    #[must_use]
    pub const fn setting(&self) -> Setting {
        self.setting
    }

    /// What the last step brought about.
    #[must_use]
    pub const fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The time, in milliseconds.
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.now
    }

    fn end(&self, side: Side) -> &End {
        match side {
            Side::Client => &self.client.end,
            Side::Agent => &self.agent.end,
        }
    }

    fn end_mut(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client.end,
            Side::Agent => &mut self.agent.end,
        }
    }

    fn owes(&self, side: Side) -> bool {
        if side == Side::Client { self.client.owes() } else { self.agent.owes() }
    }

    /// Whether an end reads on.
    #[must_use]
    pub fn reads(&self, side: Side) -> bool {
        let end = self.end(side);
        end.is_open() && end.told.len() < self.setting.actions
    }

    /// When something is due at an end, and what.
    #[must_use]
    pub fn next(&self, side: Side) -> Option<(u64, Due)> {
        self.end(side).next()
    }

    /// Whether the connection stands at this end, and whether it is over there.
    #[must_use]
    pub fn life(&self, side: Side) -> (bool, bool) {
        (self.end(side).is_open(), self.end(side).is_closed())
    }

    /// Requests of this end that are not resolved, requests of the other end's that are not answered, and sessions.
    #[must_use]
    pub fn counts(&self, side: Side) -> (usize, usize, usize) {
        match side {
            Side::Client => (self.client.unresolved(), self.client.owed.len(), self.client.places.seats().len()),
            Side::Agent => (self.agent.asks.len(), self.agent.unanswered(), self.agent.places.seats().len()),
        }
    }

    /// How many prompts, errands and requests of the agent's there were.
    #[must_use]
    pub const fn totals(&self) -> (usize, usize, usize) {
        (self.prompts.len(), self.errands.len(), self.asks.len())
    }

    /// How many sessions were made.
    #[must_use]
    pub const fn sessions(&self) -> usize {
        self.sessions
    }

    /// Which of the client's requests reached the agent as the so manieth.
    #[must_use]
    pub fn arrived(&self, number: usize) -> Option<Of> {
        self.agent.arrived(number)
    }

    /// What an errand is for. The errands are counted from 1.
    #[must_use]
    pub fn want(&self, errand: usize) -> Want {
        self.errands[errand - 1]
    }

    /// Takes one step.
    pub fn apply(&mut self, step: Step) {
        self.steps += 1;
        // No two steps happen at once.
        self.now += 1;
        self.outcome = Outcome::default();
        let now = self.now;
        if let Some(side) = step.side().filter(|_| step.is_timed()) {
            self.end_mut(side).clock = now;
        }
        self.outcome.reply = self.command(step);
        match step {
            Step::Take(side, count) => self.take(side, count.into()),
            Step::HandOut(side, count) => self.hand_out(side, count.into()),
            Step::Lose(side, back) => self.lose(side, back.into()),
            Step::Stray(side, stray) => self.pipe_mut(side).put(Message::Stray(stray)),
            Step::Deliver(side, whole, part, _) => self.deliver(side, whole, part),
            Step::Wait(Pause::For(time)) => self.now += time,
            Step::Wait(Pause::Until(side)) => self.now = self.now.max(self.next(side).map_or(0, |(at, _)| at)),
            Step::Fire(side) => {
                while let Some(due) = self.end_mut(side).due() {
                    match side {
                        Side::Client => self.client.expire(due),
                        Side::Agent => self.agent.expire(due),
                    }
                }
            }
            Step::Break(side, how) => self.break_off(side, how),
            _ => {}
        }
    }

    /// What a host does, and what that answers.
    fn command(&mut self, step: Step) -> Option<&'static str> {
        Some(match step {
            Step::Prompt(session) | Step::Steer(session) => {
                let steers = matches!(step, Step::Steer(_));
                let reply = self.client.prompt(self.prompts.len() + 1, session, steers);
                if reply == "Done" {
                    self.prompts.push(session);
                }
                reply
            }
            Step::Cancel(prompt, kind) => self.client.cancel(prompt, kind),
            Step::Errand(want, plan) => {
                let reply = self.client.errand(self.errands.len() + 1, want, plan);
                if reply == "Done" {
                    self.errands.push(want);
                }
                reply
            }
            Step::Retract(errand) => self.client.retract(errand),
            Step::Decide(ask, choice) => {
                self.dialogs.remove(&ask);
                self.client.decide(ask, choice)
            }
            Step::Commit(ask) => self.client.commit(ask),
            Step::Serve(ask, well) => {
                self.requests.remove(&ask);
                self.client.serve(ask, well)
            }
            Step::Report(prompt, report) => {
                let number = self.update_number(prompt, report);
                let reply = self.agent.report(prompt, report, number);
                if reply == "Queued" && number > self.updates.len() {
                    self.updates.push(self.prompts[prompt - 1]);
                    if report == Report::Open {
                        self.calls.insert(prompt, number);
                    }
                }
                reply
            }
            Step::Tell(session) => {
                let reply = self.agent.tell(session, self.updates.len() + 1);
                if reply == "Queued" {
                    self.updates.push(session);
                }
                reply
            }
            Step::Ask(prompt, kind) => {
                let reply = self.agent.ask(prompt, kind, self.asks.len() + 1);
                if reply == "Done" {
                    self.asks.push(self.prompts[prompt - 1]);
                }
                reply
            }
            Step::Insert(prompt) => self.agent.insert_prompt(prompt),
            Step::Withdraw(ask) => self.agent.withdraw(ask),
            Step::End(prompt, ending) => {
                self.tickets.remove(&prompt);
                self.agent.end_turn(prompt, ending)
            }
            Step::Settle(errand, leg, well) => self.settle((errand, leg), well),
            Step::Lock(locked) => {
                self.agent.locked = locked;
                "Done"
            }
            _ => return None,
        })
    }

    fn settle(&mut self, of: (usize, Leg), well: bool) -> &'static str {
        self.desk.remove(&of);
        let want = self.want(of.0);
        if !well {
            return self.agent.refuse(of, want);
        }
        let makes = want == Want::New && of.1 != Leg::LogIn;
        let reply = self.agent.grant(of, want, self.sessions + 1);
        self.sessions += usize::from(makes && reply == "Queued");
        reply
    }

    /// The number that an update has, or gets: that of the latest tool call, if it is about that.
    fn update_number(&self, prompt: usize, report: Report) -> usize {
        let latest = self.calls.get(&prompt).copied().filter(|_| report == Report::Finish);
        latest.unwrap_or(self.updates.len() + 1)
    }

    /// The number of the prompt, request or update that this step makes or is about.
    #[must_use]
    pub fn number(&self, step: Step) -> usize {
        match step {
            Step::Prompt(_) | Step::Steer(_) => self.prompts.len(),
            Step::Errand(..) => self.errands.len(),
            Step::Ask(..) => self.asks.len(),
            Step::Report(prompt, Report::Finish) => self.calls.get(&prompt).copied().unwrap_or(0),
            _ => self.updates.len(),
        }
    }

    fn take(&mut self, side: Side, count: usize) {
        let told = &mut self.end_mut(side).told;
        let taken: Vec<_> = told.drain(..count.min(told.len())).collect();
        for told in &taken {
            let _new = match told {
                Told::Prompt(number) => self.known.insert(*number) && self.tickets.insert(*number),
                Told::Errand(number, leg, _) => self.desk.insert((*number, *leg)),
                Told::Permission(ask, _) => self.dialogs.insert(*ask),
                Told::Request(ask) => self.requests.insert(*ask),
                _ => false,
            };
        }
        self.outcome.told = taken;
    }
}
