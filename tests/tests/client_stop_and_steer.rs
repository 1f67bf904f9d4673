//! Stop and Steer: one frame for each at most, the permissions after it, and never into the turn that comes next.

use acp_core::{CancelKind, Cancellation, Cause, CommandError, Config, Delivery, FrameId, Misuse, Overlap, TurnKey};
use acp_tests::{
    bench::payload,
    client::{ClientBench, config, text},
};
use core::time::Duration;
use serde_json::json;

const STOP: CancelKind = CancelKind::Stop;
const STEER: CancelKind = CancelKind::Steer;
const BOUND: Duration = Duration::from_secs(10);

fn running() -> (ClientBench, TurnKey) {
    let (client, _, turn) = ClientBench::running(Config::client());
    (client, turn)
}

fn cancel(client: &mut ClientBench, turn: TurnKey, kind: CancelKind) -> Cancellation {
    let now = client.now;
    client.conn.cancel_turn(turn, kind, now).expect("a turn of ours")
}

/// The next frame is handed out, and must be a cancel.
fn sent(client: &mut ClientBench) -> FrameId {
    let frame = client.conn.poll_transmit().expect("a frame");
    let id = frame.id();
    let line = String::from_utf8(frame.into_line().to_vec()).expect("UTF-8");
    assert!(line.contains("session/cancel"), "{line}");
    id
}

fn failed(client: &mut ClientBench, frame: FrameId) {
    let now = client.now;
    client.conn.handle_transmit_failed(frame, now);
}

/// Whether a permission that arrives now is answered `cancelled` without asking anybody.
fn is_cancelling(client: &mut ClientBench) -> bool {
    client.permission("probe", "s1");
    let answered = client.said() == ["probe: cancelled"];
    let told: Vec<_> = client.heard().into_iter().filter(|heard| heard.starts_with("permission")).collect();
    assert_eq!(answered, told.is_empty());
    if let Some(number) = told.first().and_then(|heard| heard.split(' ').nth(1)) {
        client.decide(number.parse().expect("a number"), "reject");
        client.said();
    }
    answered
}

// ---- Stop ------------------------------------------------------------------------------------------------------

#[test]
fn a_stop_waits_a_bounded_time_for_the_turn_whatever_its_answer() {
    for (answer, ended) in [
        (json!({ "id": 3, "result": { "stopReason": "cancelled" } }), "turn 1 Cancelled"),
        (json!({ "id": 3, "result": { "stopReason": "end_turn" } }), "turn 1 EndedAlthoughCancelled(EndTurn)"),
        (json!({ "id": 3, "error": { "code": -32800, "message": "" } }), "turn 1 Cancelled, Error -32800"),
        (json!({ "id": 3, "error": { "code": -32603, "message": "" } }), "turn 1 Failed, Error -32603"),
    ] {
        let (mut client, turn) = running();
        assert_eq!(client.due_in(), None);
        assert_eq!(cancel(&mut client, turn, STOP), Cancellation::Requested);
        assert_eq!(client.conn.poll_timeout().map(|deadline| deadline.cause), Some(Cause::StopConfirm(turn)));
        assert_eq!((client.due_in(), client.said()), (Some(BOUND), vec!["session/cancel s1".into()]));
        client.message(answer);
        assert_eq!((client.due_in(), client.heard()), (None, vec![ended.to_owned()]));
        let session = client.conn.find_session("s1").expect("it stays open");
        client.prompt(session);
        client.wait(2 * BOUND);
        assert!(!client.conn.is_closed(), "the next prompt works, and the bound is gone");
    }
}

#[test]
fn an_unconfirmed_stop_ends_the_connection_and_nothing_more_is_sent() {
    let (mut client, turn) = running();
    client.permission("p", "s1");
    client.heard();
    cancel(&mut client, turn, STOP);
    client.wait(BOUND);
    assert_eq!(client.heard(), ["revoked 1", "turn 1 Closed, Closed", "closed StopUnconfirmed"]);
    assert_eq!((client.said(), client.due_in()), (vec![], None), "the bound covers a pipe that takes nothing");
    client.stops(3, "cancelled");
    assert_eq!((cancel(&mut client, turn, STOP), client.heard()), (Cancellation::Moot, vec![]));
}

