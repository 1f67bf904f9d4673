//! A client's turn in version 2: inserted by the answer to its prompt, over when the session comes to rest.

use acp_core::{CancelKind, Misuse, Overlap, TurnKey, machine::Foreground};
use acp_tests::{
    client::{ClientBench, text},
    v2::{client_config, client_in, client_is_at_rest, heard, idle, inserts, running, state, update},
};
use serde_json::json;

use super::none;

#[test]
fn a_turn_is_inserted_and_goes_on_until_the_session_is_idle() {
    let (mut client, session, turn) = running(client_config(|_| ()));
    inserts(&mut client, 3, "m1");
    assert_eq!(client.heard(), ["turn 1 inserted m1", "update s1 turn 1: running", "update s1 turn 1: m1"]);
    assert!(client.conn.is_live(turn));
    assert_eq!(client.conn.running_turn(session), Some(turn));
    let now = client.now;
    let refused = client.conn.prompt(session, &text("hi"), None, now);
    assert_eq!(refused, Err(Misuse::TurnInProgress.into()), "as in version 1");
    idle(&mut client, "max_tokens");
    assert_eq!(client.heard(), ["update s1 turn 1: idle", "turn 1 Ended(MaxTokens)"]);
    client.chunk("s1", "news");
    assert_eq!(client.heard(), ["update s1 OutOfTurn: news"]);
    client_is_at_rest(&client.conn);
    client.prompt(session);
}

#[test]
fn an_agent_of_an_older_draft_gives_no_message_id_and_the_turn_is_the_same() {
    for answer in [json!({}), json!({ "messageId": null }), json!(null), json!({ "messageId": 7 })] {
        let (mut client, _, _) = running(client_config(|_| ()));
        client.result(3, answer.clone());
        state(&mut client, "s1", "running");
        idle(&mut client, "end_turn");
        assert_eq!(heard(&mut client), ["turn 1 inserted -", "turn 1 Ended(EndTurn)"], "{answer}");
    }
}

#[test]
fn only_idle_after_work_is_an_end_and_no_other_state_is_taken_for_idle() {
    let (mut client, session, turn) = running(client_config(|_| ()));
    idle(&mut client, "end_turn");
    client.result(3, json!({ "messageId": "m1" }));
    idle(&mut client, "end_turn");
    assert_eq!(heard(&mut client), ["turn 1 inserted m1"], "it was idle, and is: nothing was completed");
    for (word, seen) in [
        ("running", Foreground::Running),
        ("running", Foreground::Running),
        ("requires_action", Foreground::RequiresAction),
        ("unknown", Foreground::Unknown),
        ("_pondering", Foreground::Unknown),
        ("IDLE", Foreground::Unknown),
        ("running", Foreground::Running),
    ] {
        state(&mut client, "s1", word);
        assert_eq!((client.conn.foreground(session), client.conn.is_live(turn)), (seen, true), "{word}");
    }
    update(&mut client, "s1", json!({ "sessionUpdate": "state_update" }));
    update(&mut client, "s1", json!({ "sessionUpdate": "state_update", "state": null, "stopReason": "end_turn" }));
    assert!(client.conn.is_live(turn), "what says no state says nothing");
    assert_eq!(heard(&mut client), ["violation BadNotification"; 2]);
    idle(&mut client, "refusal");
    idle(&mut client, "end_turn");
    assert_eq!(heard(&mut client), ["turn 1 Ended(Refusal)"], "once");
    assert_eq!(client.conn.foreground(session), Foreground::Idle);
}

