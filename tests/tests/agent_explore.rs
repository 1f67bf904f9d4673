//! Every order of the things that may happen around two prompts, on a real connection of the agent's, in either version:
//! after each step, and after an end that is brought about from each state reached, the rules of turns, requests, work and
//! deadlines hold.

#[path = "agent_explore/observer.rs"]
mod observer;
#[path = "agent_explore/outcomes.rs"]
mod outcomes;
#[path = "agent_explore/work.rs"]
mod work;
#[path = "agent_explore/world.rs"]
mod world;

use std::collections::BTreeSet;

use acp_core::Overlap;
use acp_tests::explore::explore;

use world::{Event, Scope};

/// A scope with these events, each once but those that are said to come twice.
fn scope(version: u16, overlap: Overlap, once: &[Event], twice: &[Event]) -> Scope {
    let events = once.iter().map(|event| (*event, 1)).chain(twice.iter().map(|event| (*event, 2)));
    Scope { version, overlap, events: events.collect() }
}

/// Explores, and answers what occurred.
fn run(scope: &Scope) -> BTreeSet<&'static str> {
    let report = explore(scope, 1_000_000).unwrap_or_else(|counterexample| panic!("{counterexample}"));
    let Scope { version, overlap, .. } = scope;
    println!(
        "version {version}, {overlap:?}: {} states, {} edges, depth {}",
        report.states, report.edges, report.depth
    );
    report.outcomes
}

fn assert_occurred(outcomes: &BTreeSet<&'static str>, expected: &[&'static str]) {
    for one in expected {
        assert!(outcomes.contains(one), "never: {one}; but: {outcomes:?}");
    }
}

/// The two prompts, and all that both ends may do about them.
const ALL: [Event; 11] = [
    Event::Prompt(3),
    Event::Prompt(4),
    Event::Cancel,
    Event::CancelRequest(3),
    Event::Finish,
    Event::Fail,
    Event::Ask,
    Event::Answer,
    Event::Close,
    Event::Eof,
    Event::Timer,
];

#[test]
fn every_order_keeps_the_rules_when_prompts_queue() {
    let outcomes = run(&scope(1, Overlap::Queue(8), &ALL, &[]));
    let expected = [
        "end_turn",
        "cancelled",
        "-32603",
        "-32002",
        "asked",
        "asked after the cancel",
        "end Queued",
        "end AsCancelled",
        "end TooLate",
        "AbortTurn Session",
        "AbortTurn Request",
        "AbortTurn CloseSession",
        "AbortTurn Closing",
        "AbortTurn Session again",
        "AbortTurn Request again",
        "AbortTurn CloseSession again",
        "AbortTurn Closing again",
        "TurnForced",
        "IdleCancel",
        "CloseSession",
        "Resolved Result",
        "Resolved TimedOut",
        "Resolved Closed",
        "Resolved Cancelled(Session)",
        "Resolved Cancelled(Request)",
        "Resolved Cancelled(CloseSession)",
    ];
    assert_occurred(&outcomes, &expected);
}

#[test]
fn every_order_keeps_the_rules_when_prompts_are_forwarded() {
    let outcomes = run(&scope(1, Overlap::Forward(8), &ALL, &[]));
    assert_occurred(&outcomes, &["DropQueued", "AbortTurn Session", "end TooLate", "TurnForced", "end_turn"]);
}

#[test]
fn every_order_keeps_the_rules_when_a_second_prompt_is_refused() {
    let outcomes = run(&scope(1, Overlap::Refuse, &ALL, &[]));
    assert_occurred(&outcomes, &["-32600", "AbortTurn Session", "TurnForced", "end_turn"]);
}

#[test]
fn every_order_of_repeated_cancels_deadlines_and_reports_keeps_the_rules() {
    let once =
        [Event::Prompt(3), Event::Prompt(4), Event::CancelRequest(4), Event::Finish, Event::Close, Event::Release];
    let twice = [Event::Cancel, Event::Timer, Event::Report];
    let outcomes = run(&scope(1, Overlap::Queue(8), &once, &twice));
    assert_occurred(&outcomes, &["update Queued", "update TooLate", "AbortTurn Session again", "TurnForced", "-32002"]);
}

