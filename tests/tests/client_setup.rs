//! Setting a connection up from the client's end: the version, what was offered, and the sessions that come of it.

use acp_core::{CloseReason, CommandError, Config, Misuse, Payload, SessionPlan};
use acp_tests::{
    bench::{agent_capabilities, payload},
    client::{ClientBench, config, text},
    schema::may_emit,
};
use serde_json::{Value, json};

fn options() -> Payload {
    payload(json!({ "cwd": "/", "mcpServers": [] }))
}

// ---- the version -----------------------------------------------------------------------------------------------

#[test]
fn initialize_is_sent_once_while_it_is_open_and_after_it_succeeded() {
    let mut client = ClientBench::fresh(Config::client());
    let offer = payload(json!({ "clientInfo": { "name": "x", "version": "1" }, "_meta": { "a": 1 } }));
    let now = client.now;
    assert!(client.conn.initialize(&offer, now).is_ok());
    assert_eq!(client.conn.initialize(&offer, now), Err(Misuse::AlreadyInitialized.into()));
    let params = json!({ "protocolVersion": 1, "clientInfo": { "name": "x", "version": "1" }, "_meta": { "a": 1 } });
    assert_eq!(client.frames(), [json!({ "id": 1, "method": "initialize", "params": params })]);
    client.result(1, json!({ "protocolVersion": 1 }));
    assert_eq!(client.conn.initialize(&offer, now), Err(Misuse::AlreadyInitialized.into()));
    assert_eq!((client.heard(), client.said()), (vec!["resolved 1 - Result".to_owned()], vec![]));
    assert_eq!(client.conn.version(), Some(1));
}

#[test]
fn an_initialize_that_failed_in_whatever_way_may_be_tried_again() {
    for failure in [
        json!({ "id": 1, "error": { "code": -32603, "message": "no" } }),
        json!({ "id": 1 }),
        json!({ "id": 1, "result": 1, "error": 1 }),
    ] {
        let mut client = ClientBench::fresh(Config::client());
        let now = client.now;
        assert!(client.conn.initialize(&Payload::EMPTY, now).is_ok());
        client.message(failure.clone());
        assert_eq!(client.conn.version(), None, "{failure}");
        assert!(client.conn.initialize(&Payload::EMPTY, now).is_ok(), "{failure}");
        assert_eq!(client.said(), ["ask 1 initialize", "ask 2 initialize"]);
        client.result(2, json!({ "protocolVersion": 1 }));
        assert_eq!(client.conn.version(), Some(1));
    }
}

#[test]
fn a_version_that_is_not_spoken_here_ends_the_connection() {
    for (version, reason) in [
        (json!(2), CloseReason::Version { theirs: 2 }),
        (json!(0), CloseReason::Version { theirs: 0 }),
        (json!("1"), CloseReason::Handshake),
        (Value::Null, CloseReason::Handshake),
    ] {
        let mut client = ClientBench::fresh(Config::client());
        let now = client.now;
        assert!(client.conn.initialize(&Payload::EMPTY, now).is_ok());
        client.said();
        client.result(1, json!({ "protocolVersion": version }));
        assert_eq!(client.heard(), ["resolved 1 - Result".to_owned(), format!("closed {reason:?}")]);
        assert_eq!(client.conn.initialize(&Payload::EMPTY, now), Err(CommandError::Closed));
        assert_eq!((client.said(), client.due_in()), (vec![], None));
    }
}

#[test]
fn an_older_version_is_accepted_where_it_is_spoken() {
    let mut client = ClientBench::fresh(config(|config| config.versions = [1, 2].into_iter().collect()));
    let now = client.now;
    let params = payload(json!({ "info": { "name": "test", "version": "1" }, "capabilities": {} }));
    assert!(client.conn.initialize(&params, now).is_ok());
    assert_eq!(client.frames()[0]["params"]["protocolVersion"], 2, "the newest is asked for");
    client.result(1, json!({ "protocolVersion": 1 }));
    assert_eq!((client.conn.version(), client.conn.is_closed()), (Some(1), false));
}

#[test]
fn nothing_is_sent_before_the_version_is_agreed() {
    let mut client = ClientBench::fresh(Config::client());
    let now = client.now;
    let not_yet = CommandError::from(Misuse::NotInitialized);
    for _ in 0..2 {
        assert_eq!(client.conn.request("session/new", Some(options()), None, now), Err(not_yet.clone()));
        assert_eq!(client.conn.open_session(&SessionPlan::new(options()), now), Err(not_yet.clone()));
        assert_eq!(client.conn.open_session(&SessionPlan::stored("s", options()), now), Err(not_yet.clone()));
        assert_eq!(client.conn.notify("_x", None, now), Err(not_yet.clone()));
        assert_eq!(client.said(), [""; 0]);
        let _ = client.conn.initialize(&Payload::EMPTY, now);
        client.said();
    }
}

// ---- sessions --------------------------------------------------------------------------------------------------