#[test]
fn the_bound_counts_from_the_first_stop_and_repeats_share_its_frame() {
    let (mut client, turn) = running();
    cancel(&mut client, turn, STOP);
    client.wait(Duration::from_secs(6));
    assert_eq!(cancel(&mut client, turn, STOP), Cancellation::AlreadyRequested);
    assert_eq!(client.said(), ["session/cancel s1"]);
    assert_eq!(cancel(&mut client, turn, STOP), Cancellation::AlreadyRequested);
    assert_eq!((client.said(), client.due_in()), (vec![], Some(Duration::from_secs(4))));
}

#[test]
fn the_host_may_have_the_bound_to_itself() {
    let (mut client, _, turn) = ClientBench::running(config(|config| config.stop_confirm = None));
    cancel(&mut client, turn, STOP);
    assert_eq!((client.said(), client.due_in()), (vec!["session/cancel s1".into()], None));
}

// ---- Steer -----------------------------------------------------------------------------------------------------

#[test]
fn a_steer_is_sent_once_is_never_bounded_and_never_closes() {
    let (mut client, turn) = running();
    assert_eq!(cancel(&mut client, turn, STEER), Cancellation::Requested);
    assert_eq!(cancel(&mut client, turn, STEER), Cancellation::AlreadyRequested);
    assert_eq!((client.said(), client.due_in()), (vec!["session/cancel s1".into()], None));
    assert_eq!(cancel(&mut client, turn, STEER), Cancellation::AlreadyRequested);
    client.wait(Duration::from_secs(3600));
    assert_eq!((client.said(), client.heard()), (vec![], vec![]));
    assert!(is_cancelling(&mut client));
}

#[test]
fn a_stop_after_a_steer_sends_its_own_and_is_bounded() {
    for handed_out in [false, true] {
        let (mut client, turn) = running();
        cancel(&mut client, turn, STEER);
        let first = if handed_out { client.said().len() } else { 0 };
        assert_eq!(cancel(&mut client, turn, STOP), Cancellation::Requested);
        assert_eq!((first + client.said().len(), client.due_in()), (2, Some(BOUND)));
        client.wait(BOUND);
        assert!(client.conn.is_closed());
    }
}

#[test]
fn a_steer_during_a_stop_sends_nothing() {
    for handed_out in [false, true] {
        let (mut client, turn) = running();
        cancel(&mut client, turn, STOP);
        let first = if handed_out { client.said().len() } else { 0 };
        assert_eq!(cancel(&mut client, turn, STEER), Cancellation::AlreadyRequested);
        assert_eq!(first + client.said().len(), 1);
    }
}

// ---- cancels that do not get out -------------------------------------------------------------------------------

#[test]
fn a_stop_that_was_not_delivered_is_written_again_when_asked_again() {
    let (mut client, turn) = running();
    cancel(&mut client, turn, STOP);
    let frame = sent(&mut client);
    failed(&mut client, frame);
    assert_eq!((client.heard(), client.due_in()), (vec!["undelivered turn 1 stop=true steer=false".into()], None));
    assert!(!is_cancelling(&mut client));
    assert_eq!(cancel(&mut client, turn, STOP), Cancellation::Requested);
    assert_eq!((client.said(), client.due_in()), (vec!["session/cancel s1".into()], Some(BOUND)));
}

#[test]
fn a_steer_that_was_not_delivered_may_be_asked_again() {
    let (mut client, turn) = running();
    cancel(&mut client, turn, STEER);
    let frame = sent(&mut client);
    failed(&mut client, frame);
    assert_eq!(client.heard(), ["undelivered turn 1 stop=false steer=true"]);
    assert_eq!(cancel(&mut client, turn, STEER), Cancellation::Requested);
    assert_eq!((client.said(), client.due_in()), (vec!["session/cancel s1".into()], None));
}

#[test]
fn a_steer_that_went_out_keeps_the_turn_cancelling_when_a_stop_does_not() {
    let (mut client, turn) = running();
    cancel(&mut client, turn, STEER);
    sent(&mut client);
    cancel(&mut client, turn, STOP);
    let stop = sent(&mut client);
    failed(&mut client, stop);
    assert_eq!((client.heard(), client.due_in()), (vec!["undelivered turn 1 stop=true steer=false".into()], None));
    assert!(is_cancelling(&mut client), "the steer is out there");
    client.stops(3, "cancelled");
    assert_eq!(client.heard(), ["turn 1 Cancelled"]);
}

