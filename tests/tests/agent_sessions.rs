//! The agent's sessions: opening, loading, forking, closing and deleting them, and what a session is not.

use acp_core::{CommandError, Config, Delivery, ErrorObject, Overlap, error::Misuse, wire::StopReason};
use acp_tests::agent::{AgentBench, chunk};
use acp_tests::bench::payload;
use serde_json::{Value, json};

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn the_host_names_a_new_session_and_each_is_another() {
    let mut bench = AgentBench::initialized(Config::agent());
    bench.request(1, "session/new", json!({ "cwd": "/a" }));
    bench.request(2, "session/new", json!({ "cwd": "/a" }));
    assert_eq!(bench.told(), ["SessionRequested session/new", "SessionRequested session/new"]);
    let first = bench.accept(&json!({ "sessionId": "one" }));
    let mut ticket = bench.held.opening.pop_front().expect("the second");
    for bad in [json!({ "sessionId": "one" }), json!({ "sessionId": "" }), json!({ "sessionId": 7 }), json!({})] {
        let refused = bench.conn.accept_session(ticket, &payload(bad), bench.now).expect_err("no such id");
        assert!(matches!(refused.why, CommandError::Misuse(Misuse::Payload(_))));
        ticket = refused.ticket;
    }
    let (second, delivery) =
        bench.conn.accept_session(ticket, &payload(json!({ "sessionId": "two" })), bench.now).expect("a good id");
    assert_eq!(delivery, Delivery::Queued);
    assert_ne!(first, second);
    assert_eq!((bench.conn.session_id(first), bench.conn.session_id(second)), (Some("one"), Some("two")));
    assert_eq!(bench.wire(), ["1: ok", "2: ok"]);
}

#[test]
fn opening_a_session_can_be_refused_and_leaves_nothing() {
    let mut bench = AgentBench::initialized(Config::agent());
    for method in ["session/new", "session/load", "session/resume", "session/fork"] {
        bench.request(1, method, json!({ "sessionId": "s1", "cwd": "/nowhere" }));
        assert_eq!(bench.told(), [format!("SessionRequested {method}")]);
        let ticket = bench.held.opening.pop_front().expect("a ticket");
        bench.conn.reject_session(ticket, &ErrorObject::new(-32602, "no such folder"), bench.now);
        assert_eq!(bench.wire(), ["1: -32602"]);
        bench.request(2, method, json!({ "sessionId": "s1" }));
        bench.told();
        let dropped = bench.held.opening.pop_front().expect("a ticket");
        bench.conn.abandon(dropped.key(), bench.now);
        assert_eq!(bench.wire(), ["2: -32603"], "{method}");
        assert_eq!(bench.conn.sessions(), 0, "{method}");
    }
}

#[test]
fn a_session_that_is_not_open_here_is_not_found_and_the_host_is_not_asked() {
    for (code, policy) in [(-32002, None), (-32000, Some(-32000))] {
        let mut config = Config::agent();
        if let Some(code) = policy {
            config.unknown_session_code = code;
        }
        let mut bench = AgentBench::with_sessions(config, &["s1"]);
        let methods =
            ["session/prompt", "session/set_mode", "session/set_config_option", "session/close", "session/cancel"];
        for method in methods {
            bench.request(4, method, json!({ "sessionId": "zz", "prompt": [] }));
            let frames = bench.frames();
            assert_eq!(frames[0]["error"]["code"], code, "{method}");
            assert_eq!(frames[0]["error"]["data"], json!({ "sessionId": "zz" }), "{method}");
            bench.request(5, method, json!({ "prompt": [] }));
            bench.request(6, method, json!({ "sessionId": 7, "prompt": [] }));
            assert_eq!(bench.wire(), ["5: -32602", "6: -32602"], "{method} without a session");
        }
        bench.cancel("zz");
        assert_eq!((bench.wire(), bench.told()), (none(), none()), "a notification gets no answer");
    }
}

#[test]
fn stored_sessions_are_the_hosts_to_know() {
    let mut bench = AgentBench::ready();
    for method in ["session/load", "session/resume", "session/fork"] {
        bench.request(4, method, json!({ "sessionId": "stored" }));
        assert_eq!(bench.told(), [format!("SessionRequested {method}")]);
        bench.held.opening.clear();
        bench = AgentBench::ready();
    }
    bench.request(4, "session/delete", json!({ "sessionId": "stored" }));
    bench.request(5, "session/list", json!({}));
    assert_eq!(bench.told(), ["Request session/delete", "Request session/list"]);
}

