//! Both ends in version 2, the types that ship, with pipes between: every order of what can happen, in small scopes, by the
//! same judge as in version 1; and the faults that must be found. A larger scope: `explore --help`.

use acp_tests::pair::{
    Mutant, Scope,
    proof::{SETTLED, found, holds, occurred},
    rule,
};

const SMALL: Scope = Scope::SMALL;

#[test]
fn in_every_order_two_prompts_and_two_cancels_keep_the_rules() {
    let report = holds(2, Scope { cancels: 2, ..SMALL });
    occurred(&report, &SETTLED);
    occurred(&report, &["PromptInserted"]);
    occurred(&report, &["Cancellation::AlreadyRequested", "AbortTurn again"]);
}

#[test]
fn what_happens_in_one_session_touches_no_other() {
    occurred(&holds(2, Scope { sessions: 2, updates: 0, ..SMALL }), &["PromptInserted", "Settlement::Cancelled"]);
}

#[test]
fn whenever_a_deadline_is_due_the_rules_are_kept() {
    occurred(&holds(2, Scope { prompts: 1, timers: true, ..SMALL }), &["PromptInserted", "TurnForced"]);
}

#[test]
fn however_slow_its_host_is_each_end_keeps_the_rules() {
    let scope = Scope { prompts: 1, updates: 0, slow: true, ..SMALL };
    occurred(&holds(2, Scope { timers: true, ..scope }), &["PromptInserted", "TurnForced", "Delivery::TooLate"]);
    let ends = holds(2, Scope { permissions: 0, endings: true, ..scope });
    occurred(&ends, &["PromptInserted", "Settlement::Closed", "Settlement::Cancelled"]);
}

#[test]
fn when_frames_are_handed_out_makes_no_difference_to_the_rules() {
    occurred(&holds(2, Scope { prompts: 1, hand_out: true, ..SMALL }), &["PromptInserted", "Settlement::Cancelled"]);
}

#[test]
fn prompts_that_wait_behind_another_keep_the_rules() {
    occurred(
        &holds(2, Scope { waiting: 1, cancels: 2, updates: 0, ..SMALL }),
        &["PromptInserted", "Settlement::Ended"],
    );
}

#[test]
fn prompts_that_are_sent_at_once_are_covered_by_a_cancel_behind_them_and_by_no_other() {
    let scope = Scope { waiting: 1, forward: true, cancels: 2, updates: 0, ..SMALL };
    occurred(&holds(2, scope), &["PromptInserted", "Settlement::Cancelled", "Settlement::CancelledUnasked"]);
}

#[test]
fn wherever_a_prompt_is_inserted_into_running_work_or_into_none_the_rules_are_kept() {
    let scope = Scope { waiting: 1, forward: true, insert: true, ..SMALL };
    let report = holds(2, Scope { updates: 0, ..scope });
    occurred(&report, &["insertion", "insertion into running work", "insertion TooLate", "DropQueued"]);
    occurred(&report, &["Settlement::Ended", "Settlement::Cancelled", "Settlement::EndedAlthoughCancelled"]);
    occurred(&holds(2, Scope { permissions: 0, ..scope }), &["insertion into running work", "ToolCallsClosed"]);
}

#[test]
fn however_it_ends_what_is_inserted_into_running_work_keeps_the_rules() {
    let scope = Scope { waiting: 1, forward: true, insert: true, updates: 0, permissions: 0, endings: true, ..SMALL };
    occurred(&holds(2, scope), &["insertion into running work", "DropQueued", "Settlement::Closed", "TurnForced"]);
}

#[test]
fn whenever_a_deadline_is_due_what_is_inserted_keeps_the_rules() {
    occurred(&holds(2, Scope { prompts: 1, insert: true, timers: true, ..SMALL }), &["insertion", "TurnForced"]);
}

#[test]
fn a_host_that_says_cancelled_by_itself_gets_an_error_sent_and_never_cancelled() {
    let report = holds(2, Scope { updates: 0, says_cancelled: true, ..SMALL });
    occurred(&report, &["Delivery::AsWithdrawn", "Settlement::CancelledUnasked"]);
}

#[test]
fn however_it_ends_all_is_resolved_once_and_closed_is_told_once_and_last() {
    occurred(
        &holds(2, Scope { prompts: 1, endings: true, ..SMALL }),
        &["PromptInserted", "Settlement::Closed", "TurnForced"],
    );
}

#[test]
fn whatever_frame_cannot_be_delivered_the_rules_are_kept() {
    let report = holds(2, Scope { failures: 1, prompts: 1, ..SMALL });
    occurred(&report, &["CancelUndelivered", "Settlement::Failed", "Settlement::Closed", "PermissionRevoked"]);
}

#[test]
fn a_client_whose_cancel_forgets_the_open_permissions_is_found() {
    found(2, Mutant::ForgetsPermissions, rule::DECIDED, 12);
}

#[test]
fn an_agent_that_ignores_a_cancel_is_found() {
    // What is told in a turn that was cancelled before its prompt was inserted would insert it.
    found(2, Mutant::IgnoresCancel, rule::ALLOWED, 12);
}

#[test]
fn an_agent_that_ends_work_although_it_was_cancelled_is_found() {
    found(2, Mutant::EndsAlthoughCancelled, rule::CANCELLED, 12);
}
