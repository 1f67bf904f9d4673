//! The process's own stdin and stdout as a wire, over each kind of thing that may be behind them.
//!
//! Descriptors 0 and 1 are the process's, so each test runs an agent in a child: this same test binary, told by
//! [`ROLE`] to be one. The test harness prints to fd 1 before an agent can take it; what counts begins at [`READY`].
#![cfg(unix)]

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio, exit};
use std::sync::mpsc;
use std::thread;

use acp_tokio::{Stdin, Stdout, stdio, terminated};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, OutputModes, tcgetattr, tcsetattr};
use tokio::io::{AsyncReadExt as _, AsyncWrite as _, AsyncWriteExt as _};

const ROLE: &str = "ACP_TOKIO_TEST_ROLE";
const READY: &str = "\u{1}ready\n";
const LIMIT: Duration = Duration::from_secs(20);

// The agent.

/// Not a test, but the child of all the others.
#[test]
fn agent() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (stdin, mut stdout) = stdio().expect("stdin and stdout are there to be taken");
        stdout.write_all(READY.as_bytes()).await.expect("stdout takes bytes");
        stdout.flush().await.expect("stdout takes bytes");
        match role.as_str() {
            "echo" => echo(stdin, stdout).await,
            "noise" => {
                println!("stray print");
                let status = Command::new("sh").args(["-c", "echo from a child; cat; echo its input is over"]).status();
                assert!(status.expect("sh starts").success());
                echo(stdin, stdout).await;
            }
            "drop" => {
                let bytes = payload();
                stdout.write_all(&bytes).await.expect("stdout takes bytes");
                drop(stdout);
            }
            "twice" => eprintln!("{}", stdio().expect_err("it was taken")),
            "read" => {
                let mut stdin = stdin;
                let mut byte = core::pin::pin!(stdin.read_u8());
                let waits = core::future::poll_fn(|cx| Poll::Ready(byte.as_mut().poll(cx).is_pending())).await;
                assert!(waits, "nobody types");
                stdout.write_all(b"reading\n").await.expect("stdout takes bytes");
                stdout.shutdown().await.expect("stdout takes bytes");
            }
            "full" => full(stdout),
            "terminated" => {
                let terminated = terminated();
                stdout.write_all(b"waiting\n").await.expect("stdout takes bytes");
                terminated.await;
                stdout.write_all(b"in order\n").await.expect("stdout takes bytes");
                stdout.shutdown().await.expect("stdout takes bytes");
                { stdin }.read_to_end(&mut Vec::new()).await.expect("stdin works");
            }
            "broken" => {
                // The end of stdin says that nobody reads any more.
                { stdin }.read_to_end(&mut Vec::new()).await.expect("stdin works");
                let error = async { stdout.write_all(b"more").await.and(stdout.flush().await) }.await;
                eprintln!("failed: {}", error.expect_err("nobody reads"));
                assert!(stdout.write_all(b"again").await.is_err(), "it stays broken");
            }
            other => panic!("no such role: {other}"),
        }
    });
    // What the runtime still waits for would keep the process.
    drop(runtime);
    exit(0);
}

async fn echo(mut stdin: Stdin, mut stdout: Stdout) {
    tokio::io::copy(&mut stdin, &mut stdout).await.expect("stdin and stdout work");
    stdout.shutdown().await.expect("stdout takes bytes");
    assert!(stdout.write_all(b"late").await.is_err(), "nothing is taken after the end");
}

/// Writes to a terminal that nobody reads, until no more is taken.
fn full(mut stdout: Stdout) {
    let mut taken = 0;
    let mut cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(n) = Pin::new(&mut stdout).poll_write(&mut cx, &[b'x'; 4096]) {
        taken += n.expect("stdout takes bytes");
        assert!(taken <= 1 << 20, "memory is bounded");
    }
    eprintln!("full");
    // Not dropped: that would wait for the terminal.
    exit(0);
}

// The client.

fn start(role: &str, stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["agent", "--exact", "--nocapture"]).env(ROLE, role);
    command.stdin(stdin).stdout(stdout).stderr(Stdio::piped()).spawn().expect("this binary starts")
}

/// Runs what may block for ever for a while only.
fn bounded<T: Send + 'static>(what: &str, run: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, done) = mpsc::channel();
    thread::spawn(move || drop(send.send(run())));
    done.recv_timeout(LIMIT).unwrap_or_else(|why| panic!("{what}: {why}"))
}

