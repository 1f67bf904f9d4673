//! The end of the connection in each stage of a turn, and tickets that are dropped: nothing is left, and what can still be
//! answered is.

use core::time::Duration;

use acp_core::{Delivery, wire::StopReason};
use acp_tests::{
    agent::AgentBench,
    v2::{agent_is_at_rest, ask, cancellable, chunk, prompt, ready, said},
};
use serde_json::json;

use super::none;

/// Something that happens to a bench.
type Act = fn(&mut AgentBench);

/// A turn in some stage; its host still has the ticket.
const STAGES: [(&str, Act); 6] = [
    ("held", |_| ()),
    ("inserted", |bench| {
        let key = bench.turn(1);
        let inserted = bench.conn.insert_prompt(key, "m1", bench.now);
        assert_eq!(inserted, Ok(Delivery::Queued));
    }),
    ("working", |bench| drop(bench.update(1, cancellable("t", "in_progress")))),
    ("asking", |bench| {
        ask(bench, bench.turn(1));
    }),
    ("cancelling before it is inserted", |bench| bench.cancel("s1")),
    ("cancelling", |bench| {
        bench.update(1, chunk("Hi.")).expect("room");
        bench.cancel("s1");
    }),
];

/// What is the last thing that is said of the turn.
fn last_word(stage: &str) -> &'static str {
    match stage {
        "held" | "cancelling before it is inserted" => "3: -32800",
        _ => "s1 idle cancelled",
    }
}

fn in_stage(stage: fn(&mut AgentBench)) -> AgentBench {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", Some("k"));
    prompt(&mut bench, 4, "Hello.", None);
    prompt(&mut bench, 5, "Hello.", Some("k"));
    bench.told();
    stage(&mut bench);
    bench.told();
    said(&mut bench);
    bench
}

#[test]
fn when_the_input_ends_or_the_host_closes_turns_are_cancelled_and_waited_for() {
    let ways: [(&str, Act); 2] =
        [("Closed Eof", |bench| bench.eof()), ("Closed Local", |bench| bench.conn.close(bench.now))];
    for (closed, way) in ways {
        for (name, stage) in STAGES {
            let mut bench = in_stage(stage);
            way(&mut bench);
            let told = bench.told();
            assert!(told.iter().any(|told| told.starts_with("AbortTurn t1")), "{name}: {told:?}");
            assert!(!told.iter().any(|told| told.starts_with("Closed")), "{name}: its host has its time");
            let before = said(&mut bench);
            assert!(!before.iter().any(|said| said.starts_with("$/")), "{name}: nobody is asked any more: {before:?}");
            assert_eq!(bench.end(1, StopReason::EndTurn), Delivery::AsCancelled, "{name}");
            let mut all = [before, said(&mut bench)].concat();
            assert!(all.contains(&last_word(name).to_owned()), "{name}: {all:?}");
            all.retain(|said| said == "4: -32800");
            assert!(all.len() == 1 || name.starts_with("cancelling"), "{name}: what was held is answered: {all:?}");
            assert_eq!(bench.told().last().map(String::as_str), Some(closed), "{name}");
            agent_is_at_rest(&bench.conn);
        }
    }
}

#[test]
fn when_the_time_to_drain_is_over_turns_end_without_their_hosts() {
    for (name, stage) in STAGES {
        let mut bench = in_stage(stage);
        bench.eof();
        bench.told();
        let before = said(&mut bench);
        bench.wait(Duration::from_secs(2));
        assert!(bench.told().contains(&"TurnForced t1".to_owned()), "{name}");
        let all = [before, said(&mut bench)].concat();
        assert_eq!(all.last().map(String::as_str), Some(last_word(name)), "{name}: {all:?}");
        assert_eq!(bench.told(), ["Closed Eof"], "{name}");
        assert_eq!(bench.end(1, StopReason::EndTurn), Delivery::TooLate, "{name}");
        agent_is_at_rest(&bench.conn);
    }
}

