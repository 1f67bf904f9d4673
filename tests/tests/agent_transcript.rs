//! The tool calls of a turn: however it ends, unless by itself, none of them stays open, on the wire or in the host's
//! history.

use core::time::Duration;

use acp_core::{Config, wire::StopReason};
use acp_tests::agent::{AgentBench, chunk, tool_call, tool_call_update};
use serde_json::json;

/// A turn with calls `a` (under way), `b` (finished), `c` (announced) and `d` (known by an update only).
fn with_open_calls() -> AgentBench {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    for update in [
        tool_call("a"),
        tool_call("b"),
        tool_call_update("a", "in_progress"),
        tool_call("c"),
        tool_call_update("b", "completed"),
        tool_call_update("d", "in_progress"),
        chunk("and so on"),
    ] {
        bench.update(1, update).expect("room");
    }
    bench.frames();
    bench
}

const CLOSED: [&str; 4] = ["upd s1 a failed", "upd s1 c failed", "upd s1 d failed", "3: cancelled"];
const TOLD: &str = "ToolCallsClosed t1 a c d";

#[test]
fn a_cancelled_turn_closes_its_open_calls_in_order_before_the_answer_and_the_host_is_told() {
    let mut bench = with_open_calls();
    bench.cancel("s1");
    assert_eq!(bench.wire(), Vec::<String>::new(), "results under way may still come");
    bench.told();
    bench.end(1, StopReason::EndTurn);
    assert_eq!((bench.wire(), bench.told()), (CLOSED.map(String::from).to_vec(), vec![TOLD.to_owned()]));
}

#[test]
fn the_last_word_of_a_call_says_what_happened() {
    let mut bench = with_open_calls();
    bench.cancel("s1");
    bench.end(1, StopReason::EndTurn);
    assert_eq!(
        bench.frames()[0]["params"],
        json!({ "sessionId": "s1", "update": {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "a",
            "status": "failed",
            "content": [{ "type": "content", "content": { "type": "text", "text": "cancelled" } }],
        } })
    );
}

#[test]
fn a_result_that_comes_after_the_cancel_counts() {
    let mut bench = with_open_calls();
    bench.cancel("s1");
    bench.update(1, tool_call_update("a", "completed")).expect("still let in");
    bench.update(1, tool_call_update("d", "failed")).expect("still let in");
    bench.told();
    bench.end(1, StopReason::Cancelled);
    assert_eq!(bench.wire(), ["upd s1 a completed", "upd s1 d failed", "upd s1 c failed", "3: cancelled"]);
    assert_eq!(bench.told(), ["ToolCallsClosed t1 c"]);
}

#[test]
fn a_forced_end_closes_them_too() {
    let mut bench = with_open_calls();
    bench.cancel("s1");
    bench.told();
    bench.wait(Duration::from_secs(30));
    assert_eq!(
        (bench.wire(), bench.told()),
        (CLOSED.map(String::from).to_vec(), vec![TOLD.into(), "TurnForced t1".into()])
    );
}

#[test]
fn a_failed_turn_and_one_withdrawn_by_its_host_close_them_too() {
    let mut bench = with_open_calls();
    bench.fail(1, -32603);
    assert_eq!((bench.wire().pop(), bench.told()), (Some("3: -32603".into()), vec![TOLD.to_owned()]));
    let mut bench = with_open_calls();
    bench.end(1, StopReason::Cancelled);
    assert_eq!(bench.wire(), ["upd s1 a failed", "upd s1 c failed", "upd s1 d failed", "3: -32800"]);
    assert_eq!(bench.told(), [TOLD]);
}

#[test]
fn a_turn_that_ends_by_itself_keeps_what_it_said() {
    let mut bench = with_open_calls();
    bench.end(1, StopReason::EndTurn);
    assert_eq!((bench.wire(), bench.told()), (vec!["3: end_turn".to_owned()], vec![]));
}

#[test]
fn the_end_of_the_input_closes_them_on_the_wire() {
    let mut bench = with_open_calls();
    bench.eof();
    bench.told();
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.wire(), CLOSED);
    assert_eq!(bench.told(), [TOLD, "Closed Eof"]);
}

#[test]
fn a_lost_stream_tells_the_host_what_was_open() {
    let mut bench = with_open_calls();
    bench.conn.handle_lost("broken pipe", bench.now);
    assert_eq!(bench.told(), ["AbortTurn t1 Closing", TOLD, "Closed Lost(\"broken pipe\")"]);
    assert_eq!(bench.wire(), Vec::<String>::new());
}

#[test]
fn each_turn_has_its_own_calls() {
    let mut bench = AgentBench::with_sessions(Config::agent(), &["s1", "s2"]);
    for (id, session) in [(3, "s1"), (4, "s2"), (5, "s1")] {
        bench.prompt(id, session);
    }
    bench.told();
    bench.update(1, tool_call("a")).expect("room");
    bench.update(2, tool_call("a")).expect("room");
    bench.end(1, StopReason::EndTurn);
    bench.cancel("s1");
    bench.told();
    bench.end(3, StopReason::EndTurn);
    assert_eq!(bench.told(), Vec::<String>::new(), "the call of an earlier turn is not this one's");
    bench.cancel("s2");
    bench.told();
    bench.end(2, StopReason::EndTurn);
    assert_eq!(bench.told(), ["ToolCallsClosed t2 a"]);
}

#[test]
fn an_update_of_a_turn_that_is_refused_leaves_no_open_call() {
    let mut config = Config::agent();
    config.limits.queued_bytes = 200;
    let mut bench = AgentBench::with_sessions(config, &["s1"]);
    bench.prompt(3, "s1");
    bench.told();
    bench.update(1, chunk("x")).expect("room for one");
    let refused = bench.update(1, tool_call("a"));
    assert!(matches!(refused, Err(acp_core::CommandError::Full { what: "limits.queued_bytes" })), "{refused:?}");
    bench.cancel("s1");
    bench.told();
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["upd s1 agent_message_chunk", "3: cancelled"], "the client never heard of it");
}
