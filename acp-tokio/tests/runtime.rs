//! What is tokio's own: where there is no runtime. What every adapter has to do stands in the conformance suite,
//! `tests/src/suite.rs`.
#![cfg(unix)]

use core::time::Duration;
use std::fs::File;
use std::io::Read as _;

use acp_tokio::{AgentProcess, Grace, stdio};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn a_drop_of_a_process_needs_no_runtime() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (agent, stdout) = runtime.block_on(async {
        let script = "sleep 1000 & echo up; wait";
        let (agent, mut pipes) = AgentProcess::spawn(sh(script), Grace::default()).expect("sh starts");
        let mut line = [0; 3];
        pipes.stdout.read_exact(&mut line).await.expect("a line");
        assert_eq!(&line, b"up\n");
        (agent, pipes.stdout.into_owned_fd().expect("a descriptor"))
    });
    drop(runtime);
    let id = Pid::from_raw(agent.id().expect("it runs").cast_signed()).expect("a process id");
    drop(agent);
    let mut stdout = File::from(stdout);
    let limit = Timespec { tv_sec: 10, tv_nsec: 0 };
    assert_eq!(poll(&mut [PollFd::new(&stdout, PollFlags::IN)], Some(&limit)), Ok(1), "not in time");
    assert_eq!(stdout.read(&mut [0]).expect("stdout is read"), 0, "nobody holds it open");
    for _ in 0..1000 {
        if rustix::process::test_kill_process(id).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it is not reaped");
}

#[test]
fn without_a_runtime_there_are_errors_and_no_panics() {
    assert!(AgentProcess::spawn(sh("true"), Grace::default()).is_err());
    let error = stdio().expect_err("there is no runtime");
    assert!(error.to_string().contains("tokio runtime"), "{error}");
}
