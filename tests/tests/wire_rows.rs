//! Every byte sequence has one right answer: a table of what goes in and what comes out, at either end.
//!
//! Each case is run in many ways: whole, byte by byte, in random chunks, with more data behind it in the same write. The
//! outcome may not differ. And its answers go on to one of our own at the other end, which must stay quiet.

#[path = "wire_rows/batches.rs"]
mod batches;
#[path = "wire_rows/case.rs"]
mod case;
#[path = "wire_rows/envelopes.rs"]
mod envelopes;
#[path = "wire_rows/framing.rs"]
mod framing;
#[path = "wire_rows/ids.rs"]
mod ids;
#[path = "wire_rows/oversized.rs"]
mod oversized;
#[path = "wire_rows/responses.rs"]
mod responses;

use std::collections::BTreeSet;

use acp_core::{Agent, Client, Config, Role};
use acp_tests::{
    describe::Describe,
    wire::{Wire, rpc},
};
use case::{Case, Said};

fn of_agents() -> Vec<Case<Agent>> {
    [framing::of_agents(), ids::of_agents(), envelopes::of_agents(), batches::of_agents(), oversized::of_agents()]
        .into_iter()
        .flatten()
        .collect()
}

fn of_clients() -> Vec<Case<Client>> {
    [
        framing::of_clients(),
        responses::of_clients(),
        envelopes::of_clients(),
        batches::of_clients(),
        oversized::of_clients(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Cuts `0..length` into pieces of pseudo-random lengths.
fn chunks(length: usize, seed: u64) -> Vec<usize> {
    let (mut state, mut left, mut lengths) = (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, length, Vec::new());
    while left > 0 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let most = if state & 0x100 == 0 { 4 } else { 64 };
        let next = (1 + usize::try_from(state % most).unwrap_or(0)).min(left);
        lengths.push(next);
        left -= next;
    }
    lengths
}

fn check_all<R: Role>(cases: &[Case<R>], of: impl Fn(&Case<R>) -> (Said, Said))
where
    R::Action: Describe<R>,
{
    let mut wrong = Vec::new();
    for case in cases {
        let (input, after) = of(case);
        for (step, got, expected) in [("input", &input, &case.input_said), ("then", &after, &case.after_said)] {
            if got != expected {
                wrong.push(format!("{}, {step}\n     got {got:?}\nexpected {expected:?}\n", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn every_input_has_its_answer_at_an_agent() {
    check_all(&of_agents(), |case| case.run([case.input.len()], ""));
}

#[test]
fn every_input_has_its_answer_at_a_client() {
    check_all(&of_clients(), |case| case.run([case.input.len()], ""));
}

#[test]
fn the_answer_is_the_same_byte_by_byte() {
    check_all(&of_agents(), |case| case.run(vec![1; case.input.len().min(100_000)], ""));
    check_all(&of_clients(), |case| case.run(vec![1; case.input.len().min(100_000)], ""));
}

#[test]
fn the_answer_is_the_same_in_random_chunks() {
    for seed in 1..=8 {
        check_all(&of_agents(), |case| case.run(chunks(case.input.len().min(10_000), seed), ""));
        check_all(&of_clients(), |case| case.run(chunks(case.input.len().min(10_000), seed), ""));
    }
}

/// A transport that keeps messages apart hands in the same lines one by one.
#[test]
fn the_answer_is_the_same_message_by_message() {
    let agents: Vec<_> = of_agents().into_iter().filter(|case| case.input.ends_with(b"\n")).collect();
    let clients: Vec<_> = of_clients().into_iter().filter(|case| case.input.ends_with(b"\n")).collect();
    check_all(&agents, Case::run_messages);
    check_all(&clients, Case::run_messages);
}

/// What follows in the same write is read as if it had come alone.
#[test]
fn what_follows_in_the_same_write_changes_nothing() {
    fn with_more<R: Role>(case: &Case<R>) -> (Said, Said)
    where
        R::Action: Describe<R>,
    {
        let more = rpc(r#""id":"more","method":"nope""#);
        let (mut input, after) = case.run([usize::MAX], &more);
        if case.input.ends_with(b"\n") && case.still_reads() {
            let answer = input.frames.pop().unwrap_or_default();
            assert!(answer.starts_with(r#"{"jsonrpc":"2.0","id":"more","error""#), "{}: {answer}", case.name);
        }
        (input, after)
    }
    let line_based = |input: &[u8]| input.ends_with(b"\n");
    let agents: Vec<_> = of_agents().into_iter().filter(|case| line_based(&case.input)).collect();
    let clients: Vec<_> = of_clients().into_iter().filter(|case| line_based(&case.input)).collect();
    assert!(agents.len() > 40 && clients.len() > 30);
    check_all(&agents, with_more);
    check_all(&clients, with_more);
}

/// The beginning of another line waits for its end.
#[test]
fn the_beginning_of_the_next_line_changes_nothing() {
    let agents: Vec<_> = of_agents().into_iter().filter(|case| case.input.ends_with(b"\n") && !case.ends).collect();
    let clients: Vec<_> = of_clients().into_iter().filter(|case| case.input.ends_with(b"\n") && !case.ends).collect();
    // What a host does then may bring more input, which the beginning would spoil.
    check_all(&agents, |case| (case.run_input([usize::MAX], "{\"jsonrpc\":").1, case.after_said.clone()));
    check_all(&clients, |case| (case.run_input([usize::MAX], "{\"jsonrpc\":").1, case.after_said.clone()));
}

#[test]
fn the_cases_have_names_of_their_own() {
    let names: Vec<_> =
        of_agents().iter().map(|case| case.name).chain(of_clients().iter().map(|case| case.name)).collect();
    let different: BTreeSet<_> = names.iter().collect();
    assert_eq!(different.len(), names.len());
}

/// Whatever one of ours answers, another of ours has nothing to answer to: no error begets an error.
#[test]
fn two_of_ours_play_no_ping_pong() {
    fn echoes<R: Role, P: Role>(case: &Case<R>, peer: &mut Wire<P>)
    where
        R::Action: Describe<R>,
        P::Action: Describe<P>,
    {
        let mut bench = case.begin();
        bench.feed(&case.input);
        while let Some(frame) = bench.conn.poll_transmit() {
            let line = frame.into_line();
            peer.feed(&line);
            assert_eq!(peer.frames(), [""; 0], "{}: an answer to {line:?}", case.name);
        }
    }
    for case in of_agents() {
        echoes(&case, &mut Wire::client(|_| {}));
        echoes(&case, &mut Wire::<Client>::fresh(Config::client()));
    }
    for case in of_clients() {
        echoes(&case, &mut Wire::agent(|_| {}));
        echoes(&case, &mut Wire::<Agent>::fresh(Config::agent()));
    }
}
