//! One end, and whatever a peer, a host, a transport and a clock can do to it, in any order.

use core::time::Duration;
use std::collections::BTreeMap;

use acp_core::{Config, FrameId, Role};
use bytes::Bytes;
use serde_json::Value;

use super::{
    Decisions, LINES,
    hosts::{Held, Host},
};
use crate::{agent::AgentBench, bench::Bench, describe::Describe, taped, v2, wire::Wire};

/// One end under test.
struct Subject<R: Role> {
    wire: Wire<R>,
    held: Held,
    frames: Vec<FrameId>,
    /// How often each id was asked under and answered.
    asked: BTreeMap<String, usize>,
    answered: BTreeMap<String, usize>,
    closed: bool,
}

fn number(decisions: &mut Decisions<'_>) -> String {
    ["1", "2", "3", "4", "\"q\"", "\"p\"", "null", "99"][decisions.below(8)].into()
}

impl<R: Host> Subject<R>
where
    R::Action: Describe<R>,
{
    fn new(wire: Wire<R>) -> Self {
        let (frames, asked, answered) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Self { wire, held: Held::default(), frames, asked, answered, closed: false }
    }

    fn step(&mut self, decisions: &mut Decisions<'_>) {
        match decisions.below(12) {
            0..=2 => {
                let line = LINES[decisions.below(LINES.len())].as_bytes().to_vec();
                self.feed(line, decisions);
            }
            3 => {
                let id = number(decisions);
                let result = ["{}", r#"{"stopReason":"cancelled"}"#, r#"{"sessionId":"s2"}"#, "null"];
                let result = result[decisions.below(4)];
                self.feed(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into(), decisions);
            }
            4 => {
                let length = decisions.byte().into();
                let bytes = decisions.take(length).to_vec();
                self.feed(bytes, decisions);
            }
            5..=7 => R::act(&mut self.wire, &mut self.held, decisions),
            8 => self.take(decisions.byte()),
            9 => self.hand_out(decisions.byte()),
            10 => {
                self.wire.now = self.wire.now + Duration::from_millis(u64::from(decisions.byte()) * 50);
                self.wire.conn.handle_timeout(self.wire.now);
            }
            _ => self.rare(decisions),
        }
        self.look();
    }

    /// What happens once in a life, at most.
    fn rare(&mut self, decisions: &mut Decisions<'_>) {
        let now = self.wire.now;
        match decisions.byte() {
            0..=2 => self.wire.conn.close(now),
            3..=5 => self.wire.conn.handle_eof(now),
            6..=7 => self.wire.conn.handle_lost("broken pipe", now),
            8..=20 if !self.frames.is_empty() => {
                let frame = self.frames.swap_remove(decisions.below(self.frames.len()));
                self.wire.conn.handle_transmit_failed(frame, now);
            }
            _ => {}
        }
    }

    /// A line, with or without its end, or as a message.
    fn feed(&mut self, mut line: Vec<u8>, decisions: &mut Decisions<'_>) {
        match decisions.below(8) {
            0 => {}
            1 => {
                let at = decisions.below(line.len() + 1);
                line.insert(at, decisions.byte());
                line.push(b'\n');
            }
            2 => {
                self.asks(&line);
                self.wire.conn.handle_message(&Bytes::from(line), self.wire.now);
                return;
            }
            _ => line.push(b'\n'),
        }
        let held = self.wire.conn.held_bytes() > 0;
        if !held {
            line.split(|byte| *byte == b'\n').for_each(|line| self.asks(line));
        } else {
            // What it completes is not known here.
            *self.asked.entry("any".into()).or_default() += 1 + line.iter().filter(|byte| **byte == b'\n').count() * 64;
        }
        let piece = 1 + usize::from(decisions.byte());
        for piece in line.chunks(piece) {
            self.wire.conn.handle_input(piece, self.wire.now);
        }
    }

    /// Counts what may have to be answered under each id.
    fn asks(&mut self, line: &[u8]) {
        let Ok(value) = serde_json::from_slice::<Value>(line.trim_ascii()) else {
            // A line that cannot be read may be answered once, under whatever id was found in it.
            *self.asked.entry("any".into()).or_default() += 1;
            return;
        };
        if value.as_array().is_some_and(Vec::is_empty) {
            *self.asked.entry("any".into()).or_default() += 1;
        }
        for message in value.as_array().unwrap_or(&vec![value.clone()]) {
            let id =
                message.get("id").filter(|id| id.is_string() || id.is_i64()).map_or("any".into(), Value::to_string);
            *self.asked.entry(id).or_default() += 1;
        }
    }

    fn take(&mut self, count: u8) {
        for _ in 0..=count {
            let Some(action) = self.wire.conn.poll_action() else { break };
            assert!(!self.closed, "Closed is the last thing that is told: {action:?}");
            let described = action.describe(&self.wire.conn);
            self.closed = described.starts_with("closed");
            if let Err(other) = R::keep(action, &mut self.held) {
                self.wire.conn.decline(other, self.wire.now);
            }
        }
    }

    fn hand_out(&mut self, count: u8) {
        for _ in 0..=count {
            let Some(frame) = self.wire.conn.poll_transmit() else { break };
            self.frames.push(frame.id());
            let line = frame.into_line();
            let _well_formed = crate::describe::frame(&line);
            let value: Value = serde_json::from_slice(&line).unwrap_or_default();
            for message in value.as_array().unwrap_or(&vec![value.clone()]) {
                if message.get("method").is_none() {
                    *self.answered.entry(message["id"].to_string()).or_default() += 1;
                }
            }
        }
        self.frames.drain(..self.frames.len().saturating_sub(16));
        let any = self.asked.get("any").copied().unwrap_or(0);
        // Version 2 answers an id that is used again under null.
        let beyond = |(id, count): (&String, &usize)| match id.as_str() {
            "null" => 0,
            id => count.saturating_sub(self.asked.get(id).copied().unwrap_or(0)),
        };
        let extra: usize = self.answered.iter().map(beyond).sum();
        let (answers, requests): (usize, usize) = (self.answered.values().sum(), self.asked.values().sum());
        let once = extra <= any && answers <= requests;
        assert!(once, "more answers than requests: {:?}, {:?}", self.answered, self.asked);
    }

    /// What holds at any time.
    fn look(&self) {
        let conn = &self.wire.conn;
        let limits = &conn.config().limits;
        assert!(conn.held_bytes() <= (limits.line + 1).max(16 << 10));
        assert!(conn.unresolved() <= limits.own_requests);
        assert!(conn.sessions() <= limits.sessions);
        if conn.is_closed() {
            assert_eq!((conn.unresolved(), conn.unanswered().count(), conn.queued_bytes()), (0, 0, 0));
            assert_eq!(conn.poll_timeout(), None);
        }
    }

    /// Whatever state it is in, the end comes.
    fn end(&mut self) {
        self.take(u8::MAX);
        self.wire.conn.handle_eof(self.wire.now);
        for _ in 0..64 {
            self.hand_out(u8::MAX);
            self.take(u8::MAX);
            if self.closed {
                break;
            }
            self.wire.sleep(Duration::from_secs(10));
        }
        assert!(self.closed, "the end does not come: {:?}", self.wire.conn.poll_timeout());
        self.look();
    }
}

fn run<R: Host>(wire: Wire<R>, mut decisions: Decisions<'_>)
where
    R::Action: Describe<R>,
{
    let mut subject = Subject::new(wire);
    for _ in 0..300 {
        if decisions.is_over() {
            break;
        }
        subject.step(&mut decisions);
    }
    subject.end();
}

fn policy(mut config: Config, small: bool) -> Config {
    if small {
        (config.limits.line, config.limits.queued_bytes, config.limits.reserve_per_request) = (600, 2000, 300);
        (config.limits.own_requests, config.limits.peer_requests, config.limits.sessions) = (3, 2, 2);
        (config.limits.actions, config.limits.noise_lines) = (4, 5);
    }
    config
}

/// An agent: initialized, with tight limits or without; fresh; or of version 2.
///
/// # Panics
///
/// A rule is broken.
pub fn agent(data: &[u8]) {
    taped::damaged();
    let mut decisions = Decisions(data);
    let small = decisions.below(3) == 1;
    let wire = match decisions.below(3) {
        0 => Wire::agent(|config| *config = policy(config.clone(), small)),
        1 => Wire::fresh(policy(Config::agent(), small)),
        _ => {
            let AgentBench { conn, now, .. } = v2::ready();
            Wire { conn, now, told: Vec::new() }
        }
    };
    run(wire, decisions);
}

/// A client: the same.
///
/// # Panics
///
/// A rule is broken.
pub fn client(data: &[u8]) {
    taped::damaged();
    let mut decisions = Decisions(data);
    let small = decisions.below(3) == 1;
    let wire = match decisions.below(3) {
        0 => Wire::client(|config| *config = policy(config.clone(), small)),
        1 => Wire::fresh(policy(Config::client(), small)),
        _ => {
            let (bench, _) = v2::client_in(v2::client_config(|_| ()));
            Bench::from(bench).into()
        }
    };
    run(wire, decisions);
}
