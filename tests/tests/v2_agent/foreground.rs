//! What a session is reported to be at: by its work, apart from any prompt.

use acp_core::{CommandError, Delivery, Misuse, Overlap, machine::Foreground, wire::StopReason};
use acp_tests::{
    agent::AgentBench,
    bench::payload,
    schema::may_emit,
    v2::{agent_config, agent_in, ask, chunk, prompt, ready, said, tool},
};
use serde_json::json;

use super::none;

/// A turn whose prompt is inserted, and that was said.
fn working() -> AgentBench {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", None);
    bench.told();
    let key = bench.turn(1);
    assert_eq!(bench.conn.insert_prompt(key, "m1", bench.now), Ok(Delivery::Queued));
    said(&mut bench);
    bench
}

fn selected() -> serde_json::Value {
    json!({ "outcome": { "outcome": "selected", "optionId": "yes" } })
}

#[test]
fn work_that_waits_for_the_user_is_reported_so_until_the_last_answer() {
    may_emit("its host asks in a form without fields");
    let mut bench = working();
    let turn = bench.turn(1);
    let first = ask(&mut bench, turn);
    let elicitation = payload(json!({ "mode": "form", "message": "m" }));
    let second = bench.conn.request_in(turn, "elicitation/create", &elicitation, None, bench.now).expect("offered");
    assert_eq!(
        said(&mut bench),
        ["ask 1 session/request_permission", "s1 requires_action", "ask 2 elicitation/create"],
        "the state is told once"
    );
    let session = bench.session("s1");
    assert_eq!(bench.conn.foreground(session), Foreground::RequiresAction);
    bench.answer(first, selected());
    assert_eq!(said(&mut bench), none(), "the other is open");
    bench.answer(second, json!({ "action": "decline" }));
    assert_eq!(said(&mut bench), ["s1 running"], "progress goes on");
    ask(&mut bench, turn);
    bench.end(1, StopReason::EndTurn);
    assert_eq!(said(&mut bench), ["ask 3 session/request_permission", "s1 requires_action", "s1 idle end_turn"]);
    assert_eq!(bench.conn.foreground(session), Foreground::Idle);
}

#[test]
fn work_goes_on_when_the_prompt_that_waited_for_the_user_is_over_and_another_is_not() {
    let mut bench = agent_in(agent_config(|config| config.overlap = Overlap::Forward(8)), &["s1"]);
    for id in [3, 4, 5] {
        prompt(&mut bench, id, "Hello.", None);
    }
    bench.told();
    for turn in [1, 2] {
        let turn = bench.turn(turn);
        ask(&mut bench, turn);
    }
    let third = bench.turn(3);
    assert_eq!(bench.conn.insert_prompt(third, "m3", bench.now), Ok(Delivery::Queued));
    let turn = bench.turn(1);
    ask(&mut bench, turn);
    assert_eq!(said(&mut bench).last().map(String::as_str), Some("s1 requires_action"));
    bench.end(1, StopReason::EndTurn);
    assert_eq!(said(&mut bench), none(), "the second one waits for the user, too");
    bench.end(2, StopReason::EndTurn);
    assert_eq!(said(&mut bench), ["s1 running"]);
    bench.end(3, StopReason::EndTurn);
    assert_eq!(said(&mut bench), ["s1 idle end_turn"]);
}

#[test]
fn a_question_that_fails_or_times_out_is_no_longer_waited_for() {
    let mut bench = working();
    let turn = bench.turn(1);
    let request = ask(&mut bench, turn);
    bench.line(&json!({ "jsonrpc": "2.0", "id": request.number(), "error": { "code": -32601, "message": "no" } }));
    assert_eq!(said(&mut bench)[1..], ["s1 requires_action", "s1 running"]);
    let bound = Some(core::time::Duration::from_secs(1));
    let params = payload(acp_tests::v2::permission());
    bench.conn.request_in(turn, "session/request_permission", &params, bound, bench.now).expect("it may be asked");
    assert_eq!(said(&mut bench)[1..], ["s1 requires_action"]);
    bench.wait(core::time::Duration::from_secs(1));
    assert_eq!(said(&mut bench), ["s1 running"]);
}

