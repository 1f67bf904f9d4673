//! The conformance suite: what every adapter has to do, whatever its runtime is. An adapter says how by [`Adapter`], and
//! [`conformance!`](crate::conformance) makes a test of each rule for it.

mod adapter;
pub mod cancel_safety;
pub mod ends;
mod glue;
pub mod pair;
pub mod pressure;
#[cfg(unix)]
pub mod process;
#[cfg(unix)]
pub mod stdio;
pub mod turns;

use core::{future::Future, time::Duration};

use futures_lite::future::or;

pub use self::{
    adapter::{Adapter, BoxRead, BoxWrite, Missed, Task, Wires},
    pair::{Pair, Raw, payload, text},
};

/// How long one rule may take. None of them needs a second of its own.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs the test of one rule in the adapter's runtime.
///
/// # Panics
///
/// The rule is broken, or something waits for ever.
pub fn run<A: Adapter, T>(rule: impl Future<Output = T>) -> T {
    A::block_on(soon::<A, T>("the whole rule", rule))
}

/// What has to happen before long.
///
/// # Panics
///
/// It does not.
pub async fn soon<A: Adapter, T>(what: &str, event: impl Future<Output = T>) -> T {
    let late = async {
        A::sleep(LIMIT).await;
        None
    };
    or(async { Some(event.await) }, late).await.unwrap_or_else(|| panic!("not in time: {what}"))
}

