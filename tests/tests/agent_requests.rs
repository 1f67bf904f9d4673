//! What the agent asks of the client: each request is resolved once, by an answer, a cancel, its deadline or the end.

use core::time::Duration;

use acp_core::{
    Cancellation, CommandError, Config, Payload, RequestKey,
    error::Misuse,
    wire::{PermissionOutcome, StopReason, permission_outcome},
};
use acp_tests::agent::{AgentBench, chunk};
use acp_tests::bench::payload;
use serde_json::json;

fn none() -> Vec<String> {
    Vec::new()
}

/// An agent in a turn, with nothing to be read.
fn in_turn(config: Config) -> AgentBench {
    let mut bench = AgentBench::with_sessions(config, &["s1"]);
    bench.prompt(3, "s1");
    bench.told();
    bench
}

fn cancelled() -> serde_json::Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

#[test]
fn a_request_names_its_session_and_the_answer_comes_back_once() {
    let mut bench = in_turn(Config::agent());
    let params = payload(json!({ "path": "/etc/hosts" }));
    let turn = bench.turn(1);
    let sent = bench.conn.request_in(turn, "fs/read_text_file", &params, None, bench.now).expect("sent");
    let frames = bench.frames();
    assert_eq!(frames[0]["params"], json!({ "sessionId": "s1", "path": "/etc/hosts" }));
    bench.answer(sent, json!({ "content": "x" }));
    bench.answer(sent, json!({ "content": "again" }));
    assert_eq!(bench.told(), [r#"Resolved r1 Result {"content":"x"}"#], "a second answer is dropped without a word");
    assert_eq!((bench.wire(), bench.deadline(), bench.conn.unresolved()), (none(), None, 0));
}

#[test]
fn an_error_of_the_client_is_the_outcome_and_the_turn_goes_on() {
    let mut bench = in_turn(Config::agent());
    let sent = bench.ask(bench.turn(1), "fs/read_text_file").expect("sent");
    let no = json!({ "jsonrpc": "2.0", "id": sent.number(), "error": { "code": -32002, "message": "no such file" } });
    bench.line(&no);
    assert_eq!(bench.told(), ["Resolved r1 Error -32002"]);
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.wire().pop(), Some("3: end_turn".into()));
}

#[test]
fn ids_of_both_ends_do_not_clash() {
    let mut bench = AgentBench::with_sessions(Config::agent(), &["s1"]);
    bench.prompt(1, "s1");
    bench.told();
    let sent = bench.ask(bench.turn(1), "fs/read_text_file").expect("sent");
    assert_eq!(sent.number(), 1);
    bench.cancel_request(1);
    assert_eq!(bench.told(), ["AbortTurn t1 Request", "Resolved r1 Cancelled(Request)"]);
    bench.end(1, StopReason::EndTurn);
    bench.answer(sent, json!({}));
    assert_eq!((bench.wire(), bench.told()), (vec!["1: cancelled".into()], none()));
}

#[test]
fn a_cancel_of_the_turn_releases_everything_it_waits_for_without_the_clients_help() {
    let mut bench = in_turn(Config::agent());
    let turn = bench.turn(1);
    let permission = bench.ask_permission(turn).expect("sent");
    let file = bench.ask(turn, "fs/read_text_file").expect("sent");
    bench.frames();
    bench.cancel("s1");
    let expected = ["AbortTurn t1 Session", "Resolved r1 Cancelled(Session)", "Resolved r2 Cancelled(Session)"];
    assert_eq!(bench.told(), expected, "first the model stream, then what is waited for");
    assert_eq!(bench.wire(), none(), "support for `$/cancel_request` is optional, so none is sent by default");
    assert_eq!(bench.conn.unresolved(), 0);
    assert_eq!(bench.due_in(), Some(Duration::from_secs(30)), "the file's deadline is gone, the turn's floor is armed");
    bench.answer(permission, cancelled());
    bench.answer(file, json!({ "content": "late" }));
    assert_eq!(bench.told(), none(), "late answers are no news, and no violations");
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["3: cancelled"]);
}

#[test]
fn the_cause_of_the_cancel_is_told() {
    type Cancel = fn(&mut AgentBench);
    let causes: [(Cancel, &str); 4] = [
        (|bench| bench.cancel("s1"), "Cancelled(Session)"),
        (|bench| bench.cancel_request(3), "Cancelled(Request)"),
        (|bench| bench.request(9, "session/close", json!({ "sessionId": "s1" })), "Cancelled(CloseSession)"),
        (AgentBench::eof, "Closed"),
    ];
    for (cancel, outcome) in causes {
        let mut bench = in_turn(Config::agent());
        bench.ask_permission(bench.turn(1)).expect("sent");
        cancel(&mut bench);
        assert!(bench.told().contains(&format!("Resolved r1 {outcome}")), "{outcome}");
    }
}

