//! Sessions as a client sees them: history and news, children, and the end.

use acp_core::{CancelKind, Cancellation, CommandError, Misuse, SessionPlan, machine::Foreground};
use acp_tests::{
    bench::payload,
    client::{ClientBench, text},
    v2::{
        agent_result, asks, child, client_config, client_in, client_is_at_rest, heard, idle, initialize, inserts,
        running, state, update,
    },
};
use serde_json::{Value, json};

use super::none;

fn fresh() -> ClientBench {
    let mut client = ClientBench::fresh(client_config(|_| ()));
    initialize(&mut client, agent_result());
    client
}

fn replay_complete() -> Value {
    json!({ "sessionUpdate": "replay_complete" })
}

fn open(client: &mut ClientBench, prefer_resume: bool) -> Value {
    let (now, mut plan) = (client.now, SessionPlan::stored("s1", payload(json!({ "cwd": "/" }))));
    plan.prefer_resume = prefer_resume;
    client.conn.open_session(&plan, now).expect("offered");
    client.frames()[0].clone()
}

#[test]
fn a_stored_session_is_resumed_with_its_history_unless_that_is_not_wanted() {
    let sent = open(&mut fresh(), false);
    assert_eq!(
        (&sent["method"], &sent["params"]["replayFrom"]),
        (&json!("session/resume"), &json!({ "type": "start" }))
    );
    let sent = open(&mut fresh(), true);
    assert_eq!((&sent["method"], sent["params"].get("replayFrom")), (&json!("session/resume"), None));
    assert_eq!((&sent["params"]["sessionId"], &sent["params"]["cwd"]), (&json!("s1"), &json!("/")));
}

#[test]
fn what_comes_before_the_end_of_the_replay_is_history_and_what_comes_after_it_is_not() {
    let mut client = fresh();
    open(&mut client, false);
    client.chunk("s1", "old");
    update(&mut client, "s1", replay_complete());
    state(&mut client, "s1", "running");
    client.chunk("s1", "new");
    client.result(2, json!({}));
    client.chunk("s1", "newer");
    assert_eq!(
        client.heard(),
        [
            "update s1 Replay: old",
            "update s1 Replay: ?",
            "update s1 OutOfTurn: running",
            "update s1 OutOfTurn: new",
            "resolved 2 s1 Result",
            "update s1 OutOfTurn: newer",
        ]
    );
    let session = client.conn.find_session("s1").expect("open");
    assert_eq!(client.conn.foreground(session), Foreground::Running, "the answer does not overwrite it");
    // The next replay is history again.
    state(&mut client, "s1", "idle");
    open(&mut client, false);
    client.chunk("s1", "old");
    assert_eq!(client.heard()[1..], ["update s1 Replay: old"]);
}

#[test]
fn what_comes_before_the_answer_to_a_resume_without_history_is_no_history() {
    let mut client = fresh();
    open(&mut client, true);
    client.chunk("s1", "now");
    client.result(2, json!({}));
    assert_eq!(client.heard(), ["update s1 OutOfTurn: now", "resolved 2 s1 Result"]);
}

#[test]
fn the_end_of_a_replay_that_nobody_asked_for_means_nothing_for_the_next() {
    let mut client = fresh();
    open(&mut client, true);
    client.result(2, json!({}));
    update(&mut client, "s1", replay_complete());
    client.heard();
    open(&mut client, false);
    client.chunk("s1", "old");
    assert_eq!(client.heard(), ["update s1 Replay: old"]);
}

#[test]
fn whether_the_history_is_wanted_is_no_parameter_of_the_session() {
    let mut client = fresh();
    for (request, prefer_resume) in [(2, true), (3, false), (4, true)] {
        open(&mut client, prefer_resume);
        client.result(request, json!({}));
        assert_eq!(client.heard(), [format!("resolved {request} s1 Result")]);
    }
}

#[test]
fn a_replay_that_fails_leaves_nothing_and_the_next_begins_anew() {
    let mut client = fresh();
    open(&mut client, false);
    update(&mut client, "s1", replay_complete());
    client.error(2, -32002);
    assert_eq!((client.heard()[1].as_str(), client.conn.sessions()), ("resolved 2 - Error -32002", 0));
    open(&mut client, false);
    client.chunk("s1", "old");
    assert_eq!(client.heard(), ["update s1 Replay: old"]);
}

