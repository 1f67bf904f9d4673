//! Both ends, the types that ship, with pipes between: every order of what can happen, in small scopes; and the faults
//! that must be found. A larger scope: `explore --help`.

use acp_tests::pair::{
    Mutant, Scope,
    proof::{SETTLED, found, holds, occurred},
    rule,
};

const SMALL: Scope = Scope::SMALL;

#[test]
fn in_every_order_two_prompts_two_cancels_and_two_permissions_keep_the_rules() {
    let report = holds(1, Scope { cancels: 2, permissions: 2, ..SMALL });
    occurred(&report, &SETTLED);
    occurred(&report, &["Cancellation::AlreadyRequested", "AbortTurn again"]);
    assert!(report.states > 100_000, "only {} states: is the scope still what it was?", report.states);
}

#[test]
fn when_frames_are_handed_out_makes_no_difference_to_the_rules() {
    let report = holds(1, Scope { cancels: 2, hand_out: true, ..SMALL });
    occurred(&report, &SETTLED);
    occurred(&report, &["Cancellation::AlreadyRequested"]);
}

#[test]
fn prompts_that_wait_behind_another_keep_the_rules() {
    occurred(&holds(1, Scope { prompts: 3, waiting: 2, ..SMALL }), &SETTLED);
}

#[test]
fn prompts_that_wait_at_the_agent_are_covered_by_a_cancel_behind_them_and_by_no_other() {
    let scope = Scope { waiting: 1, forward: true, ..SMALL };
    let report = holds(1, Scope { cancels: 2, ..scope });
    occurred(&report, &SETTLED);
    occurred(&report, &["Settlement::CancelledUnasked"]);
    occurred(&holds(1, Scope { updates: 0, permissions: 0, endings: true, ..scope }), &["Settlement::Closed"]);
}

#[test]
fn a_host_that_says_cancelled_by_itself_gets_an_error_sent_and_never_cancelled() {
    let report = holds(1, Scope { says_cancelled: true, ..SMALL });
    occurred(&report, &SETTLED);
    occurred(&report, &["Delivery::AsWithdrawn", "Settlement::CancelledUnasked"]);
}

#[test]
fn however_it_ends_all_is_resolved_once_and_closed_is_told_once_and_last() {
    let report = holds(1, Scope { endings: true, ..SMALL });
    occurred(&report, &SETTLED);
    occurred(&report, &["Settlement::Closed"]);
}

#[test]
fn however_it_ends_what_waits_to_be_handed_out_keeps_the_rules() {
    let report = holds(1, Scope { prompts: 1, endings: true, hand_out: true, ..SMALL });
    occurred(&report, &["Settlement::Closed", "Settlement::Cancelled", "PermissionRevoked", "Delivery::TooLate"]);
}

#[test]
fn however_it_ends_prompts_that_wait_are_never_sent_behind_the_end() {
    let report = holds(1, Scope { waiting: 1, updates: 0, endings: true, ..SMALL });
    occurred(&report, &["Settlement::Closed", "Settlement::Cancelled", "PermissionRevoked"]);
}

#[test]
fn what_is_cancelled_in_one_session_touches_no_other() {
    let report = holds(1, Scope { sessions: 2, updates: 0, ..SMALL });
    occurred(&report, &["Settlement::Ended", "Settlement::Cancelled", "a permission crossed the cancel", "IdleCancel"]);
}

#[test]
fn whenever_the_deadlines_of_a_cancel_come_the_rules_are_kept() {
    let report = holds(1, Scope { timers: true, ..SMALL });
    occurred(&report, &SETTLED);
    occurred(&report, &["TurnForced", "Settlement::Closed"]);
}

#[test]
fn however_slow_its_host_is_each_end_keeps_the_rules() {
    let scope = Scope { updates: 0, slow: true, ..SMALL };
    let report = holds(1, Scope { waiting: 1, ..scope });
    occurred(&report, &["Settlement::Cancelled", "PermissionRevoked", "Delivery::TooLate", "Cancellation::Moot"]);
    let ends = holds(1, Scope { prompts: 1, cancels: 0, endings: true, ..scope });
    occurred(&ends, &["Settlement::Closed", "PermissionRevoked", "Delivery::TooLate"]);
    occurred(&holds(1, Scope { prompts: 1, updates: 1, timers: true, ..scope }), &["TurnForced", "ToolCallsClosed"]);
}

#[test]
fn whatever_frame_cannot_be_delivered_the_rules_are_kept() {
    let report = holds(1, Scope { failures: 1, prompts: 2, ..SMALL });
    occurred(&report, &["CancelUndelivered", "Settlement::Failed", "Settlement::Closed", "PermissionRevoked"]);
}

#[test]
fn a_client_whose_cancel_forgets_the_open_permissions_is_found() {
    found(1, Mutant::ForgetsPermissions, rule::DECIDED, 8);
}

#[test]
fn an_agent_that_ignores_a_cancel_is_found() {
    found(1, Mutant::IgnoresCancel, rule::CANCELLED, 8);
}

#[test]
fn an_agent_that_ends_a_turn_although_it_was_cancelled_is_found() {
    found(1, Mutant::EndsAlthoughCancelled, rule::CANCELLED, 8);
}
