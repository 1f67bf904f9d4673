//! What the agent tells a client: one stream, in the order of the wire, and each update says what it belongs to.

use acp_core::{CancelKind, ClientAction, Config, Origin, SessionPlan};
use acp_tests::{
    bench::{agent_capabilities, payload},
    client::{ClientBench, config},
};
use serde_json::json;

fn initialized(config: Config) -> ClientBench {
    let mut client = ClientBench::fresh(config);
    client.initialize(json!({ "agentCapabilities": agent_capabilities() }));
    client.heard();
    client
}

fn new(client: &mut ClientBench) {
    let (now, plan) = (client.now, SessionPlan::new(payload(json!({ "cwd": "/", "mcpServers": [] }))));
    client.conn.open_session(&plan, now).expect("it may be sent");
    client.said();
}

fn load(client: &mut ClientBench, id: &str) {
    let (now, plan) = (client.now, SessionPlan::stored(id, payload(json!({ "cwd": "/", "mcpServers": [] }))));
    client.conn.open_session(&plan, now).expect("it may be sent");
    client.said();
}

#[test]
fn each_update_says_whether_it_is_history_of_a_turn_or_of_neither() {
    let mut client = initialized(Config::client());
    load(&mut client, "s1");
    client.chunk("s1", "old");
    client.result(2, json!(null));
    client.chunk("s1", "news");
    let session = client.conn.find_session("s1").expect("it is open");
    let (turn, prompt) = client.prompt(session);
    client.chunk("s1", "new");
    let now = client.now;
    assert!(client.conn.cancel_turn(turn, CancelKind::Stop, now).is_ok());
    client.tool("s1", "t1", "completed");
    client.stops(prompt, "cancelled");
    client.tool("s1", "t2", "failed");
    assert_eq!(
        client.heard(),
        [
            "update s1 Replay: old",
            "resolved 2 s1 Result",
            "update s1 OutOfTurn: news",
            "update s1 turn 1: new",
            "update s1 turn 1: t1",
            "turn 1 Cancelled",
            "update s1 OutOfTurn: t2",
        ]
    );
}

#[test]
fn what_comes_before_its_session_is_known_is_held_and_told_right_after() {
    let mut client = initialized(Config::client());
    new(&mut client);
    new(&mut client);
    client.chunk("b", "b1");
    client.chunk("a", "a1");
    client.chunk("b", "b2");
    assert_eq!(client.heard(), [""; 0]);
    client.result(2, json!({ "sessionId": "a" }));
    assert_eq!(client.heard(), ["resolved 2 a Result", "update a Early: a1"]);
    client.chunk("b", "b3");
    client.chunk("a", "a2");
    client.result(3, json!({ "sessionId": "b" }));
    client.chunk("b", "b4");
    assert_eq!(
        client.heard(),
        [
            "update a OutOfTurn: a2",
            "resolved 3 b Result",
            "update b Early: b1",
            "update b Early: b2",
            "update b Early: b3",
            "update b OutOfTurn: b4",
        ]
    );
}

#[test]
fn what_was_held_for_a_session_that_never_came_is_told_as_of_no_session() {
    for end in 0..3 {
        let mut client = initialized(Config::client());
        new(&mut client);
        client.chunk("a", "a1");
        match end {
            0 => client.error(2, -32603),
            1 => client.result(2, json!({ "sessionId": "other" })),
            _ => client.eof(),
        }
        let heard = client.heard();
        assert_eq!(heard.get(1).map(String::as_str), Some("update - Early: a1"), "{heard:?}");
    }
}

#[test]
fn more_than_may_be_held_is_told_at_once_as_of_no_session() {
    let mut client = initialized(config(|config| config.limits.early_updates = 2));
    new(&mut client);
    for text in ["1", "2", "3"] {
        client.chunk("a", text);
    }
    assert_eq!(client.heard(), ["update - OutOfTurn: 3"]);
    client.result(2, json!({ "sessionId": "a" }));
    assert_eq!(client.heard(), ["resolved 2 a Result", "update a Early: 1", "update a Early: 2"]);
    new(&mut client);
    client.chunk("b", "1");
    client.chunk("b", "2");
    assert_eq!(client.heard(), [""; 0], "what was told left its place");
}

#[test]
fn no_more_tool_calls_are_known_as_open_than_the_limit_and_a_result_makes_room() {
    let (mut client, _, turn) = ClientBench::running(config(|config| config.limits.open_tool_calls = 2));
    let open = |client: &ClientBench| client.conn.open_tool_calls(turn).collect::<Vec<_>>().join(" ");
    client.tool("s1", "a", "pending");
    client.tool("s1", "b", "pending");
    assert_eq!(open(&client), "a b");
    client.tool("s1", "c", "pending");
    client.tool("s1", "b", "in_progress");
    assert_eq!(open(&client), "a b", "one more is not");
    client.tool("s1", "a", "completed");
    client.tool("s1", "d", "pending");
    assert_eq!(open(&client), "b d");
    client.stops(3, "end_turn");
    assert_eq!(client.heard()[6..], ["turn 1 left open: b d", "turn 1 Ended(EndTurn)"]);
    assert_eq!(open(&client), "");
}

