//! The runner of the conformance checks: what is good passes all of them, and each fault is found by the check of its rule.
#![cfg(unix)]

use core::time::Duration;
use std::{ffi::OsString, process::Command};

use acp_tests::conform::{Done, Setup, Stop, agent, client, junit, tap};

const RUNNER: &str = env!("CARGO_BIN_EXE_conform");
const AGENT: &str = env!("CARGO_BIN_EXE_subject_agent");
const CLIENT: &str = env!("CARGO_BIN_EXE_subject_client");

fn of_agent(command: &[&str], only: &[&str]) -> Setup {
    let mut setup = Setup::new(command.iter().map(OsString::from).collect());
    (setup.slow, setup.permission) = (Some("slow".to_owned()), Some("permission".to_owned()));
    setup.timeout = Duration::from_secs(20);
    setup.only = only.iter().map(|id| (*id).to_owned()).collect();
    setup
}

/// The checks that fail, and why.
fn failed(done: &[Done]) -> Vec<(&'static str, &str)> {
    let why = |done: &'_ Done| match &done.outcome {
        Err(Stop::Fail(why)) => Some((done.about.id, why.clone().leak() as &str)),
        _ => None,
    };
    done.iter().filter_map(why).collect()
}

#[test]
fn a_good_agent_passes_every_check() {
    let mut setup = of_agent(&[AGENT], &[]);
    setup.slow = Some("stream 1000000 20".to_owned());
    setup.prompt = "echo hi".to_owned();
    let done = agent::run(&setup, |_| ());
    assert_eq!(failed(&done), []);
    // It offers everything, so there is nothing to see of what it does not offer.
    let skipped: Vec<_> = done.iter().filter(|done| done.outcome.is_err()).map(|done| done.about.id).collect();
    assert_eq!(skipped, ["A32"]);
    assert_eq!(done.len(), agent::list().iter().filter(|about| about.v1.is_some()).count());
}

#[test]
fn a_good_agent_passes_every_check_of_version_2() {
    let mut setup = of_agent(&[AGENT], &[]);
    (setup.slow, setup.version) = (Some("stream 1000000 20".to_owned()), 2);
    setup.prompt = "echo hi".to_owned();
    let done = agent::run(&setup, |_| ());
    assert!(done.iter().all(|done| done.outcome.is_ok()), "{}", tap(&done));
    assert_eq!(done.len(), agent::list().iter().filter(|about| about.v2.is_some()).count());
}

#[test]
fn a_good_client_passes_every_check() {
    let command = [CLIENT, "--prompt", "hi", "--permission", "allow"];
    let setup = of_agent(&command, &[]);
    let done = client::run(&setup, &[RUNNER.into(), "__play".into()], |_| ());
    assert!(done.iter().all(|done| done.outcome.is_ok()), "{}", tap(&done));
    assert_eq!(done.len(), client::list().len());
}

/// All checks of the small agent that fail, if it has no fault on purpose.
fn failed_of_small(version: u16) -> Vec<&'static str> {
    let mut setup =
        of_agent(&[AGENT, "none"], &["A0", "A1", "A2", "A3", "A4", "A50", "A51", "A52", "A53", "A56", "A6", "A7"]);
    setup.version = version;
    let mut done = agent::run(&setup, |_| ());
    // In this one something never comes.
    (setup.only, setup.timeout) = (vec!["A54".to_owned()], Duration::from_secs(1));
    done.extend(agent::run(&setup, |_| ()));
    let failed = failed(&done).into_iter().map(|(id, _)| id).collect();
    println!("{}", tap(&done));
    failed
}

#[test]
fn the_small_agent_is_good_but_for_its_faults() {
    // It opens sessions before the connection, and holds one long turn at a time, whatever the session.
    assert_eq!(failed_of_small(1), ["A04", "A54"]);
    assert_eq!(failed_of_small(2), ["A04", "A54"]);
}

#[test]
fn each_fault_of_an_agent_is_found_by_the_check_of_its_rule() {
    for (fault, found) in [
        ("noisy", &["A01"][..]),
        ("twice", &["A26"]),
        ("text-ids", &["A10"]),
        ("answers", &["A13"]),
        ("brittle", &["A20"]),
        ("ignores", &["A50"]),
        ("fails", &["A50"]),
        ("talks", &["A50"]),
        ("leaks", &["A53"]),
        ("trusting", &["A61", "A62", "A63"]),
        ("stays", &["A70"]),
    ] {
        let mut setup = of_agent(&[AGENT, fault], found);
        if fault == "text-ids" {
            // The answer never comes.
            setup.timeout = Duration::from_secs(1);
        }
        let done = agent::run(&setup, |_| ());
        let failed: Vec<_> = failed(&done).into_iter().map(|(id, _)| id).collect();
        assert_eq!(failed, found, "{fault}: {}", tap(&done));
    }
}