#[test]
fn a_state_that_comes_before_the_session_is_answered_is_kept() {
    let mut client = fresh();
    let (now, plan) = (client.now, SessionPlan::new(payload(json!({ "cwd": "/" }))));
    client.conn.open_session(&plan, now).expect("offered");
    client.said();
    state(&mut client, "s1", "running");
    client.result(2, json!({ "sessionId": "s1" }));
    assert_eq!(client.heard(), ["resolved 2 s1 Result", "update s1 Early: running"]);
    let session = client.conn.find_session("s1").expect("open");
    assert_eq!(client.conn.foreground(session), Foreground::Running);
    let (turn, request) = client.prompt(session);
    idle(&mut client, "end_turn");
    assert!(client.conn.is_live(turn), "that was not its work");
    inserts(&mut client, request, "m1");
    idle(&mut client, "end_turn");
    assert!(!client.conn.is_live(turn));
}

#[test]
fn a_child_is_known_from_its_announcement_on() {
    let (mut client, _) = client_in(client_config(|_| ()));
    client.chunk("c1", "too early");
    update(&mut client, "s1", child("c1", false));
    client.chunk("c1", "from the child");
    state(&mut client, "c1", "running");
    asks(&mut client, "p", "c1");
    client.request("e", "elicitation/create", json!({ "mode": "form", "message": "m", "sessionId": "c1" }));
    assert_eq!(
        client.heard(),
        [
            "update - OutOfTurn: too early",
            "update s1 OutOfTurn: ?",
            "update c1 OutOfTurn: from the child",
            "update c1 OutOfTurn: running",
            "permission 1 c1 OutOfTurn",
            "request 2 elicitation/create",
        ]
    );
    let child = client.conn.find_session("c1").expect("known");
    assert_eq!(client.conn.foreground(child), Foreground::Running);
}

#[test]
fn a_child_is_not_prompted_configured_or_closed_and_cancelled_only_if_it_says_so() {
    let (mut client, _) = client_in(client_config(|_| ()));
    update(&mut client, "s1", child("c1", false));
    let key = client.conn.find_session("c1").expect("known");
    let now = client.now;
    assert_eq!(client.conn.prompt(key, &text("hi"), None, now), Err(Misuse::ChildSession.into()));
    assert_eq!(client.conn.steer(key, &text("hi"), None, now), Err(Misuse::ChildSession.into()));
    assert_eq!(client.conn.prompt_once(key, &text("hi"), "k", None, now), Err(Misuse::ChildSession.into()));
    let params = payload(json!({ "configId": "c", "type": "id", "value": "v", "toolCallId": "t", "terminalId": "t" }));
    for method in ["session/set_config_option", "session/close", "tool_call/cancel", "terminal/cancel"] {
        let sent = client.conn.request_in(key, method, &params, None, now);
        assert_eq!(sent, Err(Misuse::ChildSession.into()), "{method}");
        let named = payload(json!({ "sessionId": "c1" }));
        assert_eq!(client.conn.request(method, Some(named), None, now), Err(Misuse::ChildSession.into()), "{method}");
    }
    let stop = client.conn.stop_session(key, now);
    assert!(matches!(stop, Err(CommandError::NotOffered(_))), "{stop:?}");
    assert_eq!(client.said(), none());
    update(&mut client, "s1", child("c1", true));
    assert_eq!(client.conn.stop_session(key, now), Ok(Cancellation::Requested));
    assert_eq!(client.said(), ["session/cancel c1"]);
    // What is left out stays; what is taken back is gone.
    update(&mut client, "s1", json!({ "sessionUpdate": "subagent_update", "sessionId": "c1", "title": "t" }));
    assert!(client.conn.stop_session(key, now).is_ok());
    update(&mut client, "s1", json!({ "sessionUpdate": "subagent_update", "sessionId": "c1", "capabilities": null }));
    assert!(client.conn.stop_session(key, now).is_err());
}

#[test]
fn a_child_is_gone_with_its_parent_and_what_it_asked_is_taken_back() {
    let (mut client, session) = client_in(client_config(|_| ()));
    update(&mut client, "s1", child("c1", false));
    update(&mut client, "c1", child("c2", false));
    asks(&mut client, "p", "c2");
    client.heard();
    let now = client.now;
    client.conn.request_in(session, "session/close", &acp_core::Payload::EMPTY, None, now).expect("open");
    client.said();
    client.result(3, json!({}));
    assert_eq!(heard(&mut client), ["revoked 1", "resolved 3 (gone) Result"]);
    assert_eq!(client.said(), ["p: cancelled"]);
    assert_eq!(client.conn.sessions(), 0);
    asks(&mut client, "q", "c2");
    assert_eq!(client.said(), ["q: cancelled"], "nobody knows it any more");
}

#[test]
fn a_session_that_was_opened_for_itself_is_not_made_a_child() {
    let (mut client, session) = client_in(client_config(|_| ()));
    client.session("s2");
    update(&mut client, "s2", child("s1", false));
    update(&mut client, "s1", child("s1", false));
    client.prompt(session);
}

