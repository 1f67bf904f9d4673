//! Each field is read where it is, and nothing else is ever taken for it.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{super::Capabilities, *};

fn json(text: impl Into<String>) -> Payload {
    Payload::parse(text.into()).unwrap()
}

/// What no field may be read from, by any of the functions.
const HOPELESS: &[&str] = &["null", "1", "\"x\"", "true", "[]", "[1,\"s\"]", "{}", "[[\"sessionId\",\"s\"]]", "[{}]"];

#[test]
fn what_is_no_object_has_no_fields() {
    for text in HOPELESS {
        let payload = json(*text);
        assert_eq!(session_id(&payload), None, "{text}");
        assert_eq!(request_id(&payload), None, "{text}");
        assert_eq!(protocol_version(&payload), None, "{text}");
        assert_eq!(stop_reason(&payload), None, "{text}");
        assert_eq!(permission(&payload), None, "{text}");
        assert_eq!(permission_outcome(&payload), None, "{text}");
        assert_eq!(tool_call(&payload), None, "{text}");
        assert_eq!(Capabilities::of_agent(&payload), Capabilities::default(), "{text}");
        assert_eq!(Capabilities::of_client(&payload), Capabilities::default(), "{text}");
    }
}

#[test]
fn a_session_id_is_any_string() {
    for (text, expected) in [
        (r#"{"sessionId":"s"}"#, Some("s")),
        (r#"{"sessionId":""}"#, Some("")),
        (r#" { "update" : { "sessionId" : "x" } , "sessionId" : "é\u00e9\"" } "#, Some("éé\"")),
        (r#"{"session\u0049d":"s"}"#, Some("s")),
        (r#"{"x":1e400,"y":"\ud800","\udc00":0,"sessionId":"s"}"#, Some("s")),
        (r#"{"update":{"sessionId":"s"}}"#, None),
        (r#"{"sessionId":null}"#, None),
        (r#"{"sessionId":7}"#, None),
        (r#"{"sessionId":["s"]}"#, None),
        (r#"{"sessionId":"\ud800"}"#, None),
        (r#"{"sessionId":"a","sessionId":"b"}"#, None),
        (r#"{"sessionId":"a","session\u0049d":"a"}"#, None),
        (r#"{"sessionid":"s","session_id":"s"}"#, None),
    ] {
        assert_eq!(session_id(&json(text)).as_deref(), expected, "{text}");
        assert_eq!(with_session_id(&json(text), str::len), expected.map(str::len), "{text}");
    }
}

#[test]
fn a_request_id_is_any_id() {
    for id in ["1", "\"1\"", "null", "123456789012345678901234567890", "\"\\u0031\"", "-3"] {
        let read = request_id(&json(format!(r#"{{"requestId":{id}}}"#))).unwrap();
        assert_eq!(read.as_json(), id.as_bytes());
    }
    for id in ["1.0", "-0", "1e3", "true", "[1]", "{}", "1,\"requestId\":1"] {
        assert_eq!(request_id(&json(format!(r#"{{"requestId":{id}}}"#))), None, "{id}");
    }
}

#[test]
fn a_protocol_version_is_an_integer_and_saturates() {
    for (version, expected) in [
        ("0", Some(0)),
        ("1", Some(1)),
        ("65535", Some(u16::MAX)),
        ("65536", Some(u16::MAX)),
        ("65537", Some(u16::MAX)),
        ("123456789012345678901234567890", Some(u16::MAX)),
        ("-1", None),
        ("-0", None),
        ("1.0", None),
        ("1e0", None),
        ("\"1\"", None),
        ("null", None),
        ("true", None),
        ("[1]", None),
        ("1,\"protocolVersion\":1", None),
    ] {
        assert_eq!(protocol_version(&json(format!(r#"{{"protocolVersion":{version}}}"#))), expected, "{version}");
    }
}

#[test]
fn a_stop_reason_is_any_string() {
    assert_eq!(stop_reason(&json(r#"{"stopReason":"end_turn"}"#)), Some(StopReason::EndTurn));
    assert_eq!(stop_reason(&json(r#"{"_meta":{},"stopReason":"c\u0061ncelled"}"#)), Some(StopReason::Cancelled));
    assert_eq!(stop_reason(&json(r#"{"stopReason":"bored"}"#)), Some(StopReason::Unknown("bored".into())));
    assert_eq!(stop_reason(&json(r#"{"stopReason":null}"#)), None);
    assert_eq!(stop_reason(&json(r#"{"usage":{"stopReason":"end_turn"}}"#)), None);
}

#[test]
fn a_permission_request_needs_a_tool_call_and_one_option_only() {
    let read = |text: &str| {
        let Offered { title: None, tool_call: Some(tool_call), options, dropped } = permission(&json(text))? else {
            return None;
        };
        let options: Vec<_> = options.iter().map(|(id, name, kind)| format!("{id}={name}:{kind}")).collect();
        Some((tool_call.to_string(), options.join(" "), dropped.join(" ")))
    };
    let some = |call: &str, options: &str, dropped: &str| Some((call.into(), options.into(), dropped.into()));
    for (text, expected) in [
        (
            r#"{"sessionId":"s","toolCall":{"toolCallId":"c","title":"t","content":[],"kind":null,"rawInput":1,"_x":2},
                "options":[{"optionId":"a","name":"A","kind":"allow_once"},{"kind":"reject_always","name":"","optionId":""}]}"#,
            some("c", "a=A:allow_once =:reject_always", ""),
        ),
        (
            r#"{"options":[{"optionId":"a","kind":"vendor"},7,{"name":"x","kind":"allow_once"},{"optionId":"b","name":"B"}],
                "toolCall":{"content":"x","toolCallId":"c","status":1,"locations":{},"kind":[],"title":false,"name":0}}"#,
            some(
                "c",
                "a=a:vendor b=B:",
                "toolCall.kind toolCall.status toolCall.title toolCall.name toolCall.content toolCall.locations \
                 options.0.name options.1 options.2 options.3.kind",
            ),
        ),
        (
            r#"{"toolCall":{"toolCallId":"c"},"options":[{"optionId":"a","name":"A","kind":"allow_once","kind":"allow_once"}]}"#,
            some("c", "a=A:", "options.0.kind"),
        ),
        (r#"{"toolCall":{"toolCallId":"c"},"options":[{"optionId":1},null,["a"]]}"#, None),
        (r#"{"toolCall":{"toolCallId":"c"},"options":[]}"#, None),
        (r#"{"toolCall":{"toolCallId":"c"},"options":{"optionId":"a"}}"#, None),
        (r#"{"toolCall":{"toolCallId":"c"}}"#, None),
        (r#"{"toolCall":{"toolCallId":7},"options":[{"optionId":"a"}]}"#, None),
        (r#"{"toolCall":["c"],"options":[{"optionId":"a"}]}"#, None),
        (r#"{"toolCallId":"c","options":[{"optionId":"a"}]}"#, None),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

#[test]
fn the_ways_to_log_in_are_known_by_id_whatever_else_they_lack() {
    let read = |text: &str| {
        let (ours, terminals) = auth_methods(&json(text));
        format!("{}; {}", ours.join(" "), terminals.join(" "))
    };
    let odd = r#"{"authMethods":[{"id":"env","type":"env_var"},7,{"name":"x"},{"id":3},{"id":"web","name":"Log in"},{"id":"tui","type":"terminal"}]}"#;
    assert_eq!(read(odd), "env web; tui");
    assert_eq!((read("{}"), read(r#"{"authMethods":null}"#)), ("; ".into(), "; ".into()));
}

#[test]
fn parameters_are_the_same_in_any_order_and_apart_from_the_session_and_meta() {
    let same = |one: &str, other: &str| same_options(&json(one), &json(other));
    assert!(same(r#"{"cwd":"/","mcpServers":[]}"#, r#"{"mcpServers":[], "sessionId":"s","cwd":"/","_meta":{"a":1}}"#));
    assert!(!same(r#"{"cwd":"/","mcpServers":[]}"#, r#"{"cwd":"/tmp","mcpServers":[]}"#));
    assert!(!same(r#"{"cwd":"/"}"#, r#"{"cwd":"/","mcpServers":[]}"#));
    assert!(!same("[]", "[]"), "what cannot be read is not the same");
}

#[test]
fn unreadable_options_are_named_up_to_a_bound() {
    let options = format!("{}{{\"optionId\":\"a\",\"name\":\"\",\"kind\":\"x\"}}", "0,".repeat(100_000));
    let offered = permission(&json(format!(r#"{{"toolCall":{{"toolCallId":"c"}},"options":[{options}]}}"#))).unwrap();
    assert_eq!((offered.options.len(), offered.dropped.len()), (1, TOLD_AT_MOST));
}

#[test]
fn only_a_named_option_is_selected() {
    use PermissionOutcome::{Cancelled, Selected, Unknown};
    for (text, expected) in [
        (r#"{"outcome":{"outcome":"selected","optionId":"x"}}"#, Some(Selected("x".into()))),
        (r#"{"outcome":{"optionId":"\u0078","outcome":"selected"},"_meta":1}"#, Some(Selected("x".into()))),
        (r#"{"outcome":{"outcome":"cancelled"}}"#, Some(Cancelled)),
        (r#"{"outcome":{"outcome":"cancelled","optionId":"x"}}"#, Some(Cancelled)),
        (r#"{"outcome":{"outcome":"later","optionId":"x"}}"#, Some(Unknown("later".into()))),
        (r#"{"outcome":{"outcome":"selected"}}"#, None),
        (r#"{"outcome":{"outcome":"selected","optionId":1}}"#, None),
        (r#"{"outcome":{"outcome":"selected","optionId":"x","optionId":"y"}}"#, None),
        (r#"{"outcome":{"optionId":"x"}}"#, None),
        (r#"{"outcome":"selected","optionId":"x"}"#, None),
        (r#"{"outcome":["selected","x"]}"#, None),
    ] {
        assert_eq!(permission_outcome(&json(text)), expected, "{text}");
    }
}

const GATES: &[Gate] = &[
    Gate::LoadSession,
    Gate::Resume,
    Gate::List,
    Gate::Delete,
    Gate::Close,
    Gate::Fork,
    Gate::Logout,
    Gate::FsRead,
    Gate::FsWrite,
    Gate::Terminal,
    Gate::Elicitation,
];

fn open(capabilities: Capabilities) -> Vec<Gate> {
    assert!(capabilities.offers(Gate::None));
    GATES.iter().copied().filter(|gate| capabilities.offers(*gate)).collect()
}

#[test]
fn an_agent_offers_what_it_names() {
    for (text, gates) in [
        (r#""loadSession":true"#, &[Gate::LoadSession][..]),
        (r#""sessionCapabilities":{"resume":{}}"#, &[Gate::Resume]),
        (r#""sessionCapabilities":{"list":{"_meta":null}}"#, &[Gate::List]),
        (r#""sessionCapabilities":{"delete":true}"#, &[Gate::Delete]),
        (r#""sessionCapabilities":{"close":{}}"#, &[Gate::Close]),
        (r#""sessionCapabilities":{"fork":{}}"#, &[Gate::Fork]),
        (r#""auth":{"logout":{}}"#, &[Gate::Logout]),
        (
            r#""auth":{"logout":{}},"sessionCapabilities":{"fork":{},"close":{},"delete":{},"list":{},"resume":{}},"loadSession":true"#,
            &GATES[..7],
        ),
        (r#""loadSession":true,"sessionCapabilities":[],"auth":"x""#, &[Gate::LoadSession]),
        (r#""loadSession":"true","sessionCapabilities":{"resume":null,"list":false,"close":{}}"#, &[Gate::Close]),
        (r#""loadSession":1,"sessionCapabilities":{"resume":"yes","list":1,"fork":[]}"#, &[]),
        (r#""loadSession":true,"loadSession":true"#, &[]),
        (r#""fs":{"readTextFile":true},"terminal":true"#, &[]),
    ] {
        let result = json(format!(r#"{{"protocolVersion":1,"agentCapabilities":{{{text}}}}}"#));
        assert_eq!(open(Capabilities::of_agent(&result)), gates, "{text}");
        assert_eq!(open(Capabilities::of_client(&result)), [], "{text}");
        assert_eq!(open(Capabilities::of_agent(&json(format!("{{{text}}}")))), [], "{text}");
    }
}

#[test]
fn a_client_offers_what_it_names() {
    for (text, gates) in [
        (r#""fs":{"readTextFile":true}"#, &[Gate::FsRead][..]),
        (r#""fs":{"readTextFile":false,"writeTextFile":true}"#, &[Gate::FsWrite]),
        (r#""terminal":true"#, &[Gate::Terminal]),
        (r#""elicitation":{"form":{}}"#, &[Gate::Elicitation]),
        (r#""elicitation":{"form":null,"url":{}}"#, &[Gate::Elicitation]),
        (r#""elicitation":{},"fs":{"readTextFile":{}},"terminal":{}"#, &[]),
        (r#""elicitation":true,"fs":true,"terminal":null"#, &[]),
        (r#""terminal":true,"fs":{"writeTextFile":true,"readTextFile":true},"elicitation":{"url":{}}"#, &GATES[7..]),
        (r#""loadSession":true,"sessionCapabilities":{"resume":{}}"#, &[]),
    ] {
        let params = json(format!(r#"{{"clientCapabilities":{{{text}}},"protocolVersion":1}}"#));
        assert_eq!(open(Capabilities::of_client(&params)), gates, "{text}");
        assert_eq!(open(Capabilities::of_agent(&params)), [], "{text}");
        // The key of an early draft, and of one agent in the field, is not the key.
        assert_eq!(open(Capabilities::of_client(&json(format!(r#"{{"capabilities":{{{text}}}}}"#)))), [], "{text}");
    }
}

#[test]
fn tool_calls_are_seen_whatever_the_order() {
    let seen = |id: &str, status: Option<ToolCallStatus>, is_new| Some(ToolCallSeen { id: id.into(), status, is_new });
    for (text, expected) in [
        (r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"t"}"#, seen("c", None, true)),
        (
            r#"{"toolCallId":"c","status":"completed","sessionUpdate":"tool_call_update"}"#,
            seen("c", Some(ToolCallStatus::Completed), false),
        ),
        (
            r#"{"sessionUpdate":"\u0074ool_call","toolCallId":"","status":"odd"}"#,
            seen("", Some(ToolCallStatus::Unknown("odd".into())), true),
        ),
        (r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":null}"#, seen("c", None, false)),
        (r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":3}"#, seen("c", None, false)),
        (r#"{ "sessionUpdate" : "tool_call" , "toolCallId" : "c" }"#, seen("c", None, true)),
        (r#"{"sessionUpdate":"tool_call"}"#, None),
        (r#"{"sessionUpdate":"tool_call","toolCallId":1}"#, None),
        (r#"{"sessionUpdate":"tool_call_content_chunk","toolCallId":"c"}"#, None),
        (r#"{"sessionUpdate":"agent_message_chunk","toolCallId":"c","content":{"sessionUpdate":"tool_call"}}"#, None),
        (r#"{"sessionUpdate":"plan","toolCallId":"c","sessionUpdate":"tool_call"}"#, None),
        (r#"{"sessionUpdate":"tool_call","toolCallId":"c","sessionUpdate":"tool_call"}"#, None),
        (r#"{"sessionUpdate":["tool_call"],"toolCallId":"c"}"#, None),
    ] {
        assert_eq!(tool_call(&json(text)), expected, "{text}");
    }
}

proptest::proptest! {
    /// A payload is well-formed. Should it ever not be, nothing worse follows than a field that is not found.
    #[test]
    fn no_bytes_break_a_reader(text in "[{}\\[\\]\":,\\\\ut0 ]{0,12}(\"(sessionUpdate|toolCall|options|outcome|requestId)\":?[{\\[\"]?){0,3}.{0,12}") {
        for text in [text.clone(), format!("{{{text}}}"), format!("{{\"sessionUpdate\":\"tool_call{text}")] {
            let payload = Payload::from_trusted(text.into());
            let _ = (session_id(&payload), request_id(&payload), protocol_version(&payload), stop_reason(&payload));
            let _ = (permission(&payload), permission_outcome(&payload), tool_call(&payload));
            let _ = (Capabilities::of_agent(&payload), Capabilities::of_client(&payload));
        }
    }
}
