//! Frames and actions in words that fit on one line.
//!
//! A frame in words is `3: end_turn` (an answer with a stop reason), `3: ok` and `3: -32601` (other answers),
//! `ask 1 fs/read_text_file` (a request of ours), `upd s1 agent_message_chunk`, `upd s1 t failed` (a tool call), or the
//! method of any other notification. An action in words begins with its name; turns are `t1`, `t2`, … in the order in
//! which they were received.

use acp_core::{Agent, AgentAction, Common, Connection, Outcome, Resolved, SessionKey};
use serde_json::Value;

/// An action in words.
#[must_use]
pub fn action_in_words(conn: &Connection<Agent>, action: &AgentAction) -> String {
    let named = |session: &SessionKey| conn.session_id(*session).unwrap_or("gone").to_owned();
    match action {
        AgentAction::Initialize { version, .. } => format!("Initialize {version}"),
        AgentAction::SessionRequested { method, .. } => format!("SessionRequested {}", method.name()),
        AgentAction::Prompt { ticket, .. } => format!("Prompt t{}", ticket.turn().number()),
        AgentAction::DropQueued { turn, .. } => format!("DropQueued t{}", turn.number()),
        AgentAction::AbortTurn { turn, cause, again, .. } => {
            format!("AbortTurn t{} {cause:?}{}", turn.number(), if *again { " again" } else { "" })
        }
        AgentAction::TurnForced { turn, .. } => format!("TurnForced t{}", turn.number()),
        AgentAction::ToolCallsClosed { turn, calls, .. } => {
            format!("ToolCallsClosed t{} {}", turn.number(), calls.join(" "))
        }
        AgentAction::IdleCancel { session } => format!("IdleCancel {}", named(session)),
        AgentAction::CloseSession { session, .. } => format!("CloseSession {}", named(session)),
        AgentAction::Common(common) => match common {
            Common::Request { method, .. } => format!("Request {method}"),
            Common::CancelRequested(_) => "CancelRequested".into(),
            Common::Notification { method, .. } => format!("Notification {method}"),
            Common::Resolved(Resolved { request, outcome, .. }) => {
                format!("Resolved r{} {}", request.number(), outcome_in_words(outcome))
            }
            Common::Violation(violation) => format!("Violation {violation:?}"),
            Common::Closed(why) => format!("Closed {why:?}"),
            other => format!("{other:?}"),
        },
        other => format!("{other:?}"),
    }
}

fn outcome_in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Result(result) => format!("Result {result}"),
        Outcome::Error(error) => format!("Error {}", error.code),
        other => format!("{other:?}"),
    }
}

/// A frame in words: see the head of this module.
#[must_use]
pub fn frame_in_words(frame: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    match (frame.get("method").and_then(Value::as_str), frame.get("id")) {
        (Some(method), Some(id)) => format!("ask {id} {method}"),
        (Some("session/update"), None) => {
            let (params, update) = (&frame["params"], &frame["params"]["update"]);
            let what = match update.get("toolCallId") {
                Some(call) => format!("{} {}", text(call), update.get("status").map_or("new".into(), text)),
                None => text(&update["sessionUpdate"]),
            };
            format!("upd {} {what}", text(&params["sessionId"]))
        }
        (Some(method), None) => method.to_owned(),
        (None, Some(id)) => match (frame.get("error"), frame["result"].get("stopReason")) {
            (Some(error), _) => format!("{id}: {}", error["code"]),
            (None, Some(reason)) => format!("{id}: {}", text(reason)),
            (None, None) => format!("{id}: ok"),
        },
        (None, None) => frame.to_string(),
    }
}
