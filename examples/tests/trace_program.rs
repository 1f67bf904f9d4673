//! `--trace` and the program `trace`, as their users run them.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

const TRACE: &str = env!("CARGO_BIN_EXE_trace");
const DRIVE: &str = env!("CARGO_BIN_EXE_drive");
const AGENT: &str = env!("CARGO_BIN_EXE_echo_agent");

/// A file that goes with the test.
struct Temp(PathBuf);

impl Temp {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("acp-trace-{}-{name}", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path of text")
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.0).expect("it was written")
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).stdin(Stdio::null()).output().expect("it was built with this test")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn both_ends_write_down_the_same_and_break_no_rule() {
    both_ends_agree("1");
}

#[test]
fn both_ends_write_down_the_same_and_break_no_rule_of_version_2() {
    both_ends_agree("2");
}

fn both_ends_agree(version: &str) {
    let (here, there) = (Temp::new(&format!("here-{version}")), Temp::new(&format!("there-{version}")));
    let flags = ["--protocol", version, "--trace", here.path(), "--permission", "allow", "--cancel-after-updates", "6"];
    let prompts = ["--prompt", "stream 1000 5", "--prompt", "permission", "--prompt", "echo secret"];
    let agent = ["--", AGENT, "--trace", there.path()];
    assert!(run(DRIVE, &[&flags[..], &prompts, &agent].concat()).status.success());
    let messages = |trace: &Temp, from: &str| -> Vec<String> {
        let from = format!("\"from\":\"{from}\",\"message\":");
        let text = trace.text();
        text.lines().filter_map(|line| line.split_once(&from)).map(|(_, message)| message.to_owned()).collect()
    };
    for from in ["client", "agent"] {
        let said = messages(&here, from);
        assert!(said.len() > 5);
        assert_eq!(said, messages(&there, from));
    }
    for trace in [&here, &there] {
        let checked = run(TRACE, &["--check", "--strict", trace.path()]);
        assert_eq!(checked.status.code(), Some(0), "{}", text(&checked));
        assert!(!text(&checked).contains("note:"), "all of it was checked: {}", text(&checked));
    }
    let shown = text(&run(TRACE, &[here.path()]));
    for part in
        ["├─ initialize #1 ─", "cancel 1/2: asked for", "cancel 2/2: answered", "agent_message_chunk ×", " ms ─┤"]
    {
        assert!(shown.contains(part), "{part} is missing in\n{shown}");
    }
    assert!(!shown.contains('\x1b'), "no colours outside of a terminal");
}

#[test]
fn no_text_is_left_in_a_trace_without_text() {
    let (trace, other) = (Temp::new("no-text"), Temp::new("removed"));
    let flags = [
        "--trace",
        trace.path(),
        "--trace-no-text",
        "--prompt",
        "echo my-secret",
        "--",
        AGENT,
        "--trace",
        other.path(),
    ];
    assert!(run(DRIVE, &flags).status.success());
    assert!(other.text().contains("my-secret") && !trace.text().contains("my-secret"));
    assert_eq!(run(TRACE, &["--check", trace.path()]).status.code(), Some(0), "it can be checked all the same");
    // It can be taken out later, too.
    let removed = text(&run(TRACE, &["--remove-text", other.path()]));
    assert!(!removed.contains("my-secret") && removed.contains("session/prompt"), "{removed}");
}

#[test]
fn a_trace_of_version_2_without_its_text_can_be_checked() {
    let trace = Temp::new("no-text-2");
    let flags = ["--protocol", "2", "--trace", trace.path(), "--trace-no-text"];
    let prompts = ["--prompt", "plan", "--prompt", "tool", "--", AGENT];
    assert!(run(DRIVE, &[&flags[..], &prompts].concat()).status.success());
    let checked = run(TRACE, &["--check", "--strict", trace.path()]);
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked));
}

#[test]
fn a_fault_is_told_with_its_line_and_where_the_rule_stands() {
    let log = Temp::new("fault");
    fs::write(&log.0, "> {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n< Loading…\n< {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":1}}\n")
        .expect("a file");
    let checked = run(TRACE, &["--check", log.path()]);
    assert_eq!(checked.status.code(), Some(1));
    let said = text(&checked);
    assert!(said.contains(":2: error[not-json]: the agent") && said.contains("protocol/v1/transports#stdio"), "{said}");
    let said = text(&run(TRACE, &["--check", "--json", log.path()]));
    assert!(said.contains("\"line\":2") && said.contains("\"rule\":\"not-json\""), "{said}");

    let page = Temp::new("page");
    assert_eq!(run(TRACE, &["--html", page.path(), log.path()]).status.code(), Some(0));
    let picture = Temp::new("picture");
    assert_eq!(run(TRACE, &["--svg", picture.path(), log.path()]).status.code(), Some(0));
    let (html, svg) = (page.text(), picture.text());
    assert!(svg.starts_with("<svg xmlns=") && html.contains(&svg), "the picture alone is that of the page");
    assert!(html.contains("<svg") && html.contains("✗ not-json") && html.ends_with("</html>\n"), "{html}");
    for elsewhere in ["<script", "src=", "url(", "@import"] {
        assert!(!html.contains(elsewhere), "{elsewhere}: the page stands alone");
    }
}

#[test]
fn what_is_no_trace_is_a_matter_of_its_own() {
    for arguments in [&["--check", AGENT][..], &["--check", "/no/such/file"], &["--no-such-flag"]] {
        let said = run(TRACE, arguments);
        assert_eq!(said.status.code(), Some(2), "{arguments:?}");
        assert!(!said.stderr.is_empty());
    }
}
