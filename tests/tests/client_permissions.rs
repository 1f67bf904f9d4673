//! Permission requests: little makes one unreadable, nothing makes one fail open, and a cancel makes them void.

use acp_core::{
    CancelKind, Cancellation, ClientAction, Config, Decision, Delivery, PermissionOption, wire::PermissionOptionKind,
};
use acp_tests::client::{ClientBench, config};
use core::time::Duration;
use serde_json::{Value, json};

const STOP: CancelKind = CancelKind::Stop;
const STEER: CancelKind = CancelKind::Steer;

fn ask(client: &mut ClientBench, id: &str, params: Value) {
    client.request(id, "session/request_permission", params);
}

fn cancel(client: &mut ClientBench, turn: acp_core::TurnKey, kind: CancelKind) -> Cancellation {
    let now = client.now;
    client.conn.cancel_turn(turn, kind, now).expect("a turn of ours")
}

// ---- what is offered, and what is chosen -----------------------------------------------------------------------

#[test]
fn a_request_needs_a_session_a_call_and_one_option_and_the_rest_is_named_or_kept() {
    let (mut client, session, turn) = ClientBench::running(Config::client());
    let params = json!({
        "sessionId": "s1",
        "toolCall": { "toolCallId": "t1", "content": "x", "_vendor": { "a": 1 } },
        "options": [{ "optionId": "a", "kind": "allow_persistent", "_x": 1 }, 7, { "optionId": "r", "name": "No", "kind": "reject_once" }],
        "_meta": { "k": true },
    });
    ask(&mut client, "p", params.clone());
    let [ClientAction::PermissionRequested { session: of, turn: in_turn, offer, params: raw, .. }] =
        &client.actions()[..]
    else {
        panic!("a permission request")
    };
    assert_eq!((*of, *in_turn), (session, Some(turn)));
    assert_eq!(offer.tool_call.as_deref(), Some("t1"));
    let of = |option: &PermissionOption| format!("{}={} {}", option.id, option.name, option.kind);
    let options: Vec<_> = offer.options.iter().map(of).collect();
    assert_eq!(options, ["a=a allow_persistent", "r=No reject_once"], "a kind of their own, a name from the id");
    assert_eq!(
        offer.dropped.iter().map(|path| &**path).collect::<Vec<_>>(),
        ["toolCall.content", "options.0.name", "options.1"]
    );
    assert_eq!(raw.get::<Value>().expect("JSON"), params, "vendor keys are kept");
}

#[test]
fn a_choice_by_kind_never_falls_back_to_another_kind() {
    let (mut client, ..) = ClientBench::running(Config::client());
    let options = json!([
        { "optionId": "approved", "name": "Yes", "kind": "allow_once" },
        { "optionId": "approved-for-ever", "name": "Always", "kind": "allow_always" },
        { "optionId": "vendor", "name": "?", "kind": "deny_softly" },
        { "optionId": "abort", "name": "No", "kind": "reject_once" },
    ]);
    ask(&mut client, "p", json!({ "sessionId": "s1", "toolCall": { "toolCallId": "t" }, "options": options }));
    client.heard();
    let (_, offer) = &client.permissions[&1];
    let first = |kinds: &[PermissionOptionKind]| offer.first(kinds).map(|option| option.id.to_string());
    assert_eq!(first(&[PermissionOptionKind::AllowOnce]).as_deref(), Some("approved"));
    assert_eq!(
        first(&[PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways]).as_deref(),
        Some("abort")
    );
    assert_eq!(first(&[PermissionOptionKind::RejectAlways]), None);
    assert_eq!(client.decide(1, "abort"), Delivery::Queued);
    assert_eq!(client.said(), ["p: abort"], "the id as it came");
}

#[test]
fn a_request_from_which_nothing_could_be_chosen_is_the_only_one_that_gets_an_error() {
    let call = json!({ "toolCallId": "t" });
    for params in [
        json!({}),
        json!({ "sessionId": "s1", "toolCall": call, "options": [] }),
        json!({ "sessionId": "s1", "toolCall": call, "options": [{ "name": "x" }, 1] }),
        json!({ "sessionId": "s1", "toolCall": {}, "options": [{ "optionId": "a" }] }),
        json!({ "sessionId": 1, "toolCall": call, "options": [{ "optionId": "a" }] }),
    ] {
        let (mut client, ..) = ClientBench::running(Config::client());
        ask(&mut client, "p", params.clone());
        assert_eq!(
            (client.said(), client.heard()),
            (vec!["p: -32602".into()], vec!["violation BadRequest".into()]),
            "{params}"
        );
    }
}

#[test]
fn one_for_a_session_that_is_not_known_is_cancelled_and_reported() {
    let (mut client, ..) = ClientBench::running(Config::client());
    client.permission("p", "s2");
    assert_eq!((client.said(), client.heard()), (vec!["p: cancelled".into()], vec!["violation BadRequest".into()]));
}

