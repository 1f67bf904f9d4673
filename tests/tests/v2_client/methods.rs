//! Every method of version 2 as a client sends and serves it.

use acp_core::{CommandError, Misuse, SessionPlan, wire::Method};
use acp_tests::{
    bench::payload,
    client::{ClientBench, text},
    schema::may_emit,
    v2::{agent_result, client_config, client_in, heard, info, initialize, inserts, update},
};
use serde_json::{Value, json};

use super::none;

fn ready() -> ClientBench {
    client_in(client_config(|_| ())).0
}

fn params() -> Value {
    json!({ "sessionId": "s1", "cwd": "/", "methodId": "web", "toolCallId": "t", "terminalId": "t", "configId": "c",
        "type": "id", "value": "v" })
}

#[test]
fn a_client_sends_what_version_2_has_and_what_the_agent_offered() {
    may_emit("its host gives the same params to every method");
    for method in Method::ALL {
        let mut client = ready();
        let now = client.now;
        let mut params = params();
        if *method == Method::SessionResume {
            params["sessionId"] = json!("stored");
        }
        let sent = client.conn.request(method.name(), Some(payload(params)), None, now).map(drop);
        let expected = match method {
            Method::Initialize | Method::SessionPrompt => Err(Misuse::HasItsOwnCommand.into()),
            Method::Authenticate | Method::Logout | Method::SessionLoad | Method::SessionSetMode => {
                Err(CommandError::Unsupported { method: (*method).into(), version: 2 })
            }
            Method::SessionCancel | Method::CancelRequest => Err(Misuse::WrongForm.into()),
            method if method.spec().sender == acp_core::wire::Sender::Agent => Err(Misuse::WrongSide.into()),
            _ => Ok(()),
        };
        assert_eq!(sent, expected, "{}", method.name());
        let expected = if sent.is_ok() { vec![format!("ask 3 {}", method.name())] } else { none() };
        assert_eq!(client.said(), expected);
    }
}

#[test]
fn a_client_does_not_send_what_the_agent_did_not_offer() {
    for method in [
        Method::SessionNew,
        Method::SessionResume,
        Method::SessionList,
        Method::SessionClose,
        Method::AuthLogin,
        Method::AuthLogout,
    ] {
        let mut client = ClientBench::fresh(client_config(|_| ()));
        initialize(&mut client, json!({ "info": info() }));
        let now = client.now;
        let sent = client.conn.request(method.name(), Some(payload(params())), None, now);
        assert_eq!(sent, Err(CommandError::NotOffered(method.into())), "{}", method.name());
    }
    let mut client = ClientBench::fresh(client_config(|_| ()));
    initialize(&mut client, json!({ "info": info(), "capabilities": { "session": {} } }));
    let now = client.now;
    for method in [Method::SessionDelete, Method::SessionFork] {
        let sent = client.conn.request(method.name(), Some(payload(params())), None, now);
        assert_eq!(sent, Err(CommandError::NotOffered(method.into())), "{}", method.name());
    }
}

#[test]
fn what_only_version_2_has_is_unsupported_in_version_1() {
    let (mut client, session) = ClientBench::ready(client_config(|config| config.offer = Some(1)));
    let now = client.now;
    for method in [Method::AuthLogin, Method::AuthLogout, Method::ToolCallCancel, Method::TerminalCancel] {
        let sent = client.conn.request(method.name(), Some(payload(params())), None, now);
        assert_eq!(sent, Err(CommandError::Unsupported { method: method.into(), version: 1 }));
    }
    let once = client.conn.prompt_once(session, &text("hi"), "k", None, now);
    assert_eq!(once, Err(CommandError::Unsupported { method: Method::SessionPrompt.into(), version: 1 }));
    assert_eq!(client.said(), none());
}

