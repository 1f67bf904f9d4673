//! What a cancel covers in version 2, in which order it is carried out, and how it is confirmed.

use core::time::Duration;

use acp_core::{Delivery, Overlap, wire::StopReason};
use acp_tests::{
    agent::AgentBench,
    bench::payload,
    v2::{agent_config, agent_in, agent_is_at_rest, ask, chunk, prompt, ready, said, tool},
};
use serde_json::json;

use super::none;

fn insert(bench: &mut AgentBench, turn: u64) {
    let (key, now) = (bench.turn(turn), bench.now);
    assert_eq!(bench.conn.insert_prompt(key, &format!("m{turn}"), now), Ok(Delivery::Queued));
}

/// One turn that works, and two prompts that are held behind it.
fn working() -> AgentBench {
    let mut bench = ready();
    for id in [3, 4, 5] {
        prompt(&mut bench, id, "Hello.", None);
    }
    bench.told();
    insert(&mut bench, 1);
    said(&mut bench);
    bench
}

#[test]
fn a_cancel_is_confirmed_by_idle_after_what_is_still_to_tell_and_before_new_work() {
    let mut bench = working();
    bench.cancel("s1");
    assert_eq!(said(&mut bench), ["4: -32800", "5: -32800"], "what was held is dropped at once");
    assert_eq!(bench.told(), ["AbortTurn t1 Session"]);
    prompt(&mut bench, 6, "After it.", None);
    bench.update(1, chunk("The last word.")).expect("room");
    assert_eq!(bench.end(1, StopReason::EndTurn), Delivery::AsCancelled);
    assert_eq!(bench.told(), ["Prompt t4"], "what came after the cancel is untouched");
    bench.end(4, StopReason::EndTurn);
    assert_eq!(
        said(&mut bench),
        [
            "s1 agent_message_chunk a1",
            "s1 idle cancelled",
            "6: inserted prompt-4",
            "s1 running",
            "s1 user_message prompt-4",
            "s1 idle end_turn"
        ]
    );
    agent_is_at_rest(&bench.conn);
}

#[test]
fn a_turn_that_was_cancelled_is_reported_cancelled_whatever_its_host_says() {
    for reason in StopReason::KNOWN {
        let mut bench = working();
        bench.cancel("s1");
        bench.told();
        let delivery = bench.end(1, reason.clone());
        assert_eq!(delivery == Delivery::Queued, *reason == StopReason::Cancelled, "{reason}");
        assert_eq!(said(&mut bench).last().map(String::as_str), Some("s1 idle cancelled"), "{reason}");
    }
    let mut bench = working();
    bench.cancel("s1");
    bench.told();
    assert_eq!(bench.fail(1, -32603), Delivery::AsCancelled);
    assert_eq!(said(&mut bench).last().map(String::as_str), Some("s1 idle cancelled"));
}

#[test]
fn a_prompt_that_is_not_inserted_when_the_cancel_comes_never_is() {
    let mut bench = ready();
    for id in [3, 4] {
        prompt(&mut bench, id, "Hello.", None);
    }
    bench.told();
    bench.cancel("s1");
    assert_eq!((said(&mut bench), bench.told()), (vec!["4: -32800".into()], vec!["AbortTurn t1 Session".into()]));
    assert_eq!(bench.end(1, StopReason::EndTurn), Delivery::AsCancelled);
    assert_eq!(said(&mut bench), ["3: -32800"], "no message, and no state: no work was begun");
    agent_is_at_rest(&bench.conn);
}

#[test]
fn a_cancel_of_one_request_covers_its_prompt_until_that_is_inserted() {
    let mut bench = ready();
    for id in [3, 4, 5] {
        prompt(&mut bench, id, "Hello.", None);
    }
    bench.told();
    bench.cancel_request(4);
    assert_eq!((said(&mut bench), bench.told()), (vec!["4: -32800".into()], none()), "one that waits");
    bench.cancel_request(3);
    assert_eq!(
        (said(&mut bench), bench.told()),
        (none(), vec!["AbortTurn t1 Request".into()]),
        "one that its host has"
    );
    assert_eq!(bench.end(1, StopReason::Cancelled), Delivery::Queued);
    assert_eq!((said(&mut bench), bench.told()), (vec!["3: -32800".into()], vec!["Prompt t3".into()]));
    insert(&mut bench, 3);
    said(&mut bench);
    for id in [5, 5, 3, 99] {
        bench.cancel_request(id);
    }
    assert_eq!((said(&mut bench), bench.told()), (none(), none()), "one that is answered is not cancelled that way");
    bench.end(3, StopReason::EndTurn);
    assert_eq!(said(&mut bench), ["s1 idle end_turn"]);
}

