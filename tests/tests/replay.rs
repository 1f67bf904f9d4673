//! Recordings: replayed to the same outputs, byte for byte, and still doing the same when their texts are taken out. Every
//! connection on a bench is recorded and replayed besides (`acp_tests::taped`); here is what that does not show.

use core::time::Duration;
use std::{collections::BTreeSet, fs, path::Path};

use acp_core::{
    Agent, AgentAction, CancelKind, Client, ClientAction, Config, Connection, Overlap, Payload, Timestamp, TurnEnd,
    replay::{ReplayError, redact, replay, rerun},
    wire::StopReason,
};
use acp_tests::{
    taped::{Taped, check},
    wire::raw,
};
use proptest::prelude::*;

const ROOM: usize = 1 << 20;

/// Two recorded ends, and what their hosts hold.
struct Pair {
    client: Connection<Client>,
    agent: Connection<Agent>,
    now: Timestamp,
    turns: Vec<acp_core::TurnKey>,
    running: Vec<acp_core::TurnTicket>,
    asked: Vec<acp_core::PermissionTicket>,
    /// What was handed out and has not arrived.
    wire: [Vec<u8>; 2],
}

impl Pair {
    fn new() -> Self {
        let mut config = Config::client();
        config.overlap = Overlap::Queue(4);
        config.idle = Some(Duration::from_secs(60));
        let mut client = Connection::new(config).expect("possible");
        let mut agent = Connection::new(Config::agent()).expect("possible");
        assert!(client.record(ROOM) && agent.record(ROOM));
        let wire = [vec![], vec![]];
        let now = Timestamp::ZERO;
        Self { client, agent, now, turns: vec![], running: vec![], asked: vec![], wire }
    }

