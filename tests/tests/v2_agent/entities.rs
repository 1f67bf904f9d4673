//! Tool calls and terminals that may be cancelled by themselves; children of a session; and updates of every kind.

use acp_core::{
    CommandError, Delivery, Misuse,
    wire::{StopReason, UpdateKind},
};
use acp_tests::{
    agent::AgentBench,
    bench::payload,
    schema::may_emit,
    v2::{agent_config, agent_in, ask, cancellable, child, chunk, prompt, ready, said, tool},
};
use serde_json::{Value, json};

use super::none;

fn tell(bench: &mut AgentBench, update: Value) {
    let (session, now) = (bench.session("s1"), bench.now);
    assert_eq!(bench.conn.update(session, &payload(update), now), Ok(Delivery::Queued));
    bench.frames();
}

/// Whether cancelling it reaches the host; else it was -32602.
fn reaches(bench: &mut AgentBench, method: &str, id: &str) -> bool {
    let params = json!({ "sessionId": "s1", "toolCallId": id, "terminalId": id });
    bench.request(77, method, params);
    let told = bench.told();
    if told == [format!("Request {method}")] {
        bench.respond(Ok(json!({})));
        assert_eq!(said(bench), ["77: ok"]);
        return true;
    }
    assert_eq!((told, said(bench)), (none(), vec!["77: -32602".into()]));
    false
}

#[test]
fn a_tool_call_may_be_cancelled_while_it_says_so_and_is_not_over() {
    let mut bench = ready();
    assert!(!reaches(&mut bench, "tool_call/cancel", "a"), "nobody knows it");
    tell(&mut bench, tool("a", "in_progress"));
    assert!(!reaches(&mut bench, "tool_call/cancel", "a"), "it does not say so");
    tell(&mut bench, cancellable("a", "in_progress"));
    assert!(reaches(&mut bench, "tool_call/cancel", "a"));
    assert!(reaches(&mut bench, "tool_call/cancel", "a"), "that it was accepted is not its end");
    assert!(!reaches(&mut bench, "tool_call/cancel", "b") && !reaches(&mut bench, "terminal/cancel", "a"));
    tell(&mut bench, tool("a", "paused"));
    assert!(reaches(&mut bench, "tool_call/cancel", "a"), "what is left out stays");
    let mut withdrawn = tool("a", "in_progress");
    withdrawn["capabilities"] = json!(null);
    tell(&mut bench, withdrawn);
    assert!(!reaches(&mut bench, "tool_call/cancel", "a"));
    for status in ["completed", "failed", "cancelled"] {
        tell(&mut bench, cancellable("a", "in_progress"));
        tell(&mut bench, tool("a", status));
        assert!(!reaches(&mut bench, "tool_call/cancel", "a"), "{status} is final");
    }
    bench.request(5, "tool_call/cancel", json!({ "sessionId": "s1" }));
    bench.request(6, "tool_call/cancel", json!({ "sessionId": "s1", "toolCallId": 7 }));
    assert_eq!(said(&mut bench), ["5: -32602", "6: -32602"]);
}

