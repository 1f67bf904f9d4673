//! Sessions: resumed with or without their history, closed, deleted, listed and configured.

use core::time::Duration;

use acp_core::{CommandError, Delivery, ErrorObject, Misuse, wire::StopReason};
use acp_tests::{
    agent::AgentBench,
    bench::payload,
    v2::{agent_is_at_rest, chunk, prompt, ready, said},
};
use serde_json::{Value, json};

use super::none;

fn resume(bench: &mut AgentBench, id: u64, session: &str, from: Value) {
    bench.request(id, "session/resume", json!({ "sessionId": session, "cwd": "/", "replayFrom": from }));
}

fn tell(bench: &mut AgentBench, session: &str, update: Value) -> Result<Delivery, CommandError> {
    let (session, now) = (bench.session(session), bench.now);
    bench.conn.update(session, &payload(update), now)
}

fn close(bench: &mut AgentBench, id: u64) {
    bench.request(id, "session/close", json!({ "sessionId": "s1" }));
}

#[test]
fn a_session_that_is_resumed_says_what_it_is_at_before_the_answer_and_nothing_of_its_history() {
    let mut bench = ready();
    resume(&mut bench, 3, "s2", json!(null));
    assert_eq!(bench.told(), ["SessionRequested session/resume"]);
    let history = tell(&mut bench, "s2", chunk("Old."));
    assert!(matches!(history, Err(CommandError::Misuse(Misuse::Payload(_)))), "none was asked for: {history:?}");
    let news = json!({ "sessionUpdate": "session_info_update", "title": "t" });
    assert_eq!(tell(&mut bench, "s2", news), Ok(Delivery::Queued), "which is no history");
    bench.accept(&json!({}));
    assert_eq!(said(&mut bench), ["s2 session_info_update", "s2 idle", "3: ok"]);
    assert_eq!(tell(&mut bench, "s2", chunk("New.")), Ok(Delivery::Queued));
}

#[test]
fn a_session_that_is_resumed_with_its_history_says_where_that_ends_once() {
    for history in [0, 2] {
        let mut bench = ready();
        resume(&mut bench, 3, "s2", json!({ "type": "start" }));
        bench.told();
        for _ in 0..history {
            tell(&mut bench, "s2", chunk("Old.")).expect("it was asked for");
        }
        bench.accept(&json!({}));
        let said = said(&mut bench);
        assert_eq!(said[history..], ["s2 replay_complete", "s2 idle", "3: ok"], "even if it is empty");
        assert_eq!(said.len(), history + 3);
    }
}

#[test]
fn what_the_host_is_told_of_a_resume_says_whether_the_history_is_wanted() {
    for (from, wanted) in [(json!(null), false), (json!({ "type": "start" }), true)] {
        let mut bench = ready();
        resume(&mut bench, 3, "s2", from);
        let Some(acp_core::AgentAction::SessionRequested { ticket, replay, session, .. }) = bench.conn.poll_action()
        else {
            panic!("it is told")
        };
        assert_eq!((replay, session), (wanted, bench.conn.find_session("s2")));
        bench.conn.abandon(ticket.key(), bench.now);
        assert_eq!((said(&mut bench), bench.conn.find_session("s2")), (vec!["3: -32603".into()], None));
    }
}

#[test]
fn a_history_that_cannot_be_told_from_there_is_invalid_and_never_replaced() {
    for from in
        [json!({ "type": "cursor", "cursorId": "c" }), json!({}), json!({ "type": 1 }), json!("start"), json!([])]
    {
        let mut bench = ready();
        resume(&mut bench, 3, "s2", from.clone());
        assert_eq!((said(&mut bench), bench.told()), (vec!["3: -32602".into()], none()), "{from}");
        assert_eq!(bench.conn.find_session("s2"), None);
    }
}

#[test]
fn a_history_that_breaks_off_is_an_error_without_its_end() {
    let mut bench = ready();
    resume(&mut bench, 3, "s2", json!({ "type": "start" }));
    bench.told();
    tell(&mut bench, "s2", chunk("Old.")).expect("it was asked for");
    let ticket = bench.held.opening.pop_front().expect("it is asked");
    bench.conn.reject_session(ticket, &ErrorObject::new(-32002, "it is gone"), bench.now);
    assert_eq!(said(&mut bench), ["s2 agent_message_chunk a1", "3: -32002"]);
    assert_eq!(bench.conn.find_session("s2"), None);
}