#[test]
fn each_fault_of_an_agent_of_version_2_is_found_by_the_check_of_its_rule() {
    for (fault, found) in [
        ("higher", &["A06"][..]),
        ("noisy", &["A01"]),
        ("answers", &["A13"]),
        ("untold", &["A44"]),
        ("silent", &["A40"]),
        ("refuses", &["A45"]),
        ("drops", &["A46"]),
        ("forgetful", &["A47"]),
        ("takes-all", &["A48"]),
        ("ignores", &["A50"]),
        ("fails", &["A50"]),
        ("hangs", &["A37", "A50"]),
        ("leaks", &["A53"]),
        ("trusting", &["A61", "A62", "A63"]),
        ("keeps-asking", &["A67"]),
        ("stays", &["A70"]),
    ] {
        let mut setup = of_agent(&[AGENT, fault], found);
        setup.version = 2;
        if matches!(fault, "silent" | "hangs" | "keeps-asking") {
            // What is due never comes.
            setup.timeout = Duration::from_secs(1);
        }
        let done = agent::run(&setup, |_| ());
        let failed: Vec<_> = failed(&done).into_iter().map(|(id, _)| id).collect();
        assert_eq!(failed, found, "{fault}: {}", tap(&done));
    }
}

#[test]
fn the_linter_finds_what_a_check_does_not_look_for() {
    for (version, fault, check, rule) in [
        (1, "noisy", "A30", "not-json"),
        (1, "twice", "A30", "answered-twice"),
        (1, "talks", "A64", "update-after-cancelled"),
        (2, "twice", "A30", "answered-twice"),
        (2, "talks", "A50", "update-after-cancelled"),
        (2, "untold", "A41", "prompt-untold"),
    ] {
        let mut setup = of_agent(&[AGENT, fault], &[check]);
        setup.version = version;
        let done = agent::run(&setup, |_| ());
        assert!(failed(&done).iter().any(|(_, why)| why.contains(rule)), "{fault}: {}", tap(&done));
    }
}

#[test]
fn each_fault_of_a_client_is_found_by_the_check_of_its_rule() {
    for (fault, found) in [
        ("none", &[][..]),
        ("hasty", &["C01"]),
        ("believes", &["C02"]),
        ("brittle", &["C03"]),
        ("answers", &["C22"]),
        ("guesses", &["C30"]),
        ("lingers", &["C11"]),
    ] {
        let only = if found.is_empty() { &["C01", "C02", "C03", "C11", "C22", "C30"][..] } else { found };
        let mut setup = of_agent(&[CLIENT, "--fault", fault], only);
        setup.timeout = Duration::from_secs(if fault == "lingers" { 1 } else { 5 });
        let done = client::run(&setup, &[RUNNER.into(), "__play".into()], |_| ());
        let failed: Vec<_> = failed(&done).into_iter().map(|(id, _)| id).collect();
        assert_eq!(failed, found, "{fault}: {}", tap(&done));
    }
}

#[test]
fn the_reports_name_the_rule_and_where_it_stands() {
    let done = agent::run(&of_agent(&[AGENT, "brittle"], &["A20", "A01", "A35"]), |_| ());
    let text = tap(&done);
    assert!(text.starts_with("TAP version 13\n1..3\nok 1 - A01 "), "{text}");
    for part in [
        "not ok 2 - A20",
        "  rule: \"Transports, stdio\"",
        "source: https://agentclientprotocol.com/protocol/v1/transports#stdio",
        "# SKIP it does not offer",
        "# 1 passed, 1 failed",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let xml = junit("<agent>", &done);
    for part in [
        "<testsuite name=\"&lt;agent&gt;\" tests=\"3\" failures=\"1\" skipped=\"1\">",
        "<failure message=",
        "<skipped message=",
    ] {
        assert!(xml.contains(part), "{part} is missing in\n{xml}");
    }
}

#[test]
fn the_program_says_by_its_exit_code_what_came_of_it() {
    let run = |arguments: &[&str]| Command::new(RUNNER).args(arguments).output().expect("it was built with this test");
    let good = run(&["--only", "A01", "--only", "A3", "--", AGENT]);
    assert_eq!(good.status.code(), Some(0), "{}", String::from_utf8_lossy(&good.stdout));
    assert_eq!(run(&["--only", "A20", "--timeout", "2", AGENT, "brittle"]).status.code(), Some(1));
    assert_eq!(run(&["--only", "A01", "--", "/no/such/agent"]).status.code(), Some(1));
    assert_eq!(run(&[]).status.code(), Some(2));
    let listed = run(&["--list"]);
    assert!(String::from_utf8_lossy(&listed.stdout).matches("agentclientprotocol.com").count() > 40);
}
