//! What a frame between the two ends is, as a passer-by reads it: by its JSON, not by what either end says of it.

use core::cell::RefCell;
use std::collections::HashMap;

use acp_core::wire::code;
use bytes::Bytes;
use serde_json::Value;

use super::choice::Side;

/// One frame. Turns and permission requests go by the numbers that the hosts write into their content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sight {
    /// `session/prompt`.
    Prompt { id: u64, turn: usize },
    /// `session/cancel`.
    Cancel { session: usize },
    /// `$/cancel_request`, of a prompt.
    Withdraw { id: u64 },
    /// The agent's, of a permission request.
    TakeBack { id: u64 },
    /// Version 2: work goes on.
    Busy { session: usize },
    /// Version 2: work is over, and so.
    Idle { session: usize, says: Says },
    /// Version 2: the user's message.
    Echo { turn: usize },
    /// `session/request_permission`.
    Ask { id: u64, ask: usize },
    /// `session/update`, which opens the turn's tool call, or is the last word about it.
    Update { turn: usize, last: bool },
    /// A response.
    Answer { id: u64, says: Says },
    /// Anything else, which a conforming pair does not send here.
    Other,
}

impl Sight {
    /// Whether the connection goes on without it: what it was about can be asked again, or resolves.
    pub(super) const fn is_spared(self) -> bool {
        match self {
            Self::Prompt { .. } | Self::Ask { .. } | Self::Cancel { .. } => true,
            Self::Withdraw { .. } | Self::TakeBack { .. } => true,
            Self::Busy { .. } | Self::Idle { .. } | Self::Echo { .. } => false,
            Self::Update { .. } | Self::Answer { .. } | Self::Other => false,
        }
    }
}

/// What a response says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Says {
    /// Version 2: the prompt has its place.
    Inserted,
    /// The turn ended by itself.
    Ended,
    /// The turn was cancelled.
    Cancelled,
    /// The error that says that it was cancelled.
    Withdrawn,
    /// Another error.
    Failed,
    /// The permission's option was chosen.
    Selected,
    /// The permission's outcome is `cancelled`.
    Dismissed,
    /// None of these.
    Nonsense,
}

thread_local! {
    /// The same few frames are seen millions of times.
    static SEEN: RefCell<HashMap<Bytes, Sight>> = RefCell::default();
}

/// What a frame of this end is, read once; in tests with the official types, too.
pub(super) fn seen(line: &Bytes, side: Side, version: u16) -> Sight {
    let look = || {
        #[cfg(feature = "schema")]
        crate::schema::alone(side == Side::Agent, version, line);
        let _ = (side, version);
        sight(line)
    };
    SEEN.with_borrow_mut(|seen| *seen.entry(line.clone()).or_insert_with(look))
}

pub(super) fn sight(line: &[u8]) -> Sight {
    let Ok(frame) = serde_json::from_slice::<Value>(line) else { return Sight::Other };
    let params = &frame["params"];
    match (frame["method"].as_str(), frame["id"].as_u64()) {
        (Some("session/prompt"), Some(id)) => Sight::Prompt { id, turn: number(&params["prompt"][0]["text"]) },
        (Some("session/request_permission"), Some(id)) => {
            let call = params.get("toolCall").unwrap_or(&params["subject"]["toolCall"]);
            Sight::Ask { id, ask: number(&call["toolCallId"]) }
        }
        (Some("session/cancel"), None) => Sight::Cancel { session: number(&params["sessionId"]) },
        (Some("$/cancel_request"), None) => Sight::Withdraw { id: params["requestId"].as_u64().unwrap_or(0) },
        (Some("session/update"), None) => update(number(&params["sessionId"]), &params["update"]),
        (None, Some(id)) => Sight::Answer { id, says: says(&frame) },
        _ => Sight::Other,
    }
}

fn update(session: usize, update: &Value) -> Sight {
    match (update["sessionUpdate"].as_str(), update["state"].as_str()) {
        (Some("state_update"), Some("idle")) if update["stopReason"] == "error" => {
            Sight::Idle { session, says: says(update) }
        }
        (Some("state_update"), Some("idle")) => Sight::Idle { session, says: result(update) },
        (Some("state_update"), _) => Sight::Busy { session },
        (Some("user_message"), _) => Sight::Echo { turn: number(&update["content"][0]["text"]) },
        _ => Sight::Update {
            turn: number(&update["toolCallId"]),
            last: ["failed", "completed", "cancelled"].iter().any(|status| update["status"] == *status),
        },
    }
}

fn says(frame: &Value) -> Says {
    if let Some(error) = frame.get("error") {
        return if error["code"] == code::REQUEST_CANCELLED { Says::Withdrawn } else { Says::Failed };
    }
    if frame["result"]["messageId"].is_string() { Says::Inserted } else { result(&frame["result"]) }
}

/// What the result of a prompt or of a permission request says.
pub(super) fn result(result: &Value) -> Says {
    match (result["stopReason"].as_str(), result["outcome"]["outcome"].as_str()) {
        (Some("end_turn"), None) => Says::Ended,
        (Some("cancelled"), None) => Says::Cancelled,
        (None, Some("selected")) => Says::Selected,
        (None, Some("cancelled")) => Says::Dismissed,
        _ => Says::Nonsense,
    }
}

/// The number that a host wrote; 0 is nobody's.
pub(super) fn number(text: &Value) -> usize {
    text.as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
}
