//! Whatever bytes come, from whatever peer, to either end: no panic, one answer to each request, and every line of output
//! is a message.

#[path = "wire_properties/traffic.rs"]
mod traffic;

use core::time::Duration;

use acp_core::{
    Agent, AgentAction, Client, ClientAction, Common, Config, Connection, Payload, Role, Side, TurnEnd,
    wire::{Id, Line, Malformed, Message, Shape, StopReason, parse_line},
};
use acp_tests::{
    describe::Describe,
    schema::may_emit,
    taped,
    wire::{Wire, raw},
};
use bytes::Bytes;
use proptest::prelude::*;
use traffic::{cut, line, stream};

/// A host that answers at once, each kind in its own way.
trait Host: Role {
    fn act(conn: &mut Connection<Self>, action: Self::Action, now: acp_core::Timestamp);
}

impl Host for Agent {
    fn act(agent: &mut Connection<Self>, action: AgentAction, now: acp_core::Timestamp) {
        match action {
            AgentAction::Initialize { ticket, .. } => {
                let all =
                    raw(r#"{"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"list":{},"close":{}}}}"#);
                agent.accept_initialize(ticket, &all, now).expect("an object");
            }
            AgentAction::SessionRequested { ticket, .. } => {
                let id = format!(r#"{{"sessionId":"s{}"}}"#, ticket.key().number());
                if let Err(refused) = agent.accept_session(ticket, &raw(&id), now) {
                    agent.abandon(refused.ticket.key(), now);
                }
            }
            AgentAction::Prompt { ticket, .. } => {
                agent.end_turn(ticket, &TurnEnd::Stop(StopReason::EndTurn), now);
            }
            AgentAction::Common(Common::Request { ticket, .. }) if ticket.key().number() % 2 == 0 => {
                agent.abandon(ticket.key(), now);
            }
            other => drop(agent.decline(other, now)),
        }
    }
}

impl Host for Client {
    fn act(client: &mut Connection<Self>, action: ClientAction, now: acp_core::Timestamp) {
        match action {
            ClientAction::Common(Common::Request { ticket, .. }) => {
                client.respond(ticket, Ok(Payload::EMPTY), now).expect("an answer");
            }
            other => drop(client.decline(other, now)),
        }
    }
}

fn act_all<R: Host>(wire: &mut Wire<R>) {
    may_emit("its host answers everything alike");
    while let Some(action) = wire.conn.poll_action() {
        R::act(&mut wire.conn, action, wire.now);
    }
}

/// The ids of the answers among these frames, as they stand.
fn answered(frames: &[String]) -> Vec<String> {
    let mut ids = Vec::new();
    let mut each = |message: Message| {
        if let Message::Response { id, .. } = message {
            ids.push(id.to_string());
        }
    };
    for frame in frames {
        match parse_line(&Bytes::from(frame.clone()), usize::MAX) {
            Line::Message(message) => each(message),
            Line::Batch(messages) => messages.into_iter().for_each(&mut each),
            other => panic!("{frame}: {other:?}"),
        }
    }
    ids.sort();
    ids
}

/// The ids under which this line must be answered, if no other request is open.
fn owed(line: &[u8], side: Side, batch: usize) -> Vec<String> {
    let null = || Some(Id::NULL.to_string());
    let of = |message: &Message| match message {
        Message::Request { id, .. } => Some(id.to_string()),
        Message::Notification { .. } | Message::Response { .. } => None,
        Message::Malformed(Malformed { shape, id, .. }) => match (shape, side) {
            (Shape::Response | Shape::Hybrid, _) => None,
            (Shape::NotJson | Shape::Nothing, Side::Agent) => null(),
            (Shape::Call | Shape::Bare, Side::Agent) => id.as_ref().map(ToString::to_string).or_else(null),
            (Shape::Call, Side::Client) => id.as_ref().map(ToString::to_string),
            (Shape::NotJson | Shape::Nothing | Shape::Bare, Side::Client) => None,
        },
    };
    let mut ids: Vec<_> = match parse_line(&Bytes::copy_from_slice(line), batch) {
        Line::Blank => Vec::new(),
        Line::Message(message) => of(&message).into_iter().collect(),
        Line::Batch(messages) => messages.iter().filter_map(of).collect(),
        Line::EmptyBatch | Line::BatchTooLarge if side == Side::Agent => null().into_iter().collect(),
        Line::EmptyBatch | Line::BatchTooLarge => Vec::new(),
    };
    ids.sort();
    ids
}

/// One line after the other, each answered by the host before the next: every request has one answer, under its id, and
/// nothing else has one.
fn one_answer_each<R: Host>(wire: &mut Wire<R>, lines: &[Vec<u8>]) -> Result<(), TestCaseError>
where
    R::Action: Describe<R>,
{
    for line in lines {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        wire.feed([line, b"\n"].concat());
        act_all(wire);
        let answered = answered(&wire.frames());
        let owed = owed(line, R::SIDE, wire.conn.config().limits.batch);
        let mut different = owed.clone();
        different.dedup();
        // In a batch an id may come while it is open.
        let repeats = line.trim_ascii_start().starts_with(b"[") && different.len() < owed.len();
        if repeats {
            prop_assert!(answered.len() <= owed.len());
        } else {
            prop_assert_eq!(answered, owed, "{}", String::from_utf8_lossy(line));
        }
    }
    wire.conn.handle_eof(wire.now);
    act_all(wire);
    wire.sleep(Duration::from_secs(10));
    wire.frames();
    act_all(wire);
    prop_assert!(wire.conn.is_closed());
    prop_assert_eq!((wire.counts(), wire.conn.poll_timeout()), ([0; 4], None));
    Ok(())
}

fn patient(config: &mut Config) {
    taped::damaged();
    config.limits.noise_lines = usize::MAX;
    config.limits.noise_bytes = usize::MAX;
}

fn fresh(mut config: Config) -> Config {
    patient(&mut config);
    config
}

/// What came out of these bytes, cut like this, with a host that only listens.
fn heard<R: Role>(mut wire: Wire<R>, bytes: &[u8], lengths: &[usize]) -> (Vec<String>, Vec<String>, [usize; 4])
where
    R::Action: Describe<R>,
{
    let mut actions = Vec::new();
    for piece in cut(bytes, lengths) {
        wire.feed(piece);
        actions.extend(wire.actions());
    }
    let counts = wire.counts();
    wire.conn.handle_eof(wire.now);
    let mut frames = wire.frames();
    actions.extend(wire.actions());
    wire.sleep(Duration::from_secs(10));
    frames.extend(wire.frames());
    actions.extend(wire.actions());
    assert!(actions.last().is_some_and(|last| last.starts_with("closed")), "{actions:?}");
    assert_eq!((wire.counts(), wire.conn.poll_timeout()), ([0; 4], None));
    (frames, actions, counts)
}

/// A short limit, so that lines over it are among them.
fn short(config: &mut Config) {
    taped::damaged();
    config.limits.line = 1000;
    config.limits.noise_lines = 8;
}

/// Requests of ours are open, with and without a deadline, and a prompt.
fn busy_client(config: fn(&mut Config)) -> Wire<Client> {
    let mut client = Wire::client(config);
    let session = client.key("s1");
    client.conn.prompt(session, &raw("[]"), None, client.now).expect("idle");
    client.conn.request("_own", None, Some(Duration::from_secs(5)), client.now).expect("room");
    let new = raw(r#"{"cwd":"/","mcpServers":[]}"#);
    client.conn.request("session/new", Some(new), None, client.now).expect("room");
    client.quiet();
    client
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn an_agent_answers_every_request_once(lines in prop::collection::vec(line(), 1..40), ready in any::<bool>()) {
        let mut agent = if ready { Wire::agent(patient) } else { Wire::fresh(fresh(Config::agent())) };
        one_answer_each(&mut agent, &lines)?;
    }

    #[test]
    fn a_client_answers_every_request_once(lines in prop::collection::vec(line(), 1..40), ready in any::<bool>()) {
        let mut client = if ready { Wire::client(patient) } else { Wire::fresh(fresh(Config::client())) };
        one_answer_each(&mut client, &lines)?;
    }

    #[test]
    fn chunks_do_not_matter_to_an_agent(bytes in stream(1..30), lengths in prop::collection::vec(1..300_usize, 1..6)) {
        prop_assert_eq!(heard(Wire::agent(short), &bytes, &lengths), heard(Wire::agent(short), &bytes, &[usize::MAX]));
    }

    #[test]
    fn chunks_do_not_matter_to_a_client(bytes in stream(1..30), lengths in prop::collection::vec(1..300_usize, 1..6)) {
        prop_assert_eq!(heard(busy_client(short), &bytes, &lengths), heard(busy_client(short), &bytes, &[usize::MAX]));
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..2000), length in 1..100_usize) {
        heard(Wire::agent(short), &bytes, &[length]);
        heard(busy_client(short), &bytes, &[length]);
        heard(Wire::<Agent>::fresh(fresh(Config::agent())), &bytes, &[length]);
        heard(Wire::<Client>::fresh(fresh(Config::client())), &bytes, &[length]);
    }

    /// What one of ours says to noise, another of ours does not answer.
    #[test]
    fn two_of_ours_come_to_rest(bytes in stream(1..20), to_agent in any::<bool>()) {
        let (mut agent, mut client) = (Wire::agent(patient), busy_client(patient));
        let bytes = [&bytes[..], b"\n"].concat();
        if to_agent {
            agent.feed(bytes);
        } else {
            client.feed(bytes);
        }
        let mut rounds = 0;
        loop {
            act_all(&mut agent);
            act_all(&mut client);
            let mut moved = false;
            while let Some(frame) = agent.conn.poll_transmit() {
                client.feed(frame.into_line());
                moved = true;
            }
            act_all(&mut client);
            while let Some(frame) = client.conn.poll_transmit() {
                agent.feed(frame.into_line());
                moved = true;
            }
            if !moved {
                break;
            }
            rounds += 1;
            prop_assert!(rounds <= 3, "they keep talking");
        }
    }
}
