//! Prompts that come while a turn runs: each policy, each limit, and exactly one answer for each, in order.

use acp_core::{Config, Delivery, Overlap, wire::StopReason};
use acp_tests::agent::{AgentBench, chunk, tool_call};
use acp_tests::schema::may_emit;

fn with(overlap: Overlap) -> AgentBench {
    let mut config = Config::agent();
    config.overlap = overlap;
    AgentBench::with_sessions(config, &["s1"])
}

#[test]
fn prompts_wait_for_each_other_and_each_is_answered_once_in_order() {
    let mut bench = AgentBench::ready();
    for id in [3, 4, 5] {
        bench.prompt(id, "s1");
    }
    assert_eq!(bench.told(), ["Prompt t1"], "one runs");
    assert_eq!(bench.end(1, StopReason::EndTurn), Delivery::Queued);
    assert_eq!((bench.wire(), bench.told()), (vec!["3: end_turn".into()], vec!["Prompt t2".into()]));
    assert_eq!(bench.fail(2, -32603), Delivery::Queued);
    assert_eq!(
        (bench.wire(), bench.told()),
        (vec!["4: -32603".into()], vec!["Prompt t3".into()]),
        "also after a failure"
    );
    bench.end(3, StopReason::MaxTokens);
    assert_eq!(bench.wire(), ["5: max_tokens"]);
    assert_eq!((bench.conn.unanswered().count(), bench.told()), (0, Vec::<String>::new()));
}

#[test]
fn turns_are_numbered_upwards_also_after_failures() {
    let mut bench = AgentBench::ready();
    let mut last = None;
    for round in 1..=4 {
        bench.prompt(3, "s1");
        bench.told();
        let turn = bench.turn(round);
        assert!(last < Some(turn));
        last = Some(turn);
        if round % 2 == 0 {
            bench.fail(round, -32603)
        } else {
            bench.end(round, StopReason::EndTurn)
        };
    }
}

#[test]
fn the_stop_reason_or_the_error_goes_out_as_the_host_gave_it() {
    may_emit("its host has reasons of its own");
    for reason in StopReason::KNOWN.iter().filter(|reason| **reason != StopReason::Cancelled) {
        let mut bench = AgentBench::ready();
        bench.prompt(3, "s1");
        bench.told();
        bench.end(1, reason.clone());
        assert_eq!(bench.wire(), [format!("3: {reason}")]);
    }
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    bench.update(1, chunk("half")).expect("room");
    bench.fail(1, -32603);
    let frames = bench.frames();
    assert_eq!(frames.len(), 2, "what was said before the failure is not lost");
    assert_eq!(frames[1]["error"]["message"], "it broke");
}

#[test]
fn as_many_prompts_wait_as_the_limit_says_and_a_place_comes_back() {
    let mut bench = with(Overlap::Queue(2));
    for id in 3..7 {
        bench.prompt(id, "s1");
    }
    assert_eq!(bench.wire(), ["6: -32603"], "one runs, two wait, the fourth has no place");
    bench.told();
    bench.end(1, StopReason::EndTurn);
    bench.prompt(7, "s1");
    assert_eq!(bench.wire(), ["3: end_turn"], "it waits");
    assert_eq!(bench.told(), ["Prompt t2"]);
}

#[test]
fn by_default_128_prompts_wait() {
    let mut bench = AgentBench::ready();
    for id in 0..=128 {
        bench.prompt(id, "s1");
    }
    assert_eq!(bench.wire(), Vec::<String>::new());
    bench.prompt(129, "s1");
    assert_eq!(bench.wire(), ["129: -32603"]);
}

#[test]
fn prompts_do_not_use_up_the_places_of_other_requests() {
    let mut config = Config::agent();
    config.limits.peer_requests = 1;
    let mut bench = AgentBench::with_sessions(config, &["s1"]);
    bench.prompt(3, "s1");
    bench.prompt(4, "s1");
    bench.request(5, "_vendor/x", serde_json::json!({}));
    assert_eq!(bench.wire(), Vec::<String>::new());
    bench.request(6, "_vendor/x", serde_json::json!({}));
    assert_eq!(bench.wire(), ["6: -32603"]);
}

#[test]
fn a_second_prompt_can_be_refused_by_policy() {
    let mut bench = with(Overlap::Refuse);
    bench.prompt(3, "s1");
    bench.prompt(4, "s1");
    assert_eq!((bench.wire(), bench.told()), (vec!["4: -32600".into()], vec!["Prompt t1".into()]));
    bench.end(1, StopReason::EndTurn);
    bench.prompt(5, "s1");
    assert_eq!((bench.wire(), bench.told()), (vec!["3: end_turn".into()], vec!["Prompt t3".into()]));
}

#[test]
fn a_backend_that_queues_gets_every_prompt_at_once() {
    let mut bench = with(Overlap::Forward(2));
    for id in 3..7 {
        bench.prompt(id, "s1");
    }
    assert_eq!(bench.told(), ["Prompt t1", "Prompt t2", "Prompt t3"]);
    assert_eq!(bench.wire(), ["6: -32603"]);
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.told(), Vec::<String>::new(), "the next was handed on already");
    bench.end(2, StopReason::EndTurn);
    bench.end(3, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["3: end_turn", "4: end_turn", "5: end_turn"]);
}

#[test]
fn a_backend_that_queues_may_end_its_turns_in_an_order_of_its_own() {
    let mut bench = with(Overlap::Forward(4));
    for id in [3, 4, 5] {
        bench.prompt(id, "s1");
    }
    bench.told();
    bench.end(2, StopReason::EndTurn);
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["4: end_turn", "3: end_turn"]);
    bench.cancel("s1");
    assert_eq!(bench.told(), ["AbortTurn t3 Session"], "the last of them runs now");
}

#[test]
fn a_new_prompt_in_an_idle_session_cancels_nothing() {
    let mut bench = AgentBench::ready();
    let session = bench.session("s1");
    bench.ask(session, "fs/read_text_file").expect("work in the background");
    bench.prompt(3, "s1");
    assert_eq!(bench.told(), ["Prompt t1"]);
    assert_eq!(bench.conn.unresolved(), 1);
}

#[test]
fn a_dropped_turn_is_answered_and_the_next_begins() {
    let mut bench = AgentBench::ready();
    for id in [3, 4, 5] {
        bench.prompt(id, "s1");
    }
    bench.told();
    bench.update(1, tool_call("t")).expect("room");
    let dropped = bench.held.turns.remove(&1).expect("a ticket");
    assert_eq!(bench.conn.abandon(dropped.key(), bench.now), Delivery::Queued);
    assert_eq!(bench.wire(), ["upd s1 t new", "upd s1 t failed", "3: -32603"], "never `cancelled` without a cancel");
    assert_eq!(bench.told(), ["ToolCallsClosed t1 t", "Prompt t2"]);
    bench.cancel("s1");
    bench.told();
    let dropped = bench.held.turns.remove(&2).expect("a ticket");
    assert_eq!(bench.conn.abandon(dropped.key(), bench.now), Delivery::AsCancelled);
    assert_eq!(bench.wire(), ["5: cancelled", "4: cancelled"]);
    assert_eq!(bench.conn.abandon(dropped.key(), bench.now), Delivery::TooLate, "once");
    assert_eq!(bench.wire(), Vec::<String>::new());
}
