//! Each field is read where it is, and nothing else is ever taken for it; what is written is what the schema asks for.

mod offers;

use alloc::{
    format,
    string::{String, ToString},
};

use super::{super::Capabilities, *};

fn json(text: impl Into<String>) -> Payload {
    Payload::parse(text.into()).unwrap()
}

/// What no field may be read from, by any of the functions.
const HOPELESS: &[&str] = &["null", "1", "\"x\"", "true", "[]", "[1,\"s\"]", "{}", "[[\"messageId\",\"s\"]]", "[{}]"];

#[test]
fn what_is_no_object_has_no_fields() {
    for text in HOPELESS {
        let payload = json(*text);
        assert!(!has_info(&payload), "{text}");
        assert_eq!(message_id(&payload), None, "{text}");
        assert_eq!(idempotency_key(&payload), Ok(None), "{text}");
        assert_eq!(prompt(&payload), None, "{text}");
        assert_eq!(replay_from(&payload), Ok(Replay::No), "{text}");
        assert_eq!(update(&payload), None, "{text}");
        assert_eq!(kind(text.as_bytes()), None, "{text}");
        assert_eq!(state(text.as_bytes()), None, "{text}");
        assert_eq!(announced(text.as_bytes()), None, "{text}");
        assert_eq!(child(text.as_bytes()), None, "{text}");
        assert_eq!(permission(&payload), None, "{text}");
        assert!(elicitation_scope(&payload).is_err(), "{text}");
        assert_eq!(auth_methods(&payload), (Vec::new(), Vec::new()), "{text}");
        for terminal in [false, true] {
            assert_eq!(entity(&payload, terminal), None, "{text}");
        }
        for kind in UpdateKind::KNOWN {
            assert_eq!(cancellable(kind, text.as_bytes()), None, "{text}");
            assert_eq!(tool_call(kind, text.as_bytes()), None, "{text}");
            assert!(!is_message(kind) || lacks(kind, text.as_bytes()).is_some(), "{text}");
        }
    }
}

