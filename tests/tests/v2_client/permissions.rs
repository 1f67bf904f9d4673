//! Permission requests of version 2: what they ask, what may be chosen, and whose they are while work goes on in the
//! background.

use acp_core::{CancelKind, ClientAction, Delivery, Offer};
use acp_tests::{
    client::ClientBench,
    v2::{asks, child, client_config, client_in, client_is_at_rest, heard, idle, inserts, running, update},
};
use serde_json::{Value, json};

use super::none;

fn offer(params: Value) -> Result<Offer, Vec<String>> {
    let (mut client, _) = client_in(client_config(|_| ()));
    let mut params = params;
    params["sessionId"] = json!("s1");
    client.request("p", "session/request_permission", params);
    match client.conn.poll_action() {
        Some(ClientAction::PermissionRequested { offer, .. }) => Ok(*offer),
        _ => Err(client.said()),
    }
}

/// Reports work in the background, or that there is none.
fn background(client: &mut ClientBench, items: Value) {
    update(client, "s1", json!({ "sessionUpdate": "state_update", "state": "running", "background": items }));
}

#[test]
fn a_question_has_a_title_and_may_be_about_a_tool_call_a_command_or_anything_else() {
    let options = json!([{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }]);
    for (subject, call) in [
        (json!({ "type": "tool_call", "toolCall": { "toolCallId": "t1", "content": "odd" } }), Some("t1")),
        (json!({ "type": "command", "command": "ls", "cwd": "/", "toolCallId": "t2" }), Some("t2")),
        (json!({ "type": "command", "command": "ls", "cwd": "/" }), None),
        (json!({ "type": "_vendor", "x": 1 }), None),
        (json!(null), None),
    ] {
        let asked = offer(json!({ "title": "May I?", "subject": subject, "options": options })).expect("it is told");
        assert_eq!((asked.title.as_deref(), asked.tool_call.as_deref()), (Some("May I?"), call), "{subject}");
        assert!(asked.dropped.is_empty(), "{subject}: {:?}", asked.dropped);
    }
    let asked = offer(json!({ "options": options })).expect("a question that is hard to read is still one");
    assert_eq!((asked.title, asked.dropped.to_vec()), (None, vec!["title".into()]));
}

#[test]
fn a_question_without_anything_to_choose_is_invalid() {
    for options in [json!([]), json!(null), json!({}), json!([7]), json!([{ "name": "Yes", "kind": "allow_once" }])] {
        let refused = offer(json!({ "title": "May I?", "options": options }));
        assert_eq!(refused.err(), Some(vec!["p: -32602".into()]), "{options}");
    }
    let asked = offer(json!({ "title": "t", "options": [7, { "optionId": "a", "name": "A", "kind": "_later" }] }));
    assert_eq!(asked.expect("one is enough").options.len(), 1);
}

#[test]
fn a_question_is_answered_with_what_was_offered_and_nothing_fails_open() {
    for (option, delivery, said) in [("yes", Delivery::Queued, "p: yes"), ("no", Delivery::AsCancelled, "p: cancelled")]
    {
        let (mut client, _, _) = running(client_config(|_| ()));
        inserts(&mut client, 3, "m1");
        asks(&mut client, "p", "s1");
        assert_eq!(heard(&mut client)[1..], ["permission 1 s1 turn 1"]);
        assert_eq!((client.decide(1, option), client.said()), (delivery, vec![said.into()]));
    }
    let (mut client, _) = client_in(client_config(|_| ()));
    asks(&mut client, "p", "nobody's");
    assert_eq!((client.said(), client.heard()), (vec!["p: cancelled".into()], vec!["violation BadRequest".into()]));
}

#[test]
fn the_agent_takes_a_question_back_by_its_request() {
    let (mut client, _, _) = running(client_config(|_| ()));
    inserts(&mut client, 3, "m1");
    asks(&mut client, "p", "s1");
    heard(&mut client);
    client.notification("$/cancel_request", json!({ "requestId": "p" }));
    assert_eq!((client.heard(), client.said()), (vec!["revoked 1".into()], vec!["p: cancelled".into()]));
    assert_eq!(client.decide(1, "yes"), Delivery::TooLate);
}

#[test]
fn while_work_goes_on_in_the_background_a_cancel_leaves_questions_to_the_agent() {
    let (mut client, _, turn) = running(client_config(|_| ()));
    inserts(&mut client, 3, "m1");
    background(&mut client, json!([{ "type": "terminal", "terminalId": "t" }]));
    asks(&mut client, "p", "s1");
    heard(&mut client);
    let now = client.now;
    client.conn.cancel_turn(turn, CancelKind::Stop, now).expect("ours");
    asks(&mut client, "q", "s1");
    assert_eq!(client.said(), ["session/cancel s1"]);
    assert_eq!(
        heard(&mut client),
        ["permission 2 s1 OutOfTurn"],
        "they may belong to what goes on, so nobody is told anything"
    );
    // The one was the work's, which the agent knows; the other was not.
    client.notification("$/cancel_request", json!({ "requestId": "p" }));
    assert_eq!((heard(&mut client), client.said()), (vec!["revoked 1".into()], vec!["p: cancelled".into()]));
    idle(&mut client, "cancelled");
    assert_eq!((client.decide(2, "yes"), client.said()), (Delivery::Queued, vec!["q: yes".into()]));
    assert_eq!(heard(&mut client), ["turn 1 Cancelled"]);
    client_is_at_rest(&client.conn);
}

