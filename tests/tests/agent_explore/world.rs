//! What may happen to the agent's end, and the real connection to which it does.

use core::{
    fmt,
    hash::{Hash, Hasher},
    panic::AssertUnwindSafe,
    time::Duration,
};
use std::collections::BTreeMap;

use acp_core::{Config, Delivery, Overlap, wire::StopReason};
use acp_tests::{
    agent::{AgentBench, chunk},
    bench::payload,
    explore::{Broken, Model},
    taped, v2,
};
use serde_json::{Value, json};

use crate::observer::Observer;

/// One thing that may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Event {
    /// The client prompts, with this id.
    Prompt(u64),
    /// The client sends `session/cancel`.
    Cancel,
    /// The client sends `$/cancel_request` for the prompt of this id.
    CancelRequest(u64),
    /// The client closes the session.
    Close,
    /// The client ends its stream.
    Eof,
    /// The client answers what it was asked.
    Answer,
    /// The host asks for permission in its oldest turn.
    Ask,
    /// The host reports in every turn it ever had.
    Report,
    /// The host ends its oldest turn.
    Finish,
    /// The host ends its oldest turn with an error.
    Fail,
    /// The host ends its newest turn: a backend that queues by itself has an order of its own.
    FinishNewest,
    /// Version 2: the host gives the prompt of this turn its place.
    Insert(u64),
    /// Version 2: the host begins work that nobody prompted.
    Begin,
    /// Version 2: the host says that something goes on in the background.
    Background,
    /// The host has released the session.
    Release,
    /// The next deadline is due.
    Timer,
    /// What waits is written; if this is no event, it is written at once.
    Write,
}

/// How often each may happen, and the policy.
pub(crate) struct Scope {
    pub(crate) version: u16,
    pub(crate) overlap: Overlap,
    pub(crate) events: BTreeMap<Event, usize>,
}

/// A connection and whoever watches it.
pub(crate) struct World {
    bench: AgentBench,
    observer: Observer,
    left: BTreeMap<Event, usize>,
    past: Vec<Event>,
    bytewise: bool,
    eager: bool,
}