#[test]
fn a_request_that_was_not_handed_out_when_its_turn_was_cancelled_never_is() {
    let mut bench = in_turn(Config::agent());
    bench.update(1, chunk("x")).expect("room");
    bench.ask_permission(bench.turn(1)).expect("queued");
    bench.cancel("s1");
    assert_eq!(bench.wire(), ["upd s1 agent_message_chunk"]);
}

#[test]
fn asking_in_a_turn_that_is_being_cancelled_is_answered_at_once_and_sends_nothing() {
    let mut bench = in_turn(Config::agent());
    bench.cancel("s1");
    bench.told();
    bench.ask_permission(bench.turn(1)).expect("a race, not an error");
    assert_eq!((bench.told(), bench.wire()), (vec!["Resolved r1 Cancelled(Session)".into()], none()));
    assert_eq!(bench.conn.unresolved(), 0);
}

#[test]
fn the_cancel_can_be_passed_on_for_each_request_that_was_sent() {
    let mut config = Config::agent();
    config.cascade = true;
    let mut bench = in_turn(config);
    let turn = bench.turn(1);
    bench.ask_permission(turn).expect("sent");
    let answered = bench.ask(turn, "fs/read_text_file").expect("sent");
    bench.answer(answered, json!({ "content": "" }));
    bench.frames();
    bench.ask(turn, "terminal/create").expect("queued, and never handed out");
    bench.cancel("s1");
    let frames = bench.frames();
    let expected = json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": 1 } });
    assert_eq!(frames, [expected]);
    bench.cancel("s1");
    assert_eq!(bench.frames().len(), 0, "once");
}

#[test]
fn a_permission_that_the_client_cancels_alone_is_the_users_no_and_the_turn_goes_on() {
    let mut bench = in_turn(Config::agent());
    let asked = bench.ask_permission(bench.turn(1)).expect("sent");
    bench.answer(asked, cancelled());
    let told = bench.told();
    assert_eq!(told, [r#"Resolved r1 Result {"outcome":{"outcome":"cancelled"}}"#], "no cancel was on");
    assert_eq!(permission_outcome(&payload(cancelled())), Some(PermissionOutcome::Cancelled));
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.wire().pop(), Some("3: end_turn".into()));

    let mut bench = in_turn(Config::agent());
    let asked = bench.ask_permission(bench.turn(1)).expect("sent");
    bench.cancel("s1");
    bench.answer(asked, cancelled());
    assert_eq!(bench.told(), ["AbortTurn t1 Session", "Resolved r1 Cancelled(Session)"], "here one was");
}

#[test]
fn an_answer_that_is_read_before_the_cancel_counts() {
    let mut bench = in_turn(Config::agent());
    let asked = bench.ask_permission(bench.turn(1)).expect("sent");
    bench.answer(asked, json!({ "outcome": { "outcome": "selected", "optionId": "yes" } }));
    bench.cancel("s1");
    let told = bench.told();
    assert!(told[0].starts_with("Resolved r1 Result") && told[1] == "AbortTurn t1 Session", "{told:?}");
}

#[test]
fn a_permission_outlives_the_turn_that_ended_without_a_cancel() {
    let mut bench = in_turn(Config::agent());
    let asked = bench.ask_permission(bench.turn(1)).expect("sent");
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.told(), none());
    bench.answer(asked, json!({ "outcome": { "outcome": "selected", "optionId": "yes" } }));
    assert_eq!(bench.told().len(), 1);
}

#[test]
fn machines_have_a_deadline_and_people_and_programs_have_none() {
    acp_tests::schema::may_emit("its host asks without params");
    for (method, bounded) in [
        ("fs/read_text_file", true),
        ("fs/write_text_file", true),
        ("terminal/create", true),
        ("terminal/output", true),
        ("terminal/kill", true),
        ("terminal/release", true),
        ("terminal/wait_for_exit", false),
        ("session/request_permission", false),
        ("elicitation/create", false),
        ("_vendor/x", false),
    ] {
        let mut bench = in_turn(Config::agent());
        bench.ask(bench.turn(1), method).expect("sent");
        assert_eq!(bench.due_in(), bounded.then_some(Duration::from_secs(30)), "{method}");
        bench.frames();
        bench.wait(Duration::from_millis(29_999));
        assert_eq!(bench.told(), none());
        bench.wait(Duration::from_secs(100_000));
        let expected = if bounded { vec!["Resolved r1 TimedOut".to_owned()] } else { none() };
        assert_eq!(bench.told(), expected, "{method}");
        assert_eq!(bench.deadline(), None);
        bench.end(1, StopReason::EndTurn);
        assert_eq!(bench.wire(), ["3: end_turn"], "the turn goes on, and ends as its host says");
    }
}

