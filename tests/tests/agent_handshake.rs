//! The agent's end before and around `initialize`: what is admitted when, which version is agreed, what was offered,
//! and who has to log in first.

use acp_core::{CommandError, Config, Connection, Delivery, ErrorObject, wire::Method, wire::Sender};
use acp_tests::agent::{AgentBench, every_capability, every_client_capability};
use acp_tests::schema::may_emit;
use serde_json::{Value, json};

/// Every request of the client's that the protocol names, with params that would do.
fn requests() -> Vec<(&'static str, Value)> {
    let all: Vec<_> = Method::ALL
        .iter()
        .filter(|method| method.spec().sender == Sender::Client && **method != Method::Initialize && method.is_in(1))
        .map(|method| (method.name(), json!({ "sessionId": "s1", "methodId": "m", "cwd": "/", "mcpServers": [] })))
        .collect();
    assert_eq!(all.len(), 13, "every request of the client's but `initialize`");
    all
}

/// An agent whose host has not answered `initialize` yet.
fn being_initialized() -> AgentBench {
    let mut bench = AgentBench::new(Config::agent());
    bench.request(1, "initialize", json!({ "protocolVersion": 1 }));
    assert_eq!(bench.told(), ["Initialize 1"]);
    bench
}

#[test]
fn before_initialize_is_answered_every_known_request_is_refused_and_the_host_is_not_asked() {
    for mut bench in [AgentBench::new(Config::agent()), being_initialized()] {
        for (method, params) in requests() {
            bench.request(7, method, params);
            assert_eq!(bench.wire(), ["7: -32002"], "{method}");
        }
        bench.request(8, "_vendor/x", json!({}));
        assert_eq!(bench.wire(), ["8: -32002"], "an extension waits too");
        assert_eq!(bench.told(), Vec::<String>::new());
    }
}

#[test]
fn the_code_before_initialize_is_a_policy() {
    let mut config = Config::agent();
    config.not_initialized_code = -32600;
    let mut bench = AgentBench::new(config);
    bench.request(1, "session/new", json!({}));
    assert_eq!(bench.wire(), ["1: -32600"]);
}

#[test]
fn an_unknown_method_is_not_found_in_every_state() {
    let mut closing = AgentBench::ready();
    closing.request(1, "session/close", json!({ "sessionId": "s1" }));
    for mut bench in [AgentBench::new(Config::agent()), being_initialized(), AgentBench::ready(), closing] {
        bench.told();
        for method in ["nope", "session/nope", "$/nope", "session/update", "fs/read_text_file", "$/cancel_request"] {
            bench.request(9, method, json!({ "sessionId": "s1" }));
            assert_eq!(bench.wire(), ["9: -32601"], "{method}: nobody has it, or only the other side may send it");
        }
        assert_eq!(bench.told(), Vec::<String>::new());
    }
}

#[test]
fn notifications_before_initialize_do_nothing() {
    let mut bench = AgentBench::new(Config::agent());
    bench.cancel("s1");
    bench.notify("initialize", json!({ "protocolVersion": 1 }));
    bench.notify("_vendor/x", json!({}));
    assert_eq!((bench.wire(), bench.told()), (vec![], vec![]));
    bench.request(1, "initialize", json!({ "protocolVersion": 1 }));
    assert_eq!(bench.told(), ["Initialize 1"], "an initialize without an id was none");
}