/// Waits for the exit; gives stdout (when piped) and stderr.
fn finish(child: Child) -> (Vec<u8>, String) {
    let Output { status, stdout, stderr } =
        bounded("the exit of the agent", || child.wait_with_output()).expect("an output");
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    assert!(status.success(), "{status}: {stderr}");
    (stdout, stderr)
}

/// What came after [`READY`].
fn wire(bytes: &[u8]) -> &[u8] {
    let ready = bytes.windows(READY.len()).position(|window| window == READY.as_bytes());
    &bytes[ready.unwrap_or_else(|| panic!("no start in {}", String::from_utf8_lossy(bytes))) + READY.len()..]
}

/// More than any pipe or buffer on the way holds, and different at every offset.
fn payload() -> Vec<u8> {
    (0..200_000_u32).flat_map(|n| format!("{n}\n").into_bytes()).collect()
}

/// Reads, in between, up to a text; not a byte more.
fn read_to(mut from: impl Read, text: &str) {
    let mut seen = Vec::new();
    while !seen.ends_with(text.as_bytes()) {
        let mut byte = [0];
        from.read_exact(&mut byte).expect("more bytes");
        seen.push(byte[0]);
    }
}

fn file(name: &str) -> (PathBuf, File) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path).expect("a file");
    (path, file)
}

/// A terminal as it comes, but for echo and the translation of line ends: the near end, and the far end.
fn terminal() -> (File, OwnedFd) {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&near).and_then(|()| unlockpt(&near)).expect("a terminal");
    let name = ptsname(&near, Vec::new()).expect("a name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let far = rustix::fs::open(name, flags, Mode::empty()).expect("its far end");
    let mut modes = tcgetattr(&far).expect("its modes");
    modes.local_modes.remove(LocalModes::ECHO);
    modes.output_modes.remove(OutputModes::OPOST);
    tcsetattr(&far, OptionalActions::Now, &modes).expect("its modes");
    (File::from(near), far)
}

fn clone(fd: &OwnedFd) -> OwnedFd {
    fd.try_clone().expect("a descriptor")
}

// The tests.

#[test]
fn over_pipes() {
    let mut child = start("echo", Stdio::piped(), Stdio::piped());
    let mut stdin = child.stdin.take().expect("piped");
    let writer = thread::spawn(move || stdin.write_all(&payload()));
    let (stdout, _) = finish(child);
    writer.join().expect("no panic").expect("all is read");
    assert!(wire(&stdout) == payload());
}

#[test]
fn a_pipe_ends_for_its_reader_at_shutdown() {
    // Its stdin stays open, so the agent runs on while the reader sees the end.
    let mut child = start("terminated", Stdio::piped(), Stdio::piped());
    let mut stdout = child.stdout.take().expect("piped");
    let pid = Pid::from_child(&child);
    let bytes = bounded("the end of stdout", move || {
        read_to(&mut stdout, "waiting\n");
        kill_process(pid, Signal::TERM).expect("it runs");
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).map(|_| bytes)
    });
    assert_eq!(bytes.expect("stdout is read"), b"in order\n");
    finish(child);
}

#[test]
fn over_a_socket_pair() {
    // One socket for both, as `socketpair` users have it.
    let (mut near, far) = UnixStream::pair().expect("a socket pair");
    let child = start("echo", OwnedFd::from(far.try_clone().expect("a descriptor")), OwnedFd::from(far));
    let mut writing = near.try_clone().expect("a descriptor");
    let writer = thread::spawn(move || {
        writing.write_all(&payload()).and_then(|()| writing.shutdown(Shutdown::Write)).expect("all is read");
    });
    let bytes = bounded("the end of the socket", move || {
        let mut bytes = Vec::new();
        near.read_to_end(&mut bytes).map(|_| bytes)
    });
    assert!(wire(&bytes.expect("the socket is read")) == payload());
    writer.join().expect("no panic");
    finish(child);
}

#[test]
fn over_files() {
    let ((_, mut input), (path, output)) = (file("over_files.in"), file("over_files.out"));
    input.write_all(&payload()).and_then(|()| input.rewind()).expect("a file");
    finish(start("echo", input, output));
    assert!(wire(&std::fs::read(path).expect("a file")) == payload());
}