#[test]
fn any_reason_is_told_as_it_came_and_none_is_one_that_nobody_knows() {
    for (more, expected) in [
        (json!({ "stopReason": "end_turn" }), "turn 1 Ended(EndTurn)"),
        (json!({ "stopReason": "_tired" }), "turn 1 Ended(Unknown(\"_tired\"))"),
        (json!({}), "turn 1 Ended(Unknown(\"\"))"),
        (json!({ "stopReason": null }), "turn 1 Ended(Unknown(\"\"))"),
        (json!({ "stopReason": 7 }), "turn 1 Ended(Unknown(\"\"))"),
        (json!({ "stopReason": "cancelled" }), "turn 1 CancelledUnasked"),
        (json!({ "stopReason": "error" }), "turn 1 Failed, Error -32603"),
        (json!({ "stopReason": "error", "error": { "code": -32000, "message": "m" } }), "turn 1 Failed, Error -32000"),
        (json!({ "stopReason": "error", "error": "m" }), "turn 1 Failed, Error -32603"),
        (
            json!({ "stopReason": "error", "error": { "code": -32800, "message": "m" } }),
            "turn 1 CancelledUnasked, Error -32800",
        ),
    ] {
        let (mut client, _, _) = running(client_config(|_| ()));
        inserts(&mut client, 3, "m1");
        heard(&mut client);
        let mut told = more.clone();
        told["sessionUpdate"] = json!("state_update");
        told["state"] = json!("idle");
        update(&mut client, "s1", told);
        assert_eq!(heard(&mut client), [expected], "{more}");
    }
}

#[test]
fn the_message_and_the_state_may_come_before_the_answer() {
    let (mut client, _, _) = running(client_config(|_| ()));
    update(&mut client, "s1", json!({ "sessionUpdate": "user_message", "messageId": "m1" }));
    state(&mut client, "s1", "running");
    client.result(3, json!({ "messageId": "m1" }));
    idle(&mut client, "end_turn");
    assert_eq!(heard(&mut client), ["turn 1 inserted m1", "turn 1 Ended(EndTurn)"]);
}

#[test]
fn a_prompt_that_was_not_inserted_says_so_and_the_session_goes_on() {
    for (code, told) in [
        (-32602, "turn 1 Failed, Error -32602"),
        (-32002, "turn 1 Failed, Error -32002"),
        (-32800, "turn 1 CancelledUnasked, Error -32800"),
    ] {
        let (mut client, session, _) = running(client_config(|_| ()));
        client.error(3, code);
        assert_eq!(heard(&mut client), [told]);
        client_is_at_rest(&client.conn);
        client.prompt(session);
    }
}

#[test]
fn work_that_the_agent_began_by_itself_is_nobodys_turn() {
    let (mut client, session) = client_in(client_config(|_| ()));
    state(&mut client, "s1", "running");
    client.chunk("s1", "By myself.");
    assert_eq!(client.heard(), ["update s1 OutOfTurn: running", "update s1 OutOfTurn: By myself."]);
    // A prompt may be sent meanwhile. It is held, and the end of that work is not its end.
    let (turn, request) = client.prompt(session);
    idle(&mut client, "end_turn");
    assert!(client.conn.is_live(turn));
    inserts(&mut client, request, "m1");
    idle(&mut client, "end_turn");
    assert_eq!(heard(&mut client), ["turn 1 inserted m1", "turn 1 Ended(EndTurn)"]);
    // Or it is inserted into the work that goes on.
    state(&mut client, "s1", "running");
    let (_, request) = client.prompt(session);
    client.result(request, json!({ "messageId": "m2" }));
    state(&mut client, "s1", "requires_action");
    idle(&mut client, "end_turn");
    assert_eq!(heard(&mut client), ["turn 2 inserted m2", "turn 2 Ended(EndTurn)"]);
}

#[test]
fn prompts_that_wait_here_are_sent_one_by_one_when_the_session_comes_to_rest() {
    let (mut client, session, _) = running(client_config(|config| config.overlap = Overlap::Queue(8)));
    let now = client.now;
    for _ in 0..2 {
        client.conn.prompt(session, &text("more"), None, now).expect("it may wait");
    }
    assert_eq!(client.said(), none());
    for request in [3, 4, 5] {
        inserts(&mut client, request, "m");
        assert_eq!(client.said(), none(), "not when it is inserted");
        idle(&mut client, "end_turn");
        let next = if request < 5 { vec![format!("ask {} session/prompt", request + 1)] } else { none() };
        assert_eq!(client.said(), next);
    }
    client_is_at_rest(&client.conn);
}

