//! A prompt and its place in the session: held, inserted, or neither.

use acp_core::{
    CommandError, Delivery, Misuse, Overlap,
    wire::{StopReason, UpdateKind},
};
use acp_tests::{
    agent::AgentBench,
    bench::payload,
    v2::{agent_config, agent_in, ask, chunk, prompt, ready, said},
};
use serde_json::json;

use super::none;

/// Something that happens to a bench.
type Act = fn(&mut AgentBench);

fn insert(bench: &mut AgentBench, turn: u64, message: &str) -> Result<Delivery, CommandError> {
    let (turn, now) = (bench.turn(turn), bench.now);
    bench.conn.insert_prompt(turn, message, now)
}

#[test]
fn a_prompt_is_answered_when_it_is_inserted_and_its_message_told_with_what_was_asked() {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", None);
    assert_eq!((bench.told(), said(&mut bench)), (vec!["Prompt t1".into()], none()), "being received is not enough");
    assert_eq!(bench.conn.message_id(bench.turn(1)), None);
    assert_eq!(insert(&mut bench, 1, "m1"), Ok(Delivery::Queued));
    assert_eq!(bench.conn.message_id(bench.turn(1)), Some("m1"));
    let frames = bench.frames();
    assert_eq!(frames[0], json!({ "jsonrpc": "2.0", "id": 3, "result": { "messageId": "m1" } }));
    let update = |update| json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s1", "update": update } });
    assert_eq!(frames[1], update(json!({ "sessionUpdate": "state_update", "state": "running" })));
    let content = json!([{ "type": "text", "text": "Hello." }]);
    assert_eq!(frames[2], update(json!({ "sessionUpdate": "user_message", "messageId": "m1", "content": content })));
    assert_eq!(frames.len(), 3);
    bench.update(1, chunk("Hi.")).expect("room");
    assert_eq!(bench.end(1, StopReason::MaxTokens), Delivery::Queued);
    assert_eq!(said(&mut bench), ["s1 agent_message_chunk a1", "s1 idle max_tokens"]);
    assert_eq!((bench.conn.message_id(bench.turn(1)), bench.conn.unanswered().count()), (None, 0));
}

#[test]
fn a_prompt_that_its_host_did_not_insert_is_inserted_when_its_work_shows() {
    const INSERTED: [&str; 3] = ["3: inserted prompt-1", "s1 running", "s1 user_message prompt-1"];
    let shows: [(Act, &[&str]); 5] = [
        (|bench| drop(bench.update(1, chunk("Hi."))), &["s1 agent_message_chunk a1"]),
        (
            |bench| {
                let key = bench.turn(1);
                let said = bench.conn.say(key, &UpdateKind::AgentThoughtChunk, "Hm.", bench.now);
                assert_eq!(said, Ok(Delivery::Queued));
            },
            &["s1 agent_thought_chunk"],
        ),
        (|bench| _ = ask(bench, bench.turn(1)), &["ask 1 session/request_permission", "s1 requires_action"]),
        (|bench| drop(bench.ask(bench.turn(1), "_x/ask")), &["ask 1 _x/ask"]),
        (|bench| _ = bench.end(1, StopReason::Refusal), &["s1 idle refusal"]),
    ];
    for (show, after) in shows {
        let mut bench = ready();
        prompt(&mut bench, 3, "Hello.", None);
        bench.told();
        show(&mut bench);
        let said: Vec<String> = said(&mut bench).iter().map(|words| words.replace("_chunk 1", "_chunk")).collect();
        assert_eq!(said[..3], INSERTED);
        assert!(said[3..].iter().zip(after).all(|(said, after)| said.starts_with(after)), "{said:?}");
        assert_eq!(said.len(), 3 + after.len());
    }
}