#[test]
fn what_was_asked_of_the_user_in_the_work_is_taken_back_and_late_answers_are_ignored() {
    let mut bench = working();
    let (turn, session) = (bench.turn(1), bench.session("s1"));
    let permission = ask(&mut bench, turn);
    let elicitation = payload(json!({ "mode": "url", "message": "m", "url": "u", "elicitationId": "e" }));
    let elicitation =
        bench.conn.request_in(turn, "elicitation/create", &elicitation, None, bench.now).expect("offered");
    let apart = ask(&mut bench, session);
    said(&mut bench);
    bench.cancel("s1");
    assert_eq!(
        bench.told(),
        ["AbortTurn t1 Session", "Resolved r1 Cancelled(Session)", "Resolved r2 Cancelled(Session)"]
    );
    assert_eq!(said(&mut bench), ["4: -32800", "5: -32800", "$/cancel_request 1", "$/cancel_request 2"]);
    bench.end(1, StopReason::EndTurn);
    assert_eq!(said(&mut bench), ["s1 idle cancelled"], "the answers are not waited for");
    bench.answer(permission, json!({ "outcome": { "outcome": "selected", "optionId": "yes" } }));
    bench.answer(elicitation, json!({ "action": "cancel" }));
    assert_eq!((bench.told(), said(&mut bench)), (none(), none()));
    bench.answer(apart, json!({ "outcome": { "outcome": "cancelled" } }));
    assert_eq!(bench.told().len(), 1, "what belongs to no turn is waited for");
    agent_is_at_rest(&bench.conn);
}

#[test]
fn what_is_asked_while_the_work_is_being_cancelled_is_never_sent() {
    let mut bench = working();
    bench.cancel("s1");
    said(&mut bench);
    bench.told();
    let turn = bench.turn(1);
    ask(&mut bench, turn);
    assert_eq!((said(&mut bench), bench.told()), (none(), vec!["Resolved r1 Cancelled(Session)".into()]));
}

#[test]
fn what_is_asked_and_was_not_sent_yet_is_taken_back_without_a_word() {
    let mut bench = working();
    let turn = bench.turn(1);
    ask(&mut bench, turn);
    bench.cancel("s1");
    bench.told();
    bench.end(1, StopReason::EndTurn);
    assert_eq!(said(&mut bench), ["s1 requires_action", "4: -32800", "5: -32800", "s1 idle cancelled"]);
}

#[test]
fn a_cancel_again_signals_again_and_changes_nothing_else() {
    let mut bench = working();
    bench.cancel("s1");
    bench.cancel("s1");
    assert_eq!(bench.told(), ["AbortTurn t1 Session", "AbortTurn t1 Session again"]);
    assert_eq!(bench.due_in(), Some(Duration::from_secs(30)));
    bench.end(1, StopReason::EndTurn);
    assert_eq!(said(&mut bench), ["4: -32800", "5: -32800", "s1 idle cancelled"]);
    bench.cancel("s1");
    assert_eq!((bench.told(), said(&mut bench)), (vec!["IdleCancel s1".into()], none()));
}

#[test]
fn a_cancelled_turn_that_its_host_does_not_end_is_over_at_the_force_floor() {
    let mut bench = working();
    bench.cancel("s1");
    bench.told();
    said(&mut bench);
    bench.wait(Duration::from_secs(29));
    assert_eq!(said(&mut bench), none());
    bench.wait(Duration::from_secs(1));
    assert_eq!((said(&mut bench), bench.told()), (vec!["s1 idle cancelled".into()], vec!["TurnForced t1".into()]));
    assert_eq!(bench.end(1, StopReason::EndTurn), Delivery::TooLate);
    assert_eq!(said(&mut bench), none());
    // One that was not inserted is over without a state.
    prompt(&mut bench, 6, "Hello.", None);
    bench.cancel("s1");
    bench.told();
    bench.wait(Duration::from_secs(30));
    assert_eq!((said(&mut bench), bench.told()), (vec!["6: -32800".into()], vec!["TurnForced t4".into()]));
    agent_is_at_rest(&bench.conn);
}

