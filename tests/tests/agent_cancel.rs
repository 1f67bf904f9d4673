//! The two-phase cancel: what it covers, in which order it is carried out, and that every prompt has one answer.

use core::time::Duration;

use acp_core::{Config, Delivery, Overlap, wire::StopReason};
use acp_tests::agent::{AgentBench, chunk, tool_call};
use acp_tests::schema::may_emit;
use serde_json::json;

fn none() -> Vec<String> {
    Vec::new()
}

fn with(overlap: Overlap) -> AgentBench {
    let mut config = Config::agent();
    config.overlap = overlap;
    AgentBench::with_sessions(config, &["s1"])
}

#[test]
fn a_cancel_reaches_a_running_turn_while_its_host_is_busy_and_later_lines_are_read() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    bench.cancel("s1");
    bench.request(9, "nope", json!({}));
    assert_eq!(bench.told(), ["AbortTurn t1 Session"]);
    assert_eq!(bench.wire(), ["9: -32601"], "a notification has no answer, and holds up nothing");
    bench.update(1, chunk("the last word")).expect("room");
    assert_eq!(bench.end(1, StopReason::Cancelled), Delivery::Queued);
    assert_eq!(bench.wire(), ["upd s1 agent_message_chunk", "3: cancelled"]);
    bench.prompt(4, "s1");
    assert_eq!(bench.told(), ["Prompt t2"], "the session stays");
}

#[test]
fn a_cancelled_turn_is_answered_cancelled_whatever_its_host_says() {
    for reason in StopReason::KNOWN {
        let mut bench = AgentBench::ready();
        bench.prompt(3, "s1");
        bench.cancel("s1");
        bench.told();
        bench.end(1, reason.clone());
        let frames = bench.frames();
        assert_eq!(frames[0]["result"], json!({ "stopReason": "cancelled" }), "{reason}");
    }
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.cancel("s1");
    bench.told();
    assert_eq!(bench.fail(1, -32603), Delivery::AsCancelled);
    assert_eq!(bench.wire(), ["3: cancelled"], "a result, never an error");
}

#[test]
fn a_turn_that_nobody_cancelled_is_never_answered_cancelled() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    assert_eq!(bench.end(1, StopReason::Cancelled), Delivery::AsWithdrawn);
    assert_eq!(bench.wire(), ["3: -32800"]);
    bench.prompt(4, "s1");
    bench.told();
    bench.end(2, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["4: end_turn"]);
}

#[test]
fn waiting_prompts_are_answered_at_once_and_the_running_one_by_its_host() {
    let mut bench = AgentBench::ready();
    for id in [3, 4, 5] {
        bench.prompt(id, "s1");
    }
    bench.told();
    bench.cancel("s1");
    assert_eq!(bench.wire(), ["4: cancelled", "5: cancelled"]);
    assert_eq!(bench.told(), ["AbortTurn t1 Session"], "the host never heard of the others");
    bench.end(1, StopReason::EndTurn);
    assert_eq!((bench.wire(), bench.told()), (vec!["3: cancelled".into()], none()));
}

#[test]
fn a_waiting_prompt_that_is_cancelled_has_nothing_but_a_stop_reason() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.prompt(4, "s1");
    bench.cancel("s1");
    assert_eq!(bench.frames()[0], json!({ "jsonrpc": "2.0", "id": 4, "result": { "stopReason": "cancelled" } }));
}

#[test]
fn a_prompt_received_after_the_cancel_is_untouched() {
    for chunked in [true, false] {
        let mut bench = AgentBench::ready();
        let lines = [
            r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}"#,
            r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}"#,
        ];
        let text = lines.join("\n") + "\n";
        if chunked {
            bench.feed(&text);
        } else {
            text.bytes().for_each(|byte| bench.feed([byte]));
        }
        assert_eq!(bench.told(), ["Prompt t1", "AbortTurn t1 Session"]);
        bench.end(1, StopReason::EndTurn);
        assert_eq!(bench.told(), ["Prompt t3"]);
        bench.end(3, StopReason::EndTurn);
        assert_eq!(bench.wire(), ["4: cancelled", "3: cancelled", "5: end_turn"]);
        assert_eq!(bench.deadline(), None);
    }
}

#[test]
fn an_idle_cancel_changes_nothing_and_does_not_reach_the_next_prompt() {
    let mut bench = AgentBench::ready();
    bench.cancel("s1");
    bench.prompt(8, "s1");
    assert_eq!(bench.told(), ["IdleCancel s1", "Prompt t1"]);
    assert_eq!((bench.wire(), bench.deadline()), (none(), None));
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["8: end_turn"]);
    bench.cancel("s1");
    assert_eq!(bench.told(), ["IdleCancel s1"], "neither does one that comes after the end");
    assert_eq!(bench.wire(), none());
}

#[test]
fn a_cancel_in_the_same_chunk_as_its_prompt_is_not_lost() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.cancel("s1");
    assert_eq!(bench.told(), ["Prompt t1", "AbortTurn t1 Session"]);
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["3: cancelled"]);
}