/// What decides about everything that can follow.
impl Hash for World {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.bench.conn, &self.bench.held, &self.left, self.observer.state()).hash(hasher);
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl World {
    fn new(scope: &Scope, bytewise: bool) -> Self {
        taped::off();
        let mut config = Config::agent();
        config.overlap = scope.overlap;
        let bench = match scope.version {
            1 => AgentBench::with_sessions(config, &["s1"]),
            _ => v2::agent_in(v2::both(config), &["s1"]),
        };
        Self {
            bench,
            observer: Observer::new(scope.version, scope.overlap),
            left: scope.events.clone(),
            past: Vec::new(),
            bytewise,
            eager: !scope.events.contains_key(&Event::Write),
        }
    }

    /// What may happen next.
    fn choices(&self) -> Vec<Event> {
        self.left
            .iter()
            .filter(|(event, left)| **left > 0 && self.is_possible(**event))
            .map(|(event, _)| *event)
            .collect()
    }

    fn is_possible(&self, event: Event) -> bool {
        let held = &self.bench.held;
        match event {
            Event::Prompt(_) | Event::Cancel | Event::Close | Event::Eof => self.observer.hears(),
            // Of an id that is not known it is nothing, as a test of its own says.
            Event::CancelRequest(id) => self.observer.hears() && self.observer.knows(id),
            Event::Answer => self.observer.hears() && self.observer.asked().is_some(),
            Event::Insert(turn) => held.known.contains_key(&turn),
            Event::Begin => self.observer.may_begin(),
            Event::Background => self.observer.is_open(),
            Event::FinishNewest => held.turns.len() > 1,
            Event::Ask | Event::Finish | Event::Fail => !held.turns.is_empty(),
            Event::Report => !held.known.is_empty(),
            Event::Release => !held.requests.is_empty(),
            Event::Timer => self.bench.deadline().is_some(),
            Event::Write => self.bench.conn.queued_bytes() > 0,
        }
    }

    /// Takes one step, and looks at all that follows.
    fn step(&mut self, event: Event) {
        self.past.push(event);
        if let Some(left) = self.left.get_mut(&event) {
            *left = left.saturating_sub(1);
        }
        self.observer.before(event, &self.bench);
        self.act(event);
        let told = self.bench.told();
        self.observer.told(event, &told);
        if !self.left.contains_key(&Event::Release) && !self.bench.held.requests.is_empty() {
            self.bench.respond(Ok(json!({})));
        }
        if self.eager || event == Event::Write {
            let wire = self.bench.frames();
            self.observer.wire(event, &wire);
            // Writing the last frame may be the end.
            let told = self.bench.told();
            self.observer.told(Event::Write, &told);
        }
        self.observer.after(&self.bench);
    }

    fn act(&mut self, event: Event) {
        let oldest = self.bench.held.turns.keys().next().copied();
        match event {
            Event::Prompt(id) => {
                let params = json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": "Hello." }] });
                self.send(json!({ "jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params }));
            }
            Event::Cancel => {
                self.send(json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": "s1" } }));
            }
            Event::CancelRequest(id) => {
                self.send(json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": id } }));
            }
            Event::Close => {
                let params = json!({ "sessionId": "s1" });
                self.send(json!({ "jsonrpc": "2.0", "id": 9, "method": "session/close", "params": params }));
            }
            Event::Eof => self.bench.eof(),
            Event::Answer => {
                let id = self.observer.asked().expect("something was asked");
                let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "yes" } });
                self.send(json!({ "jsonrpc": "2.0", "id": id, "result": outcome }));
            }
            Event::Ask => {
                let turn = self.bench.turn(oldest.expect("a turn"));
                let bound = Some(Duration::from_secs(10));
                let params = if self.is_second() { v2::permission() } else { json!({ "options": [] }) };
                let (params, now) = (payload(params), self.bench.now);
                let sent = self.bench.conn.request_in(turn, "session/request_permission", &params, bound, now);
                self.observer.asks(turn.number(), sent);
            }
            Event::Report => {
                for turn in self.bench.held.known.keys().copied().collect::<Vec<_>>() {
                    let text = format!("t{turn}");
                    let update = if self.is_second() { v2::chunk(&text) } else { chunk(&text) };
                    let delivery = self.bench.update(turn, update).expect("there is room");
                    self.observer.reports(turn, delivery);
                }
            }
            Event::Finish => {
                let turn = oldest.expect("a turn");
                let delivery = self.bench.end(turn, StopReason::EndTurn);
                self.observer.ends(turn, "end_turn", delivery);
            }
            Event::FinishNewest => {
                let turn = self.bench.held.turns.keys().next_back().copied().expect("a turn");
                let delivery = self.bench.end(turn, StopReason::EndTurn);
                self.observer.ends(turn, "end_turn", delivery);
            }
            Event::Insert(turn) => {
                let (key, now) = (self.bench.turn(turn), self.bench.now);
                let inserted = self.bench.conn.insert_prompt(key, &format!("m{turn}"), now);
                self.observer.inserts(turn, inserted.expect("there is room") == Delivery::Queued);
            }
            Event::Begin => {
                let (session, now) = (self.bench.session("s1"), self.bench.now);
                let ticket = self.bench.conn.begin_work(session, now).expect("nothing is worked on");
                let (number, turn) = (ticket.turn().number(), ticket.turn());
                self.bench.held.known.insert(number, turn);
                self.bench.held.turns.insert(number, ticket);
                self.observer.begins(number);
            }
            Event::Background => {
                let (session, now) = (self.bench.session("s1"), self.bench.now);
                let items = payload(json!([{ "type": "terminal", "terminalId": "t" }]));
                self.bench.conn.set_background(session, &items, now).expect("an array");
                self.observer.goes_on_in_background();
            }
            Event::Fail => {
                let turn = oldest.expect("a turn");
                let delivery = self.bench.fail(turn, -32603);
                self.observer.ends(turn, "-32603", delivery);
            }
            Event::Release => {
                self.bench.respond(Ok(json!({})));
            }
            Event::Timer => {
                let due = self.bench.due_in().expect("a deadline");
                self.bench.wait(due);
            }
            Event::Write => {}
        }
    }

    fn is_second(&self) -> bool {
        self.bench.conn.version() == Some(2)
    }

    fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        if self.bytewise {
            line.bytes().for_each(|byte| self.bench.feed([byte]));
        } else {
            self.bench.feed(line);
        }
    }

    /// The end of the stream, and time for it: after that nothing is left of anything.
    fn conclude(&mut self) {
        for event in [Event::Eof, Event::Timer, Event::Timer, Event::Timer, Event::Timer] {
            if self.is_possible(event) {
                self.step(event);
            }
            if !self.eager {
                self.step(Event::Write);
            }
        }
        self.observer.concluded(&self.bench);
    }
}

const RULES: &str = "the rules of the agent's end";

/// The observer panics with what is broken; the explorer wants to know how one gets there.
fn kept(act: impl FnOnce()) -> Result<(), Broken> {
    std::panic::catch_unwind(AssertUnwindSafe(act)).map_err(|why| {
        let how = why.downcast_ref::<String>().cloned();
        let how = how.or_else(|| why.downcast_ref::<&str>().map(|how| (*how).to_owned()));
        Broken { rule: RULES, how: how.unwrap_or_default() }
    })
}

impl Model for Scope {
    type State = World;
    type Choice = Event;

    fn initial(&self) -> World {
        World::new(self, false)
    }

    fn fork(&self, world: &World) -> Option<World> {
        let World { bench, observer, left, past, bytewise, eager } = world;
        Some(World {
            bench: bench.fork()?,
            observer: observer.clone(),
            left: left.clone(),
            past: past.clone(),
            bytewise: *bytewise,
            eager: *eager,
        })
    }

    fn choices(&self, world: &World) -> Vec<Event> {
        world.choices()
    }

    fn apply(&self, world: &mut World, event: &Event) -> Result<(), Broken> {
        kept(|| world.step(*event))
    }

    /// From here it can be brought to an end, and how the input was cut has made no difference.
    fn check(&self, world: &mut World) -> Result<(), Broken> {
        kept(|| {
            let mut cut_anywhere = World::new(self, true);
            world.past.iter().for_each(|event| cut_anywhere.step(*event));
            cut_anywhere.conclude();
            world.conclude();
            assert_eq!(world.observer, cut_anywhere.observer, "how the input is cut changes what follows");
        })
    }

    /// `check` has shown it.
    fn is_settled(&self, _: &World) -> bool {
        true
    }

    fn outcomes<'a>(&self, world: &'a World) -> &'a [&'static str] {
        world.observer.witnessed()
    }

    fn describe(&self, _: &World, event: &Event) -> String {
        event.to_string()
    }
}
