//! Agents as child processes with a connection to them.

use core::time::Duration;
use std::{os::unix::process::ExitStatusExt as _, time::Instant};

use acp_core::{Client, ClientAction, CloseReason, Common, Outcome};
use rustix::process::{Pid, Signal};

use super::{LONG, STUBBORN, by_itself, pid, reaped, sh};
use crate::suite::{Adapter, polled};

/// Takes everything that is told: how many notifications there were, and the end.
async fn take<A: Adapter>(mut actions: A::Actions<Client>) -> (usize, Option<CloseReason>) {
    let (mut notes, mut end) = (0, None);
    while let Some(action) = A::next(&mut actions).await {
        match action {
            ClientAction::Common(Common::Notification { .. }) => notes += 1,
            ClientAction::Common(Common::Closed(reason)) => end = Some(reason),
            ClientAction::Common(Common::Resolved(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    (notes, end)
}

/// Says so many notifications, and exits at once.
fn talkative(notes: usize) -> String {
    let note = r#"{"jsonrpc":"2.0","method":"_note","params":{"text":"0123456789012345678901234567890123456789"}}"#;
    format!("i=0; while [ $i -lt {notes} ]; do echo '{note}'; i=$((i+1)); done; exit 7")
}

#[doc(hidden)]
pub async fn the_exit_status_never_overtakes_the_last_bytes<A: Adapter>() {
    for _ in 0..5 {
        let (_client, actions, running) = A::launch(sh(&talkative(2_000)), LONG).expect("sh starts");
        let ending = A::spawn(A::run(running));
        assert_eq!(take::<A>(actions).await, (2_000, Some(CloseReason::Eof)));
        let (reason, status, by) = ending.await.expect("a status");
        assert_eq!((reason, status.and_then(|status| status.code())), (CloseReason::Eof, Some(7)));
        assert!(by_itself(by), "{by:?}");
    }
}

/// Leaves something behind that is in no group of ours, holds stdout open, and says who it is.
const ESCAPE: &str =
    r#"setsid sh -c 'echo "{\"jsonrpc\":\"2.0\",\"method\":\"_escaped\",\"params\":{\"pid\":$$}}"; exec sleep 1000' &"#;

/// It, which is nobody's to end but ours.
struct Escaped(Pid);

impl Drop for Escaped {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(self.0, Signal::KILL);
    }
}

/// Waits for it to say so.
async fn escaped<A: Adapter>(actions: &mut A::Actions<Client>) -> Escaped {
    match A::next(actions).await {
        Some(ClientAction::Common(Common::Notification { params: Some(params), .. })) => {
            let params: serde_json::Value = params.get().expect("an object");
            Escaped(pid(u32::try_from(params["pid"].as_u64().expect("a number")).expect("a process id")))
        }
        other => panic!("{other:?}"),
    }
}

#[doc(hidden)]
pub async fn a_slow_host_gets_the_last_bytes_although_stdout_does_not_end<A: Adapter>() {
    // More than the bound of actions, so that the reading stops; less than a pipe holds beyond that, so that it exits.
    let script = format!("{ESCAPE} read go; {}", talkative(1_500));
    let (client, mut actions, running) = A::launch(sh(&script), LONG).expect("sh starts");
    let ending = A::spawn(A::run(running));
    let escaped = escaped::<A>(&mut actions).await;
    A::with(&client, |conn, now| conn.initialize(&acp_core::Payload::EMPTY, now)).expect("idle");
    // The host is slow: much longer than silence may last.
    A::sleep(Duration::from_millis(1_800)).await;
    assert_eq!(take::<A>(actions).await, (1_500, Some(CloseReason::Lost("the agent exited".into()))));
    ending.await.expect("a status");
    rustix::process::test_kill_process(escaped.0).expect("it has escaped");
}

#[doc(hidden)]
pub async fn a_descendant_of_the_group_does_not_keep_the_connection<A: Adapter>() {
    let begun = Instant::now();
    let (_client, actions, running) = A::launch(sh("sleep 1000 & exit 3"), LONG).expect("sh starts");
    let ending = A::spawn(A::run(running));
    assert_eq!(take::<A>(actions).await, (0, Some(CloseReason::Eof)));
    let (_, status, by) = ending.await.expect("a status");
    assert_eq!(status.and_then(|status| status.code()), Some(3));
    assert!(by_itself(by), "{by:?}");
    assert!(begun.elapsed() < LONG.stdin);
}

#[doc(hidden)]
pub async fn stdout_held_open_from_outside_the_group_holds_nothing_up_for_long<A: Adapter>() {
    let begun = Instant::now();
    let (client, mut actions, running) = A::launch(sh(&format!("{ESCAPE} read go; exit 3")), LONG).expect("sh starts");
    let ending = A::spawn(A::run(running));
    let escaped = escaped::<A>(&mut actions).await;
    let hello = A::initialize(&client, &acp_core::Payload::EMPTY).expect("idle");
    let (reason, status, _) = ending.await.expect("a status");
    let exited = CloseReason::Lost("the agent exited".into());
    assert_eq!((reason, status.and_then(|status| status.code())), (exited, Some(3)));
    assert!(begun.elapsed() < LONG.stdin);
    assert_eq!(hello.await.outcome, Outcome::Closed);
    rustix::process::test_kill_process(escaped.0).expect("it has escaped");
}

#[doc(hidden)]
pub async fn a_killed_agent_gives_a_reason_within_a_second<A: Adapter>() {
    let (_client, actions, running) = A::launch(sh(STUBBORN_QUIET), LONG).expect("sh starts");
    let id = A::running_id(&running).expect("it runs");
    let ending = A::spawn(A::run(running));
    A::sleep(Duration::from_millis(20)).await;
    let begun = Instant::now();
    rustix::process::kill_process(pid(id), Signal::KILL).expect("it runs");
    let (reason, status, by) = ending.await.expect("a status");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(reason, CloseReason::Eof);
    assert!(by_itself(by), "{by:?}");
    assert_eq!(status.and_then(|status| status.signal()), Some(Signal::KILL.as_raw()));
    assert_eq!(take::<A>(actions).await, (0, Some(CloseReason::Eof)));
}

/// As [`STUBBORN`], without a word.
const STUBBORN_QUIET: &str = "trap '' TERM; while :; do sleep 1000; done";

#[doc(hidden)]
pub async fn a_closed_connection_ends_the_agent<A: Adapter>() {
    let (client, actions, running) = A::launch(sh("cat >/dev/null"), LONG).expect("sh starts");
    let ending = A::spawn(A::run(running));
    A::close(&client);
    let (reason, status, by) = ending.await.expect("a status");
    assert_eq!(reason, CloseReason::Local);
    assert!(by_itself(by), "{by:?}");
    assert!(status.is_some_and(|status| status.success()));
    assert_eq!(take::<A>(actions).await, (0, Some(CloseReason::Local)));
}

#[doc(hidden)]
pub async fn a_launch_may_be_dropped_anywhere<A: Adapter>() {
    for polls in 0.. {
        let (client, actions, running) = A::launch(sh(STUBBORN), super::SHORT).expect("sh starts");
        let id = A::running_id(&running).expect("it runs");
        let run = A::spawn(async move { polled(A::run(running), polls).await.is_some() });
        // What it says is no message, and means nothing.
        let host = A::spawn(async move {
            let mut actions = actions;
            while A::next(&mut actions).await.is_some() {}
        });
        A::sleep(Duration::from_millis(5)).await;
        A::close(&client);
        let done = run.await;
        host.await;
        reaped::<A>(id).await;
        if done {
            return;
        }
    }
}