#[test]
fn a_terminal_may_be_cancelled_while_it_says_so_and_runs() {
    let mut bench = ready();
    let terminal = |more: Value| {
        let mut update = json!({ "sessionUpdate": "terminal_update", "terminalId": "t" });
        for (name, value) in more.as_object().into_iter().flatten() {
            update[name] = value.clone();
        }
        update
    };
    tell(&mut bench, terminal(json!({ "command": "ls" })));
    assert!(!reaches(&mut bench, "terminal/cancel", "t"));
    tell(&mut bench, terminal(json!({ "capabilities": { "cancel": {} } })));
    assert!(reaches(&mut bench, "terminal/cancel", "t") && !reaches(&mut bench, "tool_call/cancel", "t"));
    tell(&mut bench, json!({ "sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "" }));
    assert!(reaches(&mut bench, "terminal/cancel", "t"));
    tell(&mut bench, terminal(json!({ "exitStatus": { "exitCode": 0 } })));
    assert!(!reaches(&mut bench, "terminal/cancel", "t"));
}

#[test]
fn a_tool_call_that_the_core_reported_cancelled_is_over_as_well() {
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", None);
    bench.told();
    bench.update(1, cancellable("a", "in_progress")).expect("room");
    bench.cancel("s1");
    bench.told();
    bench.end(1, StopReason::EndTurn);
    bench.told();
    said(&mut bench);
    assert!(!reaches(&mut bench, "tool_call/cancel", "a"));
}

#[test]
fn as_many_may_be_cancelled_as_the_limit_says_and_room_comes_back() {
    let mut bench = agent_in(agent_config(|config| config.limits.cancellable = 2), &["s1"]);
    for call in ["a", "b", "c"] {
        tell(&mut bench, cancellable(call, "in_progress"));
    }
    let those = |bench: &mut AgentBench| ["a", "b", "c"].map(|call| reaches(bench, "tool_call/cancel", call));
    assert_eq!(those(&mut bench), [true, true, false]);
    tell(&mut bench, tool("a", "completed"));
    tell(&mut bench, cancellable("c", "in_progress"));
    assert_eq!(those(&mut bench), [false, true, true]);
}

#[test]
fn a_cancel_of_the_session_takes_nothing_from_what_goes_on_in_the_background() {
    let mut bench = ready();
    tell(&mut bench, cancellable("a", "in_progress"));
    bench.cancel("s1");
    bench.told();
    assert_eq!(said(&mut bench), none());
    assert!(reaches(&mut bench, "tool_call/cancel", "a"));
}

#[test]
fn a_child_is_known_from_its_announcement_on_and_its_traffic_has_its_own_id() {
    let mut bench = ready();
    assert_eq!(bench.conn.find_session("c1"), None, "nothing can be sent for what was not announced");
    tell(&mut bench, child("c1", false));
    let key = bench.session("c1");
    bench.conn.update(key, &payload(chunk("From the child.")), bench.now).expect("room");
    ask(&mut bench, key);
    assert_eq!(said(&mut bench), ["c1 agent_message_chunk a1", "ask 1 session/request_permission"]);
    let work = bench.conn.begin_work(key, bench.now).expect("it has a foreground of its own");
    bench.conn.end_turn(work, &acp_core::TurnEnd::Stop(StopReason::EndTurn), bench.now);
    assert_eq!(said(&mut bench), ["c1 running", "c1 idle end_turn"]);
}

#[test]
fn a_child_is_driven_by_its_agent() {
    let mut bench = ready();
    tell(&mut bench, child("c1", true));
    let params = json!({ "sessionId": "c1", "prompt": [1], "configId": "c", "toolCallId": "t", "terminalId": "t" });
    for method in
        ["session/prompt", "session/set_config_option", "session/close", "tool_call/cancel", "terminal/cancel"]
    {
        bench.request(5, method, params.clone());
        assert_eq!((said(&mut bench), bench.told()), (vec!["5: -32602".into()], none()), "{method}");
    }
    let key = bench.session("c1");
    let work = bench.conn.begin_work(key, bench.now).expect("idle");
    bench.cancel("c1");
    assert_eq!(bench.told(), ["AbortTurn t1 Session"], "only its cancel is the client's");
    bench.conn.end_turn(work, &acp_core::TurnEnd::Stop(StopReason::EndTurn), bench.now);
    assert_eq!(said(&mut bench), ["c1 running", "c1 idle cancelled"]);
}

#[test]
fn a_child_is_gone_with_its_parent_and_so_are_its_children() {
    let mut bench = ready();
    tell(&mut bench, child("c1", false));
    let key = bench.session("c1");
    bench.conn.update(key, &payload(child("c2", false)), bench.now).expect("room");
    let key = bench.session("c2");
    let work = bench.conn.begin_work(key, bench.now).expect("idle");
    said(&mut bench);
    bench.request(5, "session/close", json!({ "sessionId": "s1" }));
    bench.told();
    bench.respond(Ok(json!({})));
    assert_eq!(said(&mut bench), ["c2 idle cancelled", "5: ok"]);
    assert_eq!((bench.conn.sessions(), bench.conn.is_live(work.turn())), (0, false));
    let gone = bench.conn.update(key, &payload(chunk("x")), bench.now);
    assert_eq!(gone, Err(CommandError::Misuse(Misuse::UnknownSession)));
}

#[test]
fn a_child_that_has_no_room_is_refused_and_not_announced() {
    let mut bench = agent_in(agent_config(|config| config.limits.sessions = 2), &["s1"]);
    tell(&mut bench, child("c1", false));
    let session = bench.session("s1");
    let full = bench.conn.update(session, &payload(child("c2", false)), bench.now);
    assert_eq!(full, Err(CommandError::Full { what: "limits.sessions" }));
    assert_eq!(bench.conn.update(session, &payload(child("c1", true)), bench.now), Ok(Delivery::Queued), "it is known");
    assert_eq!(said(&mut bench), ["s1 subagent_update"]);
}

#[test]
fn every_kind_of_update_is_sent_as_it_was_given() {
    may_emit("its host sends members of its own");
    let mut bench = ready();
    prompt(&mut bench, 3, "Hello.", None);
    bench.told();
    let key = bench.turn(1);
    bench.conn.insert_prompt(key, "m1", bench.now).expect("room");
    bench.frames();
    for kind in UpdateKind::KNOWN.iter().chain([&UpdateKind::from("_vendor/x")]) {
        if matches!(kind, UpdateKind::StateUpdate | UpdateKind::ReplayComplete) {
            continue;
        }
        let update = json!({ "sessionUpdate": kind.as_str(), "messageId": "m", "toolCallId": "t", "sessionId": "c",
            "terminalId": "t", "planId": "p", "compactionId": "c", "content": [{ "type": "_odd", "x": null }], "_meta": { "n": 1e300 }, "extra": [[]] });
        assert_eq!(bench.update(1, update.clone()), Ok(Delivery::Queued), "{kind}");
        let frames = bench.frames();
        assert_eq!((frames.len(), &frames[0]["params"]["update"]), (1, &update), "{kind}");
    }
}
