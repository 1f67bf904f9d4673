//! Every order of the things that may happen around two prompts, on a real connection: after each step, and after an
//! end that is brought about from each state reached, the rules of turns, requests and deadlines hold.
//!
//! A connection cannot be copied, since it holds tickets; so a state is the list of steps that leads to it, and is
//! reached by taking them again. States that are equal in all that matters are entered once.

#[path = "agent_explore/observer.rs"]
mod observer;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use acp_core::{Config, Overlap, wire::StopReason};
use acp_tests::agent::{AgentBench, chunk};
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
    /// At most this many steps.
    depth: usize,
}

/// A connection and whoever watches it.
struct World {
    bench: AgentBench,
    observer: Observer,
    left: BTreeMap<Event, usize>,
    bytewise: bool,
    eager: bool,
}

impl World {
    fn new(scope: &Scope, bytewise: bool) -> Self {
        let mut config = Config::agent();
        config.overlap = scope.overlap;
        Self {
            bench: AgentBench::with_sessions(config, &["s1"]),
            observer: Observer::new(scope.overlap),
            left: scope.events.clone(),
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
        if let Some(left) = self.left.get_mut(&event) {
            *left = left.saturating_sub(1);
        }
        self.observer.before(event, &self.bench);
        self.act(event);
        let told = self.bench.told();
        self.observer.told(event, &told, &self.bench);
        if !self.left.contains_key(&Event::Release) && !self.bench.held.requests.is_empty() {
            self.bench.respond(Ok(json!({})));
        }
        if self.eager || event == Event::Write {
            let wire = self.bench.frames();
            self.observer.wire(event, &wire);
            // Writing the last frame may be the end.
            let told = self.bench.told();
            self.observer.told(event, &told, &self.bench);
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
                let params = acp_tests::agent::payload(json!({ "options": [] }));
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

    /// What decides about everything that can follow.
    fn fingerprint(&self) -> u128 {
        let half = |seed: u64| {
            let mut hasher = DefaultHasher::new();
            (seed, &self.bench.conn, &self.bench.held, &self.left, self.observer.state()).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        half(1) << 64 | half(2)
    }
}

/// A world after these steps.
fn replay(scope: &Scope, path: &[Event], bytewise: bool) -> World {
    let mut world = World::new(scope, bytewise);
    path.iter().for_each(|event| world.step(*event));
    world
}

/// Goes through every order, and answers what was seen.
fn explore(scope: &Scope) -> BTreeSet<String> {
    let (mut seen, mut edges, mut witnessed) = (HashSet::new(), 0_usize, BTreeSet::new());
    let mut waiting: std::collections::VecDeque<Vec<Event>> = [vec![]].into();
    seen.insert(World::new(scope, false).fingerprint());
    while let Some(path) = waiting.pop_front() {
        for choice in replay(scope, &path, false).choices() {
            let path = [&path[..], &[choice]].concat();
            let broken = Broken(&path);
            let mut world = replay(scope, &path, false);
            edges += 1;
            if seen.insert(world.fingerprint()) {
                if path.len() < scope.depth {
                    waiting.push_back(path.clone());
                }
                let mut cut_anywhere = replay(scope, &path, true);
                world.conclude();
                cut_anywhere.conclude();
                assert_eq!(world.observer, cut_anywhere.observer, "how the input is cut changes what follows");
                witnessed.extend(world.observer.witnessed());
            }
            std::mem::forget(broken);
        }
    }
    println!("{:?}: {} states, {edges} edges", scope.overlap, seen.len());
    witnessed
}

/// Says which steps led to a broken rule.
struct Broken<'a>(&'a [Event]);

impl Drop for Broken<'_> {
    fn drop(&mut self) {
        eprintln!("after these steps: {:?}", self.0);
    }
}

/// Everything once, but what is said here.
fn scope(overlap: Overlap, without: &[Event], twice: &[Event]) -> Scope {
    let all = [
        Event::Prompt(3),
        Event::Prompt(4),
        Event::Cancel,
        Event::CancelRequest(3),
        Event::CancelRequest(4),
        Event::Close,
        Event::Eof,
        Event::Answer,
        Event::Ask,
        Event::Report,
        Event::Finish,
        Event::Fail,
        Event::Release,
        Event::Timer,
        Event::Write,
    ];
    let count = |event: &Event| if twice.contains(event) { 2 } else { 1 };
    let events = all.iter().filter(|event| !without.contains(event)).map(|event| (*event, count(event))).collect();
    Scope { overlap, events, depth: std::env::var("DEPTH").unwrap().parse().unwrap() }
}

fn assert_witnessed(witnessed: &BTreeSet<String>, expected: &[&str]) {
    for one in expected {
        assert!(witnessed.contains(*one), "never seen: {one}; but: {witnessed:#?}");
    }
}

#[test]
fn every_order_around_two_prompts_that_queue_keeps_the_rules() {
    let witnessed = explore(&scope(
        Overlap::Queue(8),
        &[Event::Write, Event::Report, Event::Release, Event::CancelRequest(4)],
        &[],
    ));
    println!("{witnessed:#?}");
    assert_witnessed(&witnessed, &["cancelled"]);
}
