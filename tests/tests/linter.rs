//! The linter of traces has nothing against our two ends, whatever the order in which they and their frames come to act: in
//! either version, and as either end saw it. What is found in altered logs is tested beside it, in `examples/`.

use core::cell::Cell;

use acp_core::Side as End;
use acp_examples::trace::{Entry, Log, Severity, What, check};
use acp_tests::{
    explore::Model as _,
    pair::{Choice, Pair, Scope, Side},
};
use bytes::Bytes;
use proptest::{
    prelude::*,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};

/// What an observer of version 1 or 2 has seen before the pair begins to act.
fn opening(version: u16, sessions: usize) -> Vec<(End, Bytes)> {
    let hello = if version == 1 { "" } else { r#","info":{"name":"pair","version":"1"}"# };
    let offers = if version == 1 { r#""agentCapabilities":{}"# } else { r#""capabilities":{"session":{}}"# };
    let mut lines = vec![
        (
            End::Client,
            format!(
                r#"{{"jsonrpc":"2.0","id":"i","method":"initialize","params":{{"protocolVersion":{version}{hello}}}}}"#
            ),
        ),
        (
            End::Agent,
            format!(r#"{{"jsonrpc":"2.0","id":"i","result":{{"protocolVersion":{version},{offers}{hello}}}}}"#),
        ),
    ];
    for session in 1..=sessions {
        let new = r#""method":"session/new","params":{"cwd":"/","mcpServers":[]}"#;
        lines.push((End::Client, format!(r#"{{"jsonrpc":"2.0","id":"n{session}",{new}}}"#)));
        lines.push((
            End::Agent,
            format!(r#"{{"jsonrpc":"2.0","id":"n{session}","result":{{"sessionId":"{session}"}}}}"#),
        ));
    }
    lines.into_iter().map(|(from, line)| (from, line.into())).collect()
}

/// Lets the pair act as the numbers choose, to its end or theirs. What passed, as the client and as the agent saw it.
fn walk(version: u16, scope: Scope, numbers: &[usize]) -> [Vec<(End, Bytes)>; 2] {
    let pair = Pair::in_version(version, scope, None);
    let mut world = pair.initial();
    let [mut client, mut agent] = [(); 2].map(|()| opening(version, scope.sessions));
    for number in numbers {
        let choices = pair.choices(&world);
        let Some(choice) = choices.get(number % choices.len().max(1)) else { break };
        let waiting = |to| world.under_way(to).count();
        let mut before = [waiting(Side::Agent), waiting(Side::Client)];
        match choice {
            Choice::Deliver(Side::Client) => {
                before[1] -= 1;
                client.extend(world.under_way(Side::Client).next().map(|line| (End::Agent, line.clone())));
            }
            Choice::Deliver(Side::Agent) => {
                before[0] -= 1;
                agent.extend(world.under_way(Side::Agent).next().map(|line| (End::Client, line.clone())));
            }
            _ => {}
        }
        pair.apply(&mut world, choice).expect("the pair keeps its rules");
        client.extend(world.under_way(Side::Agent).skip(before[0]).map(|line| (End::Client, line.clone())));
        agent.extend(world.under_way(Side::Client).skip(before[1]).map(|line| (End::Agent, line.clone())));
    }
    [client, agent]
}

fn log(seen: &[(End, Bytes)]) -> Log {
    let entry = |(n, (from, line)): (usize, &(End, Bytes))| Entry {
        line: n + 1,
        at: None,
        from: *from,
        what: What::Line(line.clone()),
    };
    Log { entries: seen.iter().enumerate().map(entry).collect(), ..Log::default() }
}

/// What is found besides: a cancel that may have crossed an end, what is due when the walk is cut, and what hosts do that
/// nobody holds back: an agent's that ends a turn whose permission is open, a client's that declines without a cancel.
const EXPECTED: [&str; 7] = [
    "unanswered",
    "cancel-unanswered",
    "permission-after-cancel",
    "request-not-cancelled",
    "prompt-untold",
    "open-request",
    "permission-unasked-cancel",
];

/// Nothing else is wrong, in any order.
#[track_caller]
fn nothing_is_found(version: u16, scope: Scope) {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let cancels = Cell::new(0);
    let walked = runner.run(&proptest::collection::vec(0_usize..60, 10..60), |numbers| {
        for seen in walk(version, scope, &numbers) {
            let findings = check(&log(&seen)).findings;
            let found: Vec<_> = findings
                .iter()
                .filter(|finding| {
                    let crossed = finding.severity == Severity::Warning && finding.rule.name.starts_with("cancel-");
                    !crossed && !EXPECTED.contains(&finding.rule.name)
                })
                .map(ToString::to_string)
                .collect();
            cancels.set(
                cancels.get()
                    + seen.iter().filter(|(_, line)| line.windows(14).any(|part| part == b"session/cancel")).count(),
            );
            let lines: Vec<_> =
                seen.iter().map(|(from, line)| format!("{from:?} {}", String::from_utf8_lossy(line))).collect();
            prop_assert_eq!(found, Vec::<String>::new(), "{}", lines.join(""));
        }
        Ok(())
    });
    walked.expect("nothing is found");
    assert!(cancels.get() > 100, "{} cancels: it was looked at too little", cancels.get());
}

const SCOPE: Scope = Scope { prompts: 4, cancels: 2, permissions: 2, updates: 4, hand_out: true, ..Scope::SMALL };

#[test]
fn the_linter_has_nothing_against_turns_in_any_order() {
    for version in [1, 2] {
        nothing_is_found(version, SCOPE);
        nothing_is_found(version, Scope { sessions: 2, ..SCOPE });
    }
}

#[test]
fn the_linter_has_nothing_against_prompts_that_wait() {
    for version in [1, 2] {
        nothing_is_found(version, Scope { waiting: 2, ..SCOPE });
    }
    // In version 1 a second prompt is doubtful.
    nothing_is_found(2, Scope { waiting: 2, forward: true, ..SCOPE });
}