#[test]
fn a_loaded_session_tells_its_history_before_the_answer() {
    for result in [Value::Null, json!({}), json!({ "modes": null })] {
        let mut bench = AgentBench::initialized(Config::agent());
        bench.request(5, "session/load", json!({ "sessionId": "old", "cwd": "/", "mcpServers": [] }));
        assert_eq!(bench.told(), ["SessionRequested session/load"]);
        let session = bench.session("old");
        for part in ["user_message_chunk", "agent_message_chunk"] {
            let update = json!({ "sessionUpdate": part, "content": { "type": "text", "text": "then" } });
            assert_eq!(bench.conn.update(session, &payload(update), bench.now), Ok(Delivery::Queued));
        }
        assert_eq!(bench.accept(&result), session);
        bench.conn.update(session, &payload(chunk("now")), bench.now).expect("room");
        let frames = bench.frames();
        assert_eq!(frames[2]["result"], result, "the result goes out as the host gave it");
        let words: Vec<_> = frames.iter().map(acp_tests::words::frame_in_words).collect();
        let expected =
            ["upd old user_message_chunk", "upd old agent_message_chunk", "5: ok", "upd old agent_message_chunk"];
        assert_eq!(words, expected);
    }
}

#[test]
fn a_resumed_session_is_there_without_its_history() {
    let mut bench = AgentBench::initialized(Config::agent());
    bench.request(5, "session/resume", json!({ "sessionId": "old", "cwd": "/" }));
    bench.told();
    bench.accept(&json!({}));
    bench.prompt(6, "old");
    assert_eq!((bench.wire(), bench.told()), (vec!["5: ok".to_owned()], vec!["Prompt t1".to_owned()]));
}

#[test]
fn a_session_that_is_being_opened_takes_no_requests_yet() {
    let mut bench = AgentBench::ready();
    for (id, known) in [("s1", true), ("old", false)] {
        for refused in [false, true] {
            bench.request(5, "session/load", json!({ "sessionId": id }));
            bench.told();
            for method in ["session/prompt", "session/set_mode", "session/close", "session/load", "session/resume"] {
                bench.request(6, method, json!({ "sessionId": id, "prompt": [] }));
                assert_eq!(bench.wire(), ["6: -32600"], "{method}: its history is still being told");
            }
            assert_eq!(bench.told(), none());
            let ticket = bench.held.opening.pop_front().expect("a ticket");
            if refused {
                bench.conn.reject_session(ticket, &ErrorObject::new(-32002, "gone"), bench.now);
            } else {
                bench.conn.abandon(ticket.key(), bench.now);
            }
            bench.frames();
            assert_eq!(bench.conn.find_session(id).is_some(), known, "one that was open stays so, another never was");
            if known {
                bench.request(7, "session/set_mode", json!({ "sessionId": id }));
                assert_eq!((bench.wire(), bench.told()), (none(), vec!["Request session/set_mode".to_owned()]));
                bench.respond(Ok(json!({})));
                bench.frames();
            }
        }
    }
}

#[test]
fn a_session_with_a_live_turn_is_neither_loaded_nor_resumed_again() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.cancel("s1");
    bench.told();
    for method in ["session/load", "session/resume"] {
        bench.request(4, method, json!({ "sessionId": "s1" }));
        assert_eq!((bench.wire(), bench.told()), (vec!["4: -32600".to_owned()], none()), "{method}");
    }
    bench.request(5, "session/fork", json!({ "sessionId": "s1" }));
    assert_eq!(bench.told(), ["SessionRequested session/fork"], "a fork leaves it alone");
    bench.end(1, StopReason::EndTurn);
    bench.request(6, "session/load", json!({ "sessionId": "s1" }));
    assert_eq!(bench.told(), ["SessionRequested session/load"]);
    assert_eq!(bench.wire(), ["3: cancelled"]);
}

#[test]
fn a_fork_opens_another_session() {
    let mut bench = AgentBench::ready();
    bench.request(5, "session/fork", json!({ "sessionId": "s1", "cwd": "/" }));
    bench.told();
    let fork = bench.accept(&json!({ "sessionId": "s2" }));
    assert_ne!(fork, bench.session("s1"));
    bench.prompt(6, "s2");
    assert_eq!(bench.told(), ["Prompt t1"]);
}