#[test]
fn a_client_serves_permissions_and_elicitations_and_nothing_else() {
    for method in Method::ALL {
        let mut client = ready();
        let mut params = acp_tests::v2::permission();
        params["sessionId"] = json!("s1");
        params["mode"] = json!("form");
        client.request("x", method.name(), params);
        match method {
            Method::SessionRequestPermission => assert_eq!(client.heard(), ["permission 1 s1 OutOfTurn"]),
            Method::ElicitationCreate => assert_eq!(client.heard(), ["request 1 elicitation/create"]),
            _ => assert_eq!((client.said(), client.heard()), (vec!["x: -32601".into()], none()), "{}", method.name()),
        }
    }
}

#[test]
fn an_elicitation_has_a_mode_that_was_offered_and_one_place_to_belong_to() {
    for (params, good) in [
        (json!({ "mode": "form", "sessionId": "s1" }), true),
        (json!({ "mode": "form", "requestId": 3 }), true),
        (json!({ "mode": "url", "sessionId": "s1", "url": "u", "elicitationId": "e" }), true),
        (json!({ "mode": "_odd", "sessionId": "s1" }), true),
        (json!({ "mode": "form", "sessionId": "s1", "requestId": 3 }), false),
        (json!({ "mode": "form" }), false),
        (json!({ "mode": "form", "sessionId": null }), false),
    ] {
        let mut client = ready();
        client.request("x", "elicitation/create", params.clone());
        let heard = client.heard();
        assert_eq!(heard == ["request 1 elicitation/create"], good, "{params}: {heard:?}");
        assert_eq!(client.said(), if good { none() } else { vec!["x: -32602".into()] }, "{params}");
    }
    for (offered, mode, code) in [
        (json!({ "elicitation": { "url": {} } }), "form", "x: -32602"),
        (json!({ "elicitation": { "form": {} } }), "url", "x: -32602"),
        (json!({ "elicitation": {} }), "form", "x: -32601"),
        (json!({}), "form", "x: -32601"),
    ] {
        let mut client = ClientBench::fresh(client_config(|_| ()));
        let now = client.now;
        let params = payload(json!({ "info": info(), "capabilities": offered }));
        client.conn.initialize(&params, now).expect("it may be sent");
        client.said();
        let mut result = agent_result();
        result["protocolVersion"] = json!(2);
        client.result(1, result);
        client.heard();
        client.session("s1");
        client.request("x", "elicitation/create", json!({ "mode": mode, "sessionId": "s1" }));
        assert_eq!(client.said(), [code], "{offered} {mode}");
    }
}

#[test]
fn the_end_of_an_elicitation_reaches_the_host() {
    let mut client = ready();
    client.notification("elicitation/complete", json!({ "elicitationId": "nobody knows it" }));
    assert_eq!(client.heard(), ["notification elicitation/complete"]);
}

#[test]
fn ids_that_are_null_or_open_are_refused_and_batches_are_not_answered() {
    let mut client = ready();
    client.message(json!({ "id": null, "method": "_x/ask" }));
    client.message(json!({ "id": 1, "method": "_x/ask" }));
    client.message(json!({ "id": 1, "method": "_x/ask" }));
    assert_eq!(client.said(), ["null: -32600", "null: -32600"]);
    assert_eq!(client.heard(), ["violation BadRequest", "request 1 _x/ask", "violation DuplicateId"]);
    client.line(&json!([{ "jsonrpc": "2.0", "id": 2, "method": "_x/ask" }]).to_string());
    assert_eq!((client.said(), client.heard()), (none(), vec!["violation NotRpc".into()]), "nobody answers noise");
    // The ids of either side are its own.
    let now = client.now;
    let ours = client.conn.request("session/list", None, None, now).expect("it is offered").number();
    client.request(ours, "_x/ask", json!({}));
    client.result(ours, json!({ "sessions": [] }));
    assert_eq!(client.heard(), ["request 2 _x/ask", &format!("resolved {ours} - Result")]);
}

