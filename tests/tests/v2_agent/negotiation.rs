//! Which version is answered, and when `initialize` may come again.

use acp_core::{Delivery, Misuse, wire::Gate};
use acp_tests::{
    agent::AgentBench,
    bench::payload,
    schema::may_emit,
    v2::{agent, agent_config, agent_result, client_params, said},
};
use serde_json::{Value, json};

use super::none;

fn speaking(versions: &[u16]) -> AgentBench {
    AgentBench::new(agent_config(|config| config.versions = versions.iter().copied().collect()))
}

fn offer(bench: &mut AgentBench, id: u64, version: Value) {
    let mut params = client_params();
    params["protocolVersion"] = version;
    bench.request(id, "initialize", params);
}

#[test]
fn each_agent_answers_the_version_that_its_own_newest_allows() {
    may_emit("its host answers in the shape of version 2, whatever was agreed");
    for (spoken, asked, answered) in [
        (&[1][..], 0, Ok(1)),
        (&[1], 1, Ok(1)),
        (&[1], 2, Ok(1)),
        (&[1], 3, Ok(1)),
        (&[1], 65_535, Ok(1)),
        (&[2], 0, Err(-32022)),
        (&[2], 1, Err(-32022)),
        (&[2], 2, Ok(2)),
        (&[2], 3, Ok(2)),
        (&[2], 65_535, Ok(2)),
        (&[2], 70_000, Ok(2)),
        (&[1, 2], 0, Err(-32022)),
        (&[1, 2], 1, Ok(1)),
        (&[1, 2], 2, Ok(2)),
        (&[1, 2], 3, Ok(2)),
        (&[2, 1], 65_535, Ok(2)),
    ] {
        let mut bench = speaking(spoken);
        offer(&mut bench, 1, json!(asked));
        match answered {
            Ok(version) => {
                assert_eq!(bench.told(), [format!("Initialize {version}")], "{asked} to {spoken:?}");
                bench.initialize(&agent_result());
                assert_eq!(bench.frames()[0]["result"]["protocolVersion"], version);
                assert_eq!(bench.conn.version(), Some(version));
            }
            Err(code) => {
                assert_eq!(bench.told(), none(), "{asked} to {spoken:?}");
                let error = &bench.frames()[0]["error"];
                let data = json!({ "requested": asked, "supported": spoken });
                assert_eq!((&error["code"], &error["data"]), (&json!(code), &data), "{asked} to {spoken:?}");
                assert_eq!(bench.conn.version(), None);
                // What was refused agrees on nothing: a better one may follow.
                offer(&mut bench, 2, json!(2));
                assert_eq!(bench.told(), ["Initialize 2"]);
            }
        }
    }
}

#[test]
fn a_version_that_is_none_is_invalid_whatever_is_spoken() {
    for spoken in [&[1][..], &[2], &[1, 2]] {
        for version in [json!("2"), json!(2.0), json!(1.5), json!(-1), json!(null), json!([2]), json!(true)] {
            let mut bench = speaking(spoken);
            offer(&mut bench, 1, version.clone());
            assert_eq!((said(&mut bench), bench.told()), (vec!["1: -32602".into()], none()), "{version}");
        }
        let mut bench = speaking(spoken);
        bench.request(1, "initialize", client_params());
        assert_eq!(said(&mut bench), ["1: -32602"], "there is none");
    }
}

#[test]
fn version_2_wants_to_know_the_program_and_no_other_does() {
    for info in [json!(null), json!({ "name": "x" }), json!({ "version": "1" }), json!("x"), json!([])] {
        for (spoken, asked, good) in [(&[1][..], 2, true), (&[1, 2], 1, true), (&[1, 2], 2, false), (&[1, 2], 3, true)]
        {
            let mut bench = speaking(spoken);
            bench.request(1, "initialize", json!({ "protocolVersion": asked, "info": info }));
            let expected = if good { none() } else { vec!["1: -32602".to_owned()] };
            assert_eq!(said(&mut bench), expected, "{info} of a client that asks for {asked}");
            assert_eq!(bench.told().len(), usize::from(good));
        }
    }
    let mut bench = speaking(&[1, 2]);
    offer(&mut bench, 1, json!(2));
    bench.told();
    let ticket = bench.held.initialize.pop_front().expect("it is asked");
    let lacking = payload(json!({ "capabilities": { "session": {} } }));
    let refused = bench.conn.accept_initialize(ticket, &lacking, bench.now).expect_err("no `info`");
    assert!(matches!(refused.why, acp_core::CommandError::Misuse(Misuse::Payload(_))), "{refused}");
    let good = bench.conn.accept_initialize(refused.ticket, &payload(agent_result()), bench.now);
    assert_eq!(good.expect("it has"), Delivery::Queued);
}

#[test]
fn the_answer_has_the_shape_of_the_version_that_is_answered() {
    may_emit("its host answers in the shape of version 2, whatever was agreed");
    let v1 = json!({ "agentCapabilities": { "sessionCapabilities": { "list": {} } } });
    let v2 = json!({ "info": { "name": "a", "version": "1" }, "capabilities": { "session": {} } });
    for (asked, result, list, delete) in [(1, &v1, true, false), (2, &v2, true, false), (1, &v2, false, false)] {
        let mut bench = speaking(&[1, 2]);
        offer(&mut bench, 1, json!(asked));
        bench.told();
        bench.initialize(result);
        bench.frames();
        for (id, method, offered) in [(2, "session/list", list), (3, "session/delete", delete)] {
            bench.request(id, method, json!({ "sessionId": "s" }));
            let expected = if offered { none() } else { vec![format!("{id}: -32601")] };
            assert_eq!(said(&mut bench), expected, "{method} in version {asked}");
        }
    }
}