#[test]
fn the_deadline_is_a_policy_and_each_request_may_have_its_own() {
    let mut config = Config::agent();
    config.client_request = None;
    let mut bench = in_turn(config);
    bench.ask(bench.turn(1), "fs/read_text_file").expect("sent");
    assert_eq!(bench.deadline(), None);
    let two = Some(Duration::from_secs(2));
    let turn = bench.turn(1);
    let asked = bench.conn.request_in(turn, "session/request_permission", &Payload::EMPTY, two, bench.now);
    assert_eq!((asked.map(RequestKey::number), bench.due_in()), (Ok(2), two));
    bench.wait(Duration::from_secs(2));
    assert_eq!(bench.told(), ["Resolved r2 TimedOut"]);
}

#[test]
fn the_answer_disarms_the_deadline_and_one_that_is_late_is_dropped() {
    let mut bench = in_turn(Config::agent());
    let turn = bench.turn(1);
    let first = bench.ask(turn, "fs/read_text_file").expect("sent");
    bench.wait(Duration::from_secs(10));
    let second = bench.ask(turn, "fs/read_text_file").expect("sent");
    assert_eq!(bench.wire().len(), 2);
    bench.answer(first, json!({ "content": "" }));
    bench.told();
    assert_eq!(bench.due_in(), Some(Duration::from_secs(30)), "the second's");
    bench.wait(Duration::from_secs(30));
    assert_eq!(bench.told(), ["Resolved r2 TimedOut"]);
    bench.answer(second, json!({ "content": "late" }));
    assert_eq!((bench.told(), bench.wire()), (none(), none()));
}

#[test]
fn a_request_that_times_out_before_it_is_handed_out_is_never_sent() {
    let mut bench = in_turn(Config::agent());
    bench.ask(bench.turn(1), "fs/read_text_file").expect("queued");
    bench.wait(Duration::from_secs(30));
    assert_eq!((bench.told(), bench.wire()), (vec!["Resolved r1 TimedOut".into()], none()));
}

#[test]
fn one_request_of_ours_can_be_taken_back() {
    let mut bench = in_turn(Config::agent());
    let turn = bench.turn(1);
    let unsent = bench.ask_permission(turn).expect("queued");
    assert_eq!(bench.conn.cancel_request(unsent, bench.now), Ok(Cancellation::Requested));
    assert_eq!((bench.told(), bench.wire()), (vec!["Resolved r1 Cancelled(Request)".into()], none()));
    let sent = bench.ask_permission(turn).expect("sent");
    bench.frames();
    assert_eq!(bench.conn.cancel_request(sent, bench.now), Ok(Cancellation::Requested));
    assert_eq!(bench.conn.cancel_request(sent, bench.now), Ok(Cancellation::AlreadyRequested));
    assert_eq!(
        (bench.told(), bench.wire()),
        (none(), vec!["$/cancel_request".into()]),
        "the client still owes an answer"
    );
    bench.line(&json!({ "jsonrpc": "2.0", "id": sent.number(), "error": { "code": -32800, "message": "gone" } }));
    assert_eq!(bench.told(), ["Resolved r2 Error -32800"]);
    assert_eq!(bench.conn.cancel_request(sent, bench.now), Ok(Cancellation::Moot));
}

#[test]
fn methods_of_the_other_side_or_of_another_form_are_refused_here() {
    let mut bench = in_turn(Config::agent());
    let turn = bench.turn(1);
    for (method, why) in [
        ("session/prompt", Misuse::WrongSide),
        ("session/new", Misuse::WrongSide),
        ("session/update", Misuse::WrongForm),
        ("$/cancel_request", Misuse::WrongForm),
    ] {
        assert_eq!(bench.ask(turn, method), Err(CommandError::Misuse(why)), "{method}");
    }
    let update = bench.conn.notify("session/update", None, bench.now);
    assert_eq!(update, Err(Misuse::HasItsOwnCommand.into()), "updates have a command that keeps their order");
    assert_eq!(bench.wire(), none());
}

#[test]
fn own_requests_have_a_limit_and_a_resolved_one_gives_its_place_back() {
    let mut config = Config::agent();
    config.limits.own_requests = 1;
    let mut bench = in_turn(config);
    let turn = bench.turn(1);
    let first = bench.ask_permission(turn).expect("sent");
    assert_eq!(bench.ask_permission(turn), Err(CommandError::Full { what: "limits.own_requests" }));
    bench.answer(first, cancelled());
    assert!(bench.ask_permission(turn).is_ok());
}