#[test]
fn logging_in_and_out_goes_by_the_names_of_the_version() {
    let mut client = ready();
    let now = client.now;
    assert_eq!(client.conn.auth_methods().collect::<Vec<_>>(), ["web"], "not the one for a terminal");
    let tui = client.conn.log_in("tui", None, now);
    assert!(matches!(tui, Err(CommandError::NotOffered(_))), "{tui:?}");
    client.conn.log_in("web", None, now).expect("offered");
    client.conn.log_out(None, now).expect("offered");
    let frames = client.frames();
    assert_eq!(frames[0], json!({ "id": 3, "method": "auth/login", "params": { "methodId": "web" } }));
    assert_eq!(frames[1], json!({ "id": 4, "method": "auth/logout", "params": {} }));
}

#[test]
fn a_session_that_needs_a_login_is_opened_after_one_if_the_caller_named_it() {
    for (login, asked) in [("web", true), ("tui", false)] {
        let mut client = ClientBench::fresh(client_config(|_| ()));
        initialize(&mut client, agent_result());
        let now = client.now;
        let mut plan = SessionPlan::new(payload(json!({ "cwd": "/" })));
        plan.login = Some(login.into());
        client.conn.open_session(&plan, now).expect("offered");
        client.said();
        client.error(2, -32000);
        if !asked {
            assert_eq!(client.heard(), ["resolved 2 - Error -32000"]);
            continue;
        }
        assert_eq!(client.said(), ["ask 3 auth/login"]);
        client.result(3, json!({}));
        assert_eq!(client.said(), ["ask 4 session/new"]);
        client.result(4, json!({ "sessionId": "s1" }));
        assert_eq!(client.heard(), ["resolved 2 s1 Result"]);
    }
}

#[test]
fn a_key_for_a_prompt_goes_with_it_and_has_1_to_255_characters() {
    let (mut client, session) = client_in(client_config(|_| ()));
    let now = client.now;
    for key in [String::new(), "k".repeat(256)] {
        let refused = client.conn.prompt_once(session, &text("hi"), &key, None, now);
        assert!(matches!(refused, Err(CommandError::Misuse(Misuse::Payload(_)))));
    }
    let meta = payload(json!({ "x": 1 }));
    client.conn.prompt_once(session, &text("hi"), "k\"é", Some(&meta), now).expect("idle");
    let content = json!([{ "type": "text", "text": "hi" }]);
    let params = json!({ "sessionId": "s1", "idempotencyKey": "k\"é", "prompt": content, "_meta": { "x": 1 } });
    assert_eq!(client.frames(), [json!({ "id": 3, "method": "session/prompt", "params": params })]);
    inserts(&mut client, 3, "m1");
    assert_eq!(client.heard()[0], "turn 1 inserted m1");
}

#[test]
fn every_kind_of_update_reaches_the_host_as_it_came() {
    let kinds: Vec<String> = acp_core::wire::UpdateKind::KNOWN.iter().map(ToString::to_string).collect();
    for kind in kinds.iter().map(String::as_str).chain(["_vendor/x", ""]) {
        let mut client = ready();
        let told = json!({ "sessionUpdate": kind, "messageId": null, "toolCallId": 7, "state": "_odd", "sessionId": "c9",
            "terminalId": "t", "content": { "type": "_odd" }, "_meta": { "n": [1e300] } });
        update(&mut client, "s1", told.clone());
        let Some(acp_core::ClientAction::Update { session: Some(_), origin, params }) = client.conn.poll_action()
        else {
            panic!("{kind}: it is told")
        };
        let params: Value = params.get().expect("JSON");
        assert_eq!((origin, &params["update"]), (acp_core::Origin::OutOfTurn, &told), "{kind}");
        // What it is about is required of what is known, and of nothing else.
        let known = !kind.starts_with('_');
        let faulty = known
            && ["message", "thought", "tool_call_", "plan_removed", "compaction"].iter().any(|of| kind.contains(of));
        assert_eq!(heard(&mut client), ["violation BadNotification"].repeat(faulty.into()), "{kind}");
        assert!(client.said().is_empty(), "{kind}");
    }
}
