//! The programs as their users run them.

use std::process::{Command, Output};

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().expect("the program was built with this test")
}

fn lines(output: &Output) -> Vec<serde_json::Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
}

const DRIVE: &str = env!("CARGO_BIN_EXE_drive");
const AGENT: &str = env!("CARGO_BIN_EXE_echo_agent");
const BRIDGE: &str = env!("CARGO_BIN_EXE_bridge");

#[test]
fn the_demonstration_shows_every_phase_of_a_cancel() {
    let shown = run(DRIVE, &[]);
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.status.success(), "{text}");
    for part in ["\"chunk 6/6\"", "permission: allow", "cancel 1/4", "cancel 2/4", "cancel 3/4", "cancel 4/4", "turn 4"]
    {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    assert!(!text.contains('\x1b'), "no colours outside of a terminal");
}

#[test]
fn the_small_programs_understand_each_other() {
    let said = run(env!("CARGO_BIN_EXE_client_small"), &[env!("CARGO_BIN_EXE_agent_small")]);
    assert_eq!(String::from_utf8_lossy(&said.stdout), "One word at a time.\nEnded(EndTurn)\n");
    assert!(said.status.success());
}

#[test]
#[cfg(unix)]
fn the_small_client_says_why_there_is_no_agent() {
    let said = run(env!("CARGO_BIN_EXE_client_small"), &["sh", "-c", "echo 'no key is set' >&2; exit 1"]);
    let why = String::from_utf8_lossy(&said.stderr);
    assert!(!said.status.success());
    assert!(why.starts_with("no key is set\n"), "{why}");
    assert!(why.contains("the connection ended before the peer answered (the peer ended the stream)"), "{why}");
}

#[test]
fn events_come_in_the_order_of_the_wire() {
    let said = run(DRIVE, &["--prompt", "echo é", "--prompt", "error 1234", "--", AGENT]);
    let events = lines(&said);
    let names: Vec<_> = events.iter().filter_map(|event| event["ev"].as_str()).collect();
    assert_eq!(names, ["initialized", "session", "update", "stop", "error"]);
    assert_eq!((&events[2]["text"], &events[4]["code"]), (&"é".into(), &1234.into()));
    assert_eq!(said.status.code(), Some(3));
}

#[test]
#[cfg(unix)]
fn a_terminal_is_really_served_and_ends_with_its_turn() {
    let said = run(DRIVE, &["--caps", "fs,terminal", "--prompt", "exec echo out; echo err >&2", "--", AGENT]);
    let text: String = lines(&said).iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(text.contains("out\n") && text.contains("err\n"), "{text:?}");
    let said =
        run(DRIVE, &["--caps", "terminal", "--cancel-after-ms", "200", "--prompt", "exec sleep 1000", "--", AGENT]);
    assert_eq!(lines(&said).last().map(|event| event["stopReason"].clone()), Some("cancelled".into()));
    assert!(said.status.success());
}

#[test]
fn a_recording_replays_and_goes_out_without_its_texts() {
    const REPLAY: &str = env!("CARGO_BIN_EXE_replay");
    let file = std::env::temp_dir().join(format!("acp-replay-{}.jsonl", std::process::id()));
    let file = file.to_str().expect("a path that is UTF-8");
    assert!(run(REPLAY, &["--record", file, "--cancel"]).status.success());
    let shown = run(REPLAY, &[file]);
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.status.success() && text.contains("told: AbortTurn") && text.contains("the same came out"), "{text}");
    let redacted = run(REPLAY, &["--redact", file]);
    let redacted = String::from_utf8_lossy(&redacted.stdout);
    assert!(text.contains("Hello!") && !redacted.contains("Hello!"), "{redacted}");
    std::fs::write(file, redacted.replacen("session/cancel", "session/cancer", 1)).expect("written");
    assert!(!run(REPLAY, &[file]).status.success(), "what was changed does not replay");
    std::fs::remove_file(file).expect("removed");
}

#[test]
fn both_versions_of_the_protocol_tell_the_same_turns() {
    let of = |version: &str, agent: &[&str]| {
        let mut arguments = vec!["--protocol", version, "--permission", "allow"];
        for prompt in ["echo é", "tool", "permission", "stop refusal", "error 1234", "stream 3"] {
            arguments.extend(["--prompt", prompt]);
        }
        arguments.push("--");
        arguments.extend(agent);
        let said = run(DRIVE, &arguments);
        let events = lines(&said);
        assert_eq!(events[0]["protocolVersion"].to_string(), version, "{events:?}");
        let told = |event: &serde_json::Value| {
            let said = |name: &str| event[name].as_str().map(str::to_owned);
            match event["ev"].as_str()? {
                "update" => said("text"),
                "permission" => Some(event["answer"].to_string()),
                "stop" => Some(format!("{} {}", event["prompt"], event["stopReason"])),
                "error" => Some(format!("{} {}", event["prompt"], event["code"])),
                _ => None,
            }
        };
        (events.iter().filter_map(told).collect::<Vec<_>>(), said.status.code())
    };
    let first = of("1", &[AGENT]);
    assert_eq!(first.0.len(), 12, "{first:?}");
    assert_eq!(first.1, Some(3), "one of the prompts failed");
    assert_eq!(of("2", &[AGENT]), first);
    // And through a bridge, each client with the agent of the other version, and of its own.
    for client in ["1", "2"] {
        for agent in ["1", "2"] {
            assert_eq!(of(client, &[BRIDGE, "--agent-version", agent, AGENT]), first, "{client} to {agent}");
        }
    }
}

#[test]
fn a_turn_of_either_version_is_cancelled_and_the_next_one_runs_also_through_a_bridge() {
    let turns = ["--cancel-after-updates", "4", "--prompt", "stream 1000 5", "--prompt", "echo on", "--"];
    for (version, agent) in [
        ("2", &[AGENT][..]),
        ("1", &[BRIDGE, "--agent-version", "2", AGENT]),
        ("2", &[BRIDGE, "--agent-version", "1", AGENT]),
    ] {
        let said = run(DRIVE, &[&["--protocol", version], &turns[..], agent].concat());
        let events = lines(&said);
        let stops: Vec<_> = events.iter().filter_map(|event| event["stopReason"].as_str()).collect();
        assert_eq!(stops, ["cancelled", "end_turn"], "{version} {agent:?}");
        assert!(said.status.success());
    }
}