#[test]
fn an_option_that_was_not_offered_counts_as_none() {
    let (mut client, ..) = ClientBench::running(Config::client());
    for (number, option) in [(1, "nope"), (2, ""), (3, "allow ")] {
        client.permission(number, "s1");
        client.heard();
        assert_eq!(client.decide(number, option), Delivery::AsCancelled, "{option:?}");
        assert_eq!(client.said(), [format!("{number}: cancelled")]);
    }
}

#[test]
fn whoever_drops_or_declines_one_denies_it() {
    let (mut client, ..) = ClientBench::running(Config::client());
    client.permission("dropped", "s1");
    client.heard();
    let (ticket, _) = client.permissions.remove(&1).expect("told");
    let now = client.now;
    assert_eq!(client.conn.abandon(ticket.key(), now), Delivery::AsCancelled);
    drop(ticket);
    client.permission("declined", "s1");
    let action = client.conn.poll_action().expect("told");
    assert_eq!(client.conn.decline(action, now), Delivery::Queued);
    client.permission("said no", "s1");
    client.heard();
    let (ticket, _) = client.permissions.remove(&3).expect("told");
    assert_eq!(client.conn.decide(ticket, &Decision::Cancelled, now), Delivery::Queued);
    assert_eq!(client.said(), ["dropped: cancelled", "declined: cancelled", "said no: cancelled"]);
}

#[test]
fn two_about_one_call_are_two_and_each_is_answered_in_its_own_time() {
    let (mut client, ..) = ClientBench::running(Config::client());
    client.permission(900, "s1");
    client.permission(901, "s1");
    client.permission(901, "s1");
    assert_eq!(client.heard(), ["permission 1 s1 turn 1", "permission 2 s1 turn 1", "violation DuplicateId"]);
    client.decide(2, "reject");
    client.decide(1, "allow");
    client.permission(901, "s1");
    assert_eq!(client.heard(), ["permission 3 s1 turn 1"], "an id that was answered may come again");
    assert_eq!(client.said(), ["901: reject", "900: allow"]);
}

#[test]
fn one_outlives_its_turn_until_it_is_answered() {
    let (mut client, ..) = ClientBench::running(Config::client());
    client.permission("p", "s1");
    client.stops(3, "end_turn");
    assert_eq!(client.heard(), ["permission 1 s1 turn 1", "turn 1 Ended(EndTurn)"]);
    client.wait(Duration::from_secs(31 * 60));
    assert_eq!(client.decide(1, "allow"), Delivery::Queued);
    assert_eq!(client.said(), ["p: allow"]);
}

#[test]
fn one_in_a_turn_that_the_agent_began_itself_reaches_the_host() {
    let (mut client, _) = ClientBench::ready(Config::client());
    client.permission("p", "s1");
    assert_eq!(client.heard(), ["permission 1 s1 OutOfTurn"]);
}

// ---- cancels ---------------------------------------------------------------------------------------------------

#[test]
fn a_cancel_makes_every_permission_of_the_session_void_and_those_that_cross_it() {
    for kind in [STOP, STEER] {
        let (mut client, _, turn) = ClientBench::running(Config::client());
        let other = client.session("s2");
        client.prompt(other);
        client.permission("before", "s1");
        client.permission("elsewhere", "s2");
        client.heard();
        assert_eq!(cancel(&mut client, turn, kind), Cancellation::Requested);
        client.permission("crossing", "s1");
        assert_eq!(client.said(), ["session/cancel s1", "before: cancelled", "crossing: cancelled"]);
        client.permission("late", "s1");
        assert_eq!(client.said(), ["late: cancelled"]);
        assert_eq!(client.heard(), ["revoked 1"], "what crossed is not told");
        assert_eq!(client.decide(1, "allow"), Delivery::TooLate);
        assert_eq!(client.decide(2, "allow"), Delivery::Queued, "another session goes on");
        assert_eq!(client.said(), ["elsewhere: allow"]);
        client.stops(3, "cancelled");
        client.permission("after", "s1");
        assert_eq!(client.heard(), ["turn 1 Cancelled", "permission 5 s1 OutOfTurn"]);
    }
}

#[test]
fn one_that_the_host_was_not_told_of_yet_is_never_told() {
    let (mut client, _, turn) = ClientBench::running(Config::client());
    client.permission("p", "s1");
    client.chunk("s1", "after");
    cancel(&mut client, turn, STOP);
    assert_eq!(client.heard(), ["update s1 turn 1: after"]);
    assert_eq!(client.said(), ["session/cancel s1", "p: cancelled"]);
}

