//! Takes the text out of a message, and leaves what the protocol is about: the shape, the methods, the ids, the kinds, the
//! numbers, and how long each text was.

use serde_json::{Map, Value};

/// Members whose text is a name of the protocol, an id, or the name of a program.
const KEPT: &[&str] = &[
    "jsonrpc",
    "id",
    "method",
    "sessionId",
    "requestId",
    "toolCallId",
    "terminalId",
    "messageId",
    "planId",
    "compactionId",
    "elicitationId",
    "optionId",
    "modeId",
    "currentModeId",
    "configId",
    "methodId",
    "sessionUpdate",
    "type",
    "kind",
    "status",
    "state",
    "stopReason",
    "outcome",
    "priority",
    "role",
    "action",
    "mode",
    "mimeType",
    "currency",
    "signal",
    "version",
];
/// Members that hold whatever somebody put there: of these only the sort of value stays.
const FREE: &[&str] = &["_meta", "rawInput", "rawOutput", "data", "requestedSchema", "env", "headers"];
/// The names of the two programs stay: whoever reads the trace needs them.
const PROGRAMS: &[&str] = &["clientInfo", "agentInfo", "info"];
/// The most characters of a text that is kept.
const LONGEST: usize = 128;

/// What stands where a text was: its length in bytes.
#[must_use]
pub fn removed(length: usize) -> String {
    format!("<{length}>")
}

/// Whether a text was removed here.
#[must_use]
pub fn is_removed(text: &str) -> bool {
    text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).is_some_and(|n| n.parse::<u64>().is_ok())
}

/// The message without its text. Members come out in another order, and one that was there twice comes out once. What is
/// no JSON is removed whole.
#[must_use]
pub fn without_text(message: &[u8]) -> String {
    match serde_json::from_slice::<Value>(message) {
        Ok(message) => value(message, "").to_string(),
        Err(_) => Value::String(removed(message.len())).to_string(),
    }
}

fn value(it: Value, name: &str) -> Value {
    match it {
        Value::Object(_) if FREE.contains(&name) => Value::Object(Map::new()),
        Value::Array(_) if FREE.contains(&name) => Value::Array(Vec::new()),
        Value::Object(members) if PROGRAMS.contains(&name) => Value::Object(members),
        Value::Object(members) => {
            members.into_iter().map(|(name, it)| (name.clone(), value(it, &name))).collect::<Map<_, _>>().into()
        }
        // An entry of a list is what the list is.
        Value::Array(entries) => entries.into_iter().map(|it| value(it, name)).collect(),
        Value::String(text) if KEPT.contains(&name) && text.len() <= LONGEST => Value::String(text),
        Value::String(text) => Value::String(removed(text.len())),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_removed, without_text};

    #[test]
    fn text_goes_and_shape_stays() {
        let message = r#"{"jsonrpc":"2.0","id":"a-1","method":"session/prompt","params":{"sessionId":"s","_meta":{"secret":"x"},
            "prompt":[{"type":"text","text":"my password"},{"type":"image","data":"AAAA","mimeType":"image/png"}]}}"#;
        let shown = without_text(message.as_bytes());
        let expected = r#"{"jsonrpc":"2.0","id":"a-1","method":"session/prompt","params":{"sessionId":"s","_meta":{},"prompt":[{"type":"text","text":"<11>"},{"type":"image","data":"<4>","mimeType":"image/png"}]}}"#;
        // In any order: that of a map depends on who else is in the build.
        let [shown, expected] = [&shown, expected].map(|text| serde_json::from_str::<serde_json::Value>(text).ok());
        assert!(shown.is_some() && shown == expected, "{shown:?}");
        assert!(is_removed("<11>") && !is_removed("<11") && !is_removed("11"));
    }

    #[test]
    fn what_the_rules_need_is_kept() {
        for kept in [
            r#"{"id":1,"jsonrpc":"2.0","result":{"stopReason":"end_turn"}}"#,
            r#"{"id":1,"jsonrpc":"2.0","result":{"outcome":{"optionId":"yes","outcome":"selected"}}}"#,
            r#"{"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"a","version":"1"},"protocolVersion":1}"#,
            r#"{"info":{"name":"a","version":"1"},"protocolVersion":2}"#,
            r#"{"update":{"messageId":"m","sessionUpdate":"state_update","state":"idle","stopReason":"cancelled"}}"#,
        ] {
            assert_eq!(without_text(kept.as_bytes()), kept);
        }
    }
}