#[test]
fn the_asked_version_is_answered_if_it_is_spoken_and_else_the_newest() {
    may_emit("its host answers in the shape of version 2, whatever was agreed");
    for (spoken, asked, answered) in [
        (vec![1], 1, 1),
        (vec![1], 0, 1),
        (vec![1], 9, 1),
        (vec![1], 65_535, 1),
        (vec![1], 65_537, 1),
        (vec![1], 4_294_967_297_u64, 1),
        (vec![1, 2], 1, 1),
        (vec![1, 2], 9, 2),
    ] {
        let mut config = Config::agent();
        config.versions = spoken.into_iter().collect();
        let mut bench = AgentBench::new(config);
        let info = json!({ "name": "test", "version": "1" });
        bench.request(1, "initialize", json!({ "protocolVersion": asked, "info": info }));
        assert_eq!(bench.told(), [format!("Initialize {answered}")]);
        assert_eq!(bench.conn.version(), None, "nothing is agreed before it is answered");
        bench.initialize(&json!({ "info": info }));
        let result = json!({ "protocolVersion": answered, "info": info });
        assert_eq!(bench.frames()[0]["result"], result, "asked for {asked}");
        assert_eq!(bench.conn.version(), Some(answered));
    }
}

#[test]
fn a_version_that_is_no_integer_is_refused_and_a_better_initialize_may_follow() {
    for bad in ["{}", r#"{"protocolVersion":"1"}"#, r#"{"protocolVersion":"2024-11-05"}"#, r#"{"protocolVersion":1.0}"#]
        .into_iter()
        .chain([r#"{"protocolVersion":-1}"#, r#"{"protocolVersion":null}"#, r#"{"protocolVersion":true}"#, "[1]"])
    {
        let mut bench = AgentBench::new(Config::agent());
        bench.feed(format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{bad}}}\n"));
        assert_eq!(bench.wire(), ["1: -32602"], "{bad}");
        bench.feed("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\"}\n");
        assert_eq!(bench.wire(), ["2: -32602"], "no params at all");
        assert_eq!(bench.told(), Vec::<String>::new());
        bench.request(3, "initialize", json!({ "protocolVersion": 1 }));
        assert_eq!(bench.told(), ["Initialize 1"]);
    }
}

#[test]
fn initialize_passes_once_and_a_repetition_is_refused_before_its_params_are_looked_at() {
    for mut bench in [being_initialized(), AgentBench::ready()] {
        let offered = bench.conn.peer_capabilities();
        for params in [every_client_capability(), json!({ "protocolVersion": 9 }), json!({ "protocolVersion": "x" })] {
            bench.request(2, "initialize", params);
            assert_eq!(bench.wire(), ["2: -32002"]);
        }
        assert_eq!(bench.told(), Vec::<String>::new());
        assert_eq!(bench.conn.peer_capabilities(), offered, "what was agreed stays");
    }
}

#[test]
fn an_initialize_that_the_host_refuses_or_drops_leaves_room_for_another() {
    let mut bench = being_initialized();
    let ticket = bench.held.initialize.pop_front().expect("a ticket");
    bench.conn.reject_initialize(ticket, &ErrorObject::new(-32603, "not today"), bench.now);
    assert_eq!(bench.wire(), ["1: -32603"]);
    bench.request(2, "initialize", json!({ "protocolVersion": 1 }));
    assert_eq!(bench.told(), ["Initialize 1"]);
    let dropped = bench.held.initialize.pop_front().expect("a ticket");
    bench.conn.abandon(dropped.key(), bench.now);
    assert_eq!(bench.wire(), ["2: -32603"]);
    bench.request(3, "initialize", json!({ "protocolVersion": 1 }));
    bench.told();
    bench.initialize(&json!({}));
    assert_eq!(bench.wire(), ["3: ok"]);
}

#[test]
fn an_answer_to_initialize_that_fits_on_no_line_agrees_on_nothing() {
    let mut config = Config::agent();
    config.limits.line = 200;
    let mut bench = AgentBench::new(config);
    bench.request(1, "initialize", json!({ "protocolVersion": 1 }));
    bench.told();
    assert_eq!(bench.initialize(&json!({ "agentInfo": "x".repeat(200) })), Delivery::AsError);
    assert_eq!(bench.wire(), ["1: -32603"]);
    assert_eq!(bench.conn.version(), None);
    bench.request(2, "initialize", json!({ "protocolVersion": 1 }));
    assert_eq!(bench.told(), ["Initialize 1"], "the client was told of a failure, and tries again");
}

#[test]
fn the_answer_to_initialize_is_all_that_is_sent() {
    may_emit("its host has a member of its own");
    let mut bench = being_initialized();
    bench.initialize(&json!({ "agentCapabilities": {}, "protocolVersionX": 1 }));
    let frames = bench.frames();
    assert_eq!(frames.len(), 1, "no `initialized` follows: {frames:?}");
    assert_eq!(frames[0]["result"], json!({ "protocolVersion": 1, "agentCapabilities": {}, "protocolVersionX": 1 }));
}

#[test]
fn what_the_agent_did_not_offer_is_not_found_without_asking_the_host() {
    let gated = [
        ("session/load", json!({ "agentCapabilities": { "loadSession": true } })),
        ("session/resume", json!({ "agentCapabilities": { "sessionCapabilities": { "resume": {} } } })),
        ("session/list", json!({ "agentCapabilities": { "sessionCapabilities": { "list": {} } } })),
        ("session/delete", json!({ "agentCapabilities": { "sessionCapabilities": { "delete": {} } } })),
        ("session/close", json!({ "agentCapabilities": { "sessionCapabilities": { "close": {} } } })),
        ("session/fork", json!({ "agentCapabilities": { "sessionCapabilities": { "fork": {} } } })),
        ("logout", json!({ "agentCapabilities": { "auth": { "logout": {} } } })),
    ];
    for (offered, result) in &gated {
        let mut bench = being_initialized();
        bench.initialize(result);
        bench.request(2, "session/new", json!({ "cwd": "/" }));
        bench.told();
        bench.accept(&json!({ "sessionId": "s1" }));
        bench.frames();
        for (method, _) in &gated {
            bench.request(5, method, json!({ "sessionId": "s1" }));
            if method == offered {
                assert_eq!(bench.told().len(), 1, "{method} is offered");
                assert_eq!(bench.wire(), Vec::<String>::new());
                break;
            }
            assert_eq!((bench.wire(), bench.told()), (vec!["5: -32601".to_owned()], vec![]), "{method}");
        }
    }
}

#[test]
fn what_the_client_did_not_offer_is_refused_here_and_nothing_is_sent() {
    may_emit("its host asks without params");
    let methods = [
        ("fs/read_text_file", json!({ "fs": { "readTextFile": true } })),
        ("fs/write_text_file", json!({ "fs": { "writeTextFile": true } })),
        ("terminal/create", json!({ "terminal": true })),
        ("terminal/output", json!({ "terminal": true })),
        ("terminal/wait_for_exit", json!({ "terminal": true })),
        ("terminal/kill", json!({ "terminal": true })),
        ("terminal/release", json!({ "terminal": true })),
        ("elicitation/create", json!({ "elicitation": { "form": {} } })),
    ];
    for (method, capabilities) in methods {
        // The key that another agent reads, `capabilities`, is none of the protocol's.
        for (key, offered) in [("clientCapabilities", true), ("capabilities", false)] {
            let mut bench = AgentBench::new(Config::agent());
            bench.request(1, "initialize", json!({ "protocolVersion": 1, key: capabilities }));
            bench.told();
            bench.initialize(&every_capability());
            // They last for the connection: a session that is loaded has them too.
            bench.request(2, "session/load", json!({ "sessionId": "s1" }));
            bench.told();
            bench.accept(&Value::Null);
            bench.prompt(3, "s1");
            bench.told();
            bench.frames();
            let sent = bench.ask(bench.turn(1), method);
            if offered {
                assert!(sent.is_ok(), "{method}: {sent:?}");
                assert_eq!(bench.wire(), [format!("ask 1 {method}")]);
            } else {
                assert!(matches!(&sent, Err(CommandError::NotOffered(name)) if name.as_str() == method), "{sent:?}");
                assert_eq!(bench.wire(), Vec::<String>::new(), "{method}");
                assert_eq!(bench.conn.unresolved(), 0);
            }
        }
    }
}

#[test]
fn while_a_login_is_demanded_sessions_and_prompts_are_refused_and_the_host_is_not_asked() {
    let gated = ["session/new", "session/load", "session/resume", "session/fork", "session/prompt"];
    let mut bench = AgentBench::ready();
    assert!(!bench.conn.auth_required(), "most agents need no login");
    bench.conn.set_auth_required(true);
    for (method, params) in requests() {
        bench.request(5, method, params);
        let (wire, told) = (bench.wire(), bench.told());
        if gated.contains(&method) {
            assert_eq!((wire, told), (vec!["5: -32000".to_owned()], vec![]), "{method}");
        } else {
            assert!(!wire.contains(&"5: -32000".to_owned()), "{method}: {wire:?}");
            if method != "session/cancel" {
                assert_eq!(told.len(), 1, "{method} reaches the host");
                bench.respond(Err(-1));
                bench.frames();
            }
        }
    }
}

#[test]
fn a_login_opens_the_gate_when_the_host_says_so_and_an_expired_one_closes_it() {
    let mut bench = AgentBench::initialized(Config::agent());
    bench.conn.set_auth_required(true);
    bench.request(1, "session/new", json!({ "cwd": "/" }));
    bench.request(2, "authenticate", json!({ "methodId": "m" }));
    assert_eq!(bench.wire(), ["1: -32000"]);
    assert_eq!(bench.told(), ["Request authenticate"]);
    bench.request(3, "session/new", json!({ "cwd": "/" }));
    assert_eq!(bench.wire(), ["3: -32000"], "asking is not enough");
    bench.conn.set_auth_required(false);
    bench.respond(Ok(json!({})));
    bench.request(4, "session/new", json!({ "cwd": "/" }));
    assert_eq!(bench.told(), ["SessionRequested session/new"]);
    bench.accept(&json!({ "sessionId": "s1" }));
    bench.prompt(5, "s1");
    assert_eq!(bench.told(), ["Prompt t1"]);
    assert_eq!(bench.wire(), ["2: ok", "4: ok"]);

    bench.request(6, "logout", json!({}));
    assert_eq!(bench.told(), ["Request logout"]);
    bench.conn.set_auth_required(true);
    bench.respond(Ok(json!({})));
    bench.prompt(7, "s1");
    assert_eq!(bench.wire(), ["6: ok", "7: -32000"]);
    bench.cancel("s1");
    assert_eq!(bench.told(), ["AbortTurn t1 Session"], "what runs can still be cancelled");
    bench.end(1, acp_core::wire::StopReason::EndTurn);
    assert_eq!(bench.wire(), ["5: cancelled"]);
}

#[test]
fn the_login_gate_stands_behind_the_gates_of_state_and_of_capabilities() {
    let mut bench = AgentBench::new(Config::agent());
    bench.conn.set_auth_required(true);
    bench.request(1, "session/new", json!({}));
    bench.request(2, "initialize", json!({ "protocolVersion": 1 }));
    bench.told();
    bench.initialize(&json!({}));
    bench.request(3, "session/load", json!({ "sessionId": "s1" }));
    bench.request(4, "session/new", json!({}));
    assert_eq!(bench.wire(), ["1: -32002", "2: ok", "3: -32601", "4: -32000"]);
}

#[test]
fn nothing_can_be_sent_before_initialize_is_answered() {
    let mut bench = being_initialized();
    let sent = bench.conn.request("_vendor/x", None, None, bench.now);
    assert_eq!(sent, Err(acp_core::error::Misuse::NotInitialized.into()));
    assert_eq!(bench.wire(), Vec::<String>::new());
}

#[test]
fn an_impossible_configuration_makes_no_connection() {
    let mut config = Config::agent();
    config.versions.clear();
    assert!(Connection::<acp_core::Agent>::new(config).is_err());
}
