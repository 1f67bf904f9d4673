//! What the core says in words of its own. Its members stand in the order written here, whatever the map of `serde_json`
//! does with them: that depends on a feature which any other crate of a build may turn on, and the same inputs must give
//! the same bytes.

use alloc::{format, string::String};

use serde_json::Value;

use super::{payload::Payload, write::around_text};

/// A string as JSON.
fn quoted(text: &str) -> Value {
    Value::from(text)
}

fn object(text: String) -> Payload {
    Payload::from_trusted(text.into())
}

/// The result of `session/prompt`.
pub(crate) fn stopped(reason: &str) -> Payload {
    around_text(r#"{"stopReason":""#, reason, r#""}"#)
}

/// The result of `session/request_permission`: this option.
pub(crate) fn selected(option: &str) -> Payload {
    around_text(r#"{"outcome":{"outcome":"selected","optionId":""#, option, r#""}}"#)
}

/// The last update of a tool call that has no result.
pub(crate) fn closed_call(call: &str, status: &str) -> Payload {
    object(format!(
        r#"{{"sessionUpdate":"tool_call_update","toolCallId":{},"status":"{status}","content":[{{"type":"content","content":{{"type":"text","text":"cancelled"}}}}]}}"#,
        quoted(call),
    ))
}

/// The params of `session/set_config_option`, but for the session: the id of a value.
pub(crate) fn option_id(option: &str, value: &str, typed: bool) -> Payload {
    let kind = if typed { r#""type":"id","# } else { "" };
    object(format!(r#"{{"configId":{},{kind}"value":{}}}"#, quoted(option), quoted(value)))
}

/// The same: on or off.
pub(crate) fn option_switch(option: &str, on: bool) -> Payload {
    object(format!(r#"{{"configId":{},"type":"boolean","value":{on}}}"#, quoted(option)))
}

/// The params of a request to log in this way.
pub(crate) fn login(auth_method: &str) -> Payload {
    around_text(r#"{"methodId":""#, auth_method, r#""}"#)
}

/// What is known of a request that was too long.
pub(crate) fn too_long(method: &str, size: u64, limit: usize) -> Payload {
    object(format!(r#"{{"method":{},"size":{size},"limit":{limit}}}"#, quoted(method)))
}

/// Why no version could be agreed on.
pub(crate) fn versions(requested: u16, supported: &[u16]) -> Payload {
    object(format!(r#"{{"requested":{requested},"supported":{}}}"#, Value::from(supported)))
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::{closed_call, login, option_id, option_switch, selected, stopped, too_long, versions};
    use crate::wire::Payload;

    #[test]
    fn what_the_core_says_is_json_in_the_order_in_which_it_is_written() {
        let odd = "a\"\\\n\u{2028}é";
        let all = [stopped(odd), selected(odd), closed_call(odd, "failed"), login(odd), too_long(odd, 9, 8)];
        for said in all {
            assert_eq!(Payload::parse(String::from(said.as_str())).as_ref().map(Payload::as_str), Ok(said.as_str()));
            assert!(said.as_str().contains(r#""a\"\\\n"#), "{said}");
        }
        assert_eq!(selected("a").as_str(), r#"{"outcome":{"outcome":"selected","optionId":"a"}}"#);
        assert_eq!(option_id("a", "b", true).as_str(), r#"{"configId":"a","type":"id","value":"b"}"#);
        assert_eq!(option_switch("a", true).as_str(), r#"{"configId":"a","type":"boolean","value":true}"#);
        assert_eq!(too_long("m", 9, 8).as_str(), r#"{"method":"m","size":9,"limit":8}"#);
        assert_eq!(versions(0, &[1, 2]).as_str(), r#"{"requested":0,"supported":[1,2]}"#);
    }
}
