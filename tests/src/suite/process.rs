//! Agents as child processes: how they end, and that nothing of theirs stays.
//!
//! That a process is gone is seen by the end of a pipe that only it and its like hold open, so no rule waits by the clock
//! for something to have happened.

mod connected;
mod kept;

use core::time::Duration;
use std::{os::unix::process::ExitStatusExt as _, process::Command, time::Instant};

use acp_core::{machine::shutdown::Step, process::Grace};
use futures_lite::{AsyncReadExt as _, AsyncWriteExt as _, future::yield_now};
use rustix::process::{Pid, Signal};

pub use self::{connected::*, kept::*};
use super::{Adapter, BoxRead, BoxWrite, Missed, polled, soon};

const SHORT: Grace = Grace { stdin: Duration::from_millis(50), terminate: Duration::from_millis(50) };
/// For what must not be cut short. No rule waits it out.
const LONG: Grace = Grace { stdin: Duration::from_secs(50), terminate: Duration::from_secs(50) };

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

fn spawn<A: Adapter>(script: &str, grace: Grace) -> (A::Process, BoxWrite, BoxRead) {
    A::start(sh(script), grace).expect("sh starts")
}

/// Nobody forced it. Whether it goes before it is asked to, once its stdin has ended, is a race.
fn by_itself(by: Option<Step>) -> bool {
    by.is_none_or(|step| step == Step::CloseStdin)
}

/// A line; a byte at a time, so that nothing after it is taken.
async fn line<A: Adapter>(stdout: &mut BoxRead) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        soon::<A, _>("a line", stdout.read_exact(&mut byte)).await.expect("stdout is read");
        line.extend_from_slice(&byte);
    }
    String::from_utf8(line).expect("text").trim_end().to_owned()
}

/// The rest of stdout. It ends only when nobody is left who holds it open.
async fn rest<A: Adapter>(mut stdout: BoxRead) -> String {
    let mut rest = String::new();
    soon::<A, _>("the end of stdout", stdout.read_to_string(&mut rest)).await.expect("stdout is read");
    rest
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(id.cast_signed()).expect("a process id")
}

async fn reaped<A: Adapter>(id: u32) {
    while rustix::process::test_kill_process(pid(id)).is_ok() {
        A::sleep(Duration::from_millis(1)).await;
    }
}

#[doc(hidden)]
pub async fn an_exit_status_arrives_and_stays<A: Adapter>() {
    let (mut agent, ..) = spawn::<A>("exit 7", LONG);
    assert_eq!(A::wait(&mut agent).await.expect("a status").code(), Some(7));
    assert_eq!(A::wait(&mut agent).await.expect("a status").code(), Some(7));
    assert_eq!(A::id(&agent), None);
    let (status, by) = A::shutdown(&mut agent).await.expect("a status");
    assert_eq!((status.and_then(|status| status.code()), by), (Some(7), None), "nobody ended it");
}

#[doc(hidden)]
pub async fn the_last_bytes_are_there_after_the_exit<A: Adapter>() {
    let (mut agent, _stdin, stdout) = spawn::<A>("echo out; echo err >&2", LONG);
    assert!(A::wait(&mut agent).await.expect("a status").success());
    assert_eq!(A::stderr_tail(&agent), b"err\n");
    assert_eq!(rest::<A>(stdout).await, "out\n");
}

#[doc(hidden)]
pub async fn an_agent_that_heeds_the_end_of_stdin_is_not_signalled<A: Adapter>() {
    let (mut agent, mut stdin, stdout) = A::start(Command::new("cat"), LONG).expect("cat starts");
    stdin.write_all(b"bytes").await.expect("cat reads");
    drop(stdin);
    let ended = A::shutdown(&mut agent).await.expect("a status");
    assert_eq!(ended.0.and_then(|status| status.code()), Some(0));
    assert!(by_itself(ended.1), "{ended:?}");
    assert_eq!(rest::<A>(stdout).await, "bytes");
    assert_eq!(A::shutdown(&mut agent).await.expect("a status"), ended, "again is the same");
}

#[doc(hidden)]
pub async fn an_agent_that_ignores_its_stdin_gets_sigterm<A: Adapter>() {
    let (mut agent, stdin, _stdout) = spawn::<A>("exec sleep 1000", Grace { terminate: LONG.terminate, ..SHORT });
    drop(stdin);
    let (status, by) = A::shutdown(&mut agent).await.expect("a status");
    assert_eq!(status.and_then(|status| status.signal()), Some(Signal::TERM.as_raw()));
    assert_eq!(by, Some(Step::Terminate));
}

/// An agent that goes for SIGKILL only.
const STUBBORN: &str = "trap '' TERM; echo up; while :; do sleep 1000; done";