#[test]
fn initialize_may_come_again_until_another_request_for_the_same_version_or_a_newer_one() {
    let mut bench = agent(agent_config(|_| ()));
    offer(&mut bench, 1, json!(1));
    assert_eq!((said(&mut bench), bench.told()), (vec!["1: -32600".into()], none()), "an older one");
    bench.notify("_x/hello", json!({}));
    bench.notify("session/cancel", json!({ "sessionId": "s1" }));
    bench.told();
    for (id, version) in [(2, 2), (3, 3), (4, 2)] {
        offer(&mut bench, id, json!(version));
        assert_eq!(bench.told(), ["Initialize 2"]);
        offer(&mut bench, 9, json!(2));
        bench.request(10, "session/list", json!({}));
        assert_eq!(said(&mut bench), ["9: -32600", "10: -32600"], "while it is open nothing else passes");
        bench.initialize(&agent_result());
        assert_eq!(said(&mut bench), [format!("{id}: ok")], "what was refused has not closed the window");
    }
    // Any other request has, even one that is refused.
    bench.request(5, "session/load", json!({}));
    assert_eq!(said(&mut bench), ["5: -32601"]);
    offer(&mut bench, 6, json!(2));
    assert_eq!((said(&mut bench), bench.told()), (vec!["6: -32600".into()], none()));
    assert_eq!(bench.conn.version(), Some(2));
}

#[test]
fn the_latest_initialize_is_in_force_with_what_both_ends_offer_in_it() {
    let mut bench = agent(agent_config(|_| ()));
    let form = |bench: &AgentBench| bench.conn.peer_capabilities().offers(Gate::ElicitationForm);
    assert!(form(&bench));
    bench.request(1, "initialize", json!({ "protocolVersion": 2, "info": { "name": "c", "version": "2" } }));
    bench.told();
    bench.initialize(&json!({ "info": { "name": "a", "version": "1" }, "capabilities": {} }));
    assert!(!form(&bench), "the client offers nothing now");
    bench.frames();
    bench.request(2, "session/new", json!({ "cwd": "/" }));
    assert_eq!(said(&mut bench), ["2: -32601"], "and the agent no sessions");
}

#[test]
fn a_repeated_initialize_that_fails_leaves_the_first_in_force() {
    let fail: [fn(&mut AgentBench); 4] = [
        |bench| {
            let ticket = bench.held.initialize.pop_front().expect("it is asked");
            bench.conn.reject_initialize(ticket, &acp_core::ErrorObject::new(-32603, "no"), bench.now);
        },
        |bench| {
            let ticket = bench.held.initialize.pop_front().expect("it is asked");
            bench.conn.abandon(ticket.key(), bench.now);
        },
        |bench| {
            // Longer than a line may be.
            let mut long = agent_result();
            long["_meta"] = json!({ "x": "x".repeat(5000) });
            assert_eq!(bench.initialize(&long), Delivery::AsError);
        },
        |bench| {
            bench.cancel_request(1);
            assert_eq!(bench.told(), ["CancelRequested"]);
            let ticket = bench.held.initialize.pop_front().expect("it is asked");
            bench.conn.reject_initialize(ticket, &acp_core::ErrorObject::new(-32800, "cancelled"), bench.now);
        },
    ];
    for fail in fail {
        let mut bench = agent(agent_config(|config| config.limits.line = 4000));
        bench.request(1, "initialize", json!({ "protocolVersion": 2, "info": { "name": "c", "version": "2" } }));
        bench.told();
        fail(&mut bench);
        assert_eq!(bench.frames().len(), 1);
        assert_eq!(bench.conn.version(), Some(2));
        assert!(bench.conn.peer_capabilities().offers(Gate::ElicitationForm), "what the client offered first");
        bench.request(2, "session/list", json!({}));
        assert_eq!(bench.told(), ["Request session/list"], "what the agent offered first");
    }
}

#[test]
fn a_client_of_version_1_gets_version_1_of_an_agent_that_speaks_both() {
    let mut bench = AgentBench::initialized(agent_config(|_| ()));
    bench.request(1, "initialize", json!({ "protocolVersion": 2, "info": { "name": "c", "version": "2" } }));
    assert_eq!(bench.wire(), ["1: -32002"], "it is sent once there");
    bench.request(2, "auth/login", json!({ "methodId": "web" }));
    assert_eq!(bench.wire(), ["2: -32601"]);
    bench.request(3, "session/new", json!({ "cwd": "/", "mcpServers": [] }));
    bench.told();
    bench.accept(&json!({ "sessionId": "s1" }));
    bench.prompt(4, "s1");
    bench.told();
    bench.update(1, acp_tests::agent::chunk("no id")).expect("no id is needed");
    bench.end(1, acp_core::wire::StopReason::EndTurn);
    assert_eq!(bench.wire(), ["3: ok", "upd s1 agent_message_chunk", "4: end_turn"]);
    let session = bench.session("s1");
    let version_1 = |why: acp_core::CommandError| matches!(why, acp_core::CommandError::Unsupported { version: 1, .. });
    assert!(bench.conn.begin_work(session, bench.now).is_err_and(version_1));
    assert!(bench.conn.set_background(session, &payload(json!([])), bench.now).is_err_and(version_1));
    assert_eq!(bench.wire(), none());
}
