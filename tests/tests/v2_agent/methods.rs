//! Every method of version 2, in both directions, and what is no request there at all.

use acp_core::{CommandError, Delivery, Misuse, Payload, wire::Method};
use acp_tests::{
    agent::AgentBench,
    bench::payload,
    schema::may_emit,
    v2::{self, agent, agent_config, agent_with, info, ready, said},
};
use serde_json::{Value, json};

use super::none;

/// What a request of the client's comes to: what the host is told, or the answer.
fn comes_to(bench: &mut AgentBench, method: Method, params: Value) -> String {
    bench.request(7, method.name(), params);
    let (told, said) = (bench.told(), said(bench));
    assert_eq!(told.len() + said.len(), 1, "{}: {told:?} {said:?}", method.name());
    told.into_iter().chain(said).next().unwrap_or_default()
}

fn params() -> Value {
    let block = json!({ "type": "text", "text": "x" });
    json!({ "sessionId": "s1", "cwd": "/", "prompt": [block], "methodId": "web", "toolCallId": "t", "terminalId": "t",
        "configId": "c", "type": "id", "value": "v", "requestId": 1, "protocolVersion": 2, "info": info() })
}

/// What each method of the table comes to in version 2, sent by a client to an agent that offers everything.
fn expected(method: Method) -> &'static str {
    match method {
        // Something else was asked before.
        Method::Initialize => "7: -32600",
        Method::AuthLogin => "Request auth/login",
        Method::AuthLogout => "Request auth/logout",
        Method::SessionNew => "SessionRequested session/new",
        Method::SessionResume => "SessionRequested session/resume",
        Method::SessionFork => "SessionRequested session/fork",
        Method::SessionList => "Request session/list",
        Method::SessionDelete => "Request session/delete",
        Method::SessionClose => "CloseSession s1",
        Method::SessionSetConfigOption => "Request session/set_config_option",
        Method::SessionPrompt => "Prompt t1",
        // Nothing says that it can be.
        Method::ToolCallCancel | Method::TerminalCancel => "7: -32602",
        // Of version 1, of the agent's, or no request.
        _ => "7: -32601",
    }
}

#[test]
fn every_method_reaches_the_host_or_is_refused_as_the_version_says() {
    for method in Method::ALL {
        let mut bench = ready();
        if *method == Method::SessionCancel {
            bench.request(7, method.name(), params());
            assert_eq!((said(&mut bench), bench.told()), (vec!["7: ok".into()], vec!["IdleCancel s1".into()]));
            continue;
        }
        assert_eq!(comes_to(&mut bench, *method, params()), expected(*method), "{}", method.name());
    }
}

#[test]
fn what_was_not_offered_is_not_found() {
    for method in Method::ALL.iter().filter(|method| **method != Method::Initialize) {
        let mut bench = agent_with(agent_config(|_| ()), &json!({ "info": info() }));
        assert_eq!(comes_to(&mut bench, *method, params()), "7: -32601", "{}", method.name());
    }
    let only = json!({ "info": info(), "capabilities": { "session": {} } });
    for (method, code) in [
        (Method::SessionDelete, true),
        (Method::SessionFork, true),
        (Method::AuthLogin, true),
        (Method::SessionList, false),
    ] {
        let mut bench = agent_with(agent_config(|_| ()), &only);
        assert_eq!(comes_to(&mut bench, method, params()) == "7: -32601", code, "{}", method.name());
    }
}

#[test]
fn before_initialize_nothing_passes_and_methods_of_no_version_spoken_do_not_exist() {
    for method in Method::ALL.iter().filter(|method| **method != Method::Initialize) {
        let mut bench = AgentBench::new(agent_config(|config| {
            config.versions = [2].into_iter().collect();
            config.not_initialized_code = -32600;
        }));
        bench.request(7, method.name(), params());
        let exists = method.is_in(2) && !matches!(expected(*method), "7: -32601");
        let code = if exists || *method == Method::SessionCancel { "7: -32600" } else { "7: -32601" };
        assert_eq!((said(&mut bench), bench.told()), (vec![code.into()], none()), "{}", method.name());
    }
}

#[test]
fn params_that_lack_the_session_or_are_no_object_are_invalid() {
    for method in Method::ALL.iter().filter(|method| method.is_in(2) && method.spec().in_session) {
        if expected(*method) == "7: -32601" && *method != Method::SessionCancel {
            continue;
        }
        for params in [json!({}), json!({ "sessionId": 7 }), json!(["s1"])] {
            assert_eq!(comes_to(&mut ready(), *method, params.clone()), "7: -32602", "{} {params}", method.name());
        }
        if *method != Method::SessionClose {
            let mut bench = ready();
            let mut unknown = params();
            unknown["sessionId"] = json!("s9");
            bench.request(7, method.name(), unknown);
            let error = &bench.frames()[0]["error"];
            assert_eq!(
                (&error["code"], &error["data"]),
                (&json!(-32002), &json!({ "sessionId": "s9" })),
                "{}",
                method.name()
            );
        }
    }
}

#[test]
fn an_agent_sends_what_version_2_has_and_what_the_client_offered() {
    may_emit("its host gives the same params to every method");
    for method in Method::ALL {
        let mut bench = ready();
        let session = bench.session("s1");
        let sent = bench.conn.request_in(
            session,
            method.name(),
            &payload(json!({ "mode": "form", "title": "t" })),
            None,
            bench.now,
        );
        match method {
            Method::SessionRequestPermission | Method::ElicitationCreate => assert!(sent.is_ok(), "{}", method.name()),
            Method::FsReadTextFile
            | Method::FsWriteTextFile
            | Method::TerminalCreate
            | Method::TerminalOutput
            | Method::TerminalWaitForExit
            | Method::TerminalKill
            | Method::TerminalRelease => {
                assert_eq!(sent, Err(CommandError::Unsupported { method: (*method).into(), version: 2 }));
            }
            Method::SessionUpdate | Method::ElicitationComplete | Method::CancelRequest => {
                assert_eq!(sent, Err(Misuse::WrongForm.into()), "{}", method.name());
            }
            _ => assert_eq!(sent, Err(Misuse::WrongSide.into()), "{}", method.name()),
        }
        assert_eq!(said(&mut bench).len(), usize::from(sent.is_ok()));
    }
}