#[test]
fn every_order_keeps_the_rules_whenever_the_output_is_written() {
    let once = [
        Event::Prompt(3),
        Event::Cancel,
        Event::CancelRequest(3),
        Event::Ask,
        Event::Answer,
        Event::Report,
        Event::Finish,
        Event::Eof,
        Event::Timer,
    ];
    let outcomes = run(&scope(1, Overlap::Queue(8), &once, &[Event::Write]));
    assert_occurred(&outcomes, &["update TooLate", "Resolved Cancelled(Session)", "cancelled", "end_turn"]);
}

// ---- version 2 -------------------------------------------------------------------------------------------------------

#[test]
fn in_version_2_every_order_keeps_the_rules_when_prompts_queue() {
    // How work fails is in the scope of a backend that works on several.
    let once: Vec<_> = ALL.into_iter().filter(|event| *event != Event::Fail).chain([Event::Insert(2)]).collect();
    let outcomes = run(&scope(2, Overlap::Queue(8), &once, &[]));
    let expected = [
        "inserted",
        "-32800",
        "-32002",
        "insertion",
        "insertion TooLate",
        "requires_action",
        "idle end_turn",
        "idle cancelled",
        "taken back",
        "asked after the cancel",
        "end AsCancelled",
        "end TooLate",
        "AbortTurn Session",
        "AbortTurn Request",
        "AbortTurn CloseSession",
        "AbortTurn Closing",
        "TurnForced",
        "IdleCancel",
        "CloseSession",
        "Resolved Result",
        "Resolved TimedOut",
        "Resolved Closed",
        "Resolved Cancelled(Session)",
        "Resolved Cancelled(CloseSession)",
    ];
    assert_occurred(&outcomes, &expected);
}

#[test]
fn in_version_2_every_order_keeps_the_rules_when_a_backend_works_on_several_prompts() {
    let once = [
        Event::Prompt(3),
        Event::Prompt(4),
        Event::Cancel,
        Event::CancelRequest(3),
        Event::CancelRequest(4),
        Event::Insert(1),
        Event::Insert(2),
        Event::Finish,
        Event::FinishNewest,
        Event::Fail,
        Event::Close,
        Event::Timer,
    ];
    let outcomes = run(&scope(2, Overlap::Forward(8), &once, &[]));
    assert_occurred(&outcomes, &["insertion into running work", "DropQueued", "AbortTurn Request", "TurnForced"]);
    assert_occurred(&outcomes, &["idle end_turn", "idle cancelled", "idle error -32603", "-32800", "-32603"]);
}

#[test]
fn in_version_2_every_order_of_work_that_nobody_prompted_keeps_the_rules() {
    let once = [
        Event::Prompt(3),
        Event::Cancel,
        Event::CancelRequest(3),
        Event::Background,
        Event::Ask,
        Event::Answer,
        Event::Fail,
        Event::Begin,
        Event::Close,
        Event::Timer,
    ];
    let outcomes = run(&scope(2, Overlap::Queue(8), &once, &[Event::Finish]));
    assert_occurred(&outcomes, &["requires_action", "idle end_turn", "idle cancelled", "taken back", "TurnForced"]);
}

#[test]
fn in_version_2_every_order_keeps_the_rules_whenever_the_output_is_written() {
    let once = [
        Event::Prompt(3),
        Event::Prompt(4),
        Event::Cancel,
        Event::Insert(2),
        Event::Ask,
        Event::Answer,
        Event::Report,
        Event::Finish,
        Event::Timer,
    ];
    let outcomes = run(&scope(2, Overlap::Forward(8), &once, &[Event::Write]));
    assert_occurred(&outcomes, &["update TooLate", "Resolved Cancelled(Session)", "idle cancelled", "idle end_turn"]);
}