#[test]
fn a_cancel_in_one_batch_with_its_prompt_is_not_lost() {
    let mut bench = AgentBench::ready();
    bench.line(&json!([
        { "jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": { "sessionId": "s1", "prompt": [] } },
        { "jsonrpc": "2.0", "id": 4, "method": "session/cancel", "params": { "sessionId": "s1" } },
    ]));
    assert_eq!(bench.told(), ["Prompt t1", "AbortTurn t1 Session"]);
    bench.end(1, StopReason::EndTurn);
    let frames = bench.frames();
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0][0]["result"]["stopReason"], "cancelled");
    assert_eq!(frames[0][1]["result"], json!(null));
}

#[test]
fn a_cancel_names_its_session_and_reaches_no_other() {
    let mut bench = AgentBench::with_sessions(Config::agent(), &["s1", "s2"]);
    bench.prompt(1, "s1");
    bench.prompt(2, "s2");
    bench.told();
    bench.cancel("s1");
    assert_eq!(bench.told(), ["AbortTurn t1 Session"]);
    bench.end(2, StopReason::EndTurn);
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["2: end_turn", "1: cancelled"]);
}

#[test]
fn a_cancel_without_a_session_cancels_nothing() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    bench.notify("session/cancel", json!({}));
    bench.feed("{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\"}\n");
    let told = bench.told();
    assert!(told.len() == 2 && told.iter().all(|told| told.starts_with("Violation BadNotification")), "{told:?}");
    bench.request(4, "session/cancel", json!({}));
    assert_eq!((bench.wire(), bench.told()), (vec!["4: -32602".into()], none()));
}

#[test]
fn a_cancel_in_the_form_of_a_request_is_carried_out_and_answered_null() {
    let mut bench = AgentBench::ready();
    bench.request(2, "session/cancel", json!({ "sessionId": "s1" }));
    assert_eq!(bench.told(), ["IdleCancel s1"]);
    bench.prompt(3, "s1");
    bench.prompt(4, "s1");
    bench.request(5, "session/cancel", json!({ "sessionId": "s1" }));
    bench.request(6, "session/cancel", json!({ "sessionId": "s1" }));
    assert_eq!(bench.told(), ["Prompt t1", "AbortTurn t1 Session", "AbortTurn t1 Session again"]);
    let frames = bench.frames();
    assert_eq!(frames[0], json!({ "jsonrpc": "2.0", "id": 2, "result": null }));
    assert_eq!(frames[1]["result"]["stopReason"], "cancelled", "of the waiting prompt");
    assert_eq!(frames[2], json!({ "jsonrpc": "2.0", "id": 5, "result": null }), "at once: the turn still runs");
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["3: cancelled"]);
}

#[test]
fn cancelling_one_prompt_that_waits_touches_only_that_one() {
    let mut bench = AgentBench::ready();
    for id in [3, 4, 5] {
        bench.prompt(id, "s1");
    }
    bench.told();
    bench.cancel_request(4);
    assert_eq!((bench.wire(), bench.told()), (vec!["4: cancelled".into()], none()));
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.told(), ["Prompt t3"]);
    bench.end(3, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["3: end_turn", "5: end_turn"]);
}

#[test]
fn cancelling_the_running_prompt_keeps_the_queue() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.prompt("four", "s1");
    bench.told();
    bench.cancel_request(3);
    bench.cancel_request(3);
    assert_eq!((bench.wire(), bench.told()), (none(), vec!["AbortTurn t1 Request".into()]));
    assert_eq!(bench.due_in(), Some(Duration::from_secs(30)), "with the same floor as any cancel");
    bench.end(1, StopReason::EndTurn);
    assert_eq!((bench.wire(), bench.told()), (vec!["3: cancelled".into()], vec!["Prompt t2".into()]));
    bench.end(2, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["\"four\": end_turn"]);
}

#[test]
fn cancelling_a_request_that_is_not_open_does_nothing() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    for id in [json!(99), json!("3"), json!(null), json!(0)] {
        bench.cancel_request(id);
    }
    bench.end(1, StopReason::EndTurn);
    bench.cancel_request(3);
    assert_eq!((bench.wire(), bench.told()), (vec!["3: end_turn".into()], none()));
}

#[test]
fn any_other_request_stays_its_owners_to_answer_and_is_signalled_once() {
    may_emit("its host answers with a member of its own");
    for answer in [Ok(json!({ "done": true })), Err(-32800)] {
        let mut bench = AgentBench::ready();
        bench.request(7, "session/set_mode", json!({ "sessionId": "s1" }));
        bench.told();
        bench.cancel_request(7);
        bench.cancel_request(7);
        assert_eq!((bench.wire(), bench.told()), (none(), vec!["CancelRequested".into()]));
        let expected = if answer.is_ok() { "7: ok" } else { "7: -32800" };
        bench.respond(answer);
        assert_eq!(bench.wire(), [expected]);
    }
    let mut bench = AgentBench::ready();
    bench.request(7, "session/load", json!({ "sessionId": "old" }));
    bench.cancel_request(7);
    assert_eq!(bench.told(), ["SessionRequested session/load", "CancelRequested"]);
    bench.accept(&json!({}));
    assert_eq!(bench.wire(), ["7: ok"], "it may win");
}