#[test]
fn what_has_no_room_in_a_turn_does_not_insert_its_prompt() {
    let mut bench = agent_in(agent_config(|config| config.limits.queued_bytes = 400), &["s1"]);
    prompt(&mut bench, 3, "Hello.", None);
    bench.told();
    let large = payload(chunk(&"x".repeat(400)));
    let full = |why: CommandError| matches!(why, CommandError::Full { .. });
    let key = bench.turn(1);
    assert!(bench.conn.update(key, &large, bench.now).is_err_and(full));
    assert!(bench.conn.say(key, &UpdateKind::AgentMessageChunk, &"x".repeat(400), bench.now).is_err_and(full));
    assert!(
        bench
            .conn
            .request_in(key, "_x/ask", &payload(json!({ "x": "x".repeat(400) })), None, bench.now)
            .is_err_and(full)
    );
    assert_eq!(
        (said(&mut bench), bench.conn.message_id(bench.turn(1))),
        (none(), None),
        "a refused command changed nothing"
    );
}

#[test]
fn prompts_that_wait_are_inserted_one_after_the_other_in_the_order_in_which_they_came() {
    let mut bench = ready();
    for id in [3, 4, 5] {
        prompt(&mut bench, id, "Hello.", None);
    }
    for (turn, id) in [(1, 3), (2, 4), (3, 5)] {
        assert_eq!(bench.told(), [format!("Prompt t{turn}")]);
        assert_eq!(insert(&mut bench, turn, &format!("m{turn}")), Ok(Delivery::Queued));
        bench.end(turn, StopReason::EndTurn);
        let inserted = [format!("{id}: inserted m{turn}"), "s1 running".into(), format!("s1 user_message m{turn}")];
        assert_eq!(said(&mut bench), [&inserted[..], &["s1 idle end_turn".into()]].concat());
    }
}

#[test]
fn prompts_of_a_backend_that_queues_share_its_work_until_the_last_of_them_ends() {
    let mut bench = agent_in(agent_config(|config| config.overlap = Overlap::Forward(8)), &["s1"]);
    for id in [3, 4, 5] {
        prompt(&mut bench, id, "Hello.", None);
    }
    assert_eq!(bench.told(), ["Prompt t1", "Prompt t2", "Prompt t3"]);
    for turn in [1, 2, 3] {
        insert(&mut bench, turn, &format!("m{turn}")).expect("room");
    }
    let inserted = said(&mut bench);
    assert_eq!(inserted.iter().filter(|said| *said == "s1 running").count(), 1, "a state is told once: {inserted:?}");
    bench.end(1, StopReason::EndTurn);
    bench.end(3, StopReason::EndTurn);
    assert_eq!(said(&mut bench), none(), "work goes on");
    bench.end(2, StopReason::MaxTokens);
    assert_eq!(said(&mut bench), ["s1 idle max_tokens"]);
}

#[test]
fn a_prompt_beyond_the_queue_or_to_a_busy_agent_that_refuses_is_an_error_and_leaves_the_others() {
    for (overlap, code) in [(Overlap::Queue(1), -32603), (Overlap::Refuse, -32600), (Overlap::Forward(1), -32603)] {
        let mut bench = agent_in(agent_config(|config| config.overlap = overlap), &["s1"]);
        for id in [3, 4, 5] {
            prompt(&mut bench, id, "Hello.", None);
        }
        assert_eq!(said(&mut bench).last(), Some(&format!("5: {code}")), "{overlap:?}");
    }
}

#[test]
fn a_prompt_without_content_is_invalid() {
    for content in [json!([]), json!(null), json!({}), json!("hi"), json!(1)] {
        let mut bench = ready();
        bench.request(3, "session/prompt", json!({ "sessionId": "s1", "prompt": content }));
        assert_eq!((said(&mut bench), bench.told()), (vec!["3: -32602".into()], none()), "{content}");
    }
    let mut bench = ready();
    bench.request(3, "session/prompt", json!({ "sessionId": "s1" }));
    assert_eq!(said(&mut bench), ["3: -32602"]);
}

#[test]
fn a_prompt_that_is_refused_before_it_is_inserted_leaves_no_trace_in_the_session() {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", None);
    bench.told();
    assert_eq!(bench.fail(1, -32602), Delivery::Queued);
    assert_eq!(said(&mut bench), ["3: -32602"], "no message, no state");
    prompt(&mut bench, 4, "Hello.", None);
    bench.told();
    assert_eq!(bench.end(2, StopReason::Cancelled), Delivery::AsWithdrawn, "nobody cancelled it");
    assert_eq!(said(&mut bench), ["4: -32800"]);
}

