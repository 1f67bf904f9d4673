//! The views: what they say is what is there, whatever is there.

#[path = "wire_views/any.rs"]
mod any;
#[path = "wire_views/shapes.rs"]
mod shapes;
#[path = "wire_views/told.rs"]
mod told;

use acp_core::{
    Payload,
    view::{
        Choice, ConfigOptions, ConfigValue, Content, Initialize, Initialized, Opened, Patch, Permission, Prompt, Raw,
        SessionList, SessionUpdate, Subject, ToolCall, ToolContent, Unreadable, Update, View,
    },
    wire::{Gate, Line, Message, ToolCallStatus, UpdateKind, parse_line},
};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

use self::{
    any::{any_update, junk, some, text, written},
    shapes::{OPENED, SESSIONS, UPDATES_V1, UPDATES_V2, expected},
    told::Told,
};

fn payload(text: &str) -> Payload {
    Payload::parse(text.to_owned()).expect("JSON")
}

fn update(update: &str) -> Payload {
    payload(&format!(r#"{{"sessionId":"s","update":{update}}}"#))
}

fn failure<'a, T: View<'a>>(payload: &'a Payload) -> String {
    payload.view::<T>().err().map(|why| why.to_string()).unwrap_or_default()
}

fn said<'a, T: View<'a> + Told>(payload: &'a Payload) -> Option<Value> {
    payload.view::<T>().ok().and_then(|view| view.told())
}

/// The params of an update in a received line, of which its reader knows some parts.
fn received(update: &str) -> Payload {
    let line =
        format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s é","update":{update}}}}}"#);
    match parse_line(&line.into(), 1) {
        Line::Message(Message::Notification { params: Some(params), .. }) => params,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn an_update_says_what_is_there((kind, shape, value) in any_update(), wide in any::<bool>(), escaped in any::<bool>()) {
        let said = said::<Update<'_>>(&payload(&written(&value, wide, escaped)));
        let expected = expected(shape, &value).map(|mut said| {
            said["sessionUpdate"] = kind.into();
            said
        });
        prop_assert_eq!(said, expected, "{}", value);
    }

    #[test]
    fn what_the_reader_of_a_line_has_seen_changes_nothing(
        (_, _, value) in any_update(), kind in "(user|agent)_(message|thought)_chunk|_x", said in text(),
        more in select(&["", r#","messageId":"m""#, r#","sessionUpdate":"plan""#, r#","content":7"#][..]),
        inner in select(&["", r#","annotations":{"priority":1}"#, r#","text":"""#][..]), escaped in any::<bool>(),
    ) {
        let said = written(&said, false, escaped);
        let chunk = format!(r#"{{"sessionUpdate":"{kind}","content":{{"type":"text","text":{said}{inner}}}{more}}}"#);
        for update in [written(&value, false, escaped), chunk] {
            let received = received(&update);
            let again = Payload::parse(received.as_bytes().to_vec()).expect("JSON");
            let (seen, unseen) = (received.view::<SessionUpdate<'_>>(), again.view::<SessionUpdate<'_>>());
            prop_assert_eq!(&seen, &unseen, "{}", update);
            if let Ok(seen) = seen {
                prop_assert_eq!(seen.update.raw().as_str(), update);
            }
        }
    }

    #[test]
    fn an_answer_says_what_is_there(opened in some(&OPENED), sessions in some(&SESSIONS), escaped in any::<bool>()) {
        prop_assert_eq!(said::<Opened<'_>>(&payload(&written(&opened, false, escaped))), expected(&OPENED, &opened));
        let list = payload(&written(&sessions, false, escaped));
        prop_assert_eq!(said::<SessionList<'_>>(&list), expected(&SESSIONS, &sessions));
    }

    #[test]
    fn whatever_comes_is_a_view_or_says_why_not(value in junk(), (_, _, update) in any_update(), cut in any::<u8>()) {
        // Whole ones, and such as another view wants.
        let wrapped = json!({ "sessionId": "s", "update": update, "prompt": [value.clone()], "options": value.clone(),
            "toolCall": update.clone(), "protocolVersion": cut % 4, "capabilities": value, "authMethods": [update] });
        for text in [written(&update, false, true), written(&value, true, false), written(&wrapped, false, false)] {
            look_at_all(&payload(&text));
        }
    }
}

/// Reads it as everything, to the last element.
fn look_at_all(payload: &Payload) {
    fn look<'a, T: View<'a> + core::fmt::Debug>(payload: &'a Payload) {
        match payload.view::<T>() {
            Ok(view) => assert!(!format!("{view:?}").is_empty()),
            Err(why) => assert!(!why.why().is_empty() && why.to_string().starts_with(&why.path())),
        }
    }
    look::<SessionUpdate<'_>>(payload);
    look::<Update<'_>>(payload);
    look::<Permission<'_>>(payload);
    look::<Initialize<'_>>(payload);
    look::<Initialized<'_>>(payload);
    look::<Opened<'_>>(payload);
    look::<SessionList<'_>>(payload);
    look::<ConfigOptions<'_>>(payload);
    look::<ToolContent<'_>>(payload);
    look::<Prompt<'_>>(payload);
    if let Ok(prompt) = payload.view::<Prompt<'_>>() {
        assert!(prompt.content.iter().count() <= prompt.content.results().count());
    }
    if let Ok(update) = payload.view::<Update<'_>>() {
        assert_eq!(update.raw().as_bytes(), payload.as_bytes());
        let _ = update.told();
    }
}

#[test]
fn every_kind_of_update_has_a_view() {
    let names: Vec<_> = UPDATES_V1.iter().chain(UPDATES_V2).map(|(kind, _)| *kind).collect();
    assert_eq!(names, UpdateKind::KNOWN.iter().map(UpdateKind::as_str).collect::<Vec<_>>(), "the tables have them all");
    for kind in names {
        let bare = payload(&json!({ "sessionUpdate": kind }).to_string());
        match bare.view::<Update<'_>>() {
            // It lacks what it is about, or it needs nothing.
            Err(why) => assert_eq!(why.why(), "it is missing", "{kind}"),
            Ok(update) => {
                assert!(!matches!(update, Update::Unknown(_)), "{kind}");
                assert_eq!(update.kind(), kind);
            }
        }
    }
}

#[test]
fn what_is_of_no_known_kind_is_there_as_it_came() {
    let params = update(r#"{ "sessionUpdate": "_song", "notes": [1,2] }"#);
    let SessionUpdate { update, .. } = params.view().expect("readable");
    let Update::Unknown(song) = &update else { panic!("{update:?}") };
    assert_eq!((&*song.kind, update.kind()), ("_song", "_song"));
    assert_eq!(song.raw.as_str(), r#"{ "sessionUpdate": "_song", "notes": [1,2] }"#);
    assert_eq!(song.raw.member("notes").map(|notes| notes.get()), Some(Ok([1, 2])));
    assert_eq!(song.raw.to_payload().as_str(), song.raw.as_str());

    let call = payload(r#"{"toolCallId":"t","kind":"dance","status":"resting","content":[{"type":"hologram","x":1}]}"#);
    let call: ToolCall<'_> = call.view().expect("readable");
    assert_eq!(call.kind.value().map(|kind| kind.as_str()), Some("dance"));
    assert_eq!(call.status, Patch::Value(ToolCallStatus::Unknown("resting".into())));
    let content: Vec<_> = call.content.into_value().expect("a list").into_iter().collect();
    assert!(matches!(&content[..], [ToolContent::Unknown(other)] if other.kind == "hologram"), "{content:?}");
}

#[test]
fn an_optional_part_of_a_wrong_type_does_not_lose_the_rest() {
    let params = update(
        r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":7,"kind":[],"status":"failed","content":{},
            "locations":[{"path":"/a","line":-1},{"line":2},"/b"],"rawInput":7,"name":null}"#,
    );
    let Update::ToolCall(call) = params.view::<SessionUpdate<'_>>().expect("readable").update else { panic!() };
    assert_eq!((&call.title, &call.kind, &call.name), (&Patch::Absent, &Patch::Absent, &Patch::Null));
    assert_eq!((&call.content, call.status.value()), (&Patch::Absent, Some(&ToolCallStatus::Failed)));
    let locations = call.locations.into_value().expect("a list");
    assert_eq!(locations.iter().map(|at| (at.path.into_owned(), at.line)).collect::<Vec<_>>(), [("/a".into(), None)]);
    let wrong: Vec<_> = locations.results().filter_map(Result::err).map(|why| why.to_string()).collect();
    assert_eq!(wrong, ["1.path: it is missing", "2: it is no object"]);
    // What was wrong is still to be seen.
    assert_eq!(call.raw.member("title").map(|title| title.as_str()), Some("7"));
}

#[test]
fn what_cannot_be_read_says_what_is_wrong_and_where() {
    for (text, why) in [
        ("[]", "it is no object"),
        (r#"{"sessionId":"s"}"#, "update: it is missing"),
        (r#"{"sessionId":7,"update":{}}"#, "sessionId: it is no string"),
        (r#"{"sessionId":"s","update":{}}"#, "update.sessionUpdate: it is missing"),
        (
            r#"{"sessionId":"s","update":{"sessionUpdate":"plan","sessionUpdate":"plan"}}"#,
            "update.sessionUpdate: it is missing",
        ),
        (
            r#"{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\ud800"}}}"#,
            "update.content.text: it has half a character: a lone surrogate",
        ),
        (
            r#"{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":1.5,"size":1}}"#,
            "update.used: it is no integer, or too large for what it means",
        ),
        (
            r#"{"sessionId":"s","update":{"sessionUpdate":"plan","entries":{"content":"x"}}}"#,
            "update.entries: it is no array",
        ),
    ] {
        assert_eq!(failure::<SessionUpdate<'_>>(&payload(text)), why, "{text}");
    }
    let prompt = payload(r#"{"prompt":[{"type":"text","text":"a"},{"type":"text"}]}"#);
    let results: Result<Vec<Content<'_>>, Unreadable> =
        prompt.view::<Prompt<'_>>().expect("a list").content.results().collect();
    assert_eq!(results.unwrap_err().to_string(), "1.text: it is missing");
}

#[test]
fn text_is_borrowed_unless_it_has_escapes() {
    let inside = |text: &str, payload: &Payload| payload.as_bytes().as_ptr_range().contains(&text.as_ptr());
    let params = update(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"plain é"}}"#);
    let Update::AgentMessageChunk(chunk) = params.view::<SessionUpdate<'_>>().expect("readable").update else {
        panic!()
    };
    assert_eq!(chunk.content.text(), Some("plain é"));
    assert!(inside(chunk.content.text().expect("text"), &params));
    let escaped = update(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"two\nlines"}}"#);
    let Update::AgentMessageChunk(chunk) = escaped.view::<SessionUpdate<'_>>().expect("readable").update else {
        panic!()
    };
    assert_eq!(chunk.content.text(), Some("two\nlines"));
}

#[test]
fn a_permission_tells_what_it_is_about_in_both_versions() {
    let v1 = payload(
        r#"{"sessionId":"s","toolCall":{"toolCallId":"t","title":"Write x","content":7},"options":[{"optionId":"y"},{}]}"#,
    );
    let permission: Permission<'_> = v1.view().expect("readable");
    let Some(Subject::ToolCall(subject)) = &permission.subject else { panic!("{permission:?}") };
    assert_eq!((&*subject.call.id, permission.title()), ("t", Some("Write x")));
    assert_eq!(permission.options.iter().map(|option| option.id).collect::<Vec<_>>(), ["y"]);

    let v2 = payload(
        r#"{"sessionId":"s","title":"May I?","subject":{"type":"command","command":"rm x","cwd":"/"},"options":[]}"#,
    );
    let permission: Permission<'_> = v2.view().expect("readable");
    assert!(matches!(&permission.subject, Some(Subject::Command(subject)) if subject.command == "rm x"));
    assert_eq!(permission.title(), Some("May I?"));

    let v2 = payload(r#"{"subject":{"type":"tool_call","toolCall":{"toolCallId":"t","title":"Write"}},"options":[]}"#);
    assert_eq!(v2.view::<Permission<'_>>().expect("readable").title(), Some("Write"));
    let unreadable = payload(r#"{"toolCall":{"title":"nobody's"},"options":[]}"#);
    assert_eq!(unreadable.view::<Permission<'_>>().expect("readable").subject, None);
    assert_eq!(failure::<Permission<'_>>(&payload("{}")), "options: it is missing");
}

#[test]
fn an_agent_says_what_it_offers_in_the_shape_of_its_version() {
    let v1 = payload(
        r#"{"protocolVersion":1,"agentInfo":{"name":"a","version":"1"},"info":{"name":"not v1's"},
            "agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"audio":false},
            "mcpCapabilities":{"http":true},"sessionCapabilities":{"additionalDirectories":{},"systemPrompt":null}},
            "authMethods":[{"id":"key","name":"Key"},{"id":"tty","type":"terminal"},7]}"#,
    );
    let said: Initialized<'_> = v1.view().expect("readable");
    let info = said.info.as_ref().expect("it says who it is");
    assert_eq!((said.version, &*info.name, info.version.as_deref()), (1, "a", Some("1")));
    let offers = &said.capabilities;
    assert_eq!([offers.images, offers.audio, offers.embedded_context], [true, false, false]);
    assert_eq!([offers.mcp_http, offers.mcp_sse, offers.mcp_stdio], [true, false, true]);
    assert_eq!([offers.additional_directories, offers.system_prompt], [true, false]);
    assert!(offers.methods.offers(Gate::LoadSession) && !offers.methods.offers(Gate::Resume));
    let logins = said.logins.expect("a list").into_iter();
    assert_eq!(
        logins.map(|login| (login.id.into_owned(), login.kind.map(|kind| kind.into_owned()))).collect::<Vec<_>>(),
        [("key".to_owned(), None), ("tty".to_owned(), Some("terminal".to_owned()))]
    );

    let v2 = payload(
        r#"{"protocolVersion":2,"info":{"name":"b","version":"2"},"agentInfo":{"name":"not v2's"},
            "capabilities":{"session":{"prompt":{"embeddedContext":{}},"mcp":{"stdio":{}}}},"authMethods":[{"methodId":"m","type":"agent"}]}"#,
    );
    let said: Initialized<'_> = v2.view().expect("readable");
    let offers = &said.capabilities;
    assert_eq!(said.info.map(|info| info.name), Some("b".into()));
    assert_eq!([offers.images, offers.embedded_context, offers.mcp_stdio, offers.mcp_http], [false, true, true, false]);
    assert!(offers.methods.offers(Gate::Resume) && offers.methods.offers(Gate::Auth));
    assert_eq!(said.logins.expect("a list").into_iter().map(|login| login.id).collect::<Vec<_>>(), ["m"]);

    for (text, why) in [
        ("{}", "protocolVersion: it is missing"),
        (r#"{"protocolVersion":1.0}"#, "protocolVersion: it is no integer from 0"),
    ] {
        assert_eq!(failure::<Initialized<'_>>(&payload(text)), why);
        assert_eq!(failure::<Initialize<'_>>(&payload(text)), why);
    }
}

#[test]
fn a_client_says_what_it_offers_in_the_shape_of_its_version() {
    let v1 = payload(
        r#"{"protocolVersion":1,"clientInfo":{"name":"c"},"clientCapabilities":{"fs":{"readTextFile":true},
            "auth":{"terminal":true},"session":{"configOptions":{"boolean":{}},"notices":{}},"plan":{}}}"#,
    );
    let said: Initialize<'_> = v1.view().expect("readable");
    let offers = &said.capabilities;
    assert_eq!(said.info.map(|info| info.name), Some("c".into()));
    assert!(offers.methods.offers(Gate::FsRead) && !offers.methods.offers(Gate::FsWrite));
    assert_eq!([offers.terminal_login, offers.boolean_options, offers.notices], [true; 3]);
    assert_eq!([offers.plans, offers.compactions, offers.subagents], [true, false, false]);

    let v2 = payload(r#"{"protocolVersion":2,"info":{"name":"c"},"capabilities":{"auth":{"terminal":{}}}}"#);
    let offers = v2.view::<Initialize<'_>>().expect("readable").capabilities;
    assert_eq!([offers.terminal_login, offers.plans, offers.compactions, offers.subagents], [true; 4]);
    assert!(!payload(r#"{"protocolVersion":1}"#).view::<Initialize<'_>>().expect("readable").capabilities.plans);
}

#[test]
fn options_have_values_in_groups_or_not_in_both_versions() {
    let answer = payload(
        r#"{"configOptions":[
            {"id":"model","name":"Model","category":"model","type":"select","currentValue":"a",
             "options":[{"value":"a","name":"A"},{"group":"more","name":"More","options":[{"value":"b"},{"value":7}]}]},
            {"configId":"fast","type":"boolean","currentValue":true},
            {"configId":"dial","type":"_dial","currentValue":0.5},
            {"type":"boolean","currentValue":true}]}"#,
    );
    let options: Vec<_> = answer.view::<ConfigOptions<'_>>().expect("readable").options.into_iter().collect();
    let [model, fast, dial] = &options[..] else { panic!("{options:?}") };
    let ConfigValue::Select(select) = &model.value else { panic!("{model:?}") };
    assert_eq!((&*model.id, &*select.current), ("model", "a"));
    assert_eq!(select.values().map(|value| value.id).collect::<Vec<_>>(), ["a", "b"]);
    assert!(matches!(select.choices.iter().last(), Some(Choice::Group(group)) if group.id == "more"));
    assert!(matches!(&fast.value, ConfigValue::Switch(switch) if switch.current) && fast.id == "fast");
    assert_eq!(
        (dial.value.kind(), dial.value.raw().member("currentValue").map(|now| now.get())),
        ("_dial", Some(Ok(0.5)))
    );
}

#[test]
fn the_text_is_beside_every_view() {
    #[derive(serde::Deserialize)]
    struct Vendor<'a> {
        #[serde(rename = "_meta", borrow)]
        meta: &'a serde_json::value::RawValue,
    }
    let params = update(r#"{"sessionUpdate":"tool_call","toolCallId":"t","_meta":{"trace":"x"},"x":1,"x":2}"#);
    let SessionUpdate { update, raw, .. } = params.view().expect("readable");
    assert_eq!(raw.as_bytes(), params.as_bytes());
    let vendor: Vendor<'_> = update.raw().get().expect("it has it");
    assert_eq!(vendor.meta.get(), r#"{"trace":"x"}"#);
    assert_eq!(update.raw().member("x"), None, "nobody can say which one is meant");
    let copied = serde_json::to_string(&[update.raw()]).expect("JSON");
    assert_eq!(copied, format!("[{}]", update.raw().as_str()));
    assert_eq!(format!("{raw:?}"), format!("Raw({} bytes)", params.len()));
    assert_eq!(Raw::view::<ToolCall<'_>>(&update.raw()).map(|call| call.id), Ok("t".into()));
}