#[doc(hidden)]
pub async fn an_agent_that_ignores_sigterm_is_killed_after_the_grace<A: Adapter>() {
    let (mut agent, stdin, mut stdout) = spawn::<A>(STUBBORN, SHORT);
    assert_eq!(line::<A>(&mut stdout).await, "up");
    let id = A::id(&agent).expect("it runs");
    drop(stdin);
    let begun = Instant::now();
    let (status, by) = A::shutdown(&mut agent).await.expect("a status");
    assert!(begun.elapsed() >= SHORT.stdin + SHORT.terminate, "not before its time");
    assert_eq!(status.and_then(|status| status.signal()), Some(Signal::KILL.as_raw()));
    assert_eq!(by, Some(Step::Kill));
    assert_eq!(rest::<A>(stdout).await, "", "and neither is its sleep left");
    assert_eq!(rustix::process::test_kill_process(pid(id)), Err(rustix::io::Errno::SRCH), "it is reaped");
}

#[doc(hidden)]
pub async fn a_shutdown_that_is_dropped_goes_on_when_called_again<A: Adapter>() {
    let (mut agent, stdin, mut stdout) = spawn::<A>(STUBBORN, SHORT);
    assert_eq!(line::<A>(&mut stdout).await, "up");
    drop(stdin);
    let (begun, mut drops) = (Instant::now(), 0);
    let (_, by) = loop {
        if let Some(ended) = polled(A::shutdown(&mut agent), 1).await {
            break ended.expect("a status");
        }
        drops += 1;
        A::sleep(Duration::from_millis(5)).await;
    };
    assert!(drops > 1 && begun.elapsed() >= SHORT.stdin + SHORT.terminate);
    assert_eq!(by, Some(Step::Kill));
}

#[doc(hidden)]
pub async fn a_wait_may_be_dropped_anywhere<A: Adapter>() {
    let (mut agent, mut stdin, stdout) = spawn::<A>("read go; echo err >&2; exit 3", LONG);
    assert!(polled(A::wait(&mut agent), 1).await.is_none());
    stdin.write_all(b"go\n").await.expect("sh reads");
    let status = loop {
        if let Some(status) = polled(A::wait(&mut agent), 1).await {
            break status.expect("a status");
        }
        yield_now().await;
    };
    assert_eq!((status.code(), A::stderr_tail(&agent).as_slice()), (Some(3), &b"err\n"[..]));
    assert_eq!(rest::<A>(stdout).await, "");
}

#[doc(hidden)]
pub async fn a_shutdown_takes_the_grandchildren<A: Adapter>() {
    // The leader heeds its stdin, the grandchild does not.
    let (mut agent, stdin, mut stdout) = spawn::<A>("sleep 1000 & echo up; cat", LONG);
    assert_eq!(line::<A>(&mut stdout).await, "up");
    drop(stdin);
    let (_, by) = A::shutdown(&mut agent).await.expect("a status");
    assert!(by_itself(by), "{by:?}");
    assert_eq!(rest::<A>(stdout).await, "");
}

#[doc(hidden)]
pub async fn what_an_agent_leaves_behind_ends_with_it<A: Adapter>() {
    let (mut agent, _stdin, stdout) = spawn::<A>("sleep 1000 & echo up; exit 3", LONG);
    assert_eq!(A::wait(&mut agent).await.expect("a status").code(), Some(3));
    assert_eq!(rest::<A>(stdout).await, "up\n");
}

#[doc(hidden)]
pub async fn a_drop_takes_the_whole_group<A: Adapter>() {
    let (agent, _stdin, mut stdout) = spawn::<A>("trap '' TERM; sleep 1000 & echo up; wait", LONG);
    assert_eq!(line::<A>(&mut stdout).await, "up");
    let id = A::id(&agent).expect("it runs");
    drop(agent);
    assert_eq!(rest::<A>(stdout).await, "");
    reaped::<A>(id).await;
}

#[doc(hidden)]
pub async fn stderr_held_open_from_outside_the_group_holds_nothing_up<A: Adapter>() {
    let script = "setsid sh -c 'echo $$; exec sleep 1000' & read go; echo err >&2; exit 3";
    let (mut agent, mut stdin, mut stdout) = spawn::<A>(script, LONG);
    let escaped = line::<A>(&mut stdout).await.parse().expect("a process id");
    stdin.write_all(b"go\n").await.expect("sh reads");
    assert_eq!(A::wait(&mut agent).await.expect("a status").code(), Some(3));
    assert_eq!(A::stderr_tail(&agent), b"err\n");
    assert_eq!(A::shutdown(&mut agent).await.expect("a status").1, None);
    rustix::process::kill_process(pid(escaped), Signal::KILL).expect("it has escaped");
    assert_eq!(rest::<A>(stdout).await, "");
}