#[test]
fn a_program_is_named_by_a_name_and_a_version() {
    for (info, named) in [
        (r#"{"name":"a","version":"1"}"#, true),
        (r#"{ "title" : null , "version" : "" , "n\u0061me" : "" , "_meta" : {} }"#, true),
        (r#"{"name":"a"}"#, false),
        (r#"{"version":"1"}"#, false),
        (r#"{"name":null,"version":"1"}"#, false),
        (r#"{"name":"a","version":1}"#, false),
        (r#"{"name":"a","name":"a","version":"1"}"#, false),
        (r#"["a","1"]"#, false),
        ("null", false),
        (r#""a""#, false),
    ] {
        assert_eq!(has_info(&json(format!(r#"{{"info":{info},"protocolVersion":2}}"#))), named, "{info}");
        // That of version 1 is called otherwise.
        assert!(!has_info(&json(format!(r#"{{"clientInfo":{info},"agentInfo":{info}}}"#))), "{info}");
    }
    assert!(!has_info(&json(r#"{"info":{"name":"a","version":"1"},"info":{"name":"a","version":"1"}}"#)));
}

#[test]
fn a_message_id_is_any_string() {
    for (text, expected) in [
        (r#"{"messageId":"m"}"#, Some("m")),
        (r#"{"_meta":{"messageId":"x"},"message\u0049d":"\u006d"}"#, Some("m")),
        (r#"{"messageId":""}"#, Some("")),
        (r#"{"messageId":null}"#, None),
        (r#"{"messageId":7}"#, None),
        (r#"{"messageId":["m"]}"#, None),
        (r#"{"messageId":"\ud800"}"#, None),
        (r#"{"messageId":"m","messageId":"m"}"#, None),
        (r#"{"message_id":"m"}"#, None),
    ] {
        assert_eq!(message_id(&json(text)).as_deref(), expected, "{text}");
    }
}

#[test]
fn an_idempotency_key_has_1_to_255_characters_or_is_left_out() {
    let read = |value: &str| idempotency_key(&json(format!(r#"{{"idempotencyKey":{value}}}"#)));
    assert_eq!(read("null"), Ok(None));
    for length in [1, 2, 254, 255] {
        for letter in ["k", "é", "🙂", "\\u0041", "\\\""] {
            let key = read(&format!("\"{}\"", letter.repeat(length)));
            assert_eq!(key.unwrap().unwrap().chars().count(), length, "{letter}");
        }
    }
    assert!(read(&format!("\"{}\"", "k".repeat(256))).is_err());
    for value in ["\"\"", "1", "true", "{}", "[]", "[\"k\"]", "\"\\udfff\""] {
        assert!(read(value).is_err(), "{value}");
    }
    assert_eq!(idempotency_key(&json(r#"{"_meta":{"idempotencyKey":1}}"#)), Ok(None));
}

#[test]
fn a_prompt_is_an_array_that_is_not_empty() {
    let read = |text: &str| prompt(&json(text)).map(|content| content.as_str().to_string());
    let blocks = r#"[{"type":"text","text":"]"} , {}]"#;
    assert_eq!(read(&format!(r#"{{"prompt":{blocks},"sessionId":"s"}}"#)).as_deref(), Some(blocks));
    assert_eq!(read(r#"{"prompt":[null]}"#).as_deref(), Some("[null]"), "what a block is, is the host's to say");
    for text in ["[]", "[ ]", "{}", "null", "\"hi\"", "{\"0\":{}}", "[1],\"prompt\":[1]"] {
        assert_eq!(read(&format!(r#"{{"prompt":{text}}}"#)), None, "{text}");
    }
}

#[test]
fn what_is_told_again_is_all_or_nothing_and_never_something_else() {
    for (value, expected) in [
        ("null", Some(Replay::No)),
        (r#"{"type":"start"}"#, Some(Replay::Start)),
        (r#"{"_meta":null,"type":"st\u0061rt"}"#, Some(Replay::Start)),
        (r#"{"type":"cursor","cursorId":"c"}"#, None),
        (r#"{"type":"_vendor"}"#, None),
        (r#"{"type":"Start"}"#, None),
        (r#"{"type":null}"#, None),
        (r#"{"type":"start","type":"start"}"#, None),
        ("{}", None),
        ("[]", None),
        ("\"start\"", None),
        ("true", None),
    ] {
        let read = replay_from(&json(format!(r#"{{"sessionId":"s","replayFrom":{value}}}"#)));
        assert_eq!(read.ok(), expected, "{value}");
    }
}

#[test]
fn a_state_is_any_string_and_what_else_it_says_is_read_apart() {
    use SessionState::{Idle, RequiresAction, Running, Unknown, Unobserved};
    let plain = |state| StateSeen { state, stop: None, error: None, background: None };
    for (text, expected) in [
        (r#""state":"running""#, plain(Running)),
        (r#""state":"requires_action""#, plain(RequiresAction)),
        (r#""state":"unknown""#, plain(Unobserved)),
        (r#""state":"idle""#, plain(Idle)),
        (r#""state":"pondering","why":1"#, plain(Unknown("pondering".into()))),
        (r#""state":"","stopReason":null,"error":null,"background":null"#, plain(Unknown("".into()))),
        (r#""stopReason":"end_turn","state":"idle""#, StateSeen { stop: Some(StopReason::EndTurn), ..plain(Idle) }),
        (
            r#""state":"idle","stopReason":"bored""#,
            StateSeen { stop: Some(StopReason::Unknown("bored".into())), ..plain(Idle) },
        ),
        (r#""state":"idle","stopReason":3,"background":{}"#, plain(Idle)),
        (r#""state":"running","background":[]"#, StateSeen { background: Some(false), ..plain(Running) }),
        (r#""state":"running","background":[ ]"#, StateSeen { background: Some(false), ..plain(Running) }),
        (r#""state":"idle","background":[{"id":"b"}]"#, StateSeen { background: Some(true), ..plain(Idle) }),
        (
            r#""state":"idle","stopReason":"error","error":{"code":-32000,"message":"m"}"#,
            StateSeen { stop: Some(StopReason::Error), error: Some(ErrorObject::new(-32000, "m")), ..plain(Idle) },
        ),
        (
            r#""state":"idle","stopReason":"error","error":"it broke""#,
            StateSeen { stop: Some(StopReason::Error), ..plain(Idle) },
        ),
        (
            r#""state":"idle","stopReason":"error","error":{"code":"x"}"#,
            StateSeen { stop: Some(StopReason::Error), ..plain(Idle) },
        ),
    ] {
        assert_eq!(state(format!(r#"{{"sessionUpdate":"state_update",{text}}}"#).as_bytes()), Some(expected), "{text}");
    }
    for text in [r#""state":null"#, r#""state":1"#, r#""state":"idle","state":"idle""#, r#""stopReason":"end_turn""#] {
        assert_eq!(state(format!("{{{text}}}").as_bytes()), None, "{text}");
    }
}

#[test]
fn a_state_that_is_written_is_read_again() {
    let error = ErrorObject::new(-32603, "it \"broke\"\n").with_data(json(r#"{"a":[1]}"#));
    for word in SessionState::KNOWN.iter().cloned().chain([SessionState::from("\"x\\")]) {
        for end in [
            None,
            Some(Ending::Stop(StopReason::EndTurn)),
            Some(Ending::Stop(StopReason::from("_\"vendor"))),
            Some(Ending::Error(error.clone())),
        ] {
            for background in [None, Some("[]"), Some(r#"[{"type":"terminal","terminalId":"t"}]"#)] {
                let written = write_state(&word, end.as_ref(), background.map(json).as_ref());
                let checked = json(written.as_str());
                assert_eq!(kind(checked.as_bytes()), Some(UpdateKind::StateUpdate));
                let (stop, error) = match &end {
                    None => (None, None),
                    Some(Ending::Stop(reason)) => (Some(reason.clone()), None),
                    Some(Ending::Error(error)) => (Some(StopReason::Error), Some(error.clone())),
                };
                let background = background.map(|listed| listed != "[]");
                let expected = StateSeen { state: word.clone(), stop, error, background };
                assert_eq!(state(checked.as_bytes()), Some(expected), "{written}");
            }
        }
    }
    let stopped = write_state(&SessionState::Idle, Some(&Ending::Stop(StopReason::Cancelled)), None);
    assert_eq!(stopped.as_str(), r#"{"sessionUpdate":"state_update","state":"idle","stopReason":"cancelled"}"#);
}

#[test]
fn a_message_of_the_users_is_told_under_its_id_with_or_without_its_content() {
    for id in ["m", "", "\"\\\u{1}é"] {
        assert_eq!(message_id(&json(write_inserted(id).as_str())).as_deref(), Some(id));
        for content in [None, Some(r#"[{"type":"text","text":"hi"}]"#)] {
            let written = json(write_user_message(id, content.map(json).as_ref()).as_str());
            assert_eq!(kind(written.as_bytes()), Some(UpdateKind::UserMessage));
            assert_eq!(message_id(&written).as_deref(), Some(id));
            assert_eq!(lacks(&UpdateKind::UserMessage, written.as_bytes()), None);
            assert_eq!(written.as_str().ends_with(r#","content":[{"type":"text","text":"hi"}]}"#), content.is_some());
        }
    }
    assert_eq!(kind(REPLAY_COMPLETE), Some(UpdateKind::ReplayComplete));
    assert_eq!(json(str::from_utf8(REPLAY_COMPLETE).unwrap()).as_bytes(), REPLAY_COMPLETE);
}

#[test]
fn what_an_update_is_about_is_required_of_the_known_kinds_and_of_no_other() {
    for kind in UpdateKind::KNOWN.iter().chain([&UpdateKind::from("_message"), &UpdateKind::from("")]) {
        let name = kind.as_str();
        let id = match name {
            _ if name.contains("message") && !name.starts_with('_') => "messageId",
            _ if name.contains("thought") => "messageId",
            "tool_call_update" | "tool_call_content_chunk" => "toolCallId",
            "terminal_update" | "terminal_output_chunk" => "terminalId",
            "state_update" => "state",
            "subagent_update" => "sessionId",
            "plan_removed" => "planId",
            "compaction_update" | "compaction_summary_chunk" => "compactionId",
            _ => "",
        };
        assert_eq!(lacks(kind, format!(r#"{{"{id}":"x"}}"#).as_bytes()), None, "{name}");
        for value in ["null", "1", "{}"] {
            let update = format!(r#"{{"{id}":{value},"content":{{"{id}":"x"}}}}"#);
            assert_eq!(lacks(kind, update.as_bytes()).is_some(), !id.is_empty(), "{name} {update}");
        }
    }
}

#[test]
fn an_update_is_told_apart_from_a_piece_of_text_which_costs_no_second_look() {
    let read = |text: &str| update(&json(text)).map(|(kind, update)| (kind.to_string(), update.as_str().to_string()));
    let some = |kind: &str, update: &str| Some((kind.to_string(), update.to_string()));
    for (text, expected) in [
        (
            r#"{"sessionId":"s","update":{"sessionUpdate":"state_update","state":"idle"}}"#,
            some("state_update", r#"{"sessionUpdate":"state_update","state":"idle"}"#),
        ),
        (
            r#"{"update": {"x":1,"sessionUpd\u0061te":"n\u0065w"} }"#,
            some("new", r#"{"x":1,"sessionUpd\u0061te":"n\u0065w"}"#),
        ),
        (r#"{"update":{"state":"idle"}}"#, None),
        (r#"{"update":{"sessionUpdate":1}}"#, None),
        (r#"{"update":[{"sessionUpdate":"state_update"}]}"#, None),
        (r#"{"update":null}"#, None),
        (r#"{"sessionUpdate":"state_update"}"#, None),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

#[test]
fn a_tool_call_is_made_by_its_first_update() {
    let read = |text: &str| tool_call(&UpdateKind::ToolCallUpdate, text.as_bytes());
    let seen = |id: &str, status| Some(ToolCallSeen { id: id.into(), status, is_new: false });
    assert_eq!(read(r#"{"toolCallId":"c","title":"t"}"#), seen("c", None));
    assert_eq!(read(r#"{"status":"paused","toolCallId":"c"}"#), seen("c", Some(ToolCallStatus::Paused)));
    assert_eq!(read(r#"{"status":"cancelled","toolCallId":""}"#), seen("", Some(ToolCallStatus::Cancelled)));
    assert_eq!(read(r#"{"status":null,"toolCallId":"c"}"#), seen("c", None));
    for text in [r#"{"toolCallId":1}"#, r#"{"status":"failed"}"#, r#"{"toolCallId":"c","toolCallId":"c"}"#] {
        assert_eq!(read(text), None, "{text}");
    }
    let whole = br#"{"sessionUpdate":"tool_call","toolCallId":"c"}"#;
    assert_eq!(tool_call(&UpdateKind::ToolCall, whole), None, "version 2 does not have it");
}

#[test]
fn what_can_be_cancelled_by_itself_says_so_and_is_not_over() {
    let call = |yes| Some((Entity::ToolCall("c".into()), yes));
    for (text, expected) in [
        (r#""capabilities":{"cancel":{}}"#, call(true)),
        (r#""capabilities":{"cancel":{"_meta":null}},"status":"in_progress""#, call(true)),
        (r#""capabilities":{"cancel":{}},"status":"paused""#, call(true)),
        (r#""capabilities":{"cancel":{}},"status":null"#, call(true)),
        (r#""capabilities":{"cancel":{}},"status":"_odd""#, call(true)),
        (r#""capabilities":{"cancel":{}},"status":"completed""#, call(false)),
        (r#""status":"failed""#, call(false)),
        (r#""status":"cancelled""#, call(false)),
        (r#""capabilities":{"cancel":null}"#, call(false)),
        (r#""capabilities":{"cancel":true}"#, call(false)),
        (r#""capabilities":{}"#, call(false)),
        (r#""capabilities":null"#, call(false)),
        (r#""capabilities":[]"#, call(false)),
        (r#""status":"in_progress""#, None),
        (r#""title":"t""#, None),
    ] {
        let update = format!(r#"{{"toolCallId":"c",{text}}}"#);
        assert_eq!(cancellable(&UpdateKind::ToolCallUpdate, update.as_bytes()), expected, "{text}");
        assert_eq!(cancellable(&UpdateKind::TerminalUpdate, update.as_bytes()), None, "{text}");
        assert_eq!(cancellable(&UpdateKind::ToolCallContentChunk, update.as_bytes()), None, "{text}");
    }
    let terminal = |yes| Some((Entity::Terminal("t".into()), yes));
    for (text, expected) in [
        (r#""capabilities":{"cancel":{}}"#, terminal(true)),
        (r#""capabilities":{"cancel":{}},"exitStatus":null"#, terminal(true)),
        (r#""capabilities":{"cancel":{}},"exitStatus":{}"#, terminal(false)),
        (r#""exitStatus":{"exitCode":0}"#, terminal(false)),
        (r#""status":"completed""#, None),
        (r#""output":{"data":""}"#, None),
    ] {
        let update = format!(r#"{{"terminalId":"t",{text}}}"#);
        assert_eq!(cancellable(&UpdateKind::TerminalUpdate, update.as_bytes()), expected, "{text}");
    }
    let both = json(r#"{"sessionId":"s","toolCallId":"c","terminalId":"t"}"#);
    assert_eq!(entity(&both, false), Some(Entity::ToolCall("c".into())));
    assert_eq!(entity(&both, true), Some(Entity::Terminal("t".into())));
    assert_eq!(entity(&json(r#"{"toolCallId":null}"#), false), None);
}

#[test]
fn a_child_is_announced_by_its_id_and_says_whether_it_may_be_cancelled() {
    let some = |id: &str, cancel| Some((Box::from(id), cancel));
    for (text, expected) in [
        (r#"{"sessionUpdate":"subagent_update","sessionId":"c"}"#, some("c", None)),
        (
            r#"{"sessionId":"c","sessionUpdate":"subag\u0065nt_update","capabilities":{"cancel":{}}}"#,
            some("c", Some(true)),
        ),
        (r#"{"sessionUpdate":"\u0073ubagent_update","sessionId":"c","capabilities":{}}"#, some("c", Some(false))),
        (r#"{"sessionUpdate":"subagent_update","sessionId":"c","capabilities":null}"#, some("c", Some(false))),
        (
            r#"{"sessionUpdate":"subagent_update","sessionId":"c","capabilities":{"cancel":true}}"#,
            some("c", Some(false)),
        ),
        (r#"{"sessionUpdate":"subagent_update"}"#, None),
        (r#"{"sessionUpdate":"subagent_update","sessionId":7}"#, None),
        (r#"{"sessionUpdate":"state_update","sessionId":"c"}"#, None),
        (r#"{"sessionUpdate":"session_message","sessionId":"c"}"#, None),
        (r#"{"sessionUpdate":"agent_message_chunk","sessionId":"c","x":"subagent_update"}"#, None),
    ] {
        assert_eq!(announced(text.as_bytes()), expected, "{text}");
    }
}

proptest::proptest! {
    /// A payload is well-formed. Should it ever not be, nothing worse follows than a field that is not found.
    #[test]
    fn no_bytes_break_a_reader(text in "[{}\\[\\]\":,\\\\ut0 ]{0,12}(\"(sessionUpdate|state|prompt|options|capabilities|replayFrom)\":?[{\\[\"]?){0,3}.{0,12}") {
        for text in [text.clone(), format!("{{{text}}}"), format!("{{\"sessionUpdate\":\"subagent_update{text}")] {
            let payload = Payload::from_trusted(text.clone().into());
            let _ = (has_info(&payload), message_id(&payload), idempotency_key(&payload), prompt(&payload));
            let _ = (replay_from(&payload), update(&payload), permission(&payload), elicitation_scope(&payload));
            let _ = (auth_methods(&payload), entity(&payload, true), entity(&payload, false));
            let update = text.as_bytes();
            let _ = (kind(update), state(update), announced(update), child(update));
            for kind in UpdateKind::KNOWN {
                let _ = (cancellable(kind, update), tool_call(kind, update), lacks(kind, update));
            }
            let _ = (Capabilities::of_agent(&payload), Capabilities::of_client(&payload));
        }
    }
}
