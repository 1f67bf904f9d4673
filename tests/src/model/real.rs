//! The connections that ship, driven through the steps of the model over bytes, and compared with it after each.

mod hosts;
mod reading;

use core::fmt::Write;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use acp_core::{
    Agent, AgentAction, Cause as Timer, Client, ClientAction, Common, Config, Payload, PermissionTicket, RequestKey,
    Role, SessionKey, Ticket, Timestamp, TurnKey, TurnTicket,
};
use serde_json::{Value, json};

use self::reading::Names;
use super::{
    Due, Model, Outcome, Setting,
    words::{Break, Message, Of, Side, Step, Told, Update},
};
use crate::{bench::payload, taped::Taped};

/// One end with its connection.
#[derive(Debug)]
struct Half<R: Role> {
    conn: Taped<R>,
    sessions: Vec<SessionKey>,
    /// Frames on their way here, and how much of the first was read.
    pipe: VecDeque<Vec<u8>>,
    read: usize,
    broken: bool,
}

/// The connections beside the model, with what happened so far.
#[derive(Debug)]
pub struct Twin {
    client: Half<Client>,
    agent: Half<Agent>,
    names: Names,
    turns: BTreeMap<usize, TurnKey>,
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
    answered: Vec<Of>,
    ended: BTreeSet<usize>,
    resolved: BTreeSet<usize>,
    closed: BTreeSet<Side>,
    /// The turns of the updates.
    updates: BTreeMap<usize, usize>,
}

impl Laws {
    fn written(&mut self, message: &Message) -> Result<(), String> {
        match message {
            Message::Answer(of, _) if self.answered.contains(of) => Err(format!("{of:?} is answered again")),
            Message::Answer(of, _) => {
                self.answered.push(*of);
                Ok(())
            }
            Message::Update(
                Update::Text(number) | Update::Open(number) | Update::Finished(number) | Update::LastWord(number),
            ) => {
                let turn = self.updates.get(number).copied().unwrap_or(0);
                let late = self.answered.contains(&Of::Prompt(turn));
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
            Told::Resolved(ask, _) => self.resolved.insert(*ask),
            _ => true,
        };
        if new { Ok(()) } else { Err(format!("{told:?} is told again")) }
    }
}

impl<R: Role> Half<R> {
    fn new(config: Config) -> Self {
        Self { conn: Taped::new(config), sessions: Vec::new(), pipe: VecDeque::new(), read: 0, broken: false }
    }

    /// The next bytes: so many whole frames, and of the next one so many 256ths, never all that is needed to know it.
    fn bytes(&mut self, whole: u8, part: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..whole {
            let Some(frame) = self.pipe.pop_front() else { break };
            bytes.extend_from_slice(&frame[self.read..]);
            self.read = 0;
        }
        if let Some(frame) = self.pipe.front().filter(|_| part > 0) {
            let upto = if part == 1 { 1 } else { frame.len() * usize::from(part) / 256 }.max(self.read);
            bytes.extend_from_slice(&frame[self.read..upto]);
            self.read = upto;
        }
        bytes
    }

    fn deliver(&mut self, whole: u8, part: u8, piece: u8, now: Timestamp) {
        let bytes = self.bytes(whole, part);
        let piece = if piece == 0 { bytes.len().max(1) } else { piece.into() };
        for piece in bytes.chunks(piece) {
            self.conn.handle_input(piece, now);
        }
    }

