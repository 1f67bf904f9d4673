//! Version 2: prompts, the states of a session, cancels, and what an agent asks the user.

use acp_core::Side;
use acp_examples::trace::Severity;

use crate::{
    script::{found, leaked},
    v2::{
        ASK, CANCEL, INSERTED, LIST, LISTED, PROMPT, YES, chunk, doubtful, idle, planted, running, script, started,
        state, told, update,
    },
};

const REFUSED: &str = r#"< {"jsonrpc":"2.0","id":2,"error":{"code":-32800,"message":"cancelled"}}"#;
const FAILED: &str = r#"< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"failed"}}"#;
const TAKEN_BACK: &str = r#"< {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"p"}}"#;
const DECLINED: &str = r#"> {"jsonrpc":"2.0","id":"p","result":{"outcome":{"outcome":"cancelled"}}}"#;

/// The second prompt, and the message it gets.
fn second() -> [String; 3] {
    let prompt = PROMPT.replace("\"id\":2", "\"id\":4");
    [prompt, INSERTED.replace("\"id\":2", "\"id\":4").replace("m1", "m3"), told("m3")]
}

#[test]
fn good_scripts_have_no_findings() {
    let (started, x) = (started(), chunk("m2"));
    let [run, wait, end, cancelled] = [state("running"), state("requires_action"), idle("end_turn"), idle("cancelled")];
    for lines in [
        &[CANCEL, &x, &cancelled][..],
        &[&x, &end],
        &[&x, ASK, &wait, YES, &run, &x, &end],
        // Other work goes on while one thing waits.
        &[ASK, &x, YES, &end],
        &[ASK, &wait, CANCEL, TAKEN_BACK, &cancelled, DECLINED],
        // The client knows what belongs to the work.
        &[ASK, &wait, CANCEL, DECLINED, &cancelled],
        // An idle that repeats itself.
        &[&x, &end, &end],
        // The end crosses the cancel, which is found idle.
        &[&x, &end, CANCEL],
        // The client declines by itself.
        &[ASK, &wait, DECLINED, &run, &end],
        // Work that the agent begins by itself.
        &[&end, &run, &x, &end],
    ] {
        assert_eq!(found(&script(&running(&started, lines))), [], "{lines:#?}");
    }
}

#[test]
fn prompts_may_wait_and_a_cancel_spares_those_behind_it() {
    let (started, [second, inserted, message]) = (started(), second());
    let [run, end, cancelled] = [state("running"), idle("end_turn"), idle("cancelled")];
    let refused = REFUSED.replace("\"id\":2", "\"id\":4");
    for lines in [
        // Behind the cancel, and acknowledged before it is confirmed.
        &[CANCEL, &second, &inserted, &message, &cancelled, &run, &end][..],
        // Inserted into the running work, or afterwards.
        &[&second, &inserted, &message, &end],
        &[&second, &end, &inserted, &run, &message, &end],
        // Refused by the cancel.
        &[&second, CANCEL, &refused, &cancelled],
    ] {
        assert_eq!(found(&script(&running(&started, lines))), [], "{lines:#?}");
    }
    // It crosses the end of the work, and cuts short the next, which was sent before it.
    let lines = running(&started, &[&second, CANCEL, &end, &inserted, &run, &message, &cancelled]);
    let crossed = (11, leaked("cancel-ignored"), Side::Agent, Severity::Warning);
    assert_eq!(found(&script(&lines)), [crossed]);
    // A cancel that finds nothing but a prompt that waits, and then another prompt.
    let message = told("m3");
    let lines = [PROMPT, CANCEL, REFUSED, &second, &inserted, &message, &run, &end];
    assert_eq!(found(&script(&lines)), []);
}

