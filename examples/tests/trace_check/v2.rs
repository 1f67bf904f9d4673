//! Version 2: what is not about turns, and what is the same as in version 1.

use acp_core::Side;
use acp_examples::trace::{Severity, check, read};

use crate::script::{every_rule_is_broken, found, leaked};

/// The beginning of every script: lines 1 to 4. The agent offers what the scripts use, unless they begin themselves.
pub(crate) const OPENED: &str = r#"> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":2,"capabilities":{"elicitation":{"form":{}}},"info":{"name":"c","version":"1"}}}
< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":2,"capabilities":{"session":{}},"info":{"name":"a","version":"1"},"authMethods":[{"type":"agent","methodId":"token","name":"Token"}]}}
> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w"}}
< {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}
"#;
pub(crate) const PROMPT: &str = r#"> {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}}"#;
pub(crate) const INSERTED: &str = r#"< {"jsonrpc":"2.0","id":2,"result":{"messageId":"m1"}}"#;
pub(crate) const CANCEL: &str = r#"> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#;
pub(crate) const ASK: &str = r#"< {"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","title":"May I?","subject":{"type":"tool_call","toolCall":{"toolCallId":"t"}},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}"#;
pub(crate) const YES: &str =
    r#"> {"jsonrpc":"2.0","id":"p","result":{"outcome":{"outcome":"selected","optionId":"yes"}}}"#;
/// A request, and the answer that proves that everything before the request was read.
pub(crate) const LIST: &str = r#"> {"jsonrpc":"2.0","id":3,"method":"session/list","params":{}}"#;
pub(crate) const LISTED: &str = r#"< {"jsonrpc":"2.0","id":3,"result":{"sessions":[]}}"#;

/// An update of the session, by its members.
pub(crate) fn update(members: &str) -> String {
    format!(
        r#"< {{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":{members}}}}}}}"#
    )
}