#[test]
fn what_is_asked_or_told_apart_from_the_work_changes_no_state() {
    let mut bench = ready();
    let session = bench.session("s1");
    let request = ask(&mut bench, session);
    bench.conn.update(session, &payload(tool("b", "in_progress")), bench.now).expect("room");
    bench.answer(request, selected());
    assert_eq!(said(&mut bench), ["ask 1 session/request_permission", "s1 tool b in_progress"]);
    let mut bench = working();
    let session = bench.session("s1");
    let request = ask(&mut bench, session);
    bench.answer(request, selected());
    let turn = bench.turn(1);
    bench.ask(turn, "_x/ask").expect("it waits for no user");
    assert_eq!(said(&mut bench), ["ask 1 session/request_permission", "ask 2 _x/ask"]);
    assert_eq!(bench.conn.foreground(session), Foreground::Running);
}

#[test]
fn an_agent_may_begin_work_by_itself_which_is_cancelled_and_ended_like_a_turn() {
    let mut bench = ready();
    let session = bench.session("s1");
    let ticket = bench.conn.begin_work(session, bench.now).expect("it is idle");
    assert_eq!(bench.conn.begin_work(session, bench.now).err(), Some(Misuse::TurnInProgress.into()));
    bench.conn.update(&ticket, &payload(chunk("By myself.")), bench.now).expect("room");
    assert_eq!(said(&mut bench), ["s1 running", "s1 agent_message_chunk a1"], "no message of the user's");
    assert_eq!(bench.conn.message_id(ticket.turn()), None);
    prompt(&mut bench, 3, "Hello.", None);
    assert_eq!((bench.told(), said(&mut bench)), (none(), none()), "it is held");
    assert_eq!(bench.conn.end_turn(ticket, &acp_core::TurnEnd::Stop(StopReason::EndTurn), bench.now), Delivery::Queued);
    assert_eq!((said(&mut bench), bench.told()), (vec!["s1 idle end_turn".into()], vec!["Prompt t2".into()]));
    bench.end(2, StopReason::EndTurn);
    said(&mut bench);

    let ticket = bench.conn.begin_work(session, bench.now).expect("it is idle");
    let request = ask(&mut bench, &ticket);
    assert_eq!(said(&mut bench), ["s1 running", "ask 1 session/request_permission", "s1 requires_action"]);
    prompt(&mut bench, 4, "Hello.", None);
    bench.cancel("s1");
    assert_eq!(bench.told(), ["AbortTurn t3 Session", &format!("Resolved r{} Cancelled(Session)", request.number())]);
    prompt(&mut bench, 5, "Hello.", None);
    bench.conn.end_turn(ticket, &acp_core::TurnEnd::Stop(StopReason::EndTurn), bench.now);
    assert_eq!(said(&mut bench), ["4: -32800", "$/cancel_request 1", "s1 idle cancelled"]);
    assert_eq!(bench.told(), ["Prompt t5"], "what came after the cancel is untouched");
}

#[test]
fn work_cannot_be_begun_where_there_is_no_open_session() {
    let mut bench = ready();
    let session = bench.session("s1");
    bench.request(3, "session/close", json!({ "sessionId": "s1" }));
    bench.told();
    assert_eq!(bench.conn.begin_work(session, bench.now).err(), Some(Misuse::SessionNotOpen.into()));
    bench.respond(Ok(json!({})));
    assert_eq!(bench.conn.begin_work(session, bench.now).err(), Some(Misuse::UnknownSession.into()));
    bench.request(4, "session/resume", json!({ "sessionId": "s2", "cwd": "/" }));
    bench.told();
    let session = bench.session("s2");
    assert_eq!(bench.conn.begin_work(session, bench.now).err(), Some(Misuse::SessionNotOpen.into()));
}

