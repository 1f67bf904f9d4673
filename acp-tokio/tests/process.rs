//! Agents as child processes: how they end, and that nothing of theirs stays.
//!
//! That a process is gone is seen by the end of a pipe that only it and its like hold open, so no test waits by the
//! clock for something to have happened.
#![cfg(unix)]

use core::time::Duration;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::time::Instant;

use acp_core::machine::shutdown::Step;
use acp_tokio::process::{AgentProcess, Ended, Grace, Pipes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdout, Command};
use tokio::sync::broadcast::error::RecvError;

const SHORT: Grace = Grace { stdin: Duration::from_millis(50), terminate: Duration::from_millis(50) };
/// For what must not be cut short. No test waits it out.
const LONG: Grace = Grace { stdin: Duration::from_secs(20), terminate: Duration::from_secs(20) };

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

fn spawn(script: &str, grace: Grace) -> (AgentProcess, Pipes) {
    AgentProcess::spawn(sh(script), grace).expect("sh starts")
}

async fn soon<T>(what: &str, event: impl Future<Output = T>) -> T {
    let Ok(done) = tokio::time::timeout(Duration::from_secs(10), event).await else { panic!("not in time: {what}") };
    done
}

async fn line(stdout: &mut ChildStdout) -> String {
    let mut line = String::new();
    // A byte at a time, so that nothing after the line is taken.
    soon("a line", BufReader::with_capacity(1, stdout).read_line(&mut line)).await.expect("stdout is read");
    line.trim_end().to_owned()
}

/// The rest of stdout. It ends only when nobody is left who holds it open.
async fn rest(mut stdout: ChildStdout) -> String {
    let mut rest = String::new();
    soon("the end of stdout", stdout.read_to_string(&mut rest)).await.expect("stdout is read");
    rest
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(id.cast_signed()).expect("a process id")
}