    fn break_off(&mut self, how: Break, now: Timestamp) {
        if how != Break::Close {
            (self.broken, self.read) = (true, 0);
            self.pipe.clear();
        }
        match how {
            Break::Close => self.conn.close(now),
            Break::Eof => self.conn.handle_eof(now),
            Break::Lost => self.conn.handle_lost("broken pipe", now),
        }
    }
}

impl Twin {
    /// Both ends of a connection, initialized, with its sessions.
    ///
    /// # Panics
    ///
    /// They do not come that far.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        let mut config = Config::client();
        (config.overlap, config.limits.actions) = (setting.client, setting.actions);
        let mut client = Half::<Client>::new(config);
        let mut config = Config::agent();
        (config.overlap, config.limits.actions) = (setting.agent, setting.actions);
        let mut agent = Half::<Agent>::new(config);
        let now = Timestamp::ZERO;
        let offer = payload(json!({ "clientCapabilities": { "fs": { "readTextFile": true } } }));
        client.conn.initialize(&offer, now).expect("the first command");
        for session in 0..=setting.sessions {
            while let Some(frame) = client.conn.poll_transmit() {
                agent.conn.handle_input(&frame.into_line(), now);
            }
            match agent.conn.poll_action() {
                Some(AgentAction::Initialize { ticket, .. }) => {
                    agent.conn.accept_initialize(ticket, &Payload::EMPTY, now).expect("an object");
                }
                Some(AgentAction::SessionRequested { ticket, .. }) => {
                    let result = payload(json!({ "sessionId": session.to_string() }));
                    let (key, _) = agent.conn.accept_session(ticket, &result, now).expect("a new session");
                    agent.sessions.push(key);
                }
                other => panic!("the opening of the connection told the agent {other:?}"),
            }
            while let Some(frame) = agent.conn.poll_transmit() {
                client.conn.handle_input(&frame.into_line(), now);
            }
            let Some(ClientAction::Common(Common::Resolved(resolved))) = client.conn.poll_action() else {
                panic!("the opening of the connection failed");
            };
            client.sessions.extend(resolved.session);
            if session < setting.sessions {
                let params = payload(json!({ "cwd": "/", "mcpServers": [] }));
                client.conn.request("session/new", Some(params), None, now).expect("it is initialized");
            }
        }
        Self {
            client,
            agent,
            names: Names::default(),
            turns: BTreeMap::new(),
            dialogs: BTreeMap::new(),
            requests: BTreeMap::new(),
            tickets: BTreeMap::new(),
            agent_turns: BTreeMap::new(),
            asks: BTreeMap::new(),
            laws: Laws::default(),
            trace: format!("{setting:?}\n"),
            steps: 0,
        }
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
            Step::Take(side, count) => outcome.told = self.take(side, count),
            Step::HandOut(side, count) => outcome.written = self.hand_out(side, count),
            Step::Deliver(Side::Client, whole, part, piece) => self.client.deliver(whole, part, piece, now),
            Step::Deliver(Side::Agent, whole, part, piece) => self.agent.deliver(whole, part, piece, now),
            Step::Fire(Side::Client) => self.client.conn.handle_timeout(now),
            Step::Fire(Side::Agent) => self.agent.conn.handle_timeout(now),
            Step::Break(Side::Client, how) => self.client.break_off(how, now),
            Step::Break(Side::Agent, how) => self.agent.break_off(how, now),
            _ => {}
        }
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
                let (prompts, asks) = model.totals();
                let all = (self.laws.ended.len(), self.laws.resolved.len());
                return self.agree(&all, &(prompts, asks), "how many prompts and requests came out");
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
        type Gauges = ((bool, bool), bool, (usize, usize), Option<(u64, &'static str)>);
        fn gauges<R: Role>(half: &Half<R>) -> Gauges {
            let conn = &half.conn;
            let life = (conn.close_reason().is_none(), conn.is_closed());
            let due = conn.poll_timeout().map(|due| {
                let name = match due.cause {
                    Timer::Request(_) => "Read",
                    Timer::StopConfirm(_) => "Stop",
                    Timer::ForceCancelled(_) => "Floor",
                    Timer::Drain => "Drain",
                    _ => "?",
                };
                (u64::try_from(due.at.saturating_duration_since(Timestamp::ZERO).as_millis()).unwrap_or(0), name)
            });
            (life, conn.wants_input(), (conn.unresolved(), conn.unanswered().count()), due)
        }
        let due = model.next(side).map(|(at, due)| {
            let name = match due {
                Due::Read(_) => "Read",
                Due::Stop(_) => "Stop",
                Due::Floor(..) => "Floor",
                Due::Drain => "Drain",
            };
            (at, name)
        });
        let expected = (model.life(side), model.reads(side), model.counts(side), due);
        let real = if side == Side::Client { gauges(&self.client) } else { gauges(&self.agent) };
        self.agree(&real, &expected, "(open, closed), reads on, (unresolved, unanswered), next deadline");
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

    fn take(&mut self, side: Side, count: u8) -> Vec<Told> {
        let mut told = Vec::new();
        for _ in 0..count {
            match side {
                Side::Client => {
                    let Some(action) = self.client.conn.poll_action() else { break };
                    told.push(self.client_told(action));
                }
                Side::Agent => {
                    let Some(action) = self.agent.conn.poll_action() else { break };
                    told.push(self.agent_told(action));
                }
            }
        }
        told
    }

    fn hand_out(&mut self, side: Side, count: u8) -> Vec<Message> {
        let mut written = Vec::new();
        for _ in 0..count {
            let frame = match side {
                Side::Client => self.client.conn.poll_transmit(),
                Side::Agent => self.agent.conn.poll_transmit(),
            };
            let Some(frame) = frame else { break };
            let line = frame.into_line();
            let value: Value = serde_json::from_slice(&line).expect("a frame is JSON");
            assert!(line.ends_with(b"\n") && line.iter().filter(|byte| **byte == b'\n').count() == 1, "one line");
            written.push(self.names.message(side, &value));
            match side {
                Side::Client if !self.agent.broken => self.agent.pipe.push_back(line.to_vec()),
                Side::Agent if !self.client.broken => self.client.pipe.push_back(line.to_vec()),
                _ => {}
            }
        }
        written
    }
}