#[test]
fn an_update_of_a_session_that_is_not_known_is_flagged_and_not_answered() {
    let (mut client, _) = ClientBench::ready(Config::client());
    client.chunk("s77", "hi");
    assert_eq!((client.heard(), client.said()), (vec!["update - OutOfTurn: hi".to_owned()], vec![]));
    assert_eq!(client.conn.find_session("s77"), None, "it is not kept either");
}

#[test]
fn extension_notifications_keep_their_place_among_updates_and_answers() {
    let (mut client, ..) = ClientBench::running(Config::client());
    client.chunk("s1", "a");
    client.notification("x/turn_completed", json!({}));
    client.notification("$/unknown", json!({}));
    client.notification("_vendor", json!([1]));
    client.chunk("s1", "b");
    client.stops(3, "end_turn");
    client.notification("x/turn_completed", json!({ "again": true }));
    assert_eq!(
        client.heard(),
        [
            "update s1 turn 1: a",
            "notification x/turn_completed",
            "notification _vendor",
            "update s1 turn 1: b",
            "turn 1 Ended(EndTurn)",
            "notification x/turn_completed",
        ]
    );
    assert_eq!(client.said(), [""; 0]);
}

#[test]
fn what_nobody_here_has_heard_of_is_told_as_it_came() {
    let (mut client, session, _) = ClientBench::running(Config::client());
    let strange = r#"{"sessionId":"s1", "update":{"sessionUpdate":"tool_call","kind":"dream","status":9,"x":1e400},"_meta":null}"#;
    client.line(&format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{strange}}}"#));
    let [ClientAction::Update { session: Some(of), origin: Origin::Turn(_), params }] = &client.actions()[..] else {
        panic!("an update")
    };
    assert_eq!((*of, params.as_str()), (session, strange));
}

#[test]
fn an_update_that_names_no_session_is_reported_and_spends_only_itself() {
    let (mut client, ..) = ClientBench::running(Config::client());
    client.notification("session/update", json!({ "update": {} }));
    client.message(json!({ "method": "session/update" }));
    client.chunk("s1", "a");
    let bad = "violation BadNotification";
    assert_eq!((client.heard(), client.said()), (vec![bad.into(), bad.into(), "update s1 turn 1: a".into()], vec![]));
}

#[test]
fn an_answer_that_comes_late_or_twice_settles_no_other_turn() {
    let (mut client, session, _) = ClientBench::running(Config::client());
    client.stops(3, "cancelled");
    let (turn, prompt) = client.prompt(session);
    client.stops(3, "end_turn");
    client.error(3, -32603);
    assert_eq!(client.heard(), ["turn 1 CancelledUnasked"]);
    assert!(client.conn.is_live(turn));
    client.line(
        &json!({ "jsonrpc": "2.0", "id": prompt.to_string(), "result": { "stopReason": "end_turn" } }).to_string(),
    );
    client.stops(99, "end_turn");
    assert_eq!(client.heard(), ["violation NeverIssued", "violation NeverIssued"], "an id is what it is, type and all");
    client.stops(prompt, "end_turn");
    assert_eq!(client.heard(), ["turn 2 Ended(EndTurn)"]);
}

#[test]
fn how_the_input_is_cut_changes_nothing() {
    let stream = [
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "a", "update": { "toolCallId": "✓" } } }),
        json!({ "jsonrpc": "2.0", "id": 2, "result": { "sessionId": "a" } }),
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "a", "update": { "toolCallId": "2" } } }),
        json!({ "jsonrpc": "2.0", "id": "x", "method": "_ask", "params": {} }),
    ]
    .map(|line| format!("{line}\r\n"))
    .concat();
    let expected = ["resolved 2 a Result", "update a Early: ✓", "update a OutOfTurn: 2", "request 1 _ask"];
    for cut in 0..=stream.len() {
        let mut client = initialized(Config::client());
        new(&mut client);
        let (head, tail) = stream.as_bytes().split_at(cut);
        client.bytes(head);
        client.bytes(tail);
        assert_eq!(client.heard(), expected, "cut at {cut}");
    }
    let mut client = initialized(Config::client());
    new(&mut client);
    for byte in stream.as_bytes() {
        client.bytes(&[*byte]);
    }
    assert_eq!(client.heard(), expected);
}
