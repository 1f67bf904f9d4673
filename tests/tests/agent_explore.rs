//! Every order of the things that may happen around two prompts, on a real connection of the agent's: after each step, and
//! after an end that is brought about from each state reached, the rules of turns, requests and deadlines hold.

#[path = "agent_explore/observer.rs"]
mod observer;

use core::fmt;
use core::hash::{Hash, Hasher};
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use acp_core::{Config, Overlap, wire::StopReason};
use acp_tests::agent::{AgentBench, chunk};
use acp_tests::bench::payload;
use acp_tests::explore::{Broken, Model, explore};
use acp_tests::taped;
use serde_json::json;

use observer::Observer;

/// One thing that may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Event {
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
    /// The host has released the session.
    Release,
    /// The next deadline is due.
    Timer,
    /// What waits is written; if this is no event, it is written at once.
    Write,
}

/// How often each may happen, and the policy.
struct Scope {
    overlap: Overlap,
    events: BTreeMap<Event, usize>,
}

/// A connection and whoever watches it.
struct World {
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
        Self {
            bench: AgentBench::with_sessions(config, &["s1"]),
            observer: Observer::new(scope.overlap),
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
                let params = json!({ "sessionId": "s1", "prompt": [] });
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
                let params = payload(json!({ "options": [] }));
                let now = self.bench.now;
                let sent = self.bench.conn.request_in(turn, "session/request_permission", &params, bound, now);
                self.observer.asks(turn.number(), sent);
            }
            Event::Report => {
                for turn in self.bench.held.known.keys().copied().collect::<Vec<_>>() {
                    let delivery = self.bench.update(turn, chunk(&format!("t{turn}"))).expect("there is room");
                    self.observer.reports(turn, delivery);
                }
            }
            Event::Finish => {
                let turn = oldest.expect("a turn");
                let delivery = self.bench.end(turn, StopReason::EndTurn);
                self.observer.ends(turn, "end_turn", delivery);
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

    fn send(&mut self, message: serde_json::Value) {
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

/// A scope with these events, each once but those that are said to come twice.
fn scope(overlap: Overlap, once: &[Event], twice: &[Event]) -> Scope {
    let events = once.iter().map(|event| (*event, 1)).chain(twice.iter().map(|event| (*event, 2)));
    Scope { overlap, events: events.collect() }
}

/// Explores, and answers what occurred.
fn run(scope: &Scope) -> BTreeSet<&'static str> {
    let report = explore(scope, 1_000_000).unwrap_or_else(|counterexample| panic!("{counterexample}"));
    println!("{:?}: {} states, {} edges, depth {}", scope.overlap, report.states, report.edges, report.depth);
    report.outcomes
}

fn assert_occurred(outcomes: &BTreeSet<&'static str>, expected: &[&'static str]) {
    for one in expected {
        assert!(outcomes.contains(one), "never: {one}; but: {outcomes:?}");
    }
}

/// The two prompts, and all that both ends may do about them.
const ALL: [Event; 11] = [
    Event::Prompt(3),
    Event::Prompt(4),
    Event::Cancel,
    Event::CancelRequest(3),
    Event::Finish,
    Event::Fail,
    Event::Ask,
    Event::Answer,
    Event::Close,
    Event::Eof,
    Event::Timer,
];

#[test]
fn every_order_keeps_the_rules_when_prompts_queue() {
    let outcomes = run(&scope(Overlap::Queue(8), &ALL, &[]));
    let expected = [
        "end_turn",
        "cancelled",
        "-32603",
        "-32002",
        "asked",
        "asked after the cancel",
        "end Queued",
        "end AsCancelled",
        "end TooLate",
        "AbortTurn Session",
        "AbortTurn Request",
        "AbortTurn CloseSession",
        "AbortTurn Closing",
        "AbortTurn Session again",
        "AbortTurn Request again",
        "AbortTurn CloseSession again",
        "AbortTurn Closing again",
        "TurnForced",
        "IdleCancel",
        "CloseSession",
        "Resolved Result",
        "Resolved TimedOut",
        "Resolved Closed",
        "Resolved Cancelled(Session)",
        "Resolved Cancelled(Request)",
        "Resolved Cancelled(CloseSession)",
    ];
    assert_occurred(&outcomes, &expected);
}

#[test]
fn every_order_keeps_the_rules_when_prompts_are_forwarded() {
    let outcomes = run(&scope(Overlap::Forward(8), &ALL, &[]));
    assert_occurred(&outcomes, &["DropQueued", "AbortTurn Session", "end TooLate", "TurnForced", "end_turn"]);
}

#[test]
fn every_order_keeps_the_rules_when_a_second_prompt_is_refused() {
    let outcomes = run(&scope(Overlap::Refuse, &ALL, &[]));
    assert_occurred(&outcomes, &["-32600", "AbortTurn Session", "TurnForced", "end_turn"]);
}

#[test]
fn every_order_of_repeated_cancels_deadlines_and_reports_keeps_the_rules() {
    let once =
        [Event::Prompt(3), Event::Prompt(4), Event::CancelRequest(4), Event::Finish, Event::Close, Event::Release];
    let twice = [Event::Cancel, Event::Timer, Event::Report];
    let outcomes = run(&scope(Overlap::Queue(8), &once, &twice));
    assert_occurred(&outcomes, &["update Queued", "update TooLate", "AbortTurn Session again", "TurnForced", "-32002"]);
}

#[test]
fn every_order_keeps_the_rules_whenever_the_output_is_written() {
    let once = [
        Event::Prompt(3),
        Event::Cancel,
        Event::CancelRequest(3),
        Event::Ask,
        Event::Answer,
        Event::Report,
        Event::Finish,
        Event::Eof,
        Event::Timer,
    ];
    let outcomes = run(&scope(Overlap::Queue(8), &once, &[Event::Write]));
    assert_occurred(&outcomes, &["update TooLate", "Resolved Cancelled(Session)", "cancelled", "end_turn"]);
}