#[test]
fn once_inserted_a_prompt_is_never_an_error_whatever_becomes_of_its_work() {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", None);
    bench.told();
    insert(&mut bench, 1, "m1").expect("room");
    assert_eq!(bench.fail(1, -32603), Delivery::Queued);
    assert_eq!(said(&mut bench), ["3: inserted m1", "s1 running", "s1 user_message m1", "s1 idle error -32603"]);
    prompt(&mut bench, 4, "Hello.", None);
    bench.told();
    insert(&mut bench, 2, "m2").expect("room");
    assert_eq!(bench.end(2, StopReason::Cancelled), Delivery::AsWithdrawn);
    assert_eq!(said(&mut bench).last().map(String::as_str), Some("s1 idle error -32800"), "nobody cancelled it");
}

#[test]
fn inserting_is_done_once_under_an_id_and_too_late_when_it_is_over_or_cancelled() {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", None);
    bench.told();
    assert!(matches!(insert(&mut bench, 1, ""), Err(CommandError::Misuse(Misuse::Payload(_)))));
    assert_eq!(insert(&mut bench, 1, "m1"), Ok(Delivery::Queued));
    assert_eq!(insert(&mut bench, 1, "m2"), Ok(Delivery::TooLate));
    bench.end(1, StopReason::EndTurn);
    assert_eq!(insert(&mut bench, 1, "m3"), Ok(Delivery::TooLate));
    said(&mut bench);
    prompt(&mut bench, 4, "Hello.", None);
    bench.cancel("s1");
    bench.told();
    assert_eq!(insert(&mut bench, 2, "m4"), Ok(Delivery::TooLate));
    assert_eq!(bench.update(2, chunk("Hi.")), Ok(Delivery::TooLate));
    assert_eq!(said(&mut bench), none());
    assert_eq!(bench.end(2, StopReason::EndTurn), Delivery::AsCancelled);
    assert_eq!(said(&mut bench), ["4: -32800"]);
}

#[test]
fn in_version_1_inserting_sends_nothing() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    assert_eq!(insert(&mut bench, 1, "m1"), Ok(Delivery::Queued));
    assert_eq!((bench.wire(), bench.conn.message_id(bench.turn(1))), (none(), None));
}

#[test]
fn a_message_that_has_no_room_is_told_without_its_content_or_refused_to_who_can_wait() {
    let mut bench = agent_in(agent_config(|config| config.limits.queued_bytes = 1000), &["s1"]);
    prompt(&mut bench, 3, &"x".repeat(2000), None);
    bench.told();
    assert!(matches!(insert(&mut bench, 1, "m1"), Err(CommandError::Full { .. })));
    assert_eq!((said(&mut bench), bench.conn.message_id(bench.turn(1))), (none(), None), "nothing was sent");
    bench.end(1, StopReason::EndTurn);
    let frames = bench.frames();
    let update = &frames[2]["params"]["update"];
    assert_eq!(update, &json!({ "sessionUpdate": "user_message", "messageId": "prompt-1" }), "the client has the text");
    assert_eq!(frames.len(), 4);
}

#[test]
fn the_message_of_a_prompt_is_never_longer_than_a_line_may_be() {
    let prompt = |text: &str| {
        let content = json!([{ "type": "text", "text": text }]);
        let params = json!({ "sessionId": "s1", "prompt": content });
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": params }))
    };
    const LINE: usize = 1000;
    let base = prompt("").len() - 1;
    let mut told = [0, 0];
    for text in LINE - base - 80..=LINE - base {
        let mut bench = agent_in(agent_config(|config| config.limits.line = LINE), &["s1"]);
        bench.feed(prompt(&"x".repeat(text)));
        assert_eq!(bench.told(), ["Prompt t1"], "it fits a line");
        bench.end(1, StopReason::EndTurn);
        while let Some(frame) = bench.conn.poll_transmit() {
            let line = frame.into_line();
            assert!(line.len() - 1 <= LINE, "a line of {} bytes", line.len() - 1);
            told[usize::from(line.windows(3).any(|part| part == b"xxx"))] += 1;
        }
    }
    assert!(told[1] > 0 && told[1] < 81, "with its content where that has room, and without: {told:?}");
}
