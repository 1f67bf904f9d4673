//! `trace --check` on logs with a planted fault, on good ones that were recorded, and on the forms in which others log.
//!
//! A log is written as a short script: `>` is what the client sends, `<` what the agent sends, and a line number is the
//! line of the script. Each fault is planted into a log that is good without it.

use acp_core::Side;
use acp_examples::trace::{Severity, check, read};

#[path = "trace_check/recorded.rs"]
mod recorded;
#[path = "trace_check/script.rs"]
mod script;
#[path = "trace_check/v2.rs"]
mod v2;
#[path = "trace_check/v2_turns.rs"]
mod v2_turns;

use script::{found, leaked};

/// The beginning of every script: lines 1 to 4. The agent offers what the scripts use, unless they begin themselves.
const OPENED: &str = r#"> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true}}}}
< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"close":{},"resume":{}}},"authMethods":[{"id":"token","name":"Token"}]}}
> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}
< {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"}]}}}
"#;

const PROMPT: &str = r#"> {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}}"#;
const CHUNK: &str = r#"< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}"#;
const ENDED: &str = r#"< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#;
const CANCEL: &str = r#"> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#;
const CANCELLED: &str = r#"< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"cancelled"}}"#;
const ASK: &str = r#"< {"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}"#;
const YES: &str = r#"> {"jsonrpc":"2.0","id":"p","result":{"outcome":{"outcome":"selected","optionId":"yes"}}}"#;
const VOID: &str = r#"> {"jsonrpc":"2.0","id":"p","result":{"outcome":{"outcome":"cancelled"}}}"#;
/// A request, and the answer that proves that everything before the request was read.
const MODE: &str =
    r#"> {"jsonrpc":"2.0","id":3,"method":"session/set_mode","params":{"sessionId":"s","modeId":"ask"}}"#;
const MODE_SET: &str = r#"< {"jsonrpc":"2.0","id":3,"result":{}}"#;

/// The lines behind the opening, from line 5.
fn script(lines: &[&str]) -> String {
    format!("{OPENED}{}\n", lines.join("\n"))
}

/// After the opening these lines come, and in one of them the agent or the client breaks a rule.
#[track_caller]
fn planted(lines: &[&str], line: usize, rule: &str, by: Side) {
    assert_eq!(found(&script(lines)), [(line, leaked(rule), by, Severity::Error)]);
}

/// The same, for what may have crossed, or is not quite forbidden.
#[track_caller]
fn doubtful(lines: &[&str], line: usize, rule: &str, by: Side) {
    assert_eq!(found(&script(lines)), [(line, leaked(rule), by, Severity::Warning)]);
}

#[test]
fn good_scripts_have_no_findings() {
    for lines in [
        &[PROMPT, CHUNK, ENDED][..],
        &[PROMPT, ASK, YES, ENDED],
        &[PROMPT, ASK, CANCEL, VOID, CHUNK, CANCELLED],
        // The request crosses the cancel.
        &[PROMPT, CANCEL, ASK, VOID, CANCELLED],
        // As the agent saw it: it ends its turn before it reads that its request is void.
        &[PROMPT, ASK, CANCEL, CANCELLED, VOID],
        // The answer crosses the cancel, which is found idle.
        &[PROMPT, CHUNK, ENDED, CANCEL],
        &[MODE, MODE_SET],
    ] {
        assert_eq!(found(&script(lines)), [], "{lines:#?}");
    }
}

#[test]
fn every_rule_has_a_planted_fault() {
    script::every_rule_is_broken(include_str!("trace_check.rs"), |rule| rule.v1.is_some());
}

#[test]
fn a_second_answer() {
    planted(&[PROMPT, ENDED, ENDED], 7, "answered-twice", Side::Agent);
}

#[test]
fn an_answer_that_nobody_asked() {
    planted(&[PROMPT, r#"< {"jsonrpc":"2.0","id":77,"result":{}}"#, ENDED], 6, "unknown-answer", Side::Agent);
}

#[test]
fn an_answer_with_an_id_of_another_type() {
    let text = r#"< {"jsonrpc":"2.0","id":"2","result":{"stopReason":"end_turn"}}"#;
    planted(&[PROMPT, text, ENDED], 6, "unknown-answer", Side::Agent);
}

#[test]
fn an_answer_that_is_missing_at_the_end() {
    let gone = r#"{"from":"agent","end":"end of file"}"#;
    planted(&[PROMPT, CHUNK, gone], 5, "unanswered", Side::Agent);
    // The log may have been cut there.
    doubtful(&[PROMPT, CHUNK], 5, "unanswered", Side::Agent);
    // Who asked has left.
    doubtful(&[PROMPT, r#"{"from":"client","end":"closed"}"#, gone], 5, "unanswered", Side::Agent);
}

#[test]
fn an_id_that_is_in_use() {
    let again = MODE.replace("\"id\":3", "\"id\":2");
    planted(&[PROMPT, &again, ENDED], 6, "id-in-use", Side::Client);
}

#[test]
fn a_request_with_the_id_null() {
    let null = MODE.replace("\"id\":3", "\"id\":null");
    doubtful(&[&null, &MODE_SET.replace("\"id\":3", "\"id\":null")], 5, "null-id", Side::Client);
}

#[test]
fn an_update_after_a_cancelled_turn() {
    planted(&[PROMPT, CANCEL, CANCELLED, CHUNK], 8, "update-after-cancelled", Side::Agent);
}

#[test]
fn output_after_the_end_of_a_turn() {
    // Once is said, not for each.
    doubtful(&[PROMPT, ENDED, CHUNK, CHUNK], 7, "update-outside-turn", Side::Agent);
}

#[test]
fn a_cancel_that_is_never_answered() {
    planted(&[PROMPT, CHUNK, CANCEL, CHUNK], 7, "cancel-unanswered", Side::Agent);
}

#[test]
fn a_cancel_that_is_answered_with_an_error() {
    let failed = r#"< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"aborted"}}"#;
    planted(&[PROMPT, CANCEL, MODE, MODE_SET, failed], 9, "cancel-failed", Side::Agent);
    doubtful(&[PROMPT, CANCEL, failed], 7, "cancel-failed", Side::Agent);
}

#[test]
fn a_cancel_that_is_passed_over() {
    planted(&[PROMPT, CANCEL, MODE, MODE_SET, CHUNK, ENDED], 10, "cancel-ignored", Side::Agent);
    doubtful(&[PROMPT, CANCEL, ENDED], 7, "cancel-ignored", Side::Agent);
}

#[test]
fn cancelled_although_nobody_cancelled() {
    doubtful(&[PROMPT, CANCELLED], 6, "cancelled-unasked", Side::Agent);
}

#[test]
fn a_permission_that_is_given_after_the_cancel() {
    planted(&[PROMPT, ASK, CANCEL, YES, CANCELLED], 8, "permission-after-cancel", Side::Client);
    planted(&[PROMPT, ASK, CANCEL, CANCELLED, YES], 9, "permission-after-cancel", Side::Client);
}

#[test]
fn a_permission_that_the_cancel_leaves_open() {
    let lines = &[PROMPT, ASK, CANCEL];
    let expected = [
        (6, leaked("permission-after-cancel"), Side::Client, Severity::Error),
        (7, leaked("cancel-unanswered"), Side::Agent, Severity::Error),
    ];
    assert_eq!(found(&script(lines)), expected);
    planted(&[PROMPT, ASK, CANCEL, CANCELLED], 6, "permission-after-cancel", Side::Client);
}

#[test]
fn a_turn_that_ends_while_its_permission_is_open() {
    planted(&[PROMPT, ASK, ENDED, VOID], 7, "open-request", Side::Agent);
}

#[test]
fn a_permission_with_an_option_that_was_not_offered() {
    let other = YES.replace("\"yes\"", "\"always\"");
    planted(&[PROMPT, ASK, &other, ENDED], 7, "option-not-offered", Side::Client);
}

#[test]
fn a_permission_that_is_void_without_a_cancel() {
    doubtful(&[PROMPT, ASK, VOID, ENDED], 7, "permission-unasked-cancel", Side::Client);
}

#[test]
fn a_batch() {
    let batch = format!("< [{}]", CHUNK.trim_start_matches("< "));
    planted(&[PROMPT, &batch, ENDED], 6, "batch", Side::Agent);
}

#[test]
fn output_that_is_no_message() {
    planted(&[PROMPT, "< Loading the model…", ENDED], 6, "not-json", Side::Agent);
    // Our recorder saw that it was none, although it is, as text.
    let text = r#"{"from":"agent","line":"{\"jsonrpc\":\"2.0\",\"method\":\"_x\",\"params\":{\"t\":\"\uFFFD\"}}"}"#;
    planted(&[PROMPT, text, ENDED], 6, "not-json", Side::Agent);
    let noisy = format!("< ok {}", ENDED.trim_start_matches("< "));
    let expected = (6, leaked("not-json"), Side::Agent, Severity::Error);
    assert!(found(&script(&[PROMPT, &noisy])).contains(&expected));
}

#[test]
fn a_line_break_within_a_message() {
    let (first, second) = CHUNK.split_at(60);
    let second = format!("< {second}");
    let lines = [PROMPT, first, &second, ENDED];
    let expected = [6, 7].map(|line| (line, leaked("not-json"), Side::Agent, Severity::Error));
    assert_eq!(found(&script(&lines)), expected);
}

#[test]
fn a_request_before_initialize_is_answered() {
    let mut lines: Vec<_> = OPENED.lines().collect();
    lines.swap(1, 2);
    let expected = [(2, leaked("before-initialize"), Side::Client, Severity::Error)];
    assert_eq!(found(&lines.join("\n")), expected);
}

#[test]
fn a_message_without_the_version_of_json_rpc() {
    planted(&[PROMPT, &CHUNK.replace(r#""jsonrpc":"2.0","#, ""), ENDED], 6, "not-a-message", Side::Agent);
}

#[test]
fn a_result_together_with_an_error() {
    let both = r#"< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"},"error":{"code":1,"message":"x"}}"#;
    planted(&[PROMPT, both], 6, "not-a-message", Side::Agent);
}

#[test]
fn a_method_that_was_not_advertised() {
    let list = r#"> {"jsonrpc":"2.0","id":9,"method":"session/list","params":{}}"#;
    let none = r#"< {"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"no"}}"#;
    planted(&[list, none], 5, "not-advertised", Side::Client);
    let write = r#"< {"jsonrpc":"2.0","id":1,"method":"fs/write_text_file","params":{"sessionId":"s","path":"/a","content":""}}"#;
    let wrote = r#"> {"jsonrpc":"2.0","id":1,"result":{}}"#;
    planted(&[PROMPT, write, wrote, ENDED], 6, "not-advertised", Side::Agent);
}

#[test]
fn content_that_was_not_advertised() {
    let image =
        PROMPT.replace(r#"{"type":"text","text":"hi"}"#, r#"{"type":"image","data":"","mimeType":"image/png"}"#);
    planted(&[&image, ENDED], 5, "content-not-advertised", Side::Client);
}

#[test]
fn an_unknown_session() {
    planted(&[&PROMPT.replace("\"s\"", "\"other\""), ENDED], 5, "unknown-session", Side::Client);
    planted(&[PROMPT, &CHUNK.replace("\"s\"", "\"other\""), ENDED], 6, "unknown-session", Side::Agent);
}

#[test]
fn a_session_that_was_closed() {
    let close = r#"> {"jsonrpc":"2.0","id":9,"method":"session/close","params":{"sessionId":"s"}}"#;
    let closed = r#"< {"jsonrpc":"2.0","id":9,"result":{}}"#;
    planted(&[close, closed, PROMPT, ENDED], 7, "unknown-session", Side::Client);
}

#[test]
fn a_method_in_the_wrong_direction() {
    let prompt = PROMPT.replace('>', "<").replace("\"id\":2", "\"id\":\"x\"");
    let no = r#"> {"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}}"#;
    planted(&[&prompt, no], 5, "wrong-direction", Side::Agent);
}

#[test]
fn a_notification_with_an_id_and_a_request_without() {
    let asked = CHUNK.replacen('{', r#"{"id":"u","#, 1);
    let answer = r#"> {"jsonrpc":"2.0","id":"u","error":{"code":-32601,"message":"no"}}"#;
    planted(&[PROMPT, &asked, answer, ENDED], 6, "wrong-form", Side::Agent);
    planted(&[&MODE.replace(r#""id":3,"#, "")], 5, "wrong-form", Side::Client);
}

#[test]
fn a_method_that_nobody_knows() {
    let own = MODE.replace("session/set_mode", "session/paint");
    doubtful(&[&own, MODE_SET], 5, "unknown-method", Side::Client);
    // A name of one's own begins with an underscore.
    assert_eq!(found(&script(&[&own.replace("session/paint", "_paint"), MODE_SET])), []);
}

#[test]
fn what_only_version_2_has() {
    let running = CHUNK.replace(
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}"#,
        r#"{"sessionUpdate":"state_update","state":"running"}"#,
    );
    planted(&[PROMPT, &running, ENDED], 6, "other-version", Side::Agent);
    let login = r#"> {"jsonrpc":"2.0","id":3,"method":"auth/login","params":{"methodId":"token"}}"#;
    planted(&[login, MODE_SET], 5, "other-version", Side::Client);
}

#[test]
fn a_stop_reason_that_is_not_of_the_protocol() {
    // The second is one of version 2.
    for other in ["done", "error"] {
        planted(&[PROMPT, &ENDED.replace("end_turn", other)], 6, "stop-reason", Side::Agent);
    }
    planted(&[PROMPT, r#"< {"jsonrpc":"2.0","id":2,"result":{}}"#], 6, "bad-result", Side::Agent);
}

const LOAD: &str =
    r#"> {"jsonrpc":"2.0","id":5,"method":"session/load","params":{"sessionId":"old","cwd":"/w","mcpServers":[]}}"#;
const LOADED: &str = r#"< {"jsonrpc":"2.0","id":5,"result":{}}"#;

#[test]
fn a_load_that_is_answered_before_the_end_of_the_replay() {
    let replay = CHUNK.replace("\"s\"", "\"old\"");
    assert_eq!(found(&script(&[LOAD, &replay, LOADED])), []);
    planted(&[LOAD, &replay, LOADED, &replay], 8, "load-order", Side::Agent);
}

#[test]
fn a_resume_that_replays() {
    let replay = CHUNK.replace("\"s\"", "\"old\"");
    planted(&[&LOAD.replace("load", "resume"), &replay, LOADED], 6, "resume-replays", Side::Agent);
}

#[test]
fn a_second_prompt_in_a_turn() {
    let second = PROMPT.replace("\"id\":2", "\"id\":3");
    doubtful(&[PROMPT, &second, ENDED, &ENDED.replace("\"id\":2", "\"id\":3")], 6, "second-prompt", Side::Client);
}

#[test]
fn parameters_that_are_missing_or_wrong() {
    planted(&[&PROMPT.replace(r#""sessionId":"s","#, ""), ENDED], 5, "bad-params", Side::Client);
    planted(&[&PROMPT.replace(r#"[{"type":"text","text":"hi"}]"#, "\"hi\""), ENDED], 5, "bad-params", Side::Client);
    let again = r#"> {"jsonrpc":"2.0","id":8,"method":"session/new","params":{"cwd":"w","mcpServers":[]}}"#;
    let opened = r#"< {"jsonrpc":"2.0","id":8,"result":{"sessionId":"t"}}"#;
    planted(&[again, opened], 5, "relative-path", Side::Client);
}

#[test]
fn modes_and_logins_that_were_not_offered() {
    planted(&[&MODE.replace("\"ask\"", "\"code\""), MODE_SET], 5, "unknown-mode", Side::Client);
    let login = r#"> {"jsonrpc":"2.0","id":3,"method":"authenticate","params":{"methodId":"other"}}"#;
    planted(&[login, MODE_SET], 5, "auth-method", Side::Client);
}

#[test]
fn tool_calls_out_of_order() {
    let update = CHUNK.replace(
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}"#,
    );
    doubtful(&[PROMPT, &update, ENDED], 6, "unknown-tool-call", Side::Agent);
    let call = update.replace("tool_call_update", "tool_call");
    planted(&[PROMPT, &call, &update.replace("completed", "done"), ENDED], 7, "tool-status", Side::Agent);
}

#[test]
fn an_update_of_no_known_kind() {
    doubtful(&[PROMPT, &CHUNK.replace("agent_message_chunk", "agent_song"), ENDED], 6, "update-kind", Side::Agent);
}

#[test]
fn a_terminal_that_was_not_created() {
    // The client offers terminals.
    let opened = OPENED.replace(r#""fs":{"readTextFile":true}"#, r#""terminal":true"#);
    let kill = r#"< {"jsonrpc":"2.0","id":"k","method":"terminal/kill","params":{"sessionId":"s","terminalId":"t"}}"#;
    let lines = [PROMPT, kill, r#"> {"jsonrpc":"2.0","id":"k","result":{}}"#, ENDED];
    let expected = [(6, leaked("unknown-terminal"), Side::Agent, Severity::Error)];
    assert_eq!(found(&format!("{opened}{}", lines.join("\n"))), expected);
}

#[test]
fn what_is_sent_twice_or_cannot_be_read() {
    let again = r#"> {"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":1}}"#;
    let no = r#"< {"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"no"}}"#;
    doubtful(&[again, no], 5, "initialize-twice", Side::Client);
    let unread = r#"< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}"#;
    doubtful(&[unread], 5, "peer-rejected", Side::Agent);
}

#[test]
fn a_log_without_its_beginning_is_checked_as_far_as_it_goes() {
    let log = read(&format!("{PROMPT}\n{CHUNK}\n{ENDED}\n{ENDED}\n"), None).expect("a trace");
    let report = check(&log);
    assert_eq!(report.findings.iter().map(|finding| finding.rule.name).collect::<Vec<_>>(), ["answered-twice"]);
    assert_eq!(report.notes.len(), 1, "what was not checked is said");
}