#[test]
fn the_agent_may_withdraw_its_own() {
    let (mut client, ..) = ClientBench::running(Config::client());
    client.permission("p", "s1");
    client.heard();
    client.notification("$/cancel_request", json!({ "requestId": "p" }));
    assert_eq!((client.said(), client.heard()), (vec!["p: cancelled".into()], vec!["revoked 1".into()]));
    client.notification("$/cancel_request", json!({ "requestId": "p" }));
    assert_eq!((client.said(), client.heard(), client.decide(1, "allow")), (vec![], vec![], Delivery::TooLate));
}

#[test]
fn a_withdrawal_that_comes_after_our_cancel_finds_it_answered() {
    let (mut client, _, turn) = ClientBench::running(Config::client());
    client.permission("p", "s1");
    client.heard();
    cancel(&mut client, turn, STOP);
    client.notification("$/cancel_request", json!({ "requestId": "p" }));
    assert_eq!(client.said(), ["session/cancel s1", "p: cancelled"]);
    assert_eq!(client.heard(), ["revoked 1"]);
}

// ---- an approval that is being saved ---------------------------------------------------------------------------

#[test]
fn a_committed_owner_answers_whatever_is_cancelled_meanwhile() {
    for kind in [STOP, STEER] {
        let (mut client, _, turn) = ClientBench::running(Config::client());
        client.permission("saving", "s1");
        client.permission("open", "s1");
        client.heard();
        assert!(client.commit(1));
        cancel(&mut client, turn, kind);
        client.notification("$/cancel_request", json!({ "requestId": "saving" }));
        assert_eq!(client.heard(), ["revoked 2", "signal 1"], "it is told of the cancel, once");
        assert!(client.commit(1), "it stays committed");
        assert_eq!(client.decide(1, "allow"), Delivery::Queued);
        assert_eq!(client.said(), ["session/cancel s1", "open: cancelled", "saving: allow"]);
    }
}

#[test]
fn a_committed_owner_survives_a_stop_of_the_session_and_the_end_of_the_turn() {
    let (mut client, session) = ClientBench::ready(Config::client());
    client.permission("saving", "s1");
    client.heard();
    assert!(client.commit(1));
    let now = client.now;
    assert_eq!(client.conn.stop_session(session, now), Ok(Cancellation::Requested));
    assert_eq!(client.heard(), ["signal 1"]);
    client.decide(1, "allow");
    assert_eq!(client.said(), ["session/cancel s1", "saving: allow"]);
}

#[test]
fn a_committed_owner_may_still_answer_while_the_connection_drains() {
    let (mut client, ..) = ClientBench::running(Config::client());
    client.permission("saving", "s1");
    client.permission("open", "s1");
    client.heard();
    assert!(client.commit(1));
    let now = client.now;
    client.conn.close(now);
    assert_eq!(client.heard(), ["turn 1 Closed, Closed", "signal 1", "revoked 2"]);
    assert_eq!(client.decide(1, "allow"), Delivery::Queued);
    assert_eq!(client.said(), ["open: cancelled", "saving: allow"]);
    assert_eq!(client.heard(), ["closed Local"]);
}

#[test]
fn to_commit_to_what_is_void_already_fails() {
    let (mut client, _, turn) = ClientBench::running(Config::client());
    client.permission("p", "s1");
    client.heard();
    cancel(&mut client, turn, STOP);
    assert!(!client.commit(1), "nothing must be saved as given");
    assert_eq!(client.said(), ["session/cancel s1", "p: cancelled"]);
}

#[test]
fn a_committed_owner_that_drops_it_denies_it() {
    let (mut client, ..) = ClientBench::running(Config::client());
    client.permission("p", "s1");
    client.heard();
    assert!(client.commit(1));
    let (ticket, _) = client.permissions.remove(&1).expect("told");
    let now = client.now;
    assert_eq!(client.conn.abandon(ticket.key(), now), Delivery::AsCancelled);
    assert_eq!(client.said(), ["p: cancelled"]);
}

// ---- time ------------------------------------------------------------------------------------------------------

#[test]
fn the_time_to_decide_is_reported_and_decides_nothing() {
    let (mut client, ..) = ClientBench::running(config(|config| config.permission = Some(Duration::from_secs(60))));
    client.permission("p", "s1");
    client.permission("q", "s1");
    client.heard();
    client.decide(2, "allow");
    client.wait(Duration::from_secs(60));
    assert_eq!(client.heard(), ["overdue 1"]);
    assert_eq!((client.said(), client.due_in()), (vec!["q: allow".into()], None));
    assert_eq!(client.decide(1, "reject"), Delivery::Queued, "the host says no, which is not `cancelled`");
    assert_eq!(client.said(), ["p: reject"]);
}

#[test]
fn without_that_knob_a_dialog_may_stay_open_for_hours() {
    let (mut client, ..) = ClientBench::running(Config::client());
    client.permission("p", "s1");
    assert_eq!(client.due_in(), None);
    client.wait(Duration::from_secs(8 * 3600));
    assert_eq!((client.heard(), client.said()), (vec!["permission 1 s1 turn 1".to_owned()], vec![]));
}