#[test]
fn two_sessions_never_block_each_other() {
    let mut bench = AgentBench::with_sessions(Config::agent(), &["s1", "s2"]);
    bench.prompt(3, "s1");
    bench.prompt(4, "s2");
    bench.prompt(5, "s1");
    assert_eq!(bench.told(), ["Prompt t1", "Prompt t2"], "each session has a turn of its own");
    bench.cancel("s1");
    assert_eq!(bench.told(), ["AbortTurn t1 Session"]);
    assert_eq!(bench.wire(), ["5: cancelled"]);
    bench.request(6, "session/close", json!({ "sessionId": "s1" }));
    bench.end(2, StopReason::EndTurn);
    assert_eq!(bench.wire(), ["4: end_turn"], "the other ends as its host says, while the first holds up");
    bench.prompt(7, "s2");
    assert_eq!(bench.told(), ["AbortTurn t1 CloseSession again", "Prompt t4"]);
}

#[test]
fn there_is_a_limit_of_sessions_and_a_closed_one_makes_room() {
    let mut config = Config::agent();
    config.limits.sessions = 1;
    let mut bench = AgentBench::with_sessions(config, &["s1"]);
    for method in ["session/new", "session/load", "session/resume", "session/fork"] {
        bench.request(3, method, json!({ "sessionId": "s2" }));
        assert_eq!((bench.wire(), bench.told()), (vec!["3: -32603".to_owned()], none()), "{method}");
    }
    bench.request(4, "session/close", json!({ "sessionId": "s1" }));
    bench.told();
    bench.respond(Ok(json!({})));
    bench.request(5, "session/new", json!({}));
    assert_eq!(bench.told(), ["SessionRequested session/new"]);
}

#[test]
fn a_session_whose_answer_fits_on_no_line_is_not_open() {
    let mut config = Config::agent();
    config.limits.line = 300;
    let mut bench = AgentBench::initialized(config);
    bench.request(5, "session/new", json!({}));
    bench.told();
    let ticket = bench.held.opening.pop_front().expect("a ticket");
    let result = payload(json!({ "sessionId": "s1", "modes": "x".repeat(300) }));
    let (session, delivery) = bench.conn.accept_session(ticket, &result, bench.now).expect("taken");
    assert_eq!(delivery, Delivery::AsError);
    assert_eq!(bench.wire(), ["5: -32603"]);
    assert_eq!((bench.conn.session_id(session), bench.conn.sessions()), (None, 0), "the client knows of none");
}

#[test]
fn requests_of_a_session_reach_the_host_with_its_key_and_pass_while_a_turn_runs() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.request(4, "session/set_mode", json!({ "sessionId": "s1", "modeId": "ask" }));
    bench.request(5, "session/set_config_option", json!({ "sessionId": "s1" }));
    bench.request(6, "_vendor/steer", json!({ "sessionId": "s1" }));
    let told: Vec<_> = core::iter::from_fn(|| bench.conn.poll_action()).collect();
    assert_eq!(told.len(), 4);
    for action in &told[1..] {
        let acp_core::AgentAction::Common(acp_core::Common::Request { session, .. }) = action else {
            panic!("{action:?}")
        };
        assert_eq!(*session, bench.conn.find_session("s1"));
    }
}

#[test]
fn a_host_that_declines_everything_leaves_nobody_waiting() {
    let mut config = Config::agent();
    config.overlap = Overlap::Forward(4);
    let mut bench = AgentBench::with_sessions(config, &["s1"]);
    bench.prompt(3, "s1");
    bench.request(4, "session/set_mode", json!({ "sessionId": "s1" }));
    bench.request(5, "session/new", json!({}));
    bench.request(6, "session/load", json!({ "sessionId": "old" }));
    while let Some(action) = bench.conn.poll_action() {
        bench.conn.decline(action, bench.now);
    }
    bench.request(7, "session/close", json!({ "sessionId": "s1" }));
    while let Some(action) = bench.conn.poll_action() {
        bench.conn.decline(action, bench.now);
    }
    assert_eq!(bench.wire(), ["3: -32603", "4: -32601", "5: -32601", "6: -32601", "7: ok"]);
    assert_eq!(bench.conn.unanswered().count(), 0);
}