fn close(client: &mut ClientBench) -> u64 {
    let (now, session) = (client.now, client.conn.find_session("s1").expect("open"));
    let request = client.conn.request_in(session, "session/close", &acp_core::Payload::EMPTY, None, now);
    client.said();
    request.expect("it may be closed").number()
}

#[test]
fn closing_a_session_ends_its_turn_by_what_the_agent_reports_before_the_answer() {
    let (mut client, _, turn) = running(client_config(|_| ()));
    inserts(&mut client, 3, "m1");
    let request = close(&mut client);
    client.chunk("s1", "the last word");
    idle(&mut client, "cancelled");
    client.result(request, json!({}));
    assert_eq!(heard(&mut client)[1..], ["turn 1 CancelledUnasked", "resolved 4 (gone) Result"]);
    assert!(!client.conn.is_live(turn));
    client_is_at_rest(&client.conn);
}

#[test]
fn the_turn_of_a_closed_session_is_over_even_if_the_agent_does_not_report_it() {
    let (mut client, _, turn) = running(client_config(|_| ()));
    inserts(&mut client, 3, "m1");
    heard(&mut client);
    let request = close(&mut client);
    client.result(request, json!({}));
    let told = heard(&mut client);
    assert!(told.iter().any(|told| told.starts_with("turn 1 Cancelled")), "{told:?}");
    assert!(!client.conn.is_live(turn));
    client_is_at_rest(&client.conn);
}

#[test]
fn the_answer_to_a_prompt_may_come_after_its_session_was_closed() {
    for inserted in [true, false] {
        let (mut client, _, turn) = running(client_config(|_| ()));
        let request = close(&mut client);
        client.result(request, json!({}));
        if inserted {
            client.result(3, json!({ "messageId": "m1" }));
        } else {
            client.error(3, -32800);
        }
        let told = heard(&mut client);
        let last = told.last().map(String::as_str);
        assert!(last.is_some_and(|last| last.starts_with("turn 1 Cancelled")), "{told:?}");
        assert!(!client.conn.is_live(turn), "inserted: {inserted}");
        client_is_at_rest(&client.conn);
    }
}

#[test]
fn a_session_that_is_being_closed_takes_no_prompt_and_works_again_if_that_fails() {
    let (mut client, session) = client_in(client_config(|_| ()));
    let request = close(&mut client);
    let now = client.now;
    assert_eq!(client.conn.prompt(session, &text("hi"), None, now), Err(Misuse::SessionNotOpen.into()));
    client.error(request, -32603);
    let (turn, request) = client.prompt(session);
    inserts(&mut client, request, "m1");
    assert_eq!(client.conn.cancel_turn(turn, CancelKind::Steer, now), Ok(Cancellation::Requested));
}

#[test]
fn a_tool_call_and_a_terminal_are_cancelled_by_requests_of_their_own() {
    let (mut client, session, turn) = running(client_config(|_| ()));
    inserts(&mut client, 3, "m1");
    let now = client.now;
    for (method, name) in [("tool_call/cancel", "toolCallId"), ("terminal/cancel", "terminalId")] {
        client.conn.request_in(session, method, &payload(json!({ name: "t" })), None, now).expect("version 2 has it");
        let sent = client.frames().pop().expect("a request");
        assert_eq!((&sent["method"], &sent["params"]), (&json!(method), &json!({ "sessionId": "s1", name: "t" })));
    }
    client.result(4, json!({}));
    client.error(5, -32602);
    assert_eq!(heard(&mut client)[1..], ["resolved 4 s1 Result", "resolved 5 s1 Error -32602"]);
    assert!(client.conn.is_live(turn), "the work goes on");
}

#[test]
fn closing_a_session_twice_ends_it_once_and_leaves_a_committed_owner_its_answer() {
    let (mut client, _) = client_in(client_config(|_| ()));
    asks(&mut client, "p", "s1");
    client.heard();
    assert!(client.commit(1));
    let (first, second) = (close(&mut client), close(&mut client));
    client.result(second, json!({}));
    assert_eq!(heard(&mut client), ["signal 1", &format!("resolved {second} (gone) Result")]);
    client.result(first, json!({}));
    assert_eq!(heard(&mut client), [format!("resolved {first} (gone) Result")]);
    assert_eq!((client.said(), client.conn.unanswered().count()), (vec![], 1));
    assert_eq!(client.decide(1, "yes"), acp_core::Delivery::Queued);
    assert_eq!(client.said(), ["p: yes"]);
}