#[test]
fn a_session_that_is_open_may_be_resumed_again_and_keeps_its_background() {
    let mut bench = ready();
    let session = bench.session("s1");
    bench.conn.set_background(session, &payload(json!([{ "type": "x" }])), bench.now).expect("an array");
    bench.frames();
    resume(&mut bench, 3, "s1", json!({ "type": "start" }));
    bench.told();
    prompt(&mut bench, 4, "Hello.", None);
    assert_eq!(said(&mut bench), ["4: -32600"], "it is being opened");
    assert_eq!(bench.accept(&json!({})), session);
    assert_eq!(said(&mut bench), ["s1 replay_complete", "s1 idle +bg", "3: ok"]);
    // A resume that fails leaves what was there.
    resume(&mut bench, 5, "s1", json!(null));
    bench.told();
    let ticket = bench.held.opening.pop_front().expect("it is asked");
    bench.conn.reject_session(ticket, &ErrorObject::new(-32603, "no"), bench.now);
    prompt(&mut bench, 6, "Hello.", None);
    assert_eq!(bench.told(), ["Prompt t1"]);
}

#[test]
fn closing_ends_all_work_before_its_answer_and_the_session_is_silent_afterwards() {
    let mut bench = ready();
    for id in [3, 4] {
        prompt(&mut bench, id, "Hello.", None);
    }
    bench.told();
    bench.update(1, chunk("Hi.")).expect("room");
    let turn = bench.turn(1);
    acp_tests::v2::ask(&mut bench, turn);
    said(&mut bench);
    close(&mut bench, 5);
    assert_eq!(said(&mut bench), ["4: -32800", "$/cancel_request 1"]);
    assert_eq!(bench.told(), ["AbortTurn t1 CloseSession", "Resolved r1 Cancelled(CloseSession)"]);
    prompt(&mut bench, 6, "Hello.", None);
    assert_eq!(said(&mut bench), ["6: -32002"], "it takes no prompt any more");
    bench.update(1, chunk("The last word.")).expect("room");
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.told(), ["CloseSession s1"]);
    tell(&mut bench, "s1", json!({ "sessionUpdate": "session_info_update" })).expect("the host may say a last word");
    let session = bench.session("s1");
    let pending = acp_tests::v2::ask(&mut bench, session);
    bench.respond(Ok(json!({})));
    assert_eq!(said(&mut bench)[..3], ["s1 agent_message_chunk a1", "s1 idle cancelled", "s1 session_info_update"]);
    assert_eq!(bench.told(), [format!("Resolved r{} Cancelled(CloseSession)", pending.number())]);
    let over = CommandError::Misuse(Misuse::UnknownSession);
    assert_eq!(bench.conn.update(session, &payload(chunk("x")), bench.now), Err(over.clone()));
    assert_eq!(bench.ask(session, "session/request_permission"), Err(over));
    assert_eq!((said(&mut bench), bench.conn.sessions()), (none(), 0));
    agent_is_at_rest(&bench.conn);
}

#[test]
fn closing_a_session_whose_prompt_is_not_inserted_reports_no_work() {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", None);
    bench.told();
    close(&mut bench, 4);
    bench.told();
    bench.end(1, StopReason::EndTurn);
    bench.told();
    bench.respond(Ok(json!({})));
    assert_eq!(said(&mut bench), ["3: -32800", "4: ok"]);
}

#[test]
fn closing_waits_for_a_turn_as_long_as_the_policy_says() {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", None);
    bench.told();
    bench.update(1, chunk("Hi.")).expect("room");
    said(&mut bench);
    close(&mut bench, 4);
    bench.told();
    bench.wait(Duration::from_secs(5));
    assert_eq!(bench.told(), ["TurnForced t1", "CloseSession s1"]);
    bench.respond(Ok(json!({})));
    assert_eq!(said(&mut bench), ["s1 idle cancelled", "4: ok"]);
    agent_is_at_rest(&bench.conn);
}

