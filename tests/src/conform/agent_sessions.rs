//! Checks of agents: sessions, and what is offered for them.

use serde_json::json;

use super::{
    Stop, Weight,
    agent::{Check, QUIET},
    agent_wire::{check, code},
};

pub(super) const CHECKS: &[Check] = &[
    check(
        ["A30", "sessions have ids of their own", "Session Setup, Session ID", "session-setup#session-id"],
        Weight::Must,
        &[],
        |peer| {
            let (one, two) = (peer.open()?, peer.session()?);
            if one != two && !one.is_empty() { Ok(String::new()) } else { Err(format!("both are {one:?}").into()) }
        },
    ),
    check(
        [
            "A31",
            "a prompt for a session that is not there is answered with an error",
            "Session Setup, Session ID",
            "session-setup#session-id",
        ],
        Weight::Must,
        &[],
        |peer| {
            peer.initialize()?;
            let prompt = json!([{ "type": "text", "text": "hi" }]);
            let answer = peer.ask("session/prompt", json!({ "sessionId": "no-such-session", "prompt": prompt }))?;
            let code = code(&answer).ok_or("it has a result")?;
            peer.is_usable().map(|()| format!("{code}"))
        },
    ),
    check(
        [
            "A32",
            "a method that is not offered is answered with an error",
            "Initialization, Capabilities",
            "initialization#capabilities",
        ],
        Weight::Must,
        &[],
        |peer| {
            peer.initialize()?;
            let params = json!({ "sessionId": "none", "cwd": peer.setup.cwd, "mcpServers": [] });
            let gates = [
                ("session/load", "loadSession"),
                ("session/resume", "sessionCapabilities/resume"),
                ("session/list", "sessionCapabilities/list"),
            ];
            let closed: Vec<_> = gates.iter().filter(|(_, gate)| peer.offers(gate).is_err()).collect();
            for (method, _) in &closed {
                let answer = peer.ask(method, params.clone())?;
                code(&answer).ok_or_else(|| format!("`{method}` has a result"))?;
            }
            if closed.is_empty() { Err(Stop::Skip("it offers all of them".to_owned())) } else { Ok(String::new()) }
        },
    ),
    check(
        [
            "A33",
            "a session is loaded with its conversation, all of it before the answer",
            "Session Setup, Loading a Session",
            "session-setup#loading-a-session",
        ],
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            peer.offers("loadSession")?;
            peer.turn(&session)?;
            if peer.offers("sessionCapabilities/close").is_ok() {
                peer.result("session/close", json!({ "sessionId": session }))?;
            }
            let before = peer.heard.len();
            let mut stored = peer.place();
            stored["sessionId"] = json!(session);
            if code(&peer.ask("session/load", stored)?).is_some() {
                return Err(Stop::Skip("it does not load a session that it had just now".to_owned()));
            }
            peer.quiet(QUIET);
            let is_talk = |kind: &str| matches!(kind, "user_message_chunk" | "agent_message_chunk");
            let said: Vec<_> = peer
                .heard
                .get(before..)
                .unwrap_or_default()
                .iter()
                .map(|said| {
                    let is_answer = said.get("method").is_none();
                    (is_answer, said["params"]["update"]["sessionUpdate"].as_str().is_some_and(is_talk))
                })
                .collect();
            let answer = said.iter().position(|(is_answer, _)| *is_answer);
            let last = said.iter().rposition(|(_, is_talk)| *is_talk);
            match (last, answer) {
                (Some(last), Some(answer)) if last < answer => Ok(format!("{} messages", said.len() - 1)),
                (None, _) => Err("nothing is replayed".into()),
                _ => Err("some of it comes after the answer".into()),
            }
        },
    ),
    check(
        [
            "A34",
            "a session that nobody knows cannot be loaded",
            "Session Setup, Loading a Session",
            "session-setup#loading-a-session",
        ],
        Weight::Must,
        &[],
        |peer| {
            peer.initialize()?;
            peer.offers("loadSession")?;
            let params = json!({ "sessionId": "no-such-session", "cwd": peer.setup.cwd, "mcpServers": [] });
            let code = code(&peer.ask("session/load", params)?).ok_or("it has a result")?;
            peer.is_usable().map(|()| format!("{code}"))
        },
    ),
    check(
        ["A35", "a session is listed", "Session List, Listing Sessions", "session-list#listing-sessions"],
        Weight::Should,
        &[],
        |peer| {
            let session = peer.open()?;
            peer.offers("sessionCapabilities/list")?;
            peer.turn(&session)?;
            let listed = peer.result("session/list", json!({}))?;
            let sessions = listed["sessions"].as_array().ok_or("`sessions` is no list")?;
            let is_there = sessions.iter().any(|listed| listed["sessionId"] == session.as_str());
            if is_there { Ok(format!("{}", sessions.len())) } else { Err("the session is not among them".into()) }
        },
    ),
    check(
        [
            "A36",
            "a session is closed, and is not there afterwards",
            "Session Setup, Closing a Session",
            "session-setup#closing-a-session",
        ],
        Weight::Must,
        &["unknown-session"],
        |peer| {
            let session = peer.open()?;
            peer.offers("sessionCapabilities/close")?;
            peer.result("session/close", json!({ "sessionId": session }))?;
            let id = peer.start_turn(&session, "hi");
            let answer = peer.response(&id)?;
            code(&answer).ok_or("a prompt still has a result")?;
            peer.is_usable().map(|()| String::new())
        },
    ),
    check(
        [
            "A37",
            "closing a session ends its turn as cancelled",
            "Session Setup, Closing a Session",
            "session-setup#closing-a-session",
        ],
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            peer.offers("sessionCapabilities/close")?;
            let id = peer.slow_turn(&session)?;
            peer.result("session/close", json!({ "sessionId": session }))?;
            match peer.reason(&id)?.as_str() {
                "cancelled" => Ok(String::new()),
                reason => Err(format!("it ends with `{reason}`").into()),
            }
        },
    ),
];