async fn reaped(id: u32) {
    soon("the child is reaped", async {
        while rustix::process::test_kill_process(pid(id)).is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_exit_status_arrives_and_stays() {
    let (mut agent, pipes) = spawn("exit 7", LONG);
    assert_eq!(soon("exit", agent.wait()).await.expect("a status").code(), Some(7));
    assert_eq!(soon("exit", agent.wait()).await.expect("a status").code(), Some(7));
    assert_eq!(agent.id(), None);
    drop(pipes);
    let ended = soon("shutdown", agent.shutdown()).await.expect("a status");
    assert_eq!((ended.status.and_then(|status| status.code()), ended.by), (Some(7), None), "nobody ended it");
}

#[tokio::test]
async fn the_last_bytes_are_there_after_the_exit() {
    let (mut agent, pipes) = spawn("echo out; echo err >&2", LONG);
    assert!(soon("exit", agent.wait()).await.expect("a status").success());
    assert_eq!(agent.stderr_tail(), b"err\n");
    assert_eq!(rest(pipes.stdout).await, "out\n");
}

#[tokio::test]
async fn an_agent_that_heeds_the_end_of_stdin_is_not_signalled() {
    let (mut agent, Pipes { mut stdin, stdout }) = AgentProcess::spawn(Command::new("cat"), LONG).expect("cat starts");
    stdin.write_all(b"bytes").await.expect("cat reads");
    drop(stdin);
    let ended = soon("shutdown", agent.shutdown()).await.expect("a status");
    assert_eq!((ended.status.and_then(|status| status.code()), ended.by), (Some(0), Some(Step::CloseStdin)));
    assert_eq!(rest(stdout).await, "bytes");
    assert_eq!(agent.shutdown().await.expect("a status"), ended, "again is the same");
}

#[tokio::test]
async fn an_agent_that_ignores_its_stdin_gets_sigterm() {
    let (mut agent, pipes) = spawn("exec sleep 1000", Grace { terminate: LONG.terminate, ..SHORT });
    drop(pipes.stdin);
    let Ended { status, by } = soon("shutdown", agent.shutdown()).await.expect("a status");
    assert_eq!(status.and_then(|status| status.signal()), Some(Signal::TERM.as_raw()));
    assert_eq!(by, Some(Step::Terminate));
}

#[tokio::test]
async fn an_agent_that_ignores_sigterm_is_killed_after_the_grace() {
    let (mut agent, mut pipes) = spawn("trap '' TERM; echo up; while :; do sleep 1000; done", SHORT);
    assert_eq!(line(&mut pipes.stdout).await, "up");
    let id = agent.id().expect("it runs");
    drop(pipes.stdin);
    let begun = Instant::now();
    let Ended { status, by } = soon("shutdown", agent.shutdown()).await.expect("a status");
    assert!(begun.elapsed() >= SHORT.stdin + SHORT.terminate, "not before its time");
    assert_eq!(status.and_then(|status| status.signal()), Some(Signal::KILL.as_raw()));
    assert_eq!(by, Some(Step::Kill));
    assert_eq!(rest(pipes.stdout).await, "", "and neither is its sleep left");
    assert_eq!(rustix::process::test_kill_process(pid(id)), Err(rustix::io::Errno::SRCH), "it is reaped");
}

#[tokio::test]
async fn a_shutdown_that_is_dropped_goes_on_when_called_again() {
    let grace = Grace { stdin: Duration::from_millis(150), terminate: Duration::from_millis(150) };
    let (mut agent, mut pipes) = spawn("trap '' TERM; echo up; while :; do sleep 1000; done", grace);
    assert_eq!(line(&mut pipes.stdout).await, "up");
    let begun = Instant::now();
    let mut calls = 0;
    let ended = soon("shutdown", async {
        loop {
            calls += 1;
            if let Ok(ended) = tokio::time::timeout(Duration::from_millis(20), agent.shutdown()).await {
                break ended.expect("a status");
            }
        }
    })
    .await;
    assert!(calls > 1 && begun.elapsed() >= grace.stdin + grace.terminate);
    assert_eq!(ended.by, Some(Step::Kill));
}

#[tokio::test]
async fn a_shutdown_takes_the_grandchildren() {
    // The leader heeds its stdin, the grandchild does not.
    let (mut agent, mut pipes) = spawn("sleep 1000 & echo up; cat", LONG);
    assert_eq!(line(&mut pipes.stdout).await, "up");
    drop(pipes.stdin);
    let ended = soon("shutdown", agent.shutdown()).await.expect("a status");
    assert_eq!(ended.by, Some(Step::CloseStdin));
    assert_eq!(rest(pipes.stdout).await, "");
}

#[tokio::test]
async fn what_an_agent_leaves_behind_ends_with_it() {
    let (mut agent, pipes) = spawn("sleep 1000 & echo up; exit 3", LONG);
    assert_eq!(soon("exit", agent.wait()).await.expect("a status").code(), Some(3));
    assert_eq!(rest(pipes.stdout).await, "up\n");
}

#[tokio::test]
async fn a_drop_takes_the_whole_group() {
    let (agent, mut pipes) = spawn("trap '' TERM; sleep 1000 & echo up; wait", LONG);
    assert_eq!(line(&mut pipes.stdout).await, "up");
    let id = agent.id().expect("it runs");
    drop(agent);
    assert_eq!(rest(pipes.stdout).await, "");
    reaped(id).await;
}

#[test]
fn a_drop_needs_no_runtime() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (agent, stdout) = runtime.block_on(async {
        let (agent, mut pipes) = spawn("sleep 1000 & echo up; wait", LONG);
        assert_eq!(line(&mut pipes.stdout).await, "up");
        (agent, pipes.stdout.into_owned_fd().expect("a descriptor"))
    });
    drop(runtime);
    let id = agent.id().expect("it runs");
    drop(agent);
    let mut stdout = File::from(stdout);
    let limit = Timespec { tv_sec: 10, tv_nsec: 0 };
    assert_eq!(poll(&mut [PollFd::new(&stdout, PollFlags::IN)], Some(&limit)), Ok(1), "not in time");
    assert_eq!(stdout.read(&mut [0]).expect("stdout is read"), 0, "nobody holds it open");
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(reaped(id));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn stderr_held_open_from_outside_the_group_holds_nothing_up() {
    let script = "setsid sh -c 'echo $$; exec sleep 1000' & read go; echo err >&2; exit 3";
    let (mut agent, mut pipes) = spawn(script, LONG);
    let escaped = line(&mut pipes.stdout).await.parse().expect("a process id");
    pipes.stdin.write_all(b"go\n").await.expect("sh reads");
    assert_eq!(soon("exit", agent.wait()).await.expect("a status").code(), Some(3));
    assert_eq!(agent.stderr_tail(), b"err\n");
    assert_eq!(soon("shutdown", agent.shutdown()).await.expect("a status").by, None);
    rustix::process::kill_process(pid(escaped), Signal::KILL).expect("it has escaped");
    assert_eq!(rest(pipes.stdout).await, "");
}

#[tokio::test]
async fn a_flood_on_stderr_blocks_nobody_and_its_end_is_kept() {
    let script = "head -c 1048576 /dev/zero | tr '\\0' x >&2; printf END >&2; echo done; cat";
    let (mut agent, mut pipes) = spawn(script, LONG);
    let (_, mut slow) = agent.follow_stderr();
    // Nobody has looked at stderr so far.
    assert_eq!(line(&mut pipes.stdout).await, "done");
    drop(pipes.stdin);
    soon("shutdown", agent.shutdown()).await.expect("a status");
    let tail = agent.stderr_tail();
    assert_eq!(tail.len(), 64 * 1024);
    assert!(tail.starts_with(b"xxx") && tail.ends_with(b"xEND"));
    assert!(matches!(slow.recv().await, Err(RecvError::Lagged(_))), "a slow taker is told what it missed");
}

#[tokio::test]
async fn a_follower_of_stderr_gets_every_byte_once() {
    let (mut agent, mut pipes) = spawn("printf early >&2; echo up; read go; printf ' late' >&2", LONG);
    assert_eq!(line(&mut pipes.stdout).await, "up");
    let (mut all, mut pieces) = agent.follow_stderr();
    pipes.stdin.write_all(b"go\n").await.expect("sh reads");
    while let Ok(piece) = soon("stderr", pieces.recv()).await {
        all.extend_from_slice(&piece);
    }
    assert_eq!(String::from_utf8_lossy(&all), "early late");
    soon("exit", agent.wait()).await.expect("a status");
    let (all, mut pieces) = agent.follow_stderr();
    assert_eq!((all.as_slice(), pieces.recv().await), (&b"early late"[..], Err(RecvError::Closed)));
}

#[tokio::test]
async fn an_agent_that_cannot_be_started_is_named() {
    let error = AgentProcess::spawn(Command::new("no-such-agent"), LONG).expect_err("there is none");
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    let text = error.to_string();
    assert!(text.starts_with("cannot start no-such-agent: ") && text.contains("No such file"), "{text}");

    let mut command = sh("true");
    command.current_dir("/no/such/directory");
    let text = AgentProcess::spawn(command, LONG).expect_err("there is no such directory").to_string();
    assert!(text.starts_with("cannot start sh in /no/such/directory: "), "{text}");
}

#[test]
fn without_a_runtime_there_is_an_error_and_no_panic() {
    assert!(AgentProcess::spawn(sh("true"), LONG).is_err());
}

#[test]
fn a_process_may_move_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<AgentProcess>();
    check::<Pipes>();
}