#[test]
fn a_stored_session_is_opened_as_the_agent_offers_and_the_caller_prefers() {
    may_emit("its host opens a session without naming servers");
    let both = json!({ "loadSession": true, "sessionCapabilities": { "resume": {} } });
    let load = json!({ "loadSession": true, "sessionCapabilities": { "resume": null } });
    let resume = json!({ "loadSession": false, "sessionCapabilities": { "resume": true, "list": true } });
    let not_offered = "the peer did not offer `session/load` when the connection was initialized";
    for (offered, stored, prefer_resume, expected) in [
        (json!({}), false, false, Ok("session/new")),
        (both.clone(), false, true, Ok("session/new")),
        (both.clone(), true, false, Ok("session/load")),
        (both, true, true, Ok("session/resume")),
        (load.clone(), true, false, Ok("session/load")),
        (load, true, true, Ok("session/load")),
        (resume.clone(), true, false, Ok("session/resume")),
        (resume, true, true, Ok("session/resume")),
        (json!({}), true, true, Err(not_offered)),
        (json!({ "loadSession": "yes", "sessionCapabilities": [] }), true, false, Err(not_offered)),
    ] {
        let mut client = ClientBench::fresh(Config::client());
        client.initialize(json!({ "agentCapabilities": offered }));
        client.heard();
        let mut plan = SessionPlan::new(payload(json!({ "cwd": "/", "_meta": { "a": 1 } })));
        plan.stored = stored.then(|| "s1".into());
        plan.prefer_resume = prefer_resume;
        let now = client.now;
        let asked = client.conn.open_session(&plan, now);
        let frames = client.frames();
        match expected {
            Err(why) => {
                assert_eq!(asked.map_err(|why| why.to_string()), Err(why.to_owned()));
                assert_eq!((frames, client.conn.sessions()), (vec![], 0), "nothing was sent, nothing is kept");
            }
            Ok(method) => {
                let params = match stored {
                    true => json!({ "sessionId": "s1", "cwd": "/", "_meta": { "a": 1 } }),
                    false => json!({ "cwd": "/", "_meta": { "a": 1 } }),
                };
                assert_eq!(frames, [json!({ "id": 2, "method": method, "params": params })]);
                client.result(2, if stored { json!(null) } else { json!({ "sessionId": "s1" }) });
                assert_eq!(client.heard(), ["resolved 2 s1 Result"]);
            }
        }
    }
}

#[test]
fn what_the_agent_did_not_offer_is_not_sent() {
    let mut client = ClientBench::fresh(Config::client());
    client.initialize(json!({}));
    let now = client.now;
    for method in ["session/load", "session/resume", "session/list", "session/close", "session/delete", "logout"] {
        let params = payload(json!({ "sessionId": "s1" }));
        let refused = client.conn.request(method, Some(params), None, now);
        assert!(matches!(refused, Err(CommandError::NotOffered(_))), "{method}");
    }
    assert_eq!(client.conn.request("fs/read_text_file", None, None, now), Err(Misuse::WrongSide.into()));
    assert_eq!((client.said(), client.conn.sessions()), (vec![], 0));
}

#[test]
fn two_sessions_that_open_at_once_each_get_their_answer() {
    let mut client = ClientBench::fresh(Config::client());
    client.initialize(json!({ "agentCapabilities": agent_capabilities() }));
    client.heard();
    let now = client.now;
    for plan in [SessionPlan::new(options()), SessionPlan::new(options()), SessionPlan::stored("old", options())] {
        assert!(client.conn.open_session(&plan, now).is_ok());
    }
    assert_eq!(client.said(), ["ask 2 session/new", "ask 3 session/new", "ask 4 session/load"]);
    client.result(4, json!({}));
    client.result(3, json!({ "sessionId": "b" }));
    client.result(2, json!({ "sessionId": "a" }));
    assert_eq!(client.heard(), ["resolved 4 old Result", "resolved 3 b Result", "resolved 2 a Result"]);
    assert_eq!(client.conn.sessions(), 3);
}

#[test]
fn a_session_takes_no_prompt_while_it_is_being_opened_or_closed() {
    let mut client = ClientBench::fresh(Config::client());
    client.initialize(json!({ "agentCapabilities": agent_capabilities() }));
    let now = client.now;
    assert!(client.conn.open_session(&SessionPlan::stored("s1", options()), now).is_ok());
    let session = client.conn.find_session("s1").expect("its history comes before the answer");
    let not_open = Err(CommandError::from(Misuse::SessionNotOpen));
    assert_eq!(client.conn.prompt(session, &text("hi"), None, now), not_open);
    client.result(2, json!({}));
    let close = payload(json!({ "sessionId": "s1" }));
    assert!(client.conn.request("session/close", Some(close.clone()), None, now).is_ok());
    assert_eq!(client.conn.prompt(session, &text("hi"), None, now), not_open);
    client.error(3, -32603);
    assert!(client.conn.prompt(session, &text("hi"), None, now).is_ok(), "the close was refused: it works on");
    client.stops(4, "end_turn");
    assert!(client.conn.request("session/close", Some(close), None, now).is_ok());
    client.result(5, json!({}));
    assert_eq!(client.conn.prompt(session, &text("hi"), None, now), Err(Misuse::UnknownSession.into()));
    let asked = ["initialize", "session/load", "session/close", "session/prompt", "session/close"];
    let asked: Vec<_> =
        asked.iter().enumerate().skip(1).map(|(id, method)| format!("ask {} {method}", id + 1)).collect();
    assert_eq!(client.said(), asked);
}

