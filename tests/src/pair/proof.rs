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
