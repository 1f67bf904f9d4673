//! Every limit: what happens at it, that nothing happened when it refused, and that there is room again afterwards.

#[path = "wire_limits/reserve.rs"]
mod reserve;
#[path = "wire_limits/tables.rs"]
mod tables;

use core::{
    hash::{Hash, Hasher},
    time::Duration,
};
use std::hash::DefaultHasher;

use acp_core::{
    Agent, Client, CommandError, Config, ConfigError, Connection, Delivery, Limits, Overlap, Payload, Role, Timestamp,
};
use acp_tests::wire::{Wire, raw, rpc};

/// Everything a connection knows, in a number: a refused command must not change it.
fn print<R: Role>(conn: &Connection<R>) -> u64 {
    let mut hasher = DefaultHasher::new();
    conn.hash(&mut hasher);
    hasher.finish()
}

/// A payload of so many bytes.
fn sized(bytes: usize) -> Payload {
    raw(&format!("{{\"t\":\"{}\"}}", "y".repeat(bytes - 8)))
}

#[test]
fn a_limit_of_nothing_is_refused_by_its_name() {
    type Change = fn(&mut Limits);
    let limits: [(&str, Change); 12] = [
        ("limits.line", |limits| limits.line = 0),
        ("limits.queued_bytes", |limits| limits.queued_bytes = 0),
        ("limits.reserve_per_request", |limits| limits.reserve_per_request = 0),
        ("limits.own_requests", |limits| limits.own_requests = 0),
        ("limits.peer_requests", |limits| limits.peer_requests = 0),
        ("limits.actions", |limits| limits.actions = 0),
        ("limits.sessions", |limits| limits.sessions = 0),
        ("limits.batch", |limits| limits.batch = 0),
        ("limits.noise_lines", |limits| limits.noise_lines = 0),
        ("limits.noise_bytes", |limits| limits.noise_bytes = 0),
        ("limits.early_updates", |limits| limits.early_updates = 0),
        ("limits.open_tool_calls", |limits| limits.open_tool_calls = 0),
    ];
    for (name, change) in limits {
        let mut config = Config::agent();
        change(&mut config.limits);
        let refused = Connection::<Agent>::new(config.clone()).err();
        assert_eq!(refused, Some(ConfigError::Zero(name)));
        assert_eq!(Connection::<Client>::new(config).err(), Some(ConfigError::Zero(name)));
    }
    let mut least = Config::agent();
    for (_, change) in limits {
        change(&mut least.limits);
    }
    let one = &mut least.limits;
    (one.line, one.queued_bytes, one.reserve_per_request) = (1, 1, 1);
    (one.own_requests, one.peer_requests, one.actions, one.sessions, one.batch) = (1, 1, 1, 1, 1);
    (one.noise_lines, one.noise_bytes, one.early_updates, one.open_tool_calls) = (1, 1, 1, 1);
    assert!(Connection::<Agent>::new(least).is_ok());
}

#[test]
fn a_line_of_ours_may_be_as_long_as_the_limit_and_no_longer() {
    let mut client = Wire::client(|config| config.limits.line = 600);
    let envelope = r#"{"jsonrpc":"2.0","id":3,"method":"_x","params":}"#.len();
    let before = print(&client.conn);
    let refused = client.conn.request("_x", Some(sized(601 - envelope)), None, client.now);
    assert_eq!(refused, Err(CommandError::TooLong { size: 601, limit: 600 }));
    assert_eq!(print(&client.conn), before, "a refused command changed something");
    assert!(client.conn.request("_x", Some(sized(600 - envelope)), None, client.now).is_ok());
    assert_eq!(client.frames().concat().len(), 600);

    let envelope = r#"{"jsonrpc":"2.0","method":"_x","params":}"#.len();
    let before = print(&client.conn);
    let refused = client.conn.notify("_x", Some(&sized(601 - envelope)), client.now);
    assert_eq!(refused, Err(CommandError::TooLong { size: 601, limit: 600 }));
    assert_eq!(print(&client.conn), before, "a refused command changed something");
    assert_eq!(client.conn.notify("_x", Some(&sized(600 - envelope)), client.now), Ok(()));
    assert_eq!(client.frames().concat().len(), 600);
}