#[test]
fn a_prompt_whose_message_is_never_told() {
    planted(&[PROMPT, INSERTED, &state("running"), &idle("end_turn")], 6, "prompt-untold", Side::Agent);
    planted(&[PROMPT, INSERTED, &state("running"), &told("m9"), &idle("end_turn")], 6, "prompt-untold", Side::Agent);
    let piece = update(r#""user_message_chunk","messageId":"m1","content":{"type":"text","text":"hi"}"#);
    assert_eq!(found(&script(&[PROMPT, &piece, &state("running"), INSERTED, &idle("end_turn")])), []);
}

#[test]
fn a_prompt_that_fails_after_it_was_inserted() {
    planted(&[PROMPT, &told("m1"), FAILED], 7, "prompt-failed", Side::Agent);
    assert_eq!(found(&script(&[PROMPT, FAILED])), []);
}

#[test]
fn a_message_id_that_another_message_has() {
    let (started, [second, inserted, _], end) = (started(), second(), idle("end_turn"));
    let same = inserted.replace("m3", "m1");
    planted(&running(&started, &[&second, &same, &end]), 10, "message-id", Side::Agent);
    // The message was told before the prompt was sent.
    let lines = [&told("m1"), PROMPT, INSERTED];
    planted(&lines, 7, "message-id", Side::Agent);
    // What is sent again with its key is the same message.
    let keyed = |line: &str| line.replace(r#""prompt":"#, r#""idempotencyKey":"k","prompt":"#);
    let (first, again) = (keyed(PROMPT), keyed(&second));
    let [run, message] = [state("running"), told("m1")];
    assert_eq!(found(&script(&[&first, INSERTED, &run, &message, &again, &same, &end])), []);
    planted(&[&first, INSERTED, &run, &message, &again, &inserted, &told("m3"), &end], 10, "message-id", Side::Agent);
}

#[test]
fn a_state_that_the_protocol_does_not_name() {
    doubtful(&[&state("busy")], 5, "session-state", Side::Agent);
    assert_eq!(found(&script(&[&state("_busy")])), []);
    // It is not idle.
    let started = started();
    let lines = running(&started, &[&state("unknown").leak()[..], &chunk("m2").leak()[..]]);
    assert_eq!(found(&script(&lines)), []);
}

#[test]
fn work_that_is_not_reported() {
    // Once is said, not for each.
    let [message, x, end] = [told("m1"), chunk("m2"), idle("end_turn")];
    doubtful(&[PROMPT, INSERTED, &message, &x, &x], 8, "work-unreported", Side::Agent);
    doubtful(&[PROMPT, INSERTED, &message, &end], 8, "work-unreported", Side::Agent);
    let (started, y) = (started(), chunk("m4"));
    doubtful(&running(&started, &[&x, &end, &y]), 11, "work-unreported", Side::Agent);
}

#[test]
fn work_that_goes_on_while_it_is_said_to_wait() {
    let (started, [wait, x, end]) = (started(), [state("requires_action"), chunk("m2"), idle("end_turn")]);
    doubtful(&running(&started, &[ASK, &wait, YES, &x, &end]), 12, "still-waiting", Side::Agent);
}

#[test]
fn work_that_ends_without_a_reason_or_for_one_that_is_not_of_the_protocol() {
    let (started, silent) = (started(), update(r#""state_update","state":"idle""#));
    doubtful(&running(&started, &[&silent]), 9, "stop-reason", Side::Agent);
    doubtful(&running(&started, &[&idle("done")]), 9, "stop-reason", Side::Agent);
    assert_eq!(found(&script(&running(&started, &[&idle("_done")]))), []);
    assert_eq!(found(&script(&running(&started, &[&idle("error")]))), [], "version 2 has it");
}

#[test]
fn what_goes_on_in_the_background_is_reported_in_every_state() {
    let with = |items: &str| update(&format!(r#""state_update","state":"running","background":[{items}]"#));
    let call = update(r#""tool_call_update","toolCallId":"t""#);
    let item = with(r#"{"type":"tool_call","toolCallId":"t"}"#);
    let none = update(r#""state_update","state":"idle","stopReason":"end_turn","background":[]"#);
    assert_eq!(found(&script(&[&call, &item, &none])), []);
    planted(&[&call, &item, &idle("end_turn")], 7, "background", Side::Agent);
    planted(&[&item, &none], 5, "background", Side::Agent);
}

#[test]
fn an_update_of_work_that_ended_as_cancelled() {
    let (started, [x, y, cancelled]) = (started(), [chunk("m2"), chunk("m4"), idle("cancelled")]);
    planted(&running(&started, &[&x, CANCEL, &cancelled, &x]), 12, "update-after-cancelled", Side::Agent);
    // Another message may be that of something in the background.
    doubtful(&running(&started, &[&x, CANCEL, &cancelled, &y]), 12, "work-unreported", Side::Agent);
}

#[test]
fn a_cancel_that_is_passed_over_or_taken_for_a_failure() {
    let (started, [end, error]) = (started(), [idle("end_turn"), idle("error")]);
    planted(&running(&started, &[CANCEL, LIST, LISTED, &end]), 12, "cancel-ignored", Side::Agent);
    doubtful(&running(&started, &[CANCEL, &end]), 10, "cancel-ignored", Side::Agent);
    planted(&running(&started, &[CANCEL, LIST, LISTED, &error]), 12, "cancel-failed", Side::Agent);
    // A prompt that waits is refused as cancelled, too.
    planted(&[PROMPT, CANCEL, LIST, LISTED, FAILED], 9, "cancel-failed", Side::Agent);
    doubtful(&[PROMPT, CANCEL, FAILED], 7, "cancel-failed", Side::Agent);
    // The prompt was inserted after the cancel was sent, and its work is cancelled, or should be.
    let [run, message, cancelled] = [state("running"), told("m1"), idle("cancelled")];
    assert_eq!(found(&script(&[PROMPT, CANCEL, INSERTED, &run, &message, &cancelled])), []);
    doubtful(&[PROMPT, CANCEL, INSERTED, &run, &message, &end], 10, "cancel-ignored", Side::Agent);
}

#[test]
fn a_cancel_that_is_never_confirmed() {
    let (started, x) = (started(), chunk("m2"));
    planted(&running(&started, &[CANCEL, &x]), 9, "cancel-unanswered", Side::Agent);
    planted(&[PROMPT, CANCEL], 6, "cancel-unanswered", Side::Agent);
}

#[test]
fn cancelled_although_nobody_cancelled() {
    let (started, cancelled) = (started(), idle("cancelled"));
    doubtful(&running(&started, &[&cancelled]), 9, "cancelled-unasked", Side::Agent);
}

#[test]
fn a_permission_that_a_cancelled_agent_does_not_take_back() {
    let (started, [wait, cancelled]) = (started(), [state("requires_action"), idle("cancelled")]);
    planted(&running(&started, &[ASK, &wait, CANCEL, &cancelled]), 12, "request-not-cancelled", Side::Agent);
    // It may be that of something in the background.
    doubtful(&running(&started, &[ASK, CANCEL, &cancelled]), 11, "request-not-cancelled", Side::Agent);
    let lines = running(&started, &[ASK, &wait, CANCEL, &cancelled, TAKEN_BACK, DECLINED]);
    assert_eq!(found(&script(&lines)), [], "late is not never");
}

#[test]
fn two_faults_are_two_findings() {
    let (started, end) = (started(), idle("end_turn"));
    let [second, inserted, _] = second();
    let lines = running(&started, &[&second, &inserted, CANCEL, LIST, LISTED, &end]);
    let expected = [(10, "prompt-untold"), (14, "cancel-ignored")];
    let expected = expected.map(|(line, rule)| (line, leaked(rule), Side::Agent, Severity::Error));
    assert_eq!(found(&script(&lines)), expected);
}
