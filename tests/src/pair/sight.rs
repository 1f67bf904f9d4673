//! What a frame between the two ends is, as a passer-by reads it: by its JSON, not by what either end says of it.

use core::cell::RefCell;
use std::collections::HashMap;

use acp_core::wire::code;
use bytes::Bytes;
use serde_json::Value;

/// One frame. Turns and permission requests go by the numbers that the hosts write into their content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sight {
    /// `session/prompt`.
    Prompt { id: u64, turn: usize },
    /// `session/cancel`.
    Cancel { session: usize },
    /// `$/cancel_request`, of a prompt.
    Withdraw { id: u64 },
    /// `session/request_permission`.
    Ask { id: u64, ask: usize },
    /// `session/update`, which opens the turn's tool call, or is the last word about it.
    Update { turn: usize, last: bool },
    /// A response.
    Answer { id: u64, says: Says },
    /// Anything else, which a conforming pair does not send here.
    Other,
}

/// What a response says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Says {
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

/// What a frame is, read once.
pub(super) fn seen(line: &Bytes) -> Sight {
    SEEN.with_borrow_mut(|seen| *seen.entry(line.clone()).or_insert_with(|| sight(line)))
}

pub(super) fn sight(line: &[u8]) -> Sight {
    let Ok(frame) = serde_json::from_slice::<Value>(line) else { return Sight::Other };
    let params = &frame["params"];
    match (frame["method"].as_str(), frame["id"].as_u64()) {
        (Some("session/prompt"), Some(id)) => Sight::Prompt { id, turn: number(&params["prompt"][0]["text"]) },
        (Some("session/request_permission"), Some(id)) => {
            Sight::Ask { id, ask: number(&params["toolCall"]["toolCallId"]) }
        }
        (Some("session/cancel"), None) => Sight::Cancel { session: number(&params["sessionId"]) },
        (Some("$/cancel_request"), None) => Sight::Withdraw { id: params["requestId"].as_u64().unwrap_or(0) },
        (Some("session/update"), None) => Sight::Update {
            turn: number(&params["update"]["toolCallId"]),
            last: params["update"]["status"] == "failed" || params["update"]["status"] == "completed",
        },
        (None, Some(id)) => Sight::Answer { id, says: says(&frame) },
        _ => Sight::Other,
    }
}

fn says(frame: &Value) -> Says {
    if let Some(error) = frame.get("error") {
        return if error["code"] == code::REQUEST_CANCELLED { Says::Withdrawn } else { Says::Failed };
    }
    result(&frame["result"])
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