#[doc(hidden)]
pub async fn a_flood_on_stderr_blocks_nobody_and_its_end_is_kept<A: Adapter>() {
    let script = "head -c 1048576 /dev/zero | tr '\\0' x >&2; printf END >&2; echo done; cat";
    let (mut agent, stdin, mut stdout) = spawn::<A>(script, LONG);
    let (_, mut slow) = A::follow_stderr(&agent);
    // Nobody has looked at stderr so far.
    assert_eq!(line::<A>(&mut stdout).await, "done");
    drop(stdin);
    A::shutdown(&mut agent).await.expect("a status");
    let tail = A::stderr_tail(&agent);
    assert_eq!(tail.len(), 64 * 1024);
    assert!(tail.starts_with(b"xxx") && tail.ends_with(b"xEND"));
    assert_eq!(A::piece(&mut slow).await, Err(Missed::Some), "a slow taker is told that it missed some");
}

#[doc(hidden)]
pub async fn a_follower_of_stderr_gets_every_byte_once<A: Adapter>() {
    let (mut agent, mut stdin, mut stdout) = spawn::<A>("printf early >&2; echo up; read go; printf ' late' >&2", LONG);
    assert_eq!(line::<A>(&mut stdout).await, "up");
    let (mut all, mut pieces) = A::follow_stderr(&agent);
    stdin.write_all(b"go\n").await.expect("sh reads");
    while let Ok(piece) = soon::<A, _>("stderr", A::piece(&mut pieces)).await {
        all.extend_from_slice(&piece);
    }
    assert_eq!(String::from_utf8_lossy(&all), "early late");
    A::wait(&mut agent).await.expect("a status");
    let (all, mut pieces) = A::follow_stderr(&agent);
    assert_eq!((all.as_slice(), A::piece(&mut pieces).await), (&b"early late"[..], Err(Missed::Closed)));
}

#[doc(hidden)]
pub async fn an_agent_that_cannot_be_started_is_named<A: Adapter>() {
    let error = A::start(Command::new("no-such-agent"), LONG).map(drop).expect_err("there is none");
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    let text = error.to_string();
    assert!(text.starts_with("cannot start no-such-agent: ") && text.contains("No such file"), "{text}");

    let mut command = sh("true");
    command.current_dir("/no/such/directory");
    let text = A::start(command, LONG).map(drop).expect_err("there is no such directory").to_string();
    assert!(text.starts_with("cannot start sh in /no/such/directory: "), "{text}");
}

#[doc(hidden)]
pub async fn a_command_line_is_split_as_a_shell_does<A: Adapter>() {
    let line = r#"sh -c 'printf "%s|" "$0" "$@"' a "b c" d\ e '' "#;
    let (mut agent, _stdin, stdout) = A::start_line(line, LONG).expect("sh starts");
    assert!(A::wait(&mut agent).await.expect("a status").success());
    assert_eq!(rest::<A>(stdout).await, "a|b c|d e||");

    for (line, says) in [
        ("sh -c 'oh", "the command line has no closing ' for the one at byte 6"),
        (" # nothing", "the command line names no program"),
    ] {
        let error = A::start_line(line, LONG).map(drop).expect_err("it names nothing");
        assert_eq!((error.kind(), error.to_string()), (std::io::ErrorKind::InvalidInput, says.into()));
    }
}

#[doc(hidden)]
pub async fn a_shutdown_ends_the_stdin_that_somebody_still_writes_to<A: Adapter>() {
    // It reads nothing until it is asked to go: what is written waits.
    let script = "trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done";
    let (mut agent, mut stdin, mut stdout) = spawn::<A>(script, Grace { stdin: SHORT.stdin, ..LONG });
    assert_eq!(line::<A>(&mut stdout).await, "up");
    let flood = A::spawn(async move { stdin.write_all(&vec![0; 1 << 20]).await.map_err(|error| error.kind()) });
    // Enough time would prove nothing: it ends the same way if the pipe is not full yet.
    A::sleep(Duration::from_millis(5)).await;
    let (status, by) = A::shutdown(&mut agent).await.expect("a status");
    assert_eq!((status.and_then(|status| status.code()), by), (Some(0), Some(Step::Terminate)));
    assert_eq!(soon::<A, _>("the end of the writing", flood).await, Err(std::io::ErrorKind::BrokenPipe));

    let (mut agent, _stdin, stdout) = A::start(Command::new("cat"), LONG).expect("cat starts");
    let (status, by) = A::shutdown(&mut agent).await.expect("a status");
    assert_eq!((status.and_then(|status| status.code()), by), (Some(0), Some(Step::CloseStdin)));
    assert_eq!(rest::<A>(stdout).await, "");
}