#[test]
fn an_answer_longer_than_a_line_goes_out_as_an_error_and_the_host_is_told() {
    for (over, expected) in [(0, Delivery::Queued), (1, Delivery::AsError)] {
        let mut agent = Wire::agent(|config| config.limits.line = 600);
        agent.feed(rpc(r#""id":7,"method":"_x""#)).actions();
        let envelope = r#"{"jsonrpc":"2.0","id":7,"result":}"#.len();
        let Some(acp_core::AgentAction::Common(acp_core::Common::Request { ticket, .. })) = agent.told.pop() else {
            panic!("a request")
        };
        let delivery = agent.conn.respond(ticket, Ok(sized(600 + over - envelope)), agent.now);
        assert_eq!(delivery, Ok(expected));
        let frames = agent.frames().concat();
        assert_eq!(frames.contains("-32603"), expected == Delivery::AsError, "{frames}");
        assert_eq!(agent.counts(), [0; 4]);
    }
}

/// Each answer fits, the array of them does not: the one that is too much goes out as an error, and its host is told.
#[test]
fn the_array_of_a_batch_fits_a_line_too() {
    let mut agent = Wire::agent(|config| config.limits.line = 600);
    agent
        .feed("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"_a\"},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"_b\"}]\n")
        .actions();
    let mut deliveries = Vec::new();
    for action in core::mem::take(&mut agent.told) {
        if let acp_core::AgentAction::Common(acp_core::Common::Request { ticket, .. }) = action {
            deliveries.push(agent.conn.respond(ticket, Ok(sized(300)), agent.now));
        }
    }
    assert_eq!(deliveries, [Ok(Delivery::Queued), Ok(Delivery::AsError)]);
    let line = agent.frames().concat();
    assert!(line.starts_with('[') && line.matches("-32603").count() == 1 && line.len() < 600, "{line}");
    assert_eq!(agent.counts(), [0; 4]);
}

#[test]
fn bytes_that_wait_to_be_written_are_counted_and_given_back() {
    let line = rpc(r#""method":"_x","params":{}"#).len();
    let mut client = Wire::client(|config| config.limits.queued_bytes = 4096);
    let fit = 4096 / line;
    for _ in 0..fit {
        assert_eq!(client.conn.notify("_x", Some(&Payload::EMPTY), client.now), Ok(()));
    }
    let full = Err(CommandError::Full { what: "limits.queued_bytes" });
    let before = print(&client.conn);
    assert_eq!(client.conn.notify("_x", Some(&Payload::EMPTY), client.now), full);
    let request = client.conn.request("_x", Some(Payload::EMPTY), Some(Duration::from_secs(1)), client.now);
    assert_eq!(request.map(drop), full);
    let session = client.key("s1");
    assert_eq!(client.conn.prompt(session, &raw("[]"), None, client.now).map(drop), full);
    assert_eq!(print(&client.conn), before, "a refused command changed something");
    assert_eq!((client.conn.queued_bytes(), client.conn.poll_timeout()), (fit * line, None));
    // Taking a frame is how one learns that there is room.
    assert!(client.conn.poll_transmit().is_some());
    assert_eq!(client.conn.queued_bytes(), (fit - 1) * line);
    assert_eq!(client.conn.notify("_x", Some(&Payload::EMPTY), client.now), Ok(()));
    assert_eq!(client.conn.notify("_x", Some(&Payload::EMPTY), client.now), full);
    assert_eq!(client.frames().len(), fit);
    assert_eq!(client.counts(), [0; 4]);
}

#[test]
fn the_last_byte_that_may_wait_is_the_limit_itself() {
    let line = rpc(r#""method":"_x","params":{}"#).len();
    for (over, fits) in [(0, true), (1, false)] {
        let mut config = Config::client();
        config.limits.queued_bytes = 2000;
        let mut client = Wire::from(acp_tests::bench::Bench::client(config));
        while client.conn.queued_bytes() + 2 * line < 2000 {
            assert_eq!(client.conn.notify("_x", Some(&Payload::EMPTY), client.now), Ok(()));
        }
        let left = 2000 - client.conn.queued_bytes() - (line - 2) + over;
        assert_eq!(client.conn.notify("_x", Some(&sized(left)), client.now).is_ok(), fits);
        assert_eq!(client.conn.queued_bytes() == 2000, fits);
    }
}

/// A counter that only grows would stop a session at whatever it is set to.
#[test]
fn small_updates_without_end_pass_a_small_limit() {
    let mut agent = Wire::agent(|config| config.limits.queued_bytes = 64 << 10);
    let session = agent.key("s1");
    let update = raw(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}"#);
    for _ in 0..10_000 {
        assert_eq!(agent.conn.update(session, &update, agent.now), Ok(Delivery::Queued));
        assert!(agent.conn.poll_transmit().is_some());
    }
    assert_eq!(agent.counts(), [0; 4]);
}

#[test]
fn actions_at_the_limit_stop_the_reading_and_nothing_handed_in_is_lost() {
    let mut client = Wire::client(|config| config.limits.actions = 4);
    let note = |n: u32| rpc(&format!(r#""method":"_x","params":[{n}]"#));
    client.feed((0..3).map(note).collect::<String>());
    assert!(client.conn.wants_input(), "one below the limit");
    client.feed(note(3));
    assert!(!client.conn.wants_input(), "at the limit");
    // One chunk may overshoot: all of it is processed, in order.
    client.feed((4..100).map(note).collect::<String>());
    // Our own cancels and answers go out all the same.
    client.feed(rpc(r#""id":1,"method":"no/such""#));
    let session = client.key("s1");
    let turn = client.conn.prompt(session, &raw("[]"), None, client.now).expect("idle");
    client.conn.poll_transmit();
    client.conn.poll_transmit();
    assert!(client.conn.cancel_turn(turn, acp_core::CancelKind::Stop, client.now).is_ok());
    assert_eq!(client.frames(), [r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}"#]);
    for _ in 0..97 {
        assert!(!client.conn.wants_input());
        assert!(client.conn.poll_action().is_some());
    }
    assert!(client.conn.wants_input(), "there is room again");
    assert_eq!(client.actions(), (97..100).map(|n| format!("notification _x [{n}]")).collect::<Vec<_>>());
}

#[test]
fn nobody_is_hurried_unless_asked() {
    let mut client = Wire::client(|_| {});
    let session = client.key("s1");
    let turn = client.conn.prompt(session, &raw("[]"), None, client.now).expect("idle");
    client.conn.request("session/list", Some(Payload::EMPTY), None, client.now).expect("offered");
    client.feed(rpc(
        r#""id":"p","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","name":"A","kind":"allow_once"}]}"#,
    ));
    client.quiet();
    assert_eq!(client.conn.poll_timeout(), None);
    client.sleep(Duration::from_secs(31 * 60));
    assert_eq!((client.frames(), client.actions()), (vec![], vec![]));
    assert!(client.conn.is_live(turn));
}

#[test]
fn a_request_that_times_out_unsent_is_never_written() {
    let mut client = Wire::client(|_| {});
    client.conn.request("_slow", None, Some(Duration::from_secs(1)), client.now).expect("there is room");
    client.conn.request("_sent", None, Some(Duration::from_secs(1)), client.now).expect("there is room");
    client.conn.notify("_after", None, client.now).expect("there is room");
    assert_eq!(client.conn.poll_timeout().map(|deadline| deadline.at), Some(Timestamp::from_millis(1000)));
    client.sleep(Duration::from_secs(1));
    assert_eq!(client.actions(), ["resolved 3 - TimedOut", "resolved 4 - TimedOut"]);
    assert_eq!(client.frames(), [r#"{"jsonrpc":"2.0","method":"_after"}"#], "and what is behind it is");
    assert_eq!((client.counts(), client.conn.poll_timeout()), ([0; 4], None));
    client.feed(rpc(r#""id":3,"result":{}"#));
    assert_eq!(client.actions(), [""; 0], "a late answer is dropped");
}

#[test]
fn prompts_wait_up_to_the_limit_of_their_session() {
    let prompt =
        |id: u32| rpc(&format!(r#""id":{id},"method":"session/prompt","params":{{"sessionId":"s1","prompt":[]}}"#));
    let mut agent = Wire::agent(|config| {
        config.overlap = Overlap::Queue(2);
        config.limits.peer_requests = 1;
    });
    // Prompts take no place of other requests.
    agent.feed((1..=3).map(prompt).collect::<String>()).feed(rpc(r#""id":9,"method":"_x""#));
    assert_eq!(agent.actions().len(), 2);
    assert_eq!(agent.frames(), [""; 0]);
    agent.feed(prompt(4));
    assert_eq!(agent.frames(), [acp_tests::wire::err("4", -32603)]);
    agent.feed(rpc(r#""method":"session/cancel","params":{"sessionId":"s1"}"#)).feed(prompt(4)).feed(prompt(5));
    let cancelled = r#"{"stopReason":"cancelled"}"#;
    assert_eq!(agent.frames(), [acp_tests::wire::ok("2", cancelled), acp_tests::wire::ok("3", cancelled)]);
    agent.conn.handle_eof(agent.now);
    agent.sleep(Duration::from_secs(2));
    assert_eq!(agent.frames().len(), 4);
    assert_eq!(agent.counts(), [0; 4]);
}