#[test]
fn a_drop_loses_no_bytes() {
    let (path, output) = file("a_drop_loses_no_bytes.out");
    finish(start("drop", Stdio::null(), output));
    assert!(wire(&std::fs::read(path).expect("a file")) == payload());

    let child = start("drop", Stdio::null(), Stdio::piped());
    assert!(wire(&finish(child).0) == payload());

    let (mut near, far) = terminal();
    let child = start("drop", Stdio::null(), clone(&far));
    let bytes = bounded("all bytes on the terminal", move || {
        read_to(&near, READY);
        let mut bytes = vec![0; payload().len()];
        near.read_exact(&mut bytes).map(|()| bytes)
    });
    assert!(bytes.expect("the terminal is read") == payload());
    finish(child);
}

/// Line by line, as a terminal is used, up to Ctrl-D.
fn over_a_terminal(mut near: File, far: &OwnedFd) {
    let before = fcntl_getfl(far).expect("flags");
    let child = start("echo", clone(far), clone(far));
    let near = bounded("an echo on a terminal", move || {
        read_to(&near, READY);
        for n in 0..500 {
            let line = format!("{n} {}\n", "x".repeat(n));
            near.write_all(line.as_bytes()).expect("the terminal takes a line");
            let mut back = vec![0; line.len()];
            near.read_exact(&mut back).expect("the terminal gives a line");
            assert_eq!(String::from_utf8_lossy(&back), line);
        }
        near.write_all(&[4]).expect("the terminal takes Ctrl-D");
        near
    });
    finish(child);
    assert_eq!(fcntl_getfl(far), Ok(before), "nothing was done to a terminal that a shell has too");
    drop(near);
}

#[test]
fn over_a_terminal_as_it_comes() {
    let (near, far) = terminal();
    over_a_terminal(near, &far);
}

#[test]
fn over_a_terminal_that_somebody_left_non_blocking() {
    let (near, far) = terminal();
    fcntl_setfl(&far, fcntl_getfl(&far).expect("flags") | OFlags::NONBLOCK).expect("flags");
    over_a_terminal(near, &far);
}

#[test]
fn a_read_from_a_terminal_does_not_keep_the_process() {
    let (near, far) = terminal();
    let child = start("read", far, Stdio::piped());
    assert_eq!(wire(&finish(child).0), b"reading\n");
    drop(near);
}

#[test]
fn a_terminal_that_nobody_reads_fills_no_memory() {
    let (near, far) = terminal();
    let child = start("full", Stdio::null(), far);
    let (_, stderr) = finish(child);
    assert!(stderr.ends_with("full\n"), "{stderr}");
    drop(near);
}

#[test]
fn over_dev_null() {
    let child = start("echo", Stdio::null(), Stdio::piped());
    assert_eq!(wire(&finish(child).0), b"", "the end at once");

    let mut child = start("echo", Stdio::piped(), Stdio::null());
    let written = child.stdin.take().expect("piped").write_all(&payload());
    written.expect("all is read");
    finish(child);
}

#[test]
fn a_failed_write_surfaces() {
    let mut child = start("broken", Stdio::piped(), Stdio::piped());
    read_to(child.stdout.take().expect("piped"), READY);
    let (_, stderr) = finish(child);
    assert!(stderr.contains("failed: Broken pipe"), "{stderr}");

    let (near, far) = terminal();
    let child = start("broken", Stdio::piped(), far);
    read_to(&near, READY);
    drop(near);
    let (_, stderr) = finish(child);
    assert!(stderr.contains("failed: Input/output error"), "{stderr}");
}

#[test]
fn prints_and_children_reach_stderr_and_never_the_wire() {
    let mut child = start("noise", Stdio::piped(), Stdio::piped());
    // In the pipe before the child that would read it starts.
    let written = child.stdin.take().expect("piped").write_all(b"for the agent\n");
    written.expect("all is read");
    let (stdout, stderr) = finish(child);
    assert_eq!(String::from_utf8_lossy(wire(&stdout)), "for the agent\n");
    for noise in ["stray print\n", "from a child\nits input is over\n"] {
        assert!(stderr.contains(noise), "{noise:?} in {stderr:?}");
    }
}

#[test]
fn the_second_call_is_an_error_that_says_so() {
    let (_, stderr) = finish(start("twice", Stdio::null(), Stdio::piped()));
    assert!(stderr.contains("stdio() was called before"), "{stderr}");
}

#[test]
fn without_a_runtime_there_is_an_error_and_nothing_is_taken() {
    let error = stdio().expect_err("there is no runtime");
    assert!(error.to_string().contains("tokio runtime"), "{error}");
}