#[test]
fn a_session_works_again_only_when_nothing_opens_or_closes_it_any_more() {
    let mut client = ClientBench::fresh(Config::client());
    client.initialize(json!({ "agentCapabilities": agent_capabilities() }));
    client.heard();
    let now = client.now;
    assert!(client.conn.open_session(&SessionPlan::stored("s1", options()), now).is_ok());
    let session = client.conn.find_session("s1").expect("its history comes before the answer");
    let refused = |client: &mut ClientBench| {
        assert_eq!(client.conn.prompt(session, &text("hi"), None, now), Err(Misuse::SessionNotOpen.into()));
    };
    let close = |client: &mut ClientBench| {
        let close = payload(json!({ "sessionId": "s1" }));
        assert!(client.conn.request("session/close", Some(close), None, now).is_ok());
    };
    close(&mut client);
    client.chunk("s1", "before");
    assert_eq!(client.heard(), ["update s1 Replay: before"], "its history all the same");
    client.error(3, -32600);
    refused(&mut client);
    close(&mut client);
    client.result(2, json!({}));
    refused(&mut client);
    close(&mut client);
    client.error(5, -32002);
    refused(&mut client);
    client.error(4, -32603);
    assert!(client.conn.prompt(session, &text("hi"), None, now).is_ok());
}

#[test]
fn a_session_is_not_opened_twice_with_other_parameters() {
    let mut client = ClientBench::fresh(Config::client());
    client.initialize(json!({ "agentCapabilities": agent_capabilities() }));
    let now = client.now;
    let same = SessionPlan::stored("s1", payload(json!({ "mcpServers": [], "cwd": "/", "_meta": { "try": 2 } })));
    let other = SessionPlan::stored("s1", payload(json!({ "cwd": "/tmp", "mcpServers": [] })));
    assert!(client.conn.open_session(&SessionPlan::stored("s1", options()), now).is_ok());
    for plan in [&same, &other] {
        assert_eq!(client.conn.open_session(plan, now), Err(Misuse::SessionNotOpen.into()), "one at a time");
    }
    client.result(2, json!({}));
    assert_eq!(client.conn.open_session(&other, now), Err(Misuse::OpenedOtherwise.into()));
    assert!(client.conn.open_session(&same, now).is_ok(), "to see its history again");
    client.result(3, json!({}));
    assert!(client.conn.open_session(&SessionPlan::new(options()), now).is_ok());
    client.result(4, json!({ "sessionId": "s2" }));
    let other = SessionPlan::stored("s2", other.params);
    assert_eq!(client.conn.open_session(&other, now), Err(Misuse::OpenedOtherwise.into()), "one that is new, too");
    assert_eq!(client.said(), ["ask 2 session/load", "ask 3 session/load", "ask 4 session/new"]);
}

#[test]
fn an_opening_that_failed_leaves_nothing_and_may_be_tried_again() {
    let mut client = ClientBench::fresh(Config::client());
    client.initialize(json!({ "agentCapabilities": agent_capabilities() }));
    client.heard();
    let now = client.now;
    let plan = SessionPlan::stored("s1", options());
    assert!(client.conn.open_session(&plan, now).is_ok());
    client.permission("p", "s1");
    assert_eq!(client.heard(), ["permission 1 s1 OutOfTurn"]);
    client.error(2, -32002);
    assert_eq!(client.heard(), ["revoked 1", "resolved 2 - Error -32002"]);
    assert_eq!(client.conn.sessions(), 0);
    assert!(client.conn.open_session(&plan, now).is_ok());
    client.result(3, json!({}));
    assert_eq!(client.heard(), ["resolved 3 s1 Result"]);
    assert_eq!(client.said(), ["ask 2 session/load", "p: cancelled", "ask 3 session/load"]);
}

#[test]
fn a_closed_session_settles_what_was_open_in_it() {
    let (mut client, session) = ClientBench::ready(config(|config| config.overlap = acp_core::Overlap::Queue(1)));
    client.prompt(session);
    let now = client.now;
    assert!(client.conn.prompt(session, &text("later"), None, now).is_ok());
    client.permission("p", "s1");
    client.heard();
    assert!(client.conn.request_in(session, "session/close", &Payload::EMPTY, None, now).is_ok());
    client.result(4, json!({}));
    assert_eq!(client.heard(), ["revoked 1", "turn 2 Failed, NotSent", "resolved 4 (gone) Result"]);
    client.stops(3, "cancelled");
    assert_eq!(client.heard(), ["turn 1 CancelledUnasked"]);
    assert_eq!(client.said(), ["ask 4 session/close", "p: cancelled"]);
    client.eof();
    assert_eq!(client.heard(), ["closed Eof"]);
}