#[test]
fn closing_what_is_not_open_succeeds_without_asking_anybody() {
    let mut bench = ready();
    bench.request(3, "session/close", json!({ "sessionId": "s9" }));
    assert_eq!((said(&mut bench), bench.told()), (vec!["3: ok".into()], none()));
    close(&mut bench, 4);
    bench.told();
    bench.respond(Ok(json!({})));
    close(&mut bench, 5);
    assert_eq!((said(&mut bench), bench.told()), (vec!["4: ok".into(), "5: ok".into()], none()));
}

#[test]
fn closing_twice_at_once_is_one_close_with_two_answers() {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", None);
    bench.told();
    for id in [4, 5] {
        close(&mut bench, id);
    }
    bench.cancel_request(5);
    assert_eq!((bench.told(), said(&mut bench)), (vec!["AbortTurn t1 CloseSession".into()], none()));
    bench.end(1, StopReason::EndTurn);
    close(&mut bench, 6);
    assert_eq!(bench.told(), ["CloseSession s1"]);
    bench.respond(Ok(json!({})));
    let mut answers = said(&mut bench);
    answers.sort();
    assert_eq!(answers, ["3: -32800", "4: ok", "5: ok", "6: ok"]);
    agent_is_at_rest(&bench.conn);
}

#[test]
fn a_close_that_its_host_refuses_is_refused_to_all_who_asked_for_it() {
    let refuse: [fn(&mut AgentBench); 2] = [
        |bench| {
            bench.respond(Err(-32603));
        },
        |bench| {
            let ticket = bench.held.requests.pop_front().expect("it is asked");
            bench.conn.abandon(ticket.key(), bench.now);
        },
    ];
    for refuse in refuse {
        let mut bench = ready();
        for id in [4, 5] {
            close(&mut bench, id);
        }
        bench.told();
        refuse(&mut bench);
        let mut answers = said(&mut bench);
        answers.sort();
        assert_eq!(answers, ["4: -32603", "5: -32603"]);
        prompt(&mut bench, 6, "Hello.", None);
        assert_eq!(bench.told(), ["Prompt t1"], "it is open again");
    }
}

#[test]
fn deleting_a_session_that_is_open_ends_it_before_the_answer() {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", None);
    bench.told();
    bench.update(1, chunk("Hi.")).expect("room");
    said(&mut bench);
    bench.request(4, "session/delete", json!({ "sessionId": "s1" }));
    assert_eq!(bench.told(), ["Request session/delete"]);
    bench.respond(Ok(json!({})));
    assert_eq!(said(&mut bench), ["s1 idle cancelled", "4: ok"]);
    assert_eq!(bench.told(), ["AbortTurn t1 CloseSession", "TurnForced t1"]);
    bench.request(5, "session/delete", json!({ "sessionId": "stored" }));
    bench.told();
    bench.respond(Ok(json!({})));
    assert_eq!((said(&mut bench), bench.conn.sessions()), (vec!["5: ok".into()], 0));
}

#[test]
fn options_are_set_while_idle_and_while_work_goes_on() {
    let mut bench = ready();
    let params = json!({ "sessionId": "s1", "configId": "c", "type": "id", "value": "v" });
    bench.request(3, "session/set_config_option", params.clone());
    bench.told();
    bench.respond(Ok(json!({ "configOptions": [] })));
    prompt(&mut bench, 4, "Hello.", None);
    bench.told();
    bench.update(1, chunk("Hi.")).expect("room");
    bench.request(5, "session/set_config_option", params);
    assert_eq!(bench.told(), ["Request session/set_config_option"]);
    bench.respond(Err(-32602));
    let said = said(&mut bench);
    assert_eq!((said.first().map(String::as_str), said.last().map(String::as_str)), (Some("3: ok"), Some("5: -32602")));
}

#[test]
fn a_new_session_says_nothing_of_its_state_until_there_is_something_to_say() {
    let mut bench = ready();
    bench.request(3, "session/new", json!({ "cwd": "/" }));
    bench.request(4, "session/fork", json!({ "cwd": "/", "sessionId": "s1" }));
    bench.told();
    bench.accept(&json!({ "sessionId": "s2" }));
    bench.accept(&json!({ "sessionId": "s3" }));
    assert_eq!(said(&mut bench), ["3: ok", "4: ok"]);
}