#[test]
fn an_approval_that_is_being_saved_is_its_owners_with_work_in_the_background_as_well() {
    for (before, committed_in_time) in [(true, true), (false, true)] {
        let (mut client, _, turn) = running(client_config(|_| ()));
        inserts(&mut client, 3, "m1");
        background(&mut client, json!([{ "type": "x" }]));
        asks(&mut client, "p", "s1");
        heard(&mut client);
        let now = client.now;
        if before {
            assert!(client.commit(1));
        }
        client.conn.cancel_turn(turn, CancelKind::Stop, now).expect("ours");
        if !before {
            assert_eq!(client.commit(1), committed_in_time, "the cancel has left it open");
        }
        client.notification("$/cancel_request", json!({ "requestId": "p" }));
        assert_eq!(heard(&mut client), ["signal 1"], "committed before the cancel: {before}");
        assert_eq!(client.decide(1, "yes"), Delivery::Queued);
        assert_eq!(client.said(), ["session/cancel s1", "p: yes"]);
        idle(&mut client, "cancelled");
        client_is_at_rest(&client.conn);
    }
}

#[test]
fn once_nothing_goes_on_in_the_background_a_cancel_takes_all_questions_with_it() {
    for said in [json!([]), json!(null)] {
        let (mut client, _, turn) = running(client_config(|_| ()));
        inserts(&mut client, 3, "m1");
        background(&mut client, json!([{ "type": "x" }]));
        background(&mut client, said.clone());
        asks(&mut client, "p", "s1");
        heard(&mut client);
        let now = client.now;
        client.conn.cancel_turn(turn, CancelKind::Stop, now).expect("ours");
        // What is left out is not said: what was said stays.
        let taken = if said.is_array() {
            vec!["session/cancel s1".to_owned(), "p: cancelled".into()]
        } else {
            vec!["session/cancel s1".into()]
        };
        assert_eq!(client.said(), taken, "{said}");
    }
}

#[test]
fn a_stop_of_the_session_leaves_questions_of_the_background_to_the_agent() {
    let (mut client, session) = client_in(client_config(|_| ()));
    background(&mut client, json!([{ "type": "x" }]));
    asks(&mut client, "p", "s1");
    let now = client.now;
    heard(&mut client);
    client.conn.stop_session(session, now).expect("it is open");
    assert_eq!((client.said(), heard(&mut client)), (vec!["session/cancel s1".into()], none()));
    client.notification("$/cancel_request", json!({ "requestId": "p" }));
    assert_eq!((heard(&mut client), client.said()), (vec!["revoked 1".into()], vec!["p: cancelled".into()]));
}

#[test]
fn a_question_of_a_child_is_told_as_the_childs_and_is_not_touched_by_a_cancel_of_its_parent() {
    let (mut client, _, turn) = running(client_config(|_| ()));
    inserts(&mut client, 3, "m1");
    update(&mut client, "s1", child("c1", false));
    asks(&mut client, "p", "c1");
    assert_eq!(heard(&mut client)[1..], ["permission 1 c1 OutOfTurn"]);
    let now = client.now;
    client.conn.cancel_turn(turn, CancelKind::Stop, now).expect("ours");
    assert_eq!((client.said(), heard(&mut client)), (vec!["session/cancel s1".into()], none()));
    client.notification("$/cancel_request", json!({ "requestId": "p" }));
    assert_eq!((heard(&mut client), client.said()), (vec!["revoked 1".into()], vec!["p: cancelled".into()]));
}

#[test]
fn an_elicitation_of_the_cancelled_work_is_signalled_and_stays_its_owners() {
    let (mut client, _, turn) = running(client_config(|_| ()));
    inserts(&mut client, 3, "m1");
    client.request("e", "elicitation/create", json!({ "mode": "form", "message": "m", "sessionId": "s1" }));
    heard(&mut client);
    let now = client.now;
    client.conn.cancel_turn(turn, CancelKind::Stop, now).expect("ours");
    client.notification("$/cancel_request", json!({ "requestId": "e" }));
    assert_eq!(
        (heard(&mut client), client.said()),
        (vec!["signal 1".into()], vec!["session/cancel s1".into()]),
        "once"
    );
    client.respond(1, Ok(json!({ "action": "cancel" })));
    assert_eq!(client.said(), ["e: ok"]);
}
