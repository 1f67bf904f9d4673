//! A reference model of both ends, as one would keep the books on paper: which prompts there are and how each comes out,
//! which permissions are open, what is on the wire, what each host is told and until when it has time. It is plain data,
//! says of every step exactly what must follow, and shares nothing with the machines but the names of the settings.
//!
//! [`Twin`] drives the connections that ship through the same steps, over bytes, and compares.

mod agent;
mod client;
mod end;
mod real;
mod steps;
pub mod words;

use core::fmt;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use acp_core::Overlap;

use self::{
    agent::Agent,
    client::Client,
    end::End,
    words::{Break, Cause, Message, Of, Pause, Reason, Report, Side, Step, Told, Update},
};
pub use self::{end::Due, real::Twin, steps::settings};

/// What differs from one run to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Sessions that are open.
    pub sessions: usize,
    /// What the client makes of a prompt while another runs.
    pub client: Overlap,
    /// What the agent makes of one.
    pub agent: Overlap,
    /// How many actions may wait before an end stops reading.
    pub actions: usize,
    /// After how many steps the connection may end.
    pub calm: usize,
}

/// The way to one end.
#[derive(Clone, Debug, Default)]
struct Pipe {
    messages: VecDeque<Message>,
    /// How much of the first was read: nothing, not enough to know what it is about, or more.
    part: u8,
    /// Nothing comes through any more.
    broken: bool,
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
    /// The sessions of the prompts.
    prompts: Vec<usize>,
    /// The sessions of the agent's requests.
    asks: Vec<usize>,
    /// The sessions of the updates.
    updates: Vec<usize>,
    /// The latest tool call of a turn.
    calls: BTreeMap<usize, usize>,
    /// Turns that the agent's host was told of, and those that it has not ended.
    known: BTreeSet<usize>,
    tickets: BTreeSet<usize>,
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
    /// Sessions are open, and nothing has happened.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        Self {
            setting,
            steps: 0,
            now: 0,
            client: Client::new(setting.client, setting.sessions),
            agent: Agent::new(setting.agent, setting.sessions),
            to_client: Pipe::default(),
            to_agent: Pipe::default(),
            prompts: Vec::new(),
            asks: Vec::new(),
            updates: Vec::new(),
            calls: BTreeMap::new(),
            known: BTreeSet::new(),
            tickets: BTreeSet::new(),
            dialogs: BTreeSet::new(),
            requests: BTreeSet::new(),
            outcome: Outcome::default(),
        }
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

    fn pipe(&self, side: Side) -> &Pipe {
        if side == Side::Client { &self.to_client } else { &self.to_agent }
    }

    fn pipe_mut(&mut self, side: Side) -> &mut Pipe {
        if side == Side::Client { &mut self.to_client } else { &mut self.to_agent }
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

    /// Requests of this end that are not resolved, and requests of the other end's that are not answered.
    #[must_use]
    pub fn counts(&self, side: Side) -> (usize, usize) {
        match side {
            Side::Client => (self.client.unanswered(), self.client.owed.len()),
            Side::Agent => (self.agent.asks.len(), self.agent.turns.len()),
        }
    }

    /// How many prompts and requests there were.
    #[must_use]
    pub const fn totals(&self) -> (usize, usize) {
        (self.prompts.len(), self.asks.len())
    }

    /// Takes one step.
    pub fn apply(&mut self, step: Step) {
        self.steps += 1;
        // No two steps happen at once.
        self.now += 1;
        self.outcome = Outcome::default();
        let now = self.now;
        match step {
            Step::Prompt(_)
            | Step::Steer(_)
            | Step::Cancel(..)
            | Step::Decide(..)
            | Step::Commit(_)
            | Step::Serve(..) => self.client.end.clock = now,
            Step::Report(..) | Step::Ask(..) | Step::Withdraw(_) | Step::End(..) => self.agent.end.clock = now,
            Step::Take(..) | Step::HandOut(..) | Step::Wait(_) => {}
            Step::Deliver(side, ..) | Step::Fire(side) | Step::Break(side, _) => {
                match side {
                    Side::Client => self.client.end.clock = now,
                    Side::Agent => self.agent.end.clock = now,
                };
            }
        }
        self.outcome.reply = self.command(step);
        match step {
            Step::Take(side, count) => self.take(side, count.into()),
            Step::HandOut(side, count) => self.hand_out(side, count.into()),
            Step::Deliver(side, whole, part, _) => self.deliver(side, whole, part),
            Step::Wait(Pause::For(time)) => self.now += time,
            Step::Wait(Pause::Until(side)) => self.now = self.now.max(self.next(side).map_or(0, |(at, _)| at)),
            Step::Fire(Side::Client) => {
                while let Some(due) = self.client.end.due() {
                    self.client.expire(due);
                }
            }
            Step::Fire(Side::Agent) => {
                while let Some(due) = self.agent.end.due() {
                    self.agent.expire(due);
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
            Step::Ask(prompt, kind) => {
                let reply = self.agent.ask(prompt, kind, self.asks.len() + 1);
                if reply == "Done" {
                    self.asks.push(self.prompts[prompt - 1]);
                }
                reply
            }
            Step::Withdraw(ask) => self.agent.withdraw(ask),
            Step::End(prompt, ending) => {
                self.tickets.remove(&prompt);
                self.agent.end_turn(prompt, ending)
            }
            _ => return None,
        })
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
            Step::Ask(..) => self.asks.len(),
            Step::Report(prompt, Report::Finish) => self.calls.get(&prompt).copied().unwrap_or(0),
            _ => self.updates.len(),
        }
    }

    fn take(&mut self, side: Side, count: usize) {
        let told = if side == Side::Client { &mut self.client.end.told } else { &mut self.agent.end.told };
        let taken: Vec<_> = told.drain(..count.min(told.len())).collect();
        for told in &taken {
            let _new = match told {
                Told::Prompt(number) => self.known.insert(*number) && self.tickets.insert(*number),
                Told::Permission(ask, _) => self.dialogs.insert(*ask),
                Told::Request(ask) => self.requests.insert(*ask),
                _ => false,
            };
        }
        self.outcome.told = taken;
    }

    fn hand_out(&mut self, side: Side, count: usize) {
        for _ in 0..count {
            let owes = self.owes(side);
            let end = if side == Side::Client { &mut self.client.end } else { &mut self.agent.end };
            let Some(message) = end.hand_out(owes) else { break };
            let other = if side == Side::Client { Side::Agent } else { Side::Client };
            let pipe = self.pipe_mut(other);
            if !pipe.broken {
                pipe.messages.push_back(message.clone());
            }
            self.outcome.written.push(message);
        }
    }

    fn deliver(&mut self, side: Side, whole: u8, part: u8) {
        for _ in 0..whole {
            let pipe = self.pipe_mut(side);
            let Some(message) = pipe.messages.pop_front() else { break };
            pipe.part = 0;
            match side {
                Side::Client => self.client_reads(message),
                Side::Agent => self.agent_reads(&message),
            }
        }
        let pipe = self.pipe_mut(side);
        if !pipe.messages.is_empty() {
            pipe.part = pipe.part.max(part);
        }
    }

    fn client_reads(&mut self, message: Message) {
        match message {
            Message::Update(update) => {
                let (Update::Text(number) | Update::Open(number) | Update::Finished(number) | Update::LastWord(number)) =
                    update;
                self.client.update(update, self.updates[number - 1]);
            }
            Message::Ask(ask, kind) => self.client.asked(ask, kind, self.asks[ask - 1]),
            Message::Withdraw(Of::Ask(ask)) => self.client.taken_back(ask),
            Message::Answer(Of::Prompt(number), said) => self.client.answered(number, said),
            _ => self.client.end.tell(Told::Violation),
        }
    }

    fn agent_reads(&mut self, message: &Message) {
        match *message {
            Message::Prompt(number) => self.agent.prompted(number, self.prompts[number - 1]),
            Message::Cancel(session) => self.agent.cancelled(session, Cause::Session),
            Message::Withdraw(Of::Prompt(number)) => self.agent.prompt_cancelled(number),
            Message::Answer(Of::Ask(ask), said) => self.agent.answered(ask, said),
            _ => self.agent.end.tell(Told::Violation),
        }
    }

    fn break_off(&mut self, side: Side, how: Break) {
        if how == Break::Eof && self.end(side).is_open() && self.pipe(side).part > 0 {
            // What was left without a line break is no message. An agent says so, a client does not answer noise.
            match side {
                Side::Client => self.client.end.tell(Told::Violation),
                Side::Agent => {
                    self.agent.end.send(Message::NotUnderstood);
                    self.agent.end.tell(Told::Violation);
                }
            }
        }
        if how != Break::Close {
            *self.pipe_mut(side) = Pipe { broken: true, ..Pipe::default() };
        }
        match (side, how) {
            (Side::Client, Break::Lost) => self.client.cut(Reason::Lost),
            (Side::Agent, Break::Lost) => self.agent.cut(Reason::Lost),
            (Side::Client, Break::Eof) => self.client.drain(Reason::Eof),
            (Side::Agent, Break::Eof) => self.agent.drain(Reason::Eof),
            (Side::Client, Break::Close) => self.client.drain(Reason::Local),
            (Side::Agent, Break::Close) => self.agent.drain(Reason::Local),
        }
    }
}
