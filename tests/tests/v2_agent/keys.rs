//! Prompts that are sent again under the same key.

use acp_core::{Delivery, wire::StopReason};
use acp_tests::{
    agent::AgentBench,
    v2::{agent_config, agent_in, prompt, ready, said},
};
use serde_json::json;

use super::none;

fn insert(bench: &mut AgentBench, turn: u64, message: &str) {
    let (turn, now) = (bench.turn(turn), bench.now);
    assert_eq!(bench.conn.insert_prompt(turn, message, now), Ok(Delivery::Queued));
}

#[test]
fn a_prompt_that_is_sent_again_is_answered_with_its_first_message_and_inserts_nothing() {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", Some("k"));
    bench.told();
    insert(&mut bench, 1, "m1");
    said(&mut bench);
    prompt(&mut bench, 4, "Hello.", Some("k"));
    assert_eq!((said(&mut bench), bench.told()), (vec!["4: inserted m1".into()], none()), "while its work goes on");
    bench.end(1, StopReason::EndTurn);
    prompt(&mut bench, 5, "Hello.", Some("k"));
    assert_eq!(said(&mut bench), ["s1 idle end_turn", "5: inserted m1"], "and afterwards");
    prompt(&mut bench, 6, "Hello.", Some("l"));
    prompt(&mut bench, 7, "Hello.", None);
    bench.request(8, "session/prompt", json!({ "sessionId": "s1", "prompt": [1], "idempotencyKey": null }));
    assert_eq!((bench.told(), said(&mut bench)), (vec!["Prompt t2".into()], none()), "another key, and none");
}

#[test]
fn a_key_belongs_to_its_session() {
    let mut bench = agent_in(agent_config(|_| ()), &["s1", "s2"]);
    prompt(&mut bench, 3, "Hello.", Some("k"));
    bench.told();
    insert(&mut bench, 1, "m1");
    said(&mut bench);
    bench.request(4, "session/prompt", json!({ "sessionId": "s2", "prompt": [1], "idempotencyKey": "k" }));
    assert_eq!((bench.told(), said(&mut bench)), (vec!["Prompt t2".into()], none()));
}

#[test]
fn what_is_sent_again_while_the_first_is_held_is_answered_with_it() {
    let mut bench = ready();
    prompt(&mut bench, 2, "First.", None);
    prompt(&mut bench, 3, "Hello.", Some("k"));
    prompt(&mut bench, 4, "Hello.", Some("k"));
    prompt(&mut bench, 5, "Hello.", Some("k"));
    assert_eq!(bench.told(), ["Prompt t1"]);
    bench.end(1, StopReason::EndTurn);
    said(&mut bench);
    assert_eq!(bench.told(), ["Prompt t2"], "one prompt");
    insert(&mut bench, 2, "m2");
    assert_eq!(said(&mut bench)[..3], ["3: inserted m2", "4: inserted m2", "5: inserted m2"]);
    bench.end(2, StopReason::EndTurn);
    assert_eq!((bench.told(), bench.conn.unanswered().count()), (none(), 0));
}

#[test]
fn what_is_dropped_is_dropped_with_all_its_repetitions_and_its_key_is_free_again() {
    let drops: [fn(&mut AgentBench); 3] = [
        |bench| bench.cancel("s1"),
        |bench| bench.cancel_request(3),
        |bench| {
            bench.fail(1, -32800);
        },
    ];
    for drops in drops {
        let mut bench = ready();
        prompt(&mut bench, 3, "Hello.", Some("k"));
        prompt(&mut bench, 4, "Hello.", Some("k"));
        bench.told();
        drops(&mut bench);
        bench.told();
        if bench.held.turns.contains_key(&1) {
            bench.end(1, StopReason::Cancelled);
        }
        let mut answers = said(&mut bench);
        answers.sort();
        assert_eq!(answers, ["3: -32800", "4: -32800"]);
        prompt(&mut bench, 5, "Hello.", Some("k"));
        assert_eq!(bench.told(), ["Prompt t2"], "it was never inserted");
    }
}

#[test]
fn a_repetition_that_is_cancelled_by_itself_leaves_the_first() {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", Some("k"));
    prompt(&mut bench, 4, "Hello.", Some("k"));
    bench.told();
    bench.cancel_request(4);
    assert_eq!((said(&mut bench), bench.told()), (vec!["4: -32800".into()], none()));
    insert(&mut bench, 1, "m1");
    assert_eq!(said(&mut bench)[..2], ["3: inserted m1", "s1 running"]);
}

#[test]
fn a_key_is_a_string_of_1_to_255_characters() {
    let mut bench = ready();
    for key in [json!(""), json!(7), json!({}), json!("k".repeat(256)), json!(["k"]), json!(true)] {
        bench.request(3, "session/prompt", json!({ "sessionId": "s1", "prompt": [1], "idempotencyKey": key }));
        assert_eq!((said(&mut bench), bench.told()), (vec!["3: -32602".into()], none()), "{key}");
    }
    for (id, length) in [(4, 1), (5, 255)] {
        prompt(&mut bench, id, "Hello.", Some(&"é".repeat(length)));
        assert_eq!(bench.told().len(), 1);
        bench.end(id - 3, StopReason::EndTurn);
    }
}

#[test]
fn keys_are_remembered_up_to_the_limit_the_latest_of_them() {
    let mut bench = agent_in(agent_config(|config| config.limits.idempotency_keys = 2), &["s1"]);
    for turn in 1..=3 {
        prompt(&mut bench, 10 + turn, "Hello.", Some(&format!("k{turn}")));
        bench.told();
        insert(&mut bench, turn, &format!("m{turn}"));
        bench.end(turn, StopReason::EndTurn);
    }
    said(&mut bench);
    for (id, key) in [(20, "k2"), (21, "k3")] {
        prompt(&mut bench, id, "Hello.", Some(key));
        assert_eq!(said(&mut bench), [format!("{id}: inserted m{}", &key[1..])]);
    }
    prompt(&mut bench, 22, "Hello.", Some("k1"));
    assert_eq!((bench.told(), said(&mut bench)), (vec!["Prompt t4".into()], none()), "after so many others it is new");
    // Repetitions of one that is held have the same bound.
    for id in [23, 24] {
        prompt(&mut bench, id, "Hello.", Some("k1"));
    }
    prompt(&mut bench, 25, "Hello.", Some("k1"));
    assert_eq!(said(&mut bench), ["25: -32603"]);
}

#[test]
fn a_closed_session_remembers_no_keys() {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", Some("k"));
    bench.told();
    bench.end(1, StopReason::EndTurn);
    bench.request(4, "session/close", json!({ "sessionId": "s1" }));
    bench.told();
    bench.respond(Ok(json!({})));
    acp_tests::v2::open(&mut bench, "s1");
    prompt(&mut bench, 5, "Hello.", Some("k"));
    assert_eq!(bench.told(), ["Prompt t2"]);
}