    /// One of the things that can happen.
    fn step(&mut self, what: u8, how: u8) {
        let now = self.now;
        let session = self.client.find_session("s");
        match what % 16 {
            0 => drop(
                self.client.initialize(&raw(r#"{"clientInfo":{"name":"secret name","version":"secret name"}}"#), now),
            ),
            1 => drop(self.client.request(
                "session/new",
                Some(raw(r#"{"cwd":"/secret/path","mcpServers":[]}"#)),
                None,
                now,
            )),
            2 | 3 => {
                let prompt = raw(&format!(r#"[{{"type":"text","text":"secret {how}\né\ud800"}}]"#));
                self.turns.extend(session.and_then(|session| self.client.prompt(session, &prompt, None, now).ok()));
            }
            4 => {
                let turn = self.turns.get(usize::from(how) % self.turns.len().max(1));
                let kind = if how.is_multiple_of(2) { CancelKind::Stop } else { CancelKind::Steer };
                let _ = turn.map(|turn| self.client.cancel_turn(*turn, kind, now));
            }
            5 => drop(session.map(|session| self.client.stop_session(session, now))),
            6 => {
                let option = acp_core::Decision::Select(if how.is_multiple_of(2) { "yes" } else { "no such" }.into());
                let _ = self.asked.pop().map(|ticket| self.client.decide(ticket, &option, now));
            }
            7 => self.hear(),
            8 | 9 => self.carry(usize::from(how)),
            10 => {
                let update = raw(&format!(r#"{{"sessionUpdate":"tool_call","toolCallId":"{how}","title":"secret"}}"#));
                let _ = self.running.last().map(|ticket| self.agent.update(ticket, &update, now));
            }
            11 => {
                let params = raw(
                    r#"{"toolCall":{"toolCallId":"t","title":"secret"},"options":[{"optionId":"yes","name":"secret","kind":"allow_once"}]}"#,
                );
                let method = "session/request_permission";
                let _ = self.running.last().map(|ticket| self.agent.request_in(ticket, method, &params, None, now));
            }
            12 => {
                let _ = self.running.pop().map(|ticket| {
                    let end = if how.is_multiple_of(3) {
                        TurnEnd::Error(acp_core::ErrorObject::new(-32603, "secret").with_data(Payload::NULL))
                    } else {
                        TurnEnd::Stop(StopReason::EndTurn)
                    };
                    self.agent.end_turn(ticket, &end, now)
                });
            }
            13 => {
                self.now = now + Duration::from_secs(u64::from(how));
                self.client.handle_timeout(self.now);
                self.agent.handle_timeout(self.now);
            }
            14 => self.client.handle_message(&[b"secret {noise}", &[how][..]].concat().into(), now),
            _ if how < 16 => self.agent.handle_eof(now),
            _ if how < 32 => self.client.handle_lost("secret reason", now),
            _ if how < 48 => self.client.close(now),
            _ => drop(self.client.request("_plain/ask", Some(raw(r#"["secret"]"#)), Some(Duration::from_secs(9)), now)),
        }
    }

    /// Both hosts take what they are told.
    fn hear(&mut self) {
        let now = self.now;
        while let Some(action) = self.agent.poll_action() {
            match action {
                AgentAction::Initialize { ticket, .. } => {
                    drop(self.agent.accept_initialize(ticket, &Payload::EMPTY, now))
                }
                AgentAction::SessionRequested { ticket, .. } => {
                    if let Err(refused) = self.agent.accept_session(ticket, &raw(r#"{"sessionId":"s"}"#), now) {
                        self.agent.abandon(refused.ticket.key(), now);
                    }
                }
                AgentAction::Prompt { ticket, .. } => self.running.push(ticket),
                other => drop(self.agent.decline(other, now)),
            }
        }
        while let Some(action) = self.client.poll_action() {
            match action {
                ClientAction::PermissionRequested { ticket, .. } => self.asked.push(ticket),
                other => drop(self.client.decline(other, now)),
            }
        }
    }

    /// Frames go out, and at most so many bytes arrive.
    fn carry(&mut self, bytes: usize) {
        let [to_agent, to_client] = &mut self.wire;
        if let Some(frame) = self.client.poll_transmit() {
            to_agent.extend_from_slice(&frame.into_line());
        }
        if let Some(frame) = self.agent.poll_transmit() {
            to_client.extend_from_slice(&frame.into_line());
        }
        let take = |wire: &mut Vec<u8>| wire.drain(..bytes.saturating_mul(3).min(wire.len())).collect::<Vec<_>>();
        self.agent.handle_input(&take(to_agent), self.now);
        self.client.handle_input(&take(to_client), self.now);
    }
}

/// From the handshake to an open session, so that most of a run is about turns.
const OPENING: [(u8, u8); 8] = [(0, 0), (8, 255), (7, 0), (8, 255), (1, 0), (8, 255), (7, 0), (8, 255)];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn a_recording_of_any_run_replays_byte_for_byte_and_does_the_same_without_its_texts(
        steps in prop::collection::vec((any::<u8>(), any::<u8>()), 0..120),
    ) {
        acp_tests::schema::may_emit("its hosts write half of a surrogate pair");
        let mut pair = Pair::new();
        for (what, how) in OPENING.into_iter().chain(steps) {
            pair.step(what, how);
        }
        for recording in [pair.client.take_recording(), pair.agent.take_recording()] {
            let recording = recording.expect("it is recorded");
            check(&recording);
            let redacted = redact(&recording).expect("it was replayed");
            prop_assert!(!redacted.contains("secret"), "{}", redacted);
        }
    }
}

/// A recording of a few calls.
fn recorded() -> String {
    let mut pair = Pair::new();
    for (what, how) in OPENING {
        pair.step(what, how);
    }
    pair.client.take_recording().expect("it is recorded")
}

#[test]
fn a_replay_that_comes_to_something_else_says_in_which_line() {
    let recording = recorded();
    assert_eq!(replay(&recording).map(|replayed| replayed.calls), Ok(recording.lines().count() - 1));
    let changed = recording.replace(r#"secret name\"#, r#"secret game\"#);
    assert_ne!(changed, recording);
    assert!(matches!(replay(&changed), Err(ReplayError::Diverged { .. })), "{:?}", replay(&changed));
    // What is given is what counts: the outputs are made anew.
    assert_eq!(rerun(&changed), Ok(recording));
}

#[test]
fn what_is_no_recording_is_refused_with_the_line_that_is_wrong() {
    let recording = recorded();
    for text in [
        "",
        "{}",
        "hello",
        r#"{"acp_recording":2}"#,
        &recording.replacen("\"acp_recording\":1", "\"acp_recording\":9", 1),
    ] {
        assert_eq!(replay(text), Err(ReplayError::NoRecording), "{text}");
    }
    let header = recording.lines().next().expect("a header");
    for line in [
        "nonsense",
        "{}",
        r#"{"at":0}"#,
        r#"{"at":0,"do":"fly"}"#,
        r#"{"at":0,"do":"prompt"}"#,
        r#"{"at":0,"do":"update"}"#,
    ] {
        for found in [replay(&format!("{header}\n{line}")).err(), redact(&format!("{header}\n{line}")).err()] {
            assert!(matches!(found, Some(ReplayError::Line { line: 2, .. })), "{line}: {found:?}");
        }
    }
}

#[test]
fn a_recording_that_outgrows_its_room_ends_there_and_says_so() {
    let mut agent = Connection::<Agent>::new(Config::agent()).expect("possible");
    assert!(agent.record(2000));
    for _ in 0..40 {
        agent.handle_input(b"{\"jsonrpc\":\"2.0\",\"method\":\"_x\"}\n", Timestamp::ZERO);
    }
    let recording = agent.take_recording().expect("it is recorded");
    assert!(recording.len() <= 2100 && recording.ends_with("{\"torn\":true}\n"), "{recording}");
    assert!(replay(&recording).is_ok_and(|replayed| replayed.torn));
    check(&recording);
    agent.handle_eof(Timestamp::ZERO);
    assert_eq!(agent.take_recording().as_deref(), Some(""), "nothing follows what is torn");
}

#[test]
fn a_recording_begins_before_anything_happens_or_not_at_all() {
    let mut agent = Connection::<Agent>::new(Config::agent()).expect("possible");
    assert_eq!(agent.take_recording(), None);
    agent.set_auth_required(true);
    assert!(!agent.record(ROOM), "a replay would not know of it");
    let mut client = Connection::<Client>::new(Config::client()).expect("possible");
    assert!(client.record(ROOM));
    assert!(!client.record(ROOM), "it runs already");
    client.close(Timestamp::ZERO);
    let untaped = {
        let mut client = Connection::<Client>::new(Config::client()).expect("possible");
        client.close(Timestamp::ZERO);
        client
    };
    assert_eq!(client, untaped, "being recorded is no part of the state");
}

#[test]
fn texts_go_and_what_decides_stays() {
    let mut agent = Taped::<Agent>::new(Config::agent());
    let line = r#"{"jsonrpc":"2.0","id":"my id","method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"Ann","title":"Ann","version":"Bob"},"_meta":{"who":"me"}}}"#;
    let (front, back) = line.split_at(line.find("nn").expect("Ann"));
    agent.handle_input(front.as_bytes(), Timestamp::ZERO);
    agent.handle_input(back.as_bytes(), Timestamp::ZERO);
    agent.handle_input(b"\nAnn was here: {\xff\n", Timestamp::ZERO);
    while agent.poll_action().is_some() {}
    let redacted = redact(&agent.take_recording().expect("it is recorded")).expect("it replays");
    assert_eq!(redacted.matches(r#"\"clientInfo\":{\"name\":\"x"#).count(), 1, "cut where it was: {redacted}");
    for gone in ["Ann", "Bob", "who", "was here"] {
        assert!(!redacted.contains(gone), "{gone}: {redacted}");
    }
    let same = r#"xa\",\"title\":\"xxa\",\"version\":\"xxb\"}"#;
    for stays in [r#"\"id\":\"my id\""#, same, "protocolVersion", "NotJson"] {
        assert!(redacted.contains(stays), "{stays}: {redacted}");
    }
}

/// A call that is not written down would be missing from every replay, and one that another calls would be in it twice.
#[test]
fn every_call_that_changes_a_connection_is_written_down_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../acp-core/src/connection");
    let (mut found, mut sources) = (BTreeSet::new(), String::new());
    for file in fs::read_dir(folder).expect("the connection's folder") {
        let text = fs::read_to_string(file.expect("a file").path()).expect("UTF-8");
        for (at, _) in text.match_indices("    pub fn ") {
            let (head, body) = text[at + 11..].split_once(" {\n").expect("a body");
            let name = head.split(['(', '<']).next().unwrap_or_default();
            if !head.contains("&mut self") || ["record", "take_recording"].contains(&name) {
                continue;
            }
            let end = body.find("\n    }\n").unwrap_or(body.len());
            let noted = ["note!(", "note_action(", "cancel_turn_with("].iter().any(|note| body[..end].contains(note));
            assert!(noted, "`{name}` is not written down");
            found.insert(name.to_owned());
        }
        sources.push_str(&text);
    }
    assert!(found.len() > 30, "the calls were not found: {found:?}");
    found.remove("cancel_turn_with");
    for name in found {
        assert!(
            !sources.contains(&format!("self.{name}(")),
            "`{name}` is called inside, and is written down there too"
        );
    }
}
