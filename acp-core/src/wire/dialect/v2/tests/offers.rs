//! What is offered: options, ways to log in, versions, and capabilities.

use alloc::{format, string::ToString, vec::Vec};

use super::{super::super::Capabilities, *};
use crate::wire::method::Gate;

#[test]
fn a_permission_request_needs_one_option_only_and_may_be_about_anything() {
    let read = |text: &str| {
        let Offered { title, tool_call, options, dropped } = permission(&json(text))?;
        let options: Vec<_> = options.iter().map(|(id, name, kind)| format!("{id}={name}:{kind}")).collect();
        let text = |text: Option<Box<str>>| text.map_or("-".to_string(), Into::into);
        Some(format!("{} / {} / {} / {}", text(title), text(tool_call), options.join(" "), dropped.join(" ")))
    };
    let one = r#""options":[{"optionId":"a","name":"A","kind":"allow_once"}]"#;
    for (text, expected) in [
        (r#""title":"t""#, "t / - / a=A:allow_once / "),
        (r#""title":"t","subject":null,"description":"d""#, "t / - / a=A:allow_once / "),
        (r#""title":"t","subject":{"type":"tool_call","toolCall":{"toolCallId":"c"}}"#, "t / c / a=A:allow_once / "),
        (
            r#""subject":{"toolCallId":"c","cwd":"/","command":"ls","type":"command"},"title":"""#,
            " / c / a=A:allow_once / ",
        ),
        (r#""title":"t","subject":{"type":"command","command":"ls","cwd":"/"}"#, "t / - / a=A:allow_once / "),
        (r#""title":"t","subject":{"type":"_vendor","x":1}"#, "t / - / a=A:allow_once / "),
        (r#""title":"t","subject":{"type":"tool_call","toolCall":{"toolCallId":1}}"#, "t / - / a=A:allow_once / "),
        (r#""subject":[]"#, "- / - / a=A:allow_once / title"),
        (r#""title":1"#, "- / - / a=A:allow_once / title"),
        (r#""toolCall":{"toolCallId":"c"},"title":"t""#, "t / - / a=A:allow_once / "),
    ] {
        assert_eq!(read(&format!("{{{text},{one}}}")).as_deref(), Some(expected), "{text}");
    }
    for options in ["[]", "{}", "null", "[1]", r#"[{"optionId":1,"name":"A","kind":"allow_once"}]"#] {
        assert_eq!(read(&format!(r#"{{"title":"t","options":{options}}}"#)), None, "{options}");
    }
    assert_eq!(
        read(r#"{"title":"t","options":[7,{"optionId":"a"},{"optionId":"b","name":"B","kind":"_later"}]}"#).as_deref(),
        Some("t / - / a=a: b=B:_later / options.0 options.1.name options.1.kind")
    );
}

#[test]
fn an_elicitation_belongs_to_a_session_or_to_a_request_and_never_to_both() {
    for (text, good) in [
        (r#"{"sessionId":"s"}"#, true),
        (r#"{"sessionId":"s","requestId":null,"toolCallId":"t"}"#, true),
        (r#"{"requestId":1}"#, true),
        (r#"{"requestId":"1","sessionId":null}"#, true),
        (r#"{"requestId":1,"sessionId":"s"}"#, false),
        (r#"{"requestId":null,"sessionId":null}"#, false),
        (r#"{"mode":"form"}"#, false),
    ] {
        assert_eq!(elicitation_scope(&json(text)).is_ok(), good, "{text}");
    }
}

#[test]
fn only_ways_to_log_in_that_go_over_the_protocol_are_known() {
    let read = |text: &str| {
        let (ours, terminals) = auth_methods(&json(format!(r#"{{"authMethods":{text}}}"#)));
        format!("{}; {}", ours.join(" "), terminals.join(" "))
    };
    let odd = r#"[{"methodId":"a","type":"agent","name":"A"},7,{"type":"agent"},{"methodId":"t","type":"terminal"},
        {"methodId":"v","type":"_vendor"},{"methodId":"n"},{"id":"i","type":"agent"},{"methodId":3,"type":"agent"},
        {"type":"agent","methodId":"b"}]"#;
    assert_eq!(read(odd), "a b; t");
    assert_eq!((read("null"), read("{}"), read("[]")), ("; ".into(), "; ".into(), "; ".into()));
}

#[test]
fn the_error_for_a_version_that_is_too_old_tells_which_there_are() {
    let error = unsupported_version(1, &[2]);
    assert_eq!(error.code, -32022);
    assert_eq!(error.data.unwrap().as_str(), r#"{"requested":1,"supported":[2]}"#);
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
    Gate::ElicitationForm,
    Gate::ElicitationUrl,
    Gate::Session,
    Gate::Auth,
];

fn open(capabilities: Capabilities) -> Vec<Gate> {
    assert!(capabilities.offers(Gate::None));
    GATES.iter().copied().filter(|gate| capabilities.offers(*gate)).collect()
}

#[test]
fn an_agent_offers_what_it_names_and_a_session_stands_for_four_methods() {
    use Gate::{Auth, Close, Delete, Fork, List, LoadSession, Logout, Resume, Session};
    let baseline = [LoadSession, Resume, List, Close, Session];
    let with = |more: &[Gate]| -> Vec<Gate> {
        let mut all: Vec<Gate> = baseline.iter().chain(more).copied().collect();
        all.sort_by_key(|gate| GATES.iter().position(|of| of == gate));
        all
    };
    for (text, gates) in [
        (r#""capabilities":{"session":{}}"#, with(&[])),
        (r#""capabilities":{"session":{"delete":{},"fork":{}}}"#, with(&[Delete, Fork])),
        (r#""capabilities":{"session":{"delete":null,"fork":false}}"#, with(&[])),
        (r#""capabilities":{"session":null}"#, Vec::new()),
        (r#""capabilities":{"session":[]}"#, Vec::new()),
        (r#""capabilities":{}"#, Vec::new()),
        (r#""capabilities":"x""#, Vec::new()),
        (r#""authMethods":[{"type":"agent","methodId":"a"}]"#, [Logout, Auth].to_vec()),
        (r#""authMethods":[],"capabilities":{"auth":{"logout":{}}}"#, Vec::new()),
        (r#""authMethods":null"#, Vec::new()),
        // The shapes of version 1 are nothing in version 2.
        (r#""agentCapabilities":{"loadSession":true,"sessionCapabilities":{"list":{}}}"#, Vec::new()),
        (r#""capabilities":{"loadSession":true}"#, Vec::new()),
    ] {
        for version in [2, 3, 65_535] {
            let result = json(format!(r#"{{"protocolVersion":{version},{text}}}"#));
            assert_eq!(open(Capabilities::of_agent(&result)), gates, "{text}");
        }
        if !text.contains("agentCapabilities") {
            let result = json(format!(r#"{{"protocolVersion":1,{text}}}"#));
            assert_eq!(open(Capabilities::of_agent(&result)), [], "version 1 has another shape: {text}");
        }
    }
}

#[test]
fn a_client_offers_elicitations_and_no_services() {
    use Gate::{Elicitation, ElicitationForm, ElicitationUrl};
    for (text, gates) in [
        (r#""elicitation":{"form":{}}"#, &[Elicitation, ElicitationForm][..]),
        (r#""elicitation":{"url":{},"form":null}"#, &[Elicitation, ElicitationUrl]),
        (r#""elicitation":{"url":{},"form":{}}"#, &[Elicitation, ElicitationForm, ElicitationUrl]),
        (r#""elicitation":{}"#, &[]),
        (r#""elicitation":null"#, &[]),
        (r#""fs":{"readTextFile":true,"writeTextFile":true},"terminal":true"#, &[]),
    ] {
        let params = json(format!(r#"{{"capabilities":{{{text}}},"protocolVersion":2}}"#));
        assert_eq!(open(Capabilities::of_client(&params)), gates, "{text}");
        let params = json(format!(r#"{{"clientCapabilities":{{{text}}},"protocolVersion":2}}"#));
        assert_eq!(open(Capabilities::of_client(&params)), [], "{text}");
    }
}