#[test]
fn a_stop_that_went_out_keeps_the_turn_cancelling_when_a_steer_does_not() {
    let (mut client, turn) = running();
    cancel(&mut client, turn, STEER);
    let steer = sent(&mut client);
    cancel(&mut client, turn, STOP);
    sent(&mut client);
    failed(&mut client, steer);
    assert_eq!(
        (client.heard(), client.due_in()),
        (vec!["undelivered turn 1 stop=false steer=true".into()], Some(BOUND))
    );
    assert!(is_cancelling(&mut client));
}

#[test]
fn a_steer_that_joined_a_stop_shares_its_fate() {
    let (mut client, turn) = running();
    cancel(&mut client, turn, STOP);
    cancel(&mut client, turn, STEER);
    let stop = sent(&mut client);
    failed(&mut client, stop);
    assert_eq!(client.heard(), ["undelivered turn 1 stop=true steer=true"]);
    assert!(!is_cancelling(&mut client));
    assert_eq!(cancel(&mut client, turn, STEER), Cancellation::Requested);
    assert_eq!(client.said(), ["session/cancel s1"]);
}

#[test]
fn what_was_signalled_and_answered_stays_so_when_the_cancel_does_not_get_out() {
    let (mut client, turn) = running();
    client.permission("p", "s1");
    client.request("q", "_vendor", json!({ "sessionId": "s1" }));
    client.heard();
    cancel(&mut client, turn, STOP);
    assert_eq!(client.heard(), ["revoked 1", "signal 2"], "before anything is written");
    let frame = sent(&mut client);
    failed(&mut client, frame);
    cancel(&mut client, turn, STOP);
    assert_eq!(client.heard(), ["undelivered turn 1 stop=true steer=false"], "signalled once");
    assert_eq!(client.said(), ["p: cancelled", "session/cancel s1"]);
}

#[test]
fn a_cancel_whose_turn_is_over_may_fail_without_harm() {
    for kind in [STOP, STEER] {
        let (mut client, turn) = running();
        cancel(&mut client, turn, kind);
        let frame = sent(&mut client);
        client.stops(3, "end_turn");
        client.heard();
        failed(&mut client, frame);
        failed(&mut client, frame);
        assert_eq!((client.heard(), client.conn.is_closed()), (vec![], false));
    }
}

