//! The embeddings, each run as its user runs it, and asked for what it said and did.

use core::time::Duration;
use std::{
    io::Write as _,
    process::{Command, Output, Stdio},
    thread,
    time::Instant,
};

macro_rules! program {
    ($name:literal) => {
        env!(concat!("CARGO_BIN_EXE_", $name))
    };
}

fn run(program: &str, arguments: &[&str]) -> Output {
    let ran = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    ran.expect("the program was built with this test")
}

/// What a program printed; it must have ended well.
fn printed(program: &str, arguments: &[&str]) -> String {
    let ran = run(program, arguments);
    assert!(ran.status.success(), "{program}: {}\n{}", ran.status, String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("text")
}

const ALL: &str = "One word at a time.\nEnded(EndTurn)\n";

#[test]
fn an_agent_on_plain_threads_answers_and_stops_when_it_is_cancelled() {
    assert_eq!(printed(program!("client_small"), &[program!("blocking_agent")]), ALL);
    let events =
        printed(program!("drive"), &["--prompt", "x", "--cancel-after-updates", "2", "--", program!("blocking_agent")]);
    let updates = events.lines().filter(|line| line.contains(r#""ev":"update""#)).count();
    assert!((2..=3).contains(&updates), "one word may be on its way when the cancel is: {events}");
    assert!(events.ends_with("\"stopReason\":\"cancelled\"}\n"), "{events}");
}

#[test]
fn an_agent_on_plain_threads_ends_at_the_end_of_its_input() {
    assert_eq!(printed(program!("blocking_agent"), &[]), "");
}

#[test]
fn an_agent_on_plain_threads_does_not_outlive_a_client_that_stops_reading() {
    let mut agent = Command::new(program!("blocking_agent"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was built with this test");
    let mut stdin = agent.stdin.take().expect("piped");
    let answer = "x".repeat(1 << 20);
    // The id comes back in the answer, which is more than a pipe holds, and nobody reads it.
    writeln!(stdin, r#"{{"jsonrpc":"2.0","id":"{answer}","method":"_x"}}"#).expect("the agent reads");
    drop(stdin);
    let began = Instant::now();
    while agent.try_wait().expect("it is ours").is_none() {
        assert!(began.elapsed() < Duration::from_secs(30), "it is still there");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[cfg(unix)]
fn a_poll_loop_drives_an_agent_over_its_pipes() {
    assert_eq!(printed(program!("poll_loop"), &[program!("agent_small")]), ALL);
}

#[test]
#[cfg(unix)]
fn a_poll_loop_is_not_held_up_by_an_agent_that_goes_at_once() {
    assert_eq!(printed(program!("poll_loop"), &["true"]), "\nno end\n");
}

#[test]
fn a_hand_made_executor_drives_both_ends() {
    assert_eq!(printed(program!("own_executor"), &[]), ALL);
    assert_eq!(printed(program!("own_executor"), &["3"]), "One word at \nCancelled\n");
}

#[test]
fn both_ends_in_one_process_need_no_pipe() {
    assert_eq!(printed(program!("in_process"), &[]), ALL);
    assert_eq!(printed(program!("in_process"), &["2"]), "One word \nCancelled\n");
}

#[test]
fn many_websocket_clients_are_served_at_once() {
    let said = printed(program!("websocket"), &["20"]);
    assert_eq!(said.lines().count(), 20, "{said}");
    assert_eq!(said.matches("One word at a time.→ Ended(EndTurn)").count(), 10, "{said}");
    assert_eq!(said.matches("→ Cancelled").count(), 10, "{said}");
}

#[test]
#[cfg(unix)]
fn a_proxy_passes_every_byte_and_shows_what_passed() {
    let bytes = b"a\r\n\xff\xfe no json\n\n{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\xa9\",\"method\":\"_x\"}\n\
        [{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1},3]\n{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-1,\"message\":\"\"}} \ntail";
    let mut proxy = Command::new(program!("proxy"))
        .arg("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it was built with this test");
    proxy.stdin.take().expect("piped").write_all(bytes).expect("the proxy reads");
    let ran = proxy.wait_with_output().expect("it ends");
    assert_eq!(ran.stdout, bytes);
    let tap = String::from_utf8(ran.stderr).expect("text");
    for way in ["client → agent", "agent → client"] {
        let seen: Vec<_> = tap.lines().filter_map(|line| line.split_once(way)).map(|(_, what)| what.trim()).collect();
        assert_eq!(
            seen,
            [
                "the line is not JSON, 1 bytes",
                "the line is not UTF-8, 10 bytes",
                "blank, 0 bytes",
                "_x #\"é\", 41 bytes",
                "batch of result #1 and a message must be an object, 39 bytes",
                "error -1 #2, 58 bytes",
                "the line is not JSON, 4 bytes",
            ],
            "{tap}"
        );
    }
}

#[test]
#[cfg(unix)]
fn a_proxy_goes_unnoticed_by_both_sides() {
    let ran = run(program!("poll_loop"), &[program!("proxy"), program!("agent_small")]);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), ALL);
    let tap = String::from_utf8(ran.stderr).expect("text");
    let seen: Vec<_> = tap.lines().filter_map(|line| line.split("  ").last()).collect();
    for part in ["initialize #", "session/new #", "session/prompt #", "session/update, ", "result #"] {
        assert!(seen.iter().any(|what| what.starts_with(part)), "{part} is missing in:\n{tap}");
    }
}

#[test]
#[cfg(unix)]
fn a_proxy_ends_as_its_agent_does() {
    let events = run(program!("drive"), &["--prompt", "crash 7", "--", program!("proxy"), program!("echo_agent")]);
    assert_eq!(events.status.code(), Some(5));
    let ran = run(program!("proxy"), &["sh", "-c", "exit 7"]);
    assert_eq!(ran.status.code(), Some(7));
}

#[test]
fn a_cancel_drops_the_stream_that_a_turn_relays() {
    let said = printed(program!("stream_abort"), &[]);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[0].starts_with("heard 5 words, then cancelled; "), "{said}");
    let after =
        lines[1].strip_prefix("the source saw its connection end after ").and_then(|rest| rest.strip_suffix(" ms"));
    let after: f64 = after.and_then(|ms| ms.parse().ok()).expect("a time");
    // Milliseconds, on a machine that is not busy; this is a test of the order of magnitude.
    assert!(after < 1000.0, "{said}");
    assert!(lines[2].ends_with(" ms: Cancelled"), "{said}");
}

#[test]
fn a_swarm_is_cancelled_and_leaves_nothing() {
    for program in [program!("swarm"), program!("swarm_tokio")] {
        let said = printed(program, &["200"]);
        let stages: Vec<_> =
            said.lines().filter_map(|line| line.split_once(": ")).map(|(stage, _)| stage.trim()).collect();
        let expected = ["idle", "with a session, more", "in a turn that asks, more", "cancelled, more"];
        assert_eq!(stages.get(..4), Some(&expected[..]), "{said}");
        assert!(said.ends_with("of 200: 200 cancelled, 200 idle afterwards, 200 closed; left: 0 B\n"), "{said}");
    }
}
