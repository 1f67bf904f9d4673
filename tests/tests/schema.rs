//! The reader of what is emitted finds what is wrong: each kind of fault is seen to be one, so that its silence on all the
//! other tests means something.

use acp_tests::schema::Reader;

/// What an end says against a line of its own, after it has heard these.
fn fault(agent: bool, heard: &[&str], said: &[&str], line: &str) -> Option<String> {
    let mut reader = Reader::new(agent);
    for line in heard {
        reader.heard(format!("{line}\n").as_bytes());
    }
    for line in said {
        assert_eq!(reader.said(&format!("{line}\n")), Ok(()));
    }
    reader.said(&format!("{line}\n")).err()
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#;
const INITIALIZE_2: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":2,"info":{"name":"a","version":"1"}}}"#;
const INITIALIZED_2: &str =
    r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":2,"info":{"name":"a","version":"1"},"capabilities":{}}}"#;
const PROMPT: &str = r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}"#;

#[track_caller]
fn agent(line: &str, expected: &str) {
    let found = fault(true, &[INITIALIZE, PROMPT], &[INITIALIZED], line);
    assert!(found.as_deref().unwrap_or("nothing").contains(expected), "{line}: {found:?}");
}

#[test]
fn good_lines_pass() {
    let update = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed"}}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}"#;
    let ours = r#"{"jsonrpc":"2.0","id":1,"method":"_example.com/x","params":{"any":["thing"]}}"#;
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}"#;
    for line in [update, answer, ours, error] {
        assert_eq!(fault(true, &[INITIALIZE, PROMPT], &[INITIALIZED], line), None, "{line}");
    }
    assert_eq!(fault(false, &[], &[INITIALIZE], PROMPT), None);
}

#[test]
fn a_broken_envelope_is_found() {
    agent(r#"{"id":1,"result":{"stopReason":"end_turn"}}"#, "jsonrpc");
    agent(r#"{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"},"error":{"code":1,"message":"m"}}"#, "neither");
    agent(r#"{"jsonrpc":"2.0","id":1}"#, "neither");
    agent(r#"{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"},"extra":1}"#, "extra");
    agent(r#"{"jsonrpc":"2.0","id":"mine","method":"_x"}"#, "number");
    agent(r#"{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}"#, "code");
    agent("[]", "empty");
}

#[test]
fn a_result_of_another_method_is_found() {
    agent(r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}"#, "stopReason");
    agent(r#"{"jsonrpc":"2.0","id":1,"result":{"stopReason":"tired"}}"#, "tired");
    agent(r#"{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn","why":"x"}}"#, ".why");
}

#[test]
fn params_that_the_types_would_pass_over_are_found() {
    let update = |update: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#)
    };
    agent(&update(r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"cancelled"}"#), ".status");
    agent(&update(r#"{"sessionUpdate":"tool_call_update","toolCall":"t","status":"failed"}"#), "toolCallId");
    agent(
        &update(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a","txet":"b"}}"#),
        ".txet",
    );
    agent(&update(r#"{"sessionUpdate":"state_update","state":"idle"}"#), "state_update");
    agent(
        r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}"#,
        "unknown method",
    );
}

#[test]
fn each_version_has_types_of_its_own() {
    let idle = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"state_update","state":"idle"}}}"#;
    let stopped = r#"{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}"#;
    let second = |line| fault(true, &[INITIALIZE_2, PROMPT], &[INITIALIZED_2], line);
    assert_eq!(second(idle), None);
    assert!(second(stopped).is_some_and(|why| why.contains("messageId")));
    let file = r#"{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}"#;
    assert!(second(file).is_some_and(|why| why.contains("unknown method")));
    let prompted = fault(
        false,
        &[],
        &[INITIALIZE_2],
        r#"{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"methodId":"a"}}"#,
    );
    assert!(prompted.is_some());
}