#[test]
fn what_goes_on_in_the_background_is_in_every_report_once_it_was_said_and_survives_a_cancel() {
    let mut bench = ready();
    let session = bench.session("s1");
    let items = |items| payload(items);
    for wrong in [json!({}), json!(null), json!("x")] {
        let refused = bench.conn.set_background(session, &items(wrong), bench.now);
        assert!(matches!(refused, Err(CommandError::Misuse(Misuse::Payload(_)))));
    }
    let one = json!([{ "type": "terminal", "terminalId": "t" }]);
    bench.conn.set_background(session, &items(one.clone()), bench.now).expect("an array");
    let frames = bench.frames();
    assert_eq!(
        frames[0]["params"]["update"],
        json!({ "sessionUpdate": "state_update", "state": "idle", "background": one })
    );
    prompt(&mut bench, 3, "Hello.", None);
    bench.told();
    bench.update(1, chunk("Hi.")).expect("room");
    let turn = bench.turn(1);
    let request = ask(&mut bench, turn);
    bench.answer(request, selected());
    bench.cancel("s1");
    bench.told();
    bench.end(1, StopReason::EndTurn);
    let states: Vec<String> = said(&mut bench).into_iter().filter(|said| said.contains("+bg")).collect();
    assert_eq!(states, ["s1 running +bg", "s1 requires_action +bg", "s1 running +bg", "s1 idle cancelled +bg"]);
    bench.conn.set_background(session, &items(json!([])), bench.now).expect("an array");
    assert_eq!(bench.frames()[0]["params"]["update"]["background"], json!([]), "it is over, and still said");
}

#[test]
fn states_and_the_end_of_a_replay_are_for_the_core_to_send_and_messages_need_an_id() {
    may_emit("its host sends a chunk that is none");
    let mut bench = working();
    for kind in ["state_update", "replay_complete"] {
        let refused = bench.update(1, json!({ "sessionUpdate": kind, "state": "idle" }));
        assert_eq!(refused, Err(Misuse::HasItsOwnCommand.into()), "{kind}");
    }
    for kind in [
        "user_message",
        "user_message_chunk",
        "agent_message",
        "agent_message_chunk",
        "agent_thought",
        "agent_thought_chunk",
    ] {
        let refused = bench.update(1, json!({ "sessionUpdate": kind, "content": [] }));
        assert!(matches!(refused, Err(CommandError::Misuse(Misuse::Payload(_)))), "{kind}");
        assert_eq!(
            bench.update(1, json!({ "sessionUpdate": kind, "messageId": "m", "content": [] })),
            Ok(Delivery::Queued)
        );
    }
    for nothing in [json!({}), json!({ "sessionUpdate": 1 })] {
        assert!(matches!(bench.update(1, nothing), Err(CommandError::Misuse(Misuse::Payload(_)))));
    }
    assert_eq!(said(&mut bench).len(), 6);
    let session = bench.session("s1");
    let spoken = bench.conn.say(session, &acp_core::wire::UpdateKind::AgentMessageChunk, "Hi.", bench.now);
    assert!(matches!(spoken, Err(CommandError::Misuse(Misuse::Payload(_)))), "a message of no turn has no id");
}

#[test]
fn what_is_said_in_a_turn_has_one_message_for_each_turn() {
    let mut bench = ready();
    let mut ids = Vec::new();
    for turn in [1, 2] {
        prompt(&mut bench, 2 + turn, "Hello.", None);
        bench.told();
        for _ in 0..2 {
            let (key, now) = (bench.turn(turn), bench.now);
            bench.conn.say(key, &acp_core::wire::UpdateKind::AgentMessageChunk, "Hi.", now).expect("room");
        }
        bench.end(turn, StopReason::EndTurn);
        let frames = bench.frames();
        let said = frames.iter().map(|frame| &frame["params"]["update"]);
        let said = said.filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        ids.extend(said.map(|update| update["messageId"].as_str().expect("an id").to_owned()));
    }
    assert!(ids[0] == ids[1] && ids[2] == ids[3] && ids[0] != ids[2], "{ids:?}");
}

#[test]
fn a_cancel_when_nothing_runs_is_reported_to_the_host_only() {
    let mut bench = ready();
    bench.cancel("s1");
    assert_eq!((bench.told(), said(&mut bench)), (vec!["IdleCancel s1".into()], none()));
    let mut bench = agent_in(agent_config(|_| ()), &["s1"]);
    bench.cancel("s9");
    assert_eq!((bench.told(), said(&mut bench)), (none(), none()));
}