#[test]
fn when_the_stream_is_lost_nothing_is_said_and_nothing_is_left() {
    for (name, stage) in STAGES {
        let mut bench = in_stage(stage);
        bench.conn.handle_lost("broken pipe", bench.now);
        let told = bench.told();
        assert!(told.last().is_some_and(|last| last.starts_with("Closed Lost")), "{name}: {told:?}");
        assert_eq!(told.contains(&"ToolCallsClosed t1 t".to_owned()), name == "working", "{name}: {told:?}");
        assert!(!bench.conn.is_live(bench.turn(1)), "{name}");
        assert_eq!((said(&mut bench), bench.end(1, StopReason::EndTurn)), (none(), Delivery::TooLate), "{name}");
        agent_is_at_rest(&bench.conn);
    }
}

#[test]
fn work_that_nobody_prompted_is_waited_for_and_ended_like_a_turn() {
    for forced in [false, true] {
        let mut bench = ready();
        let key = bench.session("s1");
        let ticket = bench.conn.begin_work(key, bench.now).expect("idle");
        bench.eof();
        assert_eq!((bench.told(), said(&mut bench)), (vec!["AbortTurn t1 Closing".into()], vec!["s1 running".into()]));
        if forced {
            bench.wait(Duration::from_secs(2));
            assert_eq!(bench.told(), ["TurnForced t1"]);
        } else {
            bench.conn.end_turn(ticket, &acp_core::TurnEnd::Stop(StopReason::EndTurn), bench.now);
        }
        assert_eq!((said(&mut bench), bench.told()), (vec!["s1 idle cancelled".into()], vec!["Closed Eof".into()]));
        agent_is_at_rest(&bench.conn);
    }
    let mut bench = ready();
    let key = bench.session("s1");
    let ticket = bench.conn.begin_work(key, bench.now).expect("idle");
    bench.conn.handle_lost("broken pipe", bench.now);
    assert!(!bench.conn.is_live(ticket.turn()));
    agent_is_at_rest(&bench.conn);
}

#[test]
fn a_ticket_that_is_dropped_is_an_error_of_the_prompt_or_of_its_work() {
    for (name, stage) in STAGES {
        let mut bench = in_stage(stage);
        let ticket = bench.held.turns.remove(&1).expect("the ticket");
        bench.conn.abandon(ticket.key(), bench.now);
        let said = said(&mut bench);
        let expected = match name {
            "held" => "3: -32603",
            "inserted" | "working" | "asking" => "s1 idle error -32603",
            other => last_word(other),
        };
        assert!(said.contains(&expected.to_owned()), "{name}: {said:?}");
        assert!(!bench.conn.is_live(bench.turn(1)), "{name}");
        let next = if name.starts_with("cancelling") { none() } else { vec!["Prompt t2".to_owned()] };
        let told: Vec<String> = bench.told().into_iter().filter(|told| told.starts_with("Prompt")).collect();
        assert_eq!(told, next, "{name}");
        assert_eq!(bench.conn.abandon(ticket.key(), bench.now), Delivery::TooLate, "{name}: once");
    }
    let mut bench = ready();
    let key = bench.session("s1");
    let ticket = bench.conn.begin_work(key, bench.now).expect("idle");
    bench.conn.abandon(ticket.key(), bench.now);
    assert_eq!(said(&mut bench), ["s1 running", "s1 idle error -32603"]);
}

#[test]
fn a_repetition_or_a_second_close_that_waits_is_answered_at_the_end_as_well() {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", Some("k"));
    prompt(&mut bench, 4, "Hello.", Some("k"));
    for id in [5, 6] {
        bench.request(id, "session/close", json!({ "sessionId": "s1" }));
    }
    bench.told();
    bench.eof();
    bench.wait(Duration::from_secs(2));
    let mut said = said(&mut bench);
    said.sort();
    assert_eq!(said, ["3: -32800", "4: -32800", "5: -32800", "6: -32800"]);
    assert_eq!(bench.told().last().map(String::as_str), Some("Closed Eof"));
    agent_is_at_rest(&bench.conn);
}