#[test]
fn prompts_that_are_sent_at_once_end_with_the_work_that_they_share() {
    let (mut client, session, _) = running(client_config(|config| config.overlap = Overlap::Forward(8)));
    let now = client.now;
    client.conn.prompt(session, &text("more"), None, now).expect("it is sent");
    client.conn.prompt(session, &text("and more"), None, now).expect("it is sent");
    assert_eq!(client.said(), ["ask 4 session/prompt", "ask 5 session/prompt"]);
    inserts(&mut client, 3, "m1");
    client.result(4, json!({ "messageId": "m2" }));
    idle(&mut client, "end_turn");
    assert_eq!(
        heard(&mut client),
        ["turn 1 inserted m1", "turn 2 inserted m2", "turn 1 Ended(EndTurn)", "turn 2 Ended(EndTurn)"],
        "the third one is held"
    );
    inserts(&mut client, 5, "m3");
    idle(&mut client, "end_turn");
    assert_eq!(heard(&mut client), ["turn 3 inserted m3", "turn 3 Ended(EndTurn)"]);
    client_is_at_rest(&client.conn);
}

#[test]
fn a_state_of_another_session_or_of_a_child_ends_nothing_here() {
    let (mut client, _, turn) = running(client_config(|_| ()));
    client.session("s2");
    inserts(&mut client, 3, "m1");
    update(&mut client, "s1", acp_tests::v2::child("c1", false));
    for session in ["s2", "c1", "nobody's"] {
        state(&mut client, session, "running");
        state(&mut client, session, "idle");
    }
    assert!(client.conn.is_live(turn));
    assert_eq!(heard(&mut client), ["turn 1 inserted m1"]);
}

#[test]
fn in_version_1_a_state_is_told_and_means_nothing() {
    let (mut client, session, turn) = ClientBench::running(client_config(|config| config.offer = Some(1)));
    for word in ["running", "idle"] {
        state(&mut client, "s1", word);
    }
    assert_eq!(client.heard(), ["update s1 turn 1: running", "update s1 turn 1: idle"]);
    assert_eq!((client.conn.is_live(turn), client.conn.foreground(session)), (true, Foreground::Running));
    client.stops(3, "end_turn");
    assert_eq!(client.heard(), ["turn 1 Ended(EndTurn)"]);
    assert_eq!(client.conn.foreground(session), Foreground::Idle);
}

#[test]
fn what_was_inserted_is_over_when_the_session_rests_whatever_waits_before_it() {
    let (mut client, session, first) = running(client_config(|config| config.overlap = Overlap::Forward(1)));
    let (second, request) = client.prompt(session);
    inserts(&mut client, request, "m2");
    idle(&mut client, "end_turn");
    assert_eq!(heard(&mut client), ["turn 2 inserted m2", "turn 2 Ended(EndTurn)"]);
    assert!(client.conn.is_live(first) && !client.conn.is_live(second));
    inserts(&mut client, 3, "m1");
    idle(&mut client, "end_turn");
    assert_eq!(heard(&mut client), ["turn 1 inserted m1", "turn 1 Ended(EndTurn)"]);
    client_is_at_rest(&client.conn);
}

/// A prompt is sent behind the cancel of one that is never inserted, and inserted before that one is refused.
fn behind_a_cancel() -> (ClientBench, TurnKey) {
    let (mut client, session, first) = running(client_config(|config| config.overlap = Overlap::Forward(1)));
    let now = client.now;
    assert!(client.conn.cancel_turn(first, CancelKind::Steer, now).is_ok());
    let (second, request) = client.prompt(session);
    inserts(&mut client, request, "m2");
    client.error(3, -32800);
    assert_eq!(heard(&mut client), ["turn 2 inserted m2", "turn 1 Cancelled, Error -32800"]);
    client.said();
    (client, second)
}

#[test]
fn work_that_ends_by_itself_is_that_of_what_was_sent_behind_a_cancel_too() {
    for (reason, outcome) in [("end_turn", "turn 2 Ended(EndTurn)"), ("refusal", "turn 2 Ended(Refusal)")] {
        let (mut client, _) = behind_a_cancel();
        idle(&mut client, reason);
        assert_eq!(heard(&mut client), [outcome]);
        client_is_at_rest(&client.conn);
    }
}

#[test]
fn a_cancel_is_about_all_that_was_sent_before_it_also_behind_another_one() {
    let (mut client, second) = behind_a_cancel();
    let now = client.now;
    assert!(client.conn.cancel_turn(second, CancelKind::Stop, now).is_ok());
    idle(&mut client, "cancelled");
    assert_eq!(heard(&mut client), ["turn 2 Cancelled"]);
    client_is_at_rest(&client.conn);
}
