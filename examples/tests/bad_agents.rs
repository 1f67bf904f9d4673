//! `drive` against agents that misbehave: each ends in bounded time, with a clear word, and leaves no process behind.
#![cfg(target_os = "linux")]

use core::time::Duration;
use std::{
    fs,
    process::{Command, Output},
    time::Instant,
};

/// What a good agent does before its first prompt: ids are given in sequence, so the answers can be written down.
const OPENED: &str = r#"
read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
read -r line; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
read -r line
"#;
const ENDED: &str = r#"echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'"#;

/// Runs `drive` against an agent written as a shell script, and looks for what it leaves behind.
fn drive(name: &str, flags: &[&str], script: &str) -> (Output, String) {
    let mark = format!("ACP_BAD_AGENT={name}-{}", std::process::id());
    let (variable, value) = mark.split_once('=').expect("it was just written");
    let started = Instant::now();
    let said = Command::new(env!("CARGO_BIN_EXE_drive"))
        .args(flags)
        .args(["--prompt", "go", "--", "sh", "-c", &format!("{OPENED}{script}")])
        .env(variable, value)
        .output()
        .expect("the program was built with this test");
    assert!(started.elapsed() < Duration::from_secs(30), "{name}: {:?}", started.elapsed());
    assert!(gone(&mark), "{name}: a process was left behind");
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    (said, text)
}

/// Whether every process with this in its environment is gone, or goes within a moment.
fn gone(mark: &str) -> bool {
    let alive = || {
        let processes = fs::read_dir("/proc").expect("Linux has one").flatten();
        processes.filter(|process| process.path().join("environ").exists()).any(|process| {
            let environ = fs::read(process.path().join("environ")).unwrap_or_default();
            let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
            let zombie = stat.rsplit(") ").next().is_some_and(|state| state.starts_with('Z'));
            !zombie && environ.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        })
    };
    (0..40).any(|_| {
        let left = alive();
        if left {
            std::thread::yield_now();
        }
        !left
    })
}

fn code(said: &Output) -> Option<i32> {
    said.status.code()
}

#[test]
fn noise_on_stdout_is_passed_over() {
    let script =
        format!("echo 'INFO starting'; echo; printf '\\033[32mok\\033[0m\\n'; {ENDED}; echo bye; read -r line");
    let (said, text) = drive("noise", &[], &script);
    assert!(text.contains(r#""stopReason":"end_turn""#), "{text}");
    assert_eq!(code(&said), Some(0));
}

#[test]
fn an_agent_that_dies_in_mid_turn_is_noticed_and_its_last_words_are_shown() {
    let (said, text) = drive("dies", &[], "echo 'the model is gone' >&2; exit 7");
    assert!(text.contains(r#""ev":"closed""#), "{text}");
    let stderr = String::from_utf8_lossy(&said.stderr);
    assert!(stderr.contains("the model is gone"), "{stderr}");
    assert_eq!(code(&said), Some(5));
}

#[test]
fn an_agent_that_never_answers_runs_into_the_timeout() {
    let (said, text) = drive("silent", &["--timeout", "1"], "sleep 1000");
    assert!(text.contains(r#""code":"timeout""#), "{text}");
    assert_eq!(code(&said), Some(4));
}

#[test]
fn an_agent_that_ignores_a_cancel_runs_into_a_bound() {
    let (said, text) = drive("ignores", &["--timeout", "2", "--cancel-after-ms", "50"], "sleep 1000");
    assert!(text.contains(r#""ev":"cancel_sent""#), "{text}");
    assert_eq!(code(&said), Some(4));
}

#[test]
fn an_agent_that_answers_twice_is_heard_once() {
    let (said, text) = drive("twice", &[], &format!("{ENDED}; {ENDED}; read -r line"));
    assert_eq!(text.matches(r#""ev":"stop""#).count(), 1, "{text}");
    assert_eq!(code(&said), Some(0));
}

#[test]
fn an_agent_that_asks_after_the_end_is_answered_or_ended() {
    let asks = r#"echo '{"jsonrpc":"2.0","id":"late","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","name":"A","kind":"allow_once"}]}}'"#;
    let (said, text) = drive("late", &[], &format!("{ENDED}; {asks}; read -r line; sleep 1000"));
    assert!(text.contains(r#""stopReason":"end_turn""#), "{text}");
    assert_eq!(code(&said), Some(0));
}

#[test]
fn an_agent_that_closes_its_stdout_but_stays_is_ended() {
    let (said, text) = drive("stays", &[], "exec 1>&-; sleep 1000");
    assert!(text.contains(r#""ev":"closed""#), "{text}");
    assert_eq!(code(&said), Some(5));
}

#[test]
fn an_agent_that_ignores_the_end_of_its_input_and_sigterm_is_killed_with_all_it_started() {
    let (said, _) = drive("deaf", &[], &format!("trap '' TERM; sleep 1000 & {ENDED}; while :; do sleep 1; done"));
    assert_eq!(code(&said), Some(0));
}