pub(crate) fn state(state: &str) -> String {
    update(&format!(r#""state_update","state":"{state}""#))
}

pub(crate) fn idle(reason: &str) -> String {
    update(&format!(r#""state_update","state":"idle","stopReason":"{reason}""#))
}

pub(crate) fn chunk(message: &str) -> String {
    update(&format!(r#""agent_message_chunk","messageId":"{message}","content":{{"type":"text","text":"x"}}"#))
}

pub(crate) fn told(message: &str) -> String {
    update(&format!(r#""user_message","messageId":"{message}","content":[{{"type":"text","text":"hi"}}]"#))
}

/// What a prompt brings that runs: lines 5 to 8.
pub(crate) fn started() -> [String; 4] {
    [PROMPT.to_owned(), INSERTED.to_owned(), state("running"), told("m1")]
}

pub(crate) fn script(lines: &[&str]) -> String {
    format!("{OPENED}{}\n", lines.join("\n"))
}

/// The lines of a prompt that runs, and then these, from line 9.
pub(crate) fn running<'a>(started: &'a [String], lines: &[&'a str]) -> Vec<&'a str> {
    started.iter().map(String::as_str).chain(lines.iter().copied()).collect()
}

/// After the opening these lines come, from line 5, and in one of them somebody breaks a rule.
#[track_caller]
pub(crate) fn planted(lines: &[&str], line: usize, rule: &str, by: Side) {
    assert_eq!(found(&script(lines)), [(line, leaked(rule), by, Severity::Error)]);
}

/// The same, for what may have crossed, or is not quite forbidden.
#[track_caller]
pub(crate) fn doubtful(lines: &[&str], line: usize, rule: &str, by: Side) {
    assert_eq!(found(&script(lines)), [(line, leaked(rule), by, Severity::Warning)]);
}

/// A request of the client that has an id of its own, and its answer.
fn asked(method: &str, params: &str, answer: &str) -> [String; 2] {
    [
        format!(r#"> {{"jsonrpc":"2.0","id":9,"method":"{method}","params":{params}}}"#),
        format!(r#"< {{"jsonrpc":"2.0","id":9,{answer}}}"#),
    ]
}

const OK: &str = r#""result":{}"#;
const NO: &str = r#""error":{"code":-32601,"message":"no"}"#;

#[test]
fn every_rule_of_version_2_has_a_planted_fault() {
    let tests = [include_str!("v2.rs"), include_str!("v2_turns.rs")].concat();
    every_rule_is_broken(&tests, |rule| rule.v2.is_some());
}

#[test]
fn a_finding_names_the_page_of_the_version_in_force() {
    let prompt = PROMPT.replace(r#""sessionId":"s","#, "");
    let log = read(&script(&[&prompt, INSERTED]), None).expect("a trace");
    let places: Vec<_> = check(&log).findings.iter().map(|finding| finding.place().address()).collect();
    assert_eq!(places, ["https://agentclientprotocol.com/protocol/v2/schema"]);
}

#[test]
fn what_holds_in_both_versions_holds_in_version_2() {
    planted(&["< Loading…"], 5, "not-json", Side::Agent);
    planted(&[&LIST.replace(r#""jsonrpc":"2.0","#, ""), LISTED], 5, "not-a-message", Side::Client);
    planted(&[&format!("> [{}]", LIST.trim_start_matches("> ")), LISTED], 5, "batch", Side::Client);
    planted(&[LIST, &LIST.replace("session/list", "_x"), LISTED], 6, "id-in-use", Side::Client);
    planted(&[r#"< {"jsonrpc":"2.0","id":77,"result":{}}"#], 5, "unknown-answer", Side::Agent);
    planted(&[LIST, LISTED, LISTED], 7, "answered-twice", Side::Agent);
    planted(&[LIST, r#"{"from":"agent","end":"end of file"}"#], 5, "unanswered", Side::Agent);
    doubtful(
        &[r#"< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}"#],
        5,
        "peer-rejected",
        Side::Agent,
    );
    planted(&[&CANCEL.replace('>', "<")], 5, "wrong-direction", Side::Agent);
    planted(&[&LIST.replace(r#""id":3,"#, "")], 5, "wrong-form", Side::Client);
    doubtful(&[&LIST.replace("session/list", "session/paint"), LISTED], 5, "unknown-method", Side::Client);
    planted(&[&PROMPT.replace("\"s\"", "\"other\""), INSERTED], 5, "unknown-session", Side::Client);
    let login = asked("auth/login", r#"{"methodId":"other"}"#, OK);
    planted(&[&login[0], &login[1]], 5, "auth-method", Side::Client);
    let image = r#"{"type":"image","data":"","mimeType":"image/png"}"#;
    let image = PROMPT.replace(r#"{"type":"text","text":"hi"}"#, image);
    planted(&[&image, INSERTED], 5, "content-not-advertised", Side::Client);
    let new = asked("session/new", r#"{"cwd":"w"}"#, r#""result":{"sessionId":"t"}"#);
    planted(&[&new[0], &new[1]], 5, "relative-path", Side::Client);
}

#[test]
fn a_request_before_initialize_is_answered() {
    let mut lines: Vec<_> = OPENED.lines().collect();
    lines.swap(1, 2);
    assert_eq!(found(&lines.join("\n")), [(2, leaked("before-initialize"), Side::Client, Severity::Error)]);
}

#[test]
fn the_id_null_is_forbidden() {
    let null = |line: &str| line.replace("\"id\":3", "\"id\":null");
    planted(&[&null(LIST), &null(LISTED)], 5, "null-id", Side::Client);
}

#[test]
fn initialize_may_be_repeated_until_something_else_is_asked() {
    let lines: Vec<_> = OPENED.lines().collect();
    let again = [lines[0].replace("\"id\":0", "\"id\":9"), lines[1].replace("\"id\":0", "\"id\":9")];
    let twice = [lines[0], lines[1], &again[0], &again[1], lines[2], lines[3]];
    assert_eq!(found(&twice.join("\n")), []);
    // If the second fails, the first holds.
    let failed = format!(r#"< {{"jsonrpc":"2.0","id":9,{NO}}}"#);
    let twice = [lines[0], lines[1], &again[0], &failed, lines[2], lines[3]];
    assert_eq!(found(&twice.join("\n")), []);
    doubtful(&[&again[0], &failed, LIST, LISTED], 5, "initialize-twice", Side::Client);
}

#[test]
fn a_version_above_the_one_that_was_asked_for() {
    let opened = OPENED.replacen("\"protocolVersion\":2", "\"protocolVersion\":1", 1);
    assert_eq!(found(&opened), [(2, leaked("version"), Side::Agent, Severity::Error)]);
}

#[test]
fn what_only_version_1_has() {
    for (method, params) in [
        ("authenticate", r#"{"methodId":"token"}"#),
        ("session/load", r#"{"sessionId":"t","cwd":"/w","mcpServers":[]}"#),
        ("session/set_mode", r#"{"sessionId":"s","modeId":"ask"}"#),
    ] {
        let lines = asked(method, params, NO);
        planted(&[&lines[0], &lines[1]], 5, "other-version", Side::Client);
    }
    let read = r#"< {"jsonrpc":"2.0","id":"f","method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}"#;
    let answer = format!(r#"> {{"jsonrpc":"2.0","id":"f",{NO}}}"#);
    planted(&[read, &answer], 5, "other-version", Side::Agent);
    for kind in [
        r#""tool_call","toolCallId":"t","title":"T""#,
        r#""plan","entries":[]"#,
        r#""current_mode_update","currentModeId":"ask""#,
    ] {
        planted(&[&update(kind)], 5, "other-version", Side::Agent);
    }
    // Members that are gone.
    let old = OPENED.replacen(
        r#""capabilities":{"session":{}}"#,
        r#""agentCapabilities":{},"capabilities":{"session":{}}"#,
        1,
    );
    assert_eq!(found(&old), [(2, leaked("other-version"), Side::Agent, Severity::Error)]);
    let new = asked("session/new", r#"{"cwd":"/w"}"#, r#""result":{"sessionId":"t","modes":{}}"#);
    planted(&[&new[0], &new[1]], 6, "other-version", Side::Agent);
    planted(
        &[PROMPT, &INSERTED.replace("messageId\":\"m1", "stopReason\":\"end_turn")],
        6,
        "other-version",
        Side::Agent,
    );
    let ask = ASK.replace(r#""title":"#, r#""toolCall":{"toolCallId":"t"},"title":"#);
    planted(&[&ask, YES], 5, "other-version", Side::Agent);
}

#[test]
fn what_is_required() {
    let lines: Vec<_> = OPENED.lines().collect();
    let anonymous = lines[0].replace(r#","info":{"name":"c","version":"1"}"#, "");
    let log = [&anonymous, lines[1]].join("\n");
    assert_eq!(found(&log), [(1, leaked("bad-params"), Side::Client, Severity::Error)]);
    for part in [r#","info":{"name":"a","version":"1"}"#, r#""type":"agent","#] {
        let log = [lines[0], &lines[1].replace(part, "")].join("\n");
        assert_eq!(found(&log), [(2, leaked("bad-result"), Side::Agent, Severity::Error)], "{part}");
    }
    let empty = PROMPT.replace(r#"[{"type":"text","text":"hi"}]"#, "[]");
    planted(&[&empty, INSERTED], 5, "bad-params", Side::Client);
    let keyed = PROMPT.replace(r#""prompt":"#, r#""idempotencyKey":"","prompt":"#);
    planted(&[&keyed, INSERTED], 5, "bad-params", Side::Client);
    planted(&[PROMPT, &INSERTED.replace(r#""messageId":"m1""#, "")], 6, "bad-result", Side::Agent);
    planted(&[&ASK.replace(r#""title":"May I?","#, ""), YES], 5, "bad-params", Side::Agent);
    let unnamed = chunk("m").replace(r#""messageId":"m","#, "");
    planted(&[&unnamed], 5, "bad-params", Side::Agent);
    planted(&[&update(r#""state_update""#)], 5, "bad-params", Side::Agent);
    let [set, answer] =
        asked("session/set_config_option", r#"{"sessionId":"s","configId":"c","type":"id","value":"v"}"#, OK);
    planted(&[&set, &answer], 6, "bad-result", Side::Agent);
    planted(
        &[&set.replace(r#""type":"id","#, ""), &answer.replace("{}", r#"{"configOptions":[]}"#)],
        5,
        "bad-params",
        Side::Client,
    );
}

#[test]
fn methods_behind_a_capability() {
    let [delete, answer] = asked("session/delete", r#"{"sessionId":"s"}"#, OK);
    planted(&[&delete, &answer], 5, "not-advertised", Side::Client);
    let url = OPENED.replacen(r#"{"elicitation":{"form":{}}}"#, "{}", 1);
    let ask = r#"< {"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"sessionId":"s","mode":"form","message":"?"}}"#;
    let no = format!(r#"> {{"jsonrpc":"2.0","id":"e",{NO}}}"#);
    let expected = [(5, leaked("not-advertised"), Side::Agent, Severity::Error)];
    assert_eq!(found(&format!("{url}{ask}\n{no}\n")), expected);
}

#[test]
fn an_option_that_was_not_offered() {
    planted(&[ASK, &YES.replace("\"yes\"", "\"always\"")], 6, "option-not-offered", Side::Client);
}

const RESUME: &str = r#"> {"jsonrpc":"2.0","id":5,"method":"session/resume","params":{"sessionId":"s","cwd":"/w"}}"#;
const RESUMED: &str = r#"< {"jsonrpc":"2.0","id":5,"result":{}}"#;

#[test]
fn a_resume_brings_the_history_that_is_asked_for_and_the_state_before_its_answer() {
    // Of a session that is not open yet.
    let opened: Vec<_> = OPENED.lines().take(2).collect();
    let replay = RESUME.replace(r#""cwd""#, r#""replayFrom":{"type":"start"},"cwd""#);
    let (complete, at_rest) = (update(r#""replay_complete""#), update(r#""state_update","state":"idle""#));
    let (user, agent) = (told("m1"), chunk("m2"));
    let of = |lines: &[&str]| found(&[&opened, lines].concat().join("\n"));
    let broken = |line, rule| [(line, leaked(rule), Side::Agent, Severity::Error)];
    assert_eq!(of(&[RESUME, &at_rest, RESUMED]), []);
    assert_eq!(of(&[&replay, &user, &agent, &complete, &at_rest, RESUMED]), []);
    assert_eq!(of(&[&replay, &complete, &at_rest, RESUMED]), [], "of nothing");
    assert_eq!(of(&[RESUME, RESUMED]), broken(4, "resume-order"));
    assert_eq!(of(&[&replay, &user, &at_rest, RESUMED]), broken(6, "resume-order"));
    assert_eq!(of(&[&replay, &at_rest, &complete, RESUMED]), broken(6, "resume-order"));
    assert_eq!(of(&[&replay, &complete, &complete, &at_rest, RESUMED]), broken(5, "resume-order"));
    assert_eq!(of(&[RESUME, &complete, &at_rest, RESUMED]), broken(4, "resume-order"));
    let failed = RESUMED.replace(OK, NO);
    assert_eq!(of(&[&replay, &failed]), []);
    assert_eq!(of(&[&replay, &complete, &failed]), broken(5, "resume-order"));
    assert_eq!(of(&[RESUME, &user, &at_rest, RESUMED]), broken(4, "resume-replays"));
}

#[test]
fn a_session_that_is_open_may_be_resumed_while_it_works() {
    let started = started();
    let (chunk, running_still, end) = (chunk("m2"), state("running"), idle("end_turn"));
    let lines = running(&started, &[RESUME, &chunk, &running_still, RESUMED, &end]);
    assert_eq!(found(&script(&lines)), []);
}

#[test]
fn a_session_is_closed_at_rest_and_silent_afterwards() {
    let [close, closed] = asked("session/close", r#"{"sessionId":"s"}"#, OK);
    let (started, end, chunk) = (started(), idle("cancelled"), chunk("m2"));
    assert_eq!(found(&script(&running(&started, &[&close, &end, &closed]))), []);
    assert_eq!(found(&script(&[&close, &closed, &close, &closed])), [], "closed is closed");
    planted(&running(&started, &[&close, &closed]), 10, "close-order", Side::Agent);
    planted(&running(&started, &[&close, &end, &closed, &chunk]), 12, "unknown-session", Side::Agent);
    // A prompt that was not inserted is answered whenever it suits.
    let no = r#"< {"jsonrpc":"2.0","id":2,"error":{"code":-32800,"message":"cancelled"}}"#;
    assert_eq!(found(&script(&[PROMPT, &close, &closed, no])), []);
}

#[test]
fn tool_calls_and_terminals() {
    let call = |status: &str| update(&format!(r#""tool_call_update","toolCallId":"t","status":"{status}""#));
    assert_eq!(found(&script(&[&call("pending"), &call("in_progress"), &call("_waiting"), &call("cancelled")])), []);
    doubtful(&[&call("done")], 5, "tool-status", Side::Agent);
    planted(&[&call("in_progress"), &call("pending")], 6, "tool-backwards", Side::Agent);
    doubtful(&[&update(r#""agent_song""#)], 5, "update-kind", Side::Agent);
    assert_eq!(found(&script(&[&update(r#""_song""#)])), []);
}

#[test]
fn one_tool_call_is_cancelled_only_while_that_is_offered() {
    let offer =
        |cancel: &str| update(&format!(r#""tool_call_update","toolCallId":"t","capabilities":{{"cancel":{cancel}}}"#));
    let [cancel, no] = asked("tool_call/cancel", r#"{"sessionId":"s","toolCallId":"t"}"#, NO);
    assert_eq!(found(&script(&[&offer("{}"), &cancel, &no])), []);
    planted(&[&cancel, &no], 5, "not-cancellable", Side::Client);
    doubtful(&[&offer("{}"), &offer("null"), &cancel, &no], 7, "not-cancellable", Side::Client);
    // The answer proves that the client had read it.
    let lines = [&offer("{}"), &offer("null"), ASK, YES, &cancel, &no];
    planted(&lines, 9, "not-cancellable", Side::Client);
    let [cancel, no] = asked("terminal/cancel", r#"{"sessionId":"s","terminalId":"t"}"#, NO);
    planted(&[&offer("{}"), &cancel, &no], 6, "not-cancellable", Side::Client);
    let over = update(r#""tool_call_update","toolCallId":"t","status":"completed""#);
    let [cancel, no] = asked("tool_call/cancel", r#"{"sessionId":"s","toolCallId":"t"}"#, NO);
    doubtful(&[&offer("{}"), &over, &cancel, &no], 7, "not-cancellable", Side::Client);
}

#[test]
fn a_log_of_version_2_without_its_beginning_is_known_by_its_states() {
    let started = started();
    let log = running(&started, &[&idle("end_turn").leak()[..]]).join("\n");
    let report = check(&read(&log, None).expect("a trace"));
    assert_eq!(report.findings, []);
    assert_eq!(report.notes.len(), 1);
}