#[test]
fn open_tool_calls_of_a_cancelled_or_failed_turn_are_reported_before_its_end() {
    for fails in [false, true] {
        let mut bench = working();
        for (call, status) in
            [("a", "in_progress"), ("b", "completed"), ("c", "pending"), ("d", "paused"), ("e", "cancelled")]
        {
            bench.update(1, tool(call, status)).expect("room");
        }
        said(&mut bench);
        if fails {
            bench.fail(1, -32603);
        } else {
            bench.cancel("s1");
            bench.told();
            bench.end(1, StopReason::EndTurn);
        }
        let said: Vec<String> = said(&mut bench).into_iter().filter(|said| said.starts_with("s1")).collect();
        let end = if fails { "s1 idle error -32603" } else { "s1 idle cancelled" };
        assert_eq!(said, ["s1 tool a cancelled", "s1 tool c cancelled", "s1 tool d cancelled", end]);
        assert_eq!(bench.told()[0], "ToolCallsClosed t1 a c d");
    }
}

#[test]
fn a_backend_that_queues_drops_what_waits_there_inserted_or_not() {
    let mut bench = agent_in(agent_config(|config| config.overlap = Overlap::Forward(8)), &["s1"]);
    for id in [3, 4, 5] {
        prompt(&mut bench, id, "Hello.", None);
    }
    bench.told();
    insert(&mut bench, 1);
    insert(&mut bench, 2);
    said(&mut bench);
    bench.cancel("s1");
    assert_eq!(bench.told(), ["DropQueued t2", "DropQueued t3", "AbortTurn t1 Session"]);
    assert_eq!(said(&mut bench), ["5: -32800"], "the one that is inserted was answered");
    bench.end(1, StopReason::EndTurn);
    assert_eq!(said(&mut bench), ["s1 idle cancelled"]);
    agent_is_at_rest(&bench.conn);
}

#[test]
fn a_backend_that_queues_gets_what_came_behind_a_cancel_when_that_is_confirmed() {
    let mut bench = agent_in(agent_config(|config| config.overlap = Overlap::Forward(8)), &["s1"]);
    prompt(&mut bench, 3, "Hello.", None);
    bench.told();
    insert(&mut bench, 1);
    bench.cancel("s1");
    for id in [4, 5] {
        prompt(&mut bench, id, "After it.", None);
    }
    assert_eq!(bench.told(), ["AbortTurn t1 Session"], "it could begin them at once");
    said(&mut bench);
    bench.end(1, StopReason::EndTurn);
    assert_eq!(said(&mut bench), ["s1 idle cancelled"]);
    assert_eq!(bench.told(), ["Prompt t2", "Prompt t3"]);
    // A second cancel drops nothing at the backend that was never there.
    bench.cancel("s1");
    assert_eq!(bench.told(), ["DropQueued t3", "AbortTurn t2 Session"]);
    prompt(&mut bench, 6, "After that.", None);
    prompt(&mut bench, 7, "After that.", None);
    bench.cancel("s1");
    assert_eq!(bench.told(), ["AbortTurn t2 Session again"]);
    assert_eq!(said(&mut bench), ["5: -32800", "6: -32800", "7: -32800"]);
    bench.end(2, StopReason::EndTurn);
    assert_eq!(said(&mut bench), ["4: -32800"]);
    agent_is_at_rest(&bench.conn);
}

#[test]
fn work_that_was_reported_is_reported_as_over_even_if_it_was_that_of_a_prompt_that_waited() {
    let mut bench = agent_in(agent_config(|config| config.overlap = Overlap::Forward(8)), &["s1"]);
    for id in [3, 4] {
        prompt(&mut bench, id, "Hello.", None);
    }
    bench.told();
    // The backend takes the second one first.
    insert(&mut bench, 2);
    said(&mut bench);
    bench.cancel("s1");
    assert_eq!(bench.told(), ["DropQueued t2", "AbortTurn t1 Session"]);
    bench.end(1, StopReason::EndTurn);
    assert_eq!(said(&mut bench), ["3: -32800", "s1 idle cancelled"]);
    agent_is_at_rest(&bench.conn);
}