#[test]
fn an_elicitation_is_sent_in_a_mode_that_the_client_offered() {
    may_emit("its host asks in a form without fields");
    let mut bench = AgentBench::new(agent_config(|_| ()));
    let form = json!({ "elicitation": { "form": {} } });
    bench.request(0, "initialize", json!({ "protocolVersion": 2, "info": info(), "capabilities": form }));
    bench.told();
    bench.initialize(&v2::agent_result());
    let session = v2::open(&mut bench, "s1");
    for (mode, sent) in [("form", true), ("url", false)] {
        let params = payload(json!({ "mode": mode, "message": "m" }));
        let asked = bench.conn.request_in(session, "elicitation/create", &params, None, bench.now);
        assert_eq!(asked.is_ok(), sent, "{mode}: {asked:?}");
        assert!(sent || asked == Err(CommandError::NotOffered(Method::ElicitationCreate.into())));
    }
    // Apart from any session, for a request of the client's that is open.
    bench.request(9, "auth/login", json!({ "methodId": "web" }));
    bench.told();
    let of_request = payload(json!({ "mode": "form", "message": "m", "requestId": 9 }));
    assert!(bench.conn.request("elicitation/create", Some(of_request), None, bench.now).is_ok());
    assert!(
        bench.conn.notify("elicitation/complete", Some(&payload(json!({ "elicitationId": "e" }))), bench.now).is_ok()
    );
    assert_eq!(said(&mut bench), ["ask 1 elicitation/create", "ask 2 elicitation/create", "elicitation/complete"]);
}

#[test]
fn an_id_that_is_null_is_refused_once_version_2_is_agreed_on() {
    let mut bench = ready();
    bench.line(&json!({ "jsonrpc": "2.0", "id": null, "method": "session/list" }));
    assert_eq!(said(&mut bench), ["null: -32600"]);
    assert!(bench.told()[0].starts_with("Violation BadRequest"));
    // In version 1 it is an id like another.
    let mut bench = AgentBench::ready();
    bench.line(&json!({ "jsonrpc": "2.0", "id": null, "method": "session/list" }));
    assert_eq!(bench.told(), ["Request session/list"]);
}

#[test]
fn an_id_that_is_open_may_not_be_used_again_and_the_first_keeps_it() {
    let mut bench = ready();
    bench.request("a", "session/list", json!({}));
    bench.request("a", "session/list", json!({}));
    assert_eq!(said(&mut bench), ["null: -32600"], "an answer under its id would be taken for that of the first");
    let told = bench.told();
    assert!(told[0] == "Request session/list" && told[1].starts_with("Violation DuplicateId"), "{told:?}");
    assert_eq!(bench.respond(Ok(json!({ "sessions": [] }))), Delivery::Queued);
    bench.request("a", "session/list", json!({}));
    assert_eq!((said(&mut bench), bench.told()), (vec!["a: ok".into()], vec!["Request session/list".into()]));
}

#[test]
fn batches_are_refused_as_a_whole() {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "session/list" });
    for batch in [json!([request]), json!([]), json!([1]), json!([request, request])] {
        let mut bench = ready();
        bench.line(&batch);
        assert_eq!(said(&mut bench), ["null: -32600"], "{batch}");
        assert!(bench.told().iter().all(|told| told.starts_with("Violation NotRpc")));
        assert_eq!(bench.conn.unanswered().count(), 0);
    }
}

#[test]
fn extensions_pass_in_both_directions_and_other_unknown_methods_are_not_found() {
    let mut bench = ready();
    bench.request(1, "_x/ask", json!({ "sessionId": "s1" }));
    bench.notify("_x/tell", json!({}));
    bench.request(2, "session/set_title", json!({ "sessionId": "s1" }));
    bench.request(3, "$/ask", json!({}));
    bench.notify("$/progress", json!({}));
    bench.notify("auth/status_update", json!({}));
    assert_eq!(bench.told(), ["Request _x/ask", "Notification _x/tell", "Notification auth/status_update"]);
    assert_eq!(said(&mut bench), ["2: -32601", "3: -32601"]);
    assert!(bench.conn.request("_y/ask", Some(Payload::EMPTY), None, bench.now).is_ok());
    assert!(bench.conn.notify("_y/tell", None, bench.now).is_ok());
}

#[test]
fn a_login_comes_first_where_it_has_to_and_reaches_the_host() {
    let mut bench = agent(agent_config(|_| ()));
    bench.conn.set_auth_required(true);
    for (id, method) in [(1, "session/new"), (2, "session/resume"), (3, "session/fork"), (4, "session/prompt")] {
        bench.request(id, method, params());
        assert_eq!((said(&mut bench), bench.told()), (vec![format!("{id}: -32000")], none()), "{method}");
    }
    bench.request(5, "auth/login", json!({ "methodId": "web" }));
    bench.told();
    bench.conn.set_auth_required(false);
    bench.respond(Ok(json!({})));
    bench.request(6, "session/new", json!({ "cwd": "/" }));
    bench.request(7, "auth/logout", json!({}));
    assert_eq!(bench.told(), ["SessionRequested session/new", "Request auth/logout"]);
    assert_eq!(said(&mut bench), ["5: ok"]);
}
