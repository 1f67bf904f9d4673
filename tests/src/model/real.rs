//! The connections that ship, driven through the steps of the model over bytes, and compared with it after each.

mod errands;
mod half;
mod hosts;
mod names;
mod reading;
mod strange;

use core::fmt::Write;
use std::collections::{BTreeMap, BTreeSet};

use acp_core::{
    Agent, Cause as Timer, Client, Config, InitializeTicket, PermissionTicket, RequestKey, Role, SessionTicket, Ticket,
    Timestamp, TurnKey, TurnTicket,
};
use serde_json::Value;

use self::{half::Half, names::Names};
use super::{
    Due, Model, Outcome, Setting,
    words::{Leg, Message, Of, Said, Side, Step, Told},
};

/// What the agent's host answers an errand with.
#[derive(Debug)]
enum Paper {
    Initialize(InitializeTicket),
    Session(SessionTicket),
    Plain(Ticket),
}

/// The connections beside the model, with what happened so far.
#[derive(Debug)]
pub struct Twin {
    client: Half<Client>,
    agent: Half<Agent>,
    /// Whether version 2 is spoken.
    two: bool,
    names: Names,
    turns: BTreeMap<usize, TurnKey>,
    errands: BTreeMap<usize, RequestKey>,
    desk: BTreeMap<(usize, Leg), Paper>,
    dialogs: BTreeMap<usize, PermissionTicket>,
    requests: BTreeMap<usize, Ticket>,
    tickets: BTreeMap<usize, TurnTicket>,
    agent_turns: BTreeMap<usize, TurnKey>,
    asks: BTreeMap<usize, RequestKey>,
    laws: Laws,
    trace: String,
    steps: usize,
}

/// What holds whatever the model says.
#[derive(Debug, Default)]
struct Laws {
    /// Answers that are due twice, since the id was used twice.
    doubled: Vec<Of>,
    answered: Vec<Of>,
    /// Prompts whose answer was that they have their place, so that it is not the end of the turn.
    inserted: BTreeSet<usize>,
    done: BTreeSet<usize>,
    ended: BTreeSet<usize>,
    resolved: BTreeSet<usize>,
    closed: BTreeSet<Side>,
    /// The turns of the updates.
    updates: BTreeMap<usize, usize>,
}

