//! What a test of the pair says: that a scope keeps the rules, that something occurred in it, and that a fault is found.

use super::{Mutant, Pair, Scope};
use crate::explore::{Report, explore};

/// More states than any scope of a test has.
const STATES: usize = 1_000_000;

/// What every pair comes to that cancels and asks, in either version of the protocol.
pub const SETTLED: [&str; 13] = [
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

/// All that may occur in any scope, in either version; `explore` finds which of it does.
pub const OUTCOMES: [&str; 26] = [
    "AbortTurn",
    "AbortTurn again",
    "CancelUndelivered",
    "Cancellation::AlreadyRequested",
    "Cancellation::Moot",
    "Cancellation::Requested",
    "Delivery::AsCancelled",
    "Delivery::AsWithdrawn",
    "Delivery::TooLate",
    "DropQueued",
    "IdleCancel",
    "PermissionRevoked",
    "PromptInserted",
    "Settlement::Cancelled",
    "Settlement::CancelledUnasked",
    "Settlement::Closed",
    "Settlement::Ended",
    "Settlement::EndedAlthoughCancelled",
    "Settlement::Failed",
    "ToolCallsClosed",
    "ToolCallsLeftOpen",
    "TurnForced",
    "a permission crossed the cancel",
    "insertion",
    "insertion TooLate",
    "insertion into running work",
];

/// Explores this scope in this version of the protocol.
///
/// # Panics
///
/// A rule is broken, with a shortest way to it.
#[must_use]
pub fn holds(version: u16, scope: Scope) -> Report {
    let report = match explore(&Pair::in_version(version, scope, None), STATES) {
        Ok(report) => report,
        Err(found) => panic!("{scope:?}\n{found}"),
    };
    let unnamed = report.outcomes.iter().find(|outcome| !OUTCOMES.contains(outcome));
    assert_eq!(unnamed, None, "it occurred, and is not in the list");
    println!("{scope:?}: {} states, {} edges, at most {} steps", report.states, report.edges, report.depth);
    report
}

/// Each occurs in some order: what never happened was not tested.
///
/// # Panics
///
/// One does not.
pub fn occurred(report: &Report, names: &[&str]) {
    let missing: Vec<_> = names.iter().filter(|name| !report.outcomes.contains(*name)).collect();
    assert!(missing.is_empty(), "never occurred: {missing:?}");
    assert!(report.settled > 1, "nothing was ever settled");
}

/// A fault is found, by the rule it breaks and on a way of at most so many steps.
///
/// # Panics
///
/// It is not.
pub fn found(version: u16, mutant: Mutant, rule: &str, steps: usize) {
    let pair = Pair::in_version(version, Scope::SMALL, Some(mutant));
    let found = explore(&pair, STATES).expect_err("a fault that must be found");
    println!("{mutant:?}\n{found}");
    assert_eq!(found.broken.rule, rule, "{found}");
    assert!(found.steps.len() <= steps, "a shortest way is short: {found}");
}
