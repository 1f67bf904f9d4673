//! Checks of agents: sessions, and what is offered for them.

use serde_json::json;

use super::{
    Stop, Weight,
    agent::{Check, both, check, each, v1},
    agent_wire::code,
};

pub(super) const CHECKS: &[Check] = &[
    check(
        both(["A30", "sessions have ids of their own", "Session Setup, Session ID", "session-setup#session-id"]),
        Weight::Must,
        &[],
        |peer| {
            let (one, two) = (peer.open()?, peer.session()?);
            if one != two && !one.is_empty() { Ok(String::new()) } else { Err(format!("both are {one:?}").into()) }
        },
    ),
    check(
        both([
            "A31",
            "a prompt for a session that is not there is answered with an error",
            "Session Setup, Session ID",
            "session-setup#session-id",
        ]),
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
        v1([
            "A32",
            "a method that is not offered is answered with an error",
            "Initialization, Capabilities",
            "initialization#capabilities",
        ]),
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
        each(
            [
                "A33",
                "a session is loaded with its conversation, all of it before the answer",
                "Session Setup, Loading a Session",
                "session-setup#loading-a-session",
            ],
            ["Session Setup, Resuming Sessions", "session-setup#resuming-sessions"],
        ),
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
            if code(&peer.restore(&session)?).is_some() {
                return Err(Stop::Skip("it does not load a session that it had just now".to_owned()));
            }
            peer.fence()?;
            let is_talk = |kind: &str| kind.starts_with("user_message") || kind.starts_with("agent_message");
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
        each(
            [
                "A34",
                "a session that nobody knows cannot be loaded",
                "Session Setup, Loading a Session",
                "session-setup#loading-a-session",
            ],
            ["Session Setup, Resuming Sessions", "session-setup#resuming-sessions"],
        ),
        Weight::Must,
        &[],
        |peer| {
            peer.initialize()?;
            peer.offers("loadSession")?;
            let code = code(&peer.restore("no-such-session")?).ok_or("it has a result")?;
            peer.is_usable().map(|()| format!("{code}"))
        },
    ),
    check(
        both(["A35", "a session is listed", "Session List, Listing Sessions", "session-list#listing-sessions"]),
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
        each(
            [
                "A36",
                "a session is closed, and is not there afterwards",
                "Session Setup, Closing a Session",
                "session-setup#closing-a-session",
            ],
            ["Session Setup, Closing Active Sessions", "session-setup#closing-active-sessions"],
        ),
        Weight::Must,
        &["unknown-session"],
        |peer| {
            let session = peer.open()?;
            peer.offers("sessionCapabilities/close")?;
            peer.result("session/close", json!({ "sessionId": session }))?;
            let turn = peer.start_turn(&session, "hi");
            let answer = peer.response(&turn.id)?;
            code(&answer).ok_or("a prompt still has a result")?;
            peer.is_usable().map(|()| String::new())
        },
    ),
    check(
        each(
            [
                "A37",
                "closing a session ends its turn as cancelled",
                "Session Setup, Closing a Session",
                "session-setup#closing-a-session",
            ],
            ["Session Setup, Closing Active Sessions", "session-setup#closing-active-sessions"],
        ),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            peer.offers("sessionCapabilities/close")?;
            let turn = peer.slow_turn(&session)?;
            peer.result("session/close", json!({ "sessionId": session }))?;
            match peer.reason(&turn)?.as_str() {
                "cancelled" => Ok(String::new()),
                reason => Err(format!("it ends with `{reason}`").into()),
            }
        },
    ),
];