impl Laws {
    fn written(&mut self, message: &Message) -> Result<(), String> {
        match message {
            Message::Answer(Of::Stray, _) => Ok(()),
            Message::Answer(of, _) if self.answered.contains(of) => {
                let due = self.doubled.iter().position(|doubled| doubled == of);
                due.map(|due| self.doubled.remove(due)).map(|_| ()).ok_or_else(|| format!("{of:?} is answered again"))
            }
            Message::Answer(of, said) => {
                if let (Of::Prompt(prompt), Said::Inserted(_)) = (of, said) {
                    self.inserted.insert(*prompt);
                }
                self.answered.push(*of);
                Ok(())
            }
            Message::Update(update) => {
                let turn = update.number().and_then(|number| self.updates.get(&number)).copied().unwrap_or(0);
                let late = self.answered.contains(&Of::Prompt(turn)) && !self.inserted.contains(&turn);
                if late { Err(format!("{message:?} follows the answer to prompt {turn}")) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    fn told(&mut self, side: Side, told: &Told) -> Result<(), String> {
        let new = match told {
            _ if self.closed.contains(&side) => return Err(format!("{told:?} is told after the end")),
            Told::Closed(_) => self.closed.insert(side),
            Told::TurnEnded(prompt, _) => self.ended.insert(*prompt),
            Told::Done(errand, ..) => self.done.insert(*errand),
            Told::Resolved(ask, _) => self.resolved.insert(*ask),
            _ => true,
        };
        if new { Ok(()) } else { Err(format!("{told:?} is told again")) }
    }
}

impl Twin {
    /// Both ends of a connection, as far as the setting says.
    ///
    /// # Panics
    ///
    /// They do not come that far.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        let versions = || (1..=setting.version).collect();
        let mut config = Config::client();
        config.versions = versions();
        (config.overlap, config.limits.actions) = (setting.client, setting.actions);
        let client = Half::<Client>::new(config);
        let mut config = Config::agent();
        config.versions = versions();
        (config.overlap, config.limits.actions) = (setting.agent, setting.actions);
        let agent = Half::<Agent>::new(config);
        let mut twin = Self {
            client,
            agent,
            two: setting.version == 2,
            names: Names::of(setting.version),
            turns: BTreeMap::new(),
            errands: BTreeMap::new(),
            desk: BTreeMap::new(),
            dialogs: BTreeMap::new(),
            requests: BTreeMap::new(),
            tickets: BTreeMap::new(),
            agent_turns: BTreeMap::new(),
            asks: BTreeMap::new(),
            laws: Laws::default(),
            trace: format!("{setting:?}\n"),
            steps: 0,
        };
        let mut model = Model::blank(setting);
        for step in Model::opening(setting) {
            model.apply(step);
            twin.follow(step, &model);
        }
        if setting.sessions > 0 {
            let _ = writeln!(twin.trace, "      -- the sessions are open --");
            twin.steps = 0;
        }
        twin
    }

    /// Takes the step that the model has just taken.
    ///
    /// # Panics
    ///
    /// Something else came of it: says what, and how it came to that.
    pub fn follow(&mut self, step: Step, model: &Model) {
        self.steps += 1;
        let _ = writeln!(self.trace, "{:4}. {step}", self.steps);
        let now = Timestamp::from_millis(model.now());
        let reply = self.command(step, model, now);
        let mut outcome = Outcome { reply, ..Outcome::default() };
        match step {
            Step::Take(side, count) => outcome.told = self.take(side, count, model),
            Step::HandOut(side, count) => outcome.written = self.hand_out(side, count),
            Step::Lose(Side::Client, back) => self.client.lose(&mut self.agent, back, now),
            Step::Lose(Side::Agent, back) => self.agent.lose(&mut self.client, back, now),
            Step::Stray(side, stray) => self.stray(side, stray),
            Step::Deliver(Side::Client, whole, part, piece) => self.client.deliver(whole, part, piece, now),
            Step::Deliver(Side::Agent, whole, part, piece) => self.agent.deliver(whole, part, piece, now),
            Step::Fire(Side::Client) => self.client.conn.handle_timeout(now),
            Step::Fire(Side::Agent) => self.agent.conn.handle_timeout(now),
            Step::Break(Side::Client, how) => self.client.break_off(how, now),
            Step::Break(Side::Agent, how) => self.agent.break_off(how, now),
            _ => {}
        }
        self.client.note(model.sessions());
        self.agent.note(model.sessions());
        self.agree(&outcome, model.outcome(), "what followed");
        for message in &outcome.written {
            let lawful = self.laws.written(message);
            self.agree(&lawful, &Ok(()), "a law");
        }
        for told in &outcome.told {
            let side = if let Step::Take(side, _) = step { side } else { Side::Client };
            let lawful = self.laws.told(side, told);
            self.agree(&lawful, &Ok(()), "a law");
        }
        self.compare(Side::Client, model);
        self.compare(Side::Agent, model);
    }

    /// Goes on until everything is over: in the model, and here.
    ///
    /// # Panics
    ///
    /// It does not come to an end, or something is left.
    pub fn wind_up(&mut self, mut model: Model) {
        let mut rested = false;
        for _ in 0..10_000 {
            if !rested && model.is_at_rest() {
                rested = true;
                self.nothing_left();
            }
            let Some(step) = model.winding_up() else {
                self.nothing_left();
                let all = (self.laws.ended.len(), self.laws.done.len(), self.laws.resolved.len());
                return self.agree(&all, &model.totals(), "how many prompts, errands and requests came out");
            };
            model.apply(step);
            self.follow(step, &model);
        }
        self.agree(&"for ever", &"an end", "how long it takes");
    }

    fn agree<T: core::fmt::Debug + PartialEq>(&self, real: &T, model: &T, what: &str) {
        assert!(real == model, "{}   => {what}: {real:?}\n      expected: {model:?}", self.trace);
    }

    /// The gauges of an end.
    fn compare(&self, side: Side, model: &Model) {
        type Gauges = ((bool, bool), bool, (usize, usize, usize), Option<(u64, &'static str)>);
        fn gauges<R: Role>(half: &Half<R>) -> Gauges {
            let conn = &half.conn;
            let life = (conn.close_reason().is_none(), conn.is_closed());
            let due = conn.poll_timeout().map(|due| {
                let name = match due.cause {
                    Timer::Request(_) => "Request",
                    Timer::StopConfirm(_) => "Stop",
                    Timer::ForceCancelled(_) => "Floor",
                    Timer::CloseSession(_) => "CloseSession",
                    Timer::Drain => "Drain",
                    _ => "?",
                };
                (u64::try_from(due.at.saturating_duration_since(Timestamp::ZERO).as_millis()).unwrap_or(0), name)
            });
            (life, conn.wants_input(), (conn.unresolved(), conn.unanswered().count(), conn.sessions()), due)
        }
        let due = model.next(side).map(|(at, due)| {
            let name = match due {
                Due::Request(_) => "Request",
                Due::Stop(_) => "Stop",
                Due::Floor(..) => "Floor",
                Due::CloseSession(_) => "CloseSession",
                Due::Drain => "Drain",
            };
            (at, name)
        });
        let expected = (model.life(side), model.reads(side), model.counts(side), due);
        let real = if side == Side::Client { gauges(&self.client) } else { gauges(&self.agent) };
        self.agree(&real, &expected, "(open, closed), reads on, (unresolved, unanswered, sessions), next deadline");
    }

    fn nothing_left(&self) {
        let (client, agent) = (&self.client.conn, &self.agent.conn);
        let left = (client.queued_bytes() + agent.queued_bytes(), client.unresolved() + agent.unresolved());
        self.agree(&left, &(0, 0), "bytes and requests that are left");
        self.agree(&(client.poll_timeout(), agent.poll_timeout()), &(None, None), "deadlines that are left");
        let live = self.turns.values().any(|turn| client.is_live(*turn))
            || self.agent_turns.values().any(|turn| agent.is_live(*turn));
        self.agree(&live, &false, "whether a turn is left");
    }

    fn take(&mut self, side: Side, count: u8, model: &Model) -> Vec<Told> {
        let mut told = Vec::new();
        for _ in 0..count {
            match side {
                Side::Client => {
                    let Some(action) = self.client.conn.poll_action() else { break };
                    told.push(self.client_told(action));
                }
                Side::Agent => {
                    let Some(action) = self.agent.conn.poll_action() else { break };
                    told.push(self.agent_told(action, model));
                }
            }
        }
        told
    }

    fn hand_out(&mut self, side: Side, count: u8) -> Vec<Message> {
        let mut written = Vec::new();
        for _ in 0..count {
            let line = match side {
                Side::Client => self.client.transmit(&mut self.agent),
                Side::Agent => self.agent.transmit(&mut self.client),
            };
            let Some(line) = line else { break };
            let value: Value = serde_json::from_slice(&line).expect("a frame is JSON");
            written.push(self.names.message(side, &value));
        }
        written
    }
}