#[test]
fn a_backend_that_queues_drops_its_prompts_before_the_running_one_is_aborted() {
    let mut bench = with(Overlap::Forward(8));
    for id in [3, 4, 5] {
        bench.prompt(id, "s1");
    }
    bench.told();
    bench.cancel("s1");
    assert_eq!(bench.told(), ["DropQueued t2", "DropQueued t3", "AbortTurn t1 Session"]);
    assert_eq!(bench.wire(), ["4: cancelled", "5: cancelled"]);
    bench.prompt(6, "s1");
    assert_eq!(bench.told(), ["Prompt t4"], "a later one is handed on, and was not swept away");
    assert_eq!(bench.update(2, chunk("of a dropped prompt")), Ok(Delivery::TooLate));
    assert_eq!(bench.end(2, StopReason::EndTurn), Delivery::TooLate);
    bench.end(1, StopReason::EndTurn);
    bench.end(4, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["3: cancelled", "6: end_turn"]);
}

#[test]
fn cancelling_one_prompt_at_a_backend_that_queues_drops_only_that_one() {
    let mut bench = with(Overlap::Forward(8));
    for id in [3, 4, 5] {
        bench.prompt(id, "s1");
    }
    bench.told();
    bench.update(2, tool_call("t")).expect("a backend that began early");
    let asked = bench.ask(bench.turn(2), "fs/read_text_file").expect("sent");
    bench.frames();
    bench.cancel_request(4);
    let resolved = format!("Resolved r{} Cancelled(Request)", asked.number());
    assert_eq!(bench.told(), ["DropQueued t2".into(), resolved, "ToolCallsClosed t2 t".into()]);
    assert_eq!(bench.wire(), ["upd s1 t failed", "4: cancelled"]);
    bench.end(1, StopReason::EndTurn);
    bench.end(3, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["3: end_turn", "5: end_turn"]);
}

#[test]
fn a_cancel_after_a_forwarded_turn_has_moved_up_aborts_it() {
    let mut bench = with(Overlap::Forward(8));
    bench.prompt(3, "s1");
    bench.prompt(4, "s1");
    bench.told();
    bench.end(1, StopReason::EndTurn);
    bench.cancel("s1");
    assert_eq!(bench.told(), ["AbortTurn t2 Session"]);
}

#[test]
fn a_repeated_cancel_signals_again_and_is_no_news() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    bench.cancel("s1");
    bench.cancel("s1");
    bench.cancel_request(3);
    let expected = ["AbortTurn t1 Session", "AbortTurn t1 Session again", "AbortTurn t1 Request again"];
    assert_eq!(bench.told(), expected);
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["3: cancelled"], "one answer");
}

#[test]
fn nothing_of_a_turn_follows_its_answer() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    bench.update(1, chunk("a")).expect("room");
    bench.update(1, chunk("b")).expect("room");
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.update(1, chunk("late")), Ok(Delivery::TooLate));
    assert_eq!(bench.update(1, tool_call("late")), Ok(Delivery::TooLate));
    assert_eq!(bench.ask(bench.turn(1), "fs/read_text_file"), Err(acp_core::CommandError::TurnOver));
    assert_eq!(bench.wire(), ["upd s1 agent_message_chunk", "upd s1 agent_message_chunk", "3: end_turn"]);
    let session = bench.session("s1");
    let news = acp_tests::bench::payload(json!({ "sessionUpdate": "current_mode_update", "currentModeId": "ask" }));
    assert_eq!(bench.conn.update(session, &news, bench.now), Ok(Delivery::Queued), "the session's own news may");
    assert_eq!(bench.wire(), ["upd s1 current_mode_update"]);
}

#[test]
fn work_without_a_prompt_reports_and_asks_and_a_cancel_is_told() {
    let mut bench = AgentBench::ready();
    let session = bench.session("s1");
    let update = acp_tests::bench::payload(chunk("by myself"));
    assert_eq!(bench.conn.update(session, &update, bench.now), Ok(Delivery::Queued));
    let asked = bench.ask_permission(session).expect("sent");
    assert_eq!(bench.wire(), ["upd s1 agent_message_chunk", "ask 1 session/request_permission"]);
    bench.cancel("s1");
    assert_eq!(bench.told(), ["IdleCancel s1"], "what becomes of the work is its owner's to say");
    assert_eq!(bench.conn.unresolved(), 1, "the client answers the permission, as it must");
    bench.answer(asked, json!({ "outcome": { "outcome": "cancelled" } }));
    assert_eq!(bench.told(), [r#"Resolved r1 Result {"outcome":{"outcome":"cancelled"}}"#]);
    bench.prompt(3, "s1");
    let background = bench.ask(session, "fs/read_text_file").expect("sent");
    bench.told();
    bench.cancel("s1");
    assert_eq!(bench.told(), ["AbortTurn t1 Session"], "what belongs to the session does not end with a turn");
    bench.answer(background, json!({ "content": "" }));
    assert_eq!(bench.told(), [r#"Resolved r2 Result {"content":""}"#]);
}
