//! Both ends, the types that ship, with pipes between: every order of what can happen, in small scopes; and the faults
//! that must be found. A larger scope: see the top of `tests/src/bin/explore.rs`.

use acp_tests::{
    explore::{Report, explore},
    pair::{Mutant, Pair, Scope, rule},
};

const SMALL: Scope = Scope {
    sessions: 1,
    prompts: 2,
    waiting: 0,
    forward: false,
    cancels: 1,
    permissions: 1,
    updates: 1,
    hand_out: false,
    endings: false,
    timers: false,
    says_cancelled: false,
};

const STATES: usize = 1_000_000;

fn holds(scope: Scope) -> Report {
    let report = match explore(&Pair::new(scope, None), STATES) {
        Ok(report) => report,
        Err(found) => panic!("{scope:?}\n{found}"),
    };
    println!("{scope:?}: {} states, {} edges, at most {} steps", report.states, report.edges, report.depth);
    report
}

/// Each occurs in some order: what never happened was not tested.
fn occurred(report: &Report, names: &[&str]) {
    let missing: Vec<_> = names.iter().filter(|name| !report.outcomes.contains(*name)).collect();
    assert!(missing.is_empty(), "never occurred: {missing:?}");
    assert!(report.settled > 1, "nothing was ever settled");
}

fn found(mutant: Mutant, rule: &str) {
    let found = explore(&Pair::new(SMALL, Some(mutant)), STATES).expect_err("a fault that must be found");
    println!("{mutant:?}\n{found}");
    assert_eq!(found.broken.rule, rule, "{found}");
    assert!(found.steps.len() <= 8, "a shortest way is short: {found}");
}

/// What every pair comes to that cancels and asks.
const SETTLED: [&str; 13] = [
    "Settlement::Ended",
    "Settlement::Cancelled",
    "Settlement::EndedAlthoughCancelled",
    "Settlement::Failed",
    "PermissionRevoked",
    "a permission crossed the cancel",
    "AbortTurn",
    "IdleCancel",
    "ToolCallsClosed",
    "Delivery::AsCancelled",
    "Delivery::TooLate",
    "Cancellation::Requested",
    "Cancellation::Moot",
];

#[test]
fn in_every_order_two_prompts_two_cancels_and_two_permissions_keep_the_rules() {
    let report = holds(Scope { cancels: 2, permissions: 2, ..SMALL });
    occurred(&report, &SETTLED);
    occurred(&report, &["Cancellation::AlreadyRequested", "AbortTurn again"]);
    assert!(report.states > 100_000, "only {} states: is the scope still what it was?", report.states);
}

#[test]
fn when_frames_are_handed_out_makes_no_difference_to_the_rules() {
    let report = holds(Scope { cancels: 2, hand_out: true, ..SMALL });
    occurred(&report, &SETTLED);
    occurred(&report, &["Cancellation::AlreadyRequested"]);
}

#[test]
fn prompts_that_wait_behind_another_keep_the_rules() {
    occurred(&holds(Scope { prompts: 3, waiting: 2, ..SMALL }), &SETTLED);
}

#[test]
fn prompts_that_wait_at_the_agent_are_covered_by_a_cancel_behind_them_and_by_no_other() {
    let scope = Scope { waiting: 1, forward: true, ..SMALL };
    let report = holds(Scope { cancels: 2, ..scope });
    occurred(&report, &SETTLED);
    occurred(&report, &["Settlement::CancelledUnasked"]);
    occurred(&holds(Scope { updates: 0, permissions: 0, endings: true, ..scope }), &["Settlement::Closed"]);
}

#[test]
fn a_host_that_says_cancelled_by_itself_gets_an_error_sent_and_never_cancelled() {
    let report = holds(Scope { says_cancelled: true, ..SMALL });
    occurred(&report, &SETTLED);
    occurred(&report, &["Delivery::AsWithdrawn", "Settlement::CancelledUnasked"]);
}

#[test]
fn however_it_ends_all_is_resolved_once_and_closed_is_told_once_and_last() {
    let report = holds(Scope { endings: true, ..SMALL });
    occurred(&report, &SETTLED);
    occurred(&report, &["Settlement::Closed"]);
}

#[test]
fn however_it_ends_what_waits_to_be_handed_out_keeps_the_rules() {
    let report = holds(Scope { prompts: 1, endings: true, hand_out: true, ..SMALL });
    occurred(&report, &["Settlement::Closed", "Settlement::Cancelled", "PermissionRevoked", "Delivery::TooLate"]);
}

#[test]
fn however_it_ends_prompts_that_wait_are_never_sent_behind_the_end() {
    let report = holds(Scope { waiting: 1, updates: 0, endings: true, ..SMALL });
    occurred(&report, &["Settlement::Closed", "Settlement::Cancelled", "PermissionRevoked"]);
}

#[test]
fn what_is_cancelled_in_one_session_touches_no_other() {
    let report = holds(Scope { sessions: 2, updates: 0, ..SMALL });
    occurred(&report, &["Settlement::Ended", "Settlement::Cancelled", "a permission crossed the cancel", "IdleCancel"]);
}

#[test]
fn whenever_the_deadlines_of_a_cancel_come_the_rules_are_kept() {
    let report = holds(Scope { timers: true, ..SMALL });
    occurred(&report, &SETTLED);
    occurred(&report, &["TurnForced", "Settlement::Closed"]);
}

#[test]
fn a_client_whose_cancel_forgets_the_open_permissions_is_found() {
    found(Mutant::ForgetsPermissions, rule::DECIDED);
}

#[test]
fn an_agent_that_ignores_a_cancel_is_found() {
    found(Mutant::IgnoresCancel, rule::CANCELLED);
}

#[test]
fn an_agent_that_ends_a_turn_although_it_was_cancelled_is_found() {
    found(Mutant::EndsAlthoughCancelled, rule::CANCELLED);
}