/// Polls a future so many times, and then drops it. `None` if it was not done by then.
pub async fn polled<F: Future>(future: F, mut times: usize) -> Option<F::Output> {
    let mut future = core::pin::pin!(future);
    core::future::poll_fn(move |cx| {
        use core::task::Poll;
        if times > 0 {
            times -= 1;
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
        }
        if times == 0 { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}

/// Makes a test of each rule for an adapter.
#[macro_export]
macro_rules! conformance {
    ($adapter:ty) => {
        $crate::conformance!($adapter, turns: [
            whole_turns_pass_through_a_pipe_of_one_byte,
            many_turns_pass_one_after_the_other,
            a_cancel_in_mid_stream_reaches_the_turn_and_only_that_turn,
            a_token_fires_while_the_agents_host_takes_no_actions,
            a_dropped_turn_is_answered,
            an_agent_awaits_a_permission_in_its_turn,
            a_prompt_that_is_awaited_resolves_after_its_updates_were_taken,
            a_steer_cuts_the_running_turn_short_and_sends_its_line_after_it,
            a_dropped_prompt_is_cancelled_and_a_detached_one_is_not,
            a_client_that_drops_its_stream_still_answers_and_still_learns_the_end_of_a_prompt,
            an_agent_that_drops_its_stream_leaves_no_client_waiting,
        ]);
        $crate::conformance!($adapter, pressure: [
            a_host_that_takes_no_actions_stops_the_reading_and_not_the_cancel,
            both_ends_write_more_than_a_pipe_holds,
            a_peer_that_reads_slowly_gets_every_byte_in_order,
            a_burst_goes_out_in_few_writes,
            a_peer_that_never_pauses_does_not_keep_the_cancel_from_going_out,
        ]);
        $crate::conformance!($adapter, ends: [
            a_scripted_peer_is_answered_line_by_line,
            at_the_end_of_the_input_what_was_accepted_is_answered_then_the_output_ends,
            a_client_that_goes_away_ends_the_agent_and_its_turns,
            a_dropped_driver_resolves_what_is_awaited_and_stops_the_turns,
            a_command_after_the_driver_is_gone_is_refused,
            the_end_of_a_prompt_is_not_lost_when_the_agent_leaves_before_it_was_taken,
            closing_is_bounded_although_the_peer_does_not_read,
            a_peer_that_reads_nothing_any_more_is_a_lost_stream_and_no_panic,
        ]);
        $crate::conformance!($adapter, cancel_safety: [
            a_dropped_wait_for_an_action_loses_none,
            a_dropped_update_was_sent_whole_or_not_at_all,
            a_dropped_question_leaves_the_turn_as_it_was,
            a_dropped_request_only_stops_the_waiting,
            a_dropped_prompt_is_settled_wherever_it_was_dropped,
            dropped_waits_for_room_for_the_flush_for_a_token_and_for_the_end_change_nothing,
            a_clients_driver_may_be_dropped_anywhere,
            an_agents_driver_may_be_dropped_anywhere,
        ]);
        #[cfg(unix)]
        $crate::conformance!($adapter, process: [
            an_exit_status_arrives_and_stays,
            the_last_bytes_are_there_after_the_exit,
            an_agent_that_heeds_the_end_of_stdin_is_not_signalled,
            an_agent_that_ignores_its_stdin_gets_sigterm,
            an_agent_that_ignores_sigterm_is_killed_after_the_grace,
            a_shutdown_that_is_dropped_goes_on_when_called_again,
            a_shutdown_ends_the_stdin_that_somebody_still_writes_to,
            a_wait_may_be_dropped_anywhere,
            a_shutdown_takes_the_grandchildren,
            what_an_agent_leaves_behind_ends_with_it,
            a_drop_takes_the_whole_group,
            a_flood_on_stderr_blocks_nobody_and_its_end_is_kept,
            a_follower_of_stderr_gets_every_byte_once,
            an_agent_that_cannot_be_started_is_named,
            a_command_line_is_split_as_a_shell_does,
            the_exit_status_never_overtakes_the_last_bytes,
            a_descendant_of_the_group_does_not_keep_the_connection,
            a_killed_agent_gives_a_reason_within_a_second,
            a_closed_connection_ends_the_agent,
            a_launch_may_be_dropped_anywhere,
            all_that_a_session_owns_ends_at_once_on_close_load_resume_and_disconnect,
            a_child_that_ignores_sigterm_is_killed_with_all_it_started,
            what_is_kept_after_a_load_stays_until_the_end,
            a_child_of_a_session_may_end_before_it,
            a_child_that_comes_too_late_is_ended,
            a_dropped_driver_kills_what_the_sessions_own,
            an_agent_does_not_wait_for_what_the_clients_sessions_own,
        ]);
        #[cfg(target_os = "linux")]
        $crate::conformance!($adapter, process: [
            stderr_held_open_from_outside_the_group_holds_nothing_up,
            stdout_held_open_from_outside_the_group_holds_nothing_up_for_long,
            a_slow_host_gets_the_last_bytes_although_stdout_does_not_end,
        ]);
        #[cfg(unix)]
        $crate::conformance!($adapter, plain stdio: [
            over_pipes,
            a_pipe_ends_for_its_reader_at_the_close,
            over_a_socket_pair,
            over_files,
            a_drop_loses_no_bytes,
            over_a_terminal_as_it_comes,
            over_a_terminal_that_somebody_left_non_blocking,
            a_read_from_a_terminal_does_not_keep_the_process,
            a_terminal_that_nobody_reads_fills_no_memory,
            over_dev_null,
            a_failed_write_surfaces,
            prints_and_children_reach_stderr_and_never_the_wire,
            the_second_call_is_an_error_that_says_so,
            an_agent_ends_by_itself_when_its_client_is_killed,
        ]);

        /// Not a test, but the child of those over stdio.
        #[cfg(unix)]
        #[test]
        fn child() {
            $crate::suite::stdio::child::<$adapter>();
        }
    };
    ($adapter:ty, plain $part:ident: [$($rule:ident),* $(,)?]) => {
        $(
            #[test]
            fn $rule() {
                $crate::suite::$part::$rule(module_path!());
            }
        )*
    };
    ($adapter:ty, $part:ident: [$($rule:ident),* $(,)?]) => {
        $(
            #[test]
            fn $rule() {
                $crate::suite::run::<$adapter, _>($crate::suite::$part::$rule::<$adapter>());
            }
        )*
    };
}