#[test]
fn an_answer_that_does_not_get_out_ends_the_connection() {
    let (mut client, turn) = running();
    client.permission("p", "s1");
    client.heard();
    cancel(&mut client, turn, STOP);
    sent(&mut client);
    let answer = client.conn.poll_transmit().expect("the answer").id();
    failed(&mut client, answer);
    assert_eq!(client.heard()[1..], ["turn 1 Closed, Closed", r#"closed Lost("a message could not be delivered")"#]);
}

// ---- the turn's fence ------------------------------------------------------------------------------------------

#[test]
fn the_cancel_comes_first_and_then_the_answers_in_the_order_of_the_requests() {
    let (mut client, turn) = running();
    for id in [900, 901, 902] {
        client.permission(id, "s1");
    }
    client.heard();
    client.decide(2, "allow");
    cancel(&mut client, turn, STOP);
    assert_eq!(client.said(), ["901: allow", "session/cancel s1", "900: cancelled", "902: cancelled"]);
}

#[test]
fn a_late_cancel_sends_nothing_and_cannot_hit_the_next_turn() {
    for kind in [STOP, STEER] {
        let (mut client, turn) = running();
        client.stops(3, "end_turn");
        let session = client.conn.find_session("s1").expect("open");
        let (next, _) = client.prompt(session);
        client.heard();
        assert_eq!(cancel(&mut client, turn, kind), Cancellation::Moot);
        assert_eq!((client.said(), client.due_in(), is_cancelling(&mut client)), (vec![], None, false));
        assert!(client.conn.is_live(next));
    }
}

#[test]
fn an_unsent_cancel_is_taken_back_when_the_turn_settles_first() {
    for kind in [STOP, STEER] {
        let (mut client, turn) = running();
        client.permission("p", "s1");
        client.heard();
        cancel(&mut client, turn, kind);
        client.stops(3, "end_turn");
        let session = client.conn.find_session("s1").expect("open");
        let now = client.now;
        assert!(client.conn.prompt(session, &text("next"), None, now).is_ok());
        assert_eq!(client.said(), ["p: cancelled", "ask 4 session/prompt"]);
        assert_eq!(client.heard(), ["revoked 1", "turn 1 EndedAlthoughCancelled(EndTurn)"], "the intent is on record");
        assert_eq!((client.due_in(), is_cancelling(&mut client)), (None, false));
    }
}

#[test]
fn a_cancel_of_one_session_leaves_the_others_alone() {
    let (mut client, turn) = running();
    let other = client.session("s2");
    let (second, _) = client.prompt(other);
    cancel(&mut client, turn, STOP);
    client.permission("p", "s2");
    assert_eq!(
        (client.said(), client.heard()),
        (vec!["session/cancel s1".into()], vec!["permission 1 s2 turn 2".into()])
    );
    assert_eq!(cancel(&mut client, second, STOP), Cancellation::Requested);
    assert_eq!(client.said(), ["session/cancel s2", "p: cancelled"]);
}

#[test]
fn meta_goes_out_with_the_cancel() {
    let (mut client, turn) = running();
    let (meta, now) = (payload(json!({ "why": [1] })), client.now);
    assert!(client.conn.cancel_turn_with(turn, STOP, Some(&meta), now).is_ok());
    let params = json!({ "sessionId": "s1", "_meta": { "why": [1] } });
    assert_eq!(client.frames(), [json!({ "method": "session/cancel", "params": params })]);
    let bad = client.conn.cancel_turn_with(turn, STOP, Some(&payload(json!(7))), now);
    assert!(matches!(bad, Err(CommandError::Misuse(Misuse::Payload(_)))));
}

// ---- without a turn of ours ------------------------------------------------------------------------------------

#[test]
fn a_session_without_a_turn_of_ours_is_stopped_by_one_frame_that_nobody_waits_for() {
    let (mut client, session) = ClientBench::ready(Config::client());
    client.permission("p", "s1");
    client.request("q", "_vendor", json!({ "sessionId": "s1" }));
    client.heard();
    let now = client.now;
    assert_eq!(client.conn.stop_session(session, now), Ok(Cancellation::Requested));
    assert_eq!((client.said(), client.due_in()), (vec!["session/cancel s1".into(), "p: cancelled".into()], None));
    assert_eq!(client.heard(), ["revoked 1", "signal 2"]);
    assert_eq!(client.respond(2, Err(-32800)), Delivery::Queued);
}

#[test]
fn a_session_with_a_turn_of_ours_is_stopped_by_stopping_that_and_taking_back_what_waits() {
    let (mut client, session, _) = ClientBench::running(config(|config| config.overlap = Overlap::Queue(2)));
    let now = client.now;
    assert!(client.conn.prompt(session, &text("later"), None, now).is_ok());
    assert_eq!(client.conn.stop_session(session, now), Ok(Cancellation::Requested));
    assert_eq!((client.said(), client.due_in()), (vec!["session/cancel s1".into()], Some(BOUND)));
    client.stops(3, "cancelled");
    assert_eq!(client.heard(), ["turn 2 Cancelled, Cancelled", "turn 1 Cancelled"]);
    assert_eq!(client.said(), [""; 0]);
}

#[test]
fn a_stop_of_a_session_that_was_not_delivered_is_told_and_may_be_asked_again() {
    let (mut client, session) = ClientBench::ready(Config::client());
    let now = client.now;
    assert!(client.conn.stop_session(session, now).is_ok());
    let frame = sent(&mut client);
    failed(&mut client, frame);
    assert_eq!((client.heard(), client.conn.is_closed()), (vec!["undelivered s1".into()], false));
    assert_eq!(client.conn.stop_session(session, now), Ok(Cancellation::Requested));
    assert_eq!(client.said(), ["session/cancel s1"]);
}

#[test]
fn a_session_that_is_not_known_cannot_be_stopped() {
    let (mut client, session) = ClientBench::ready(Config::client());
    let now = client.now;
    assert!(client.conn.request_in(session, "session/close", &payload(json!({})), None, now).is_ok());
    client.said();
    client.result(3, json!({}));
    assert_eq!(client.conn.stop_session(session, now), Err(Misuse::UnknownSession.into()));
    assert_eq!(client.said(), [""; 0]);
}
