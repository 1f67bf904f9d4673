//! The process's own stdin and stdout as a wire, over each kind of thing that may be behind them.
//!
//! Descriptors 0 and 1 are the process's, so each rule runs an agent in a child: the same test binary, told by `ROLE` to
//! be one. The test harness prints to fd 1 before an agent can take it; what counts begins at `READY`.

mod agent;

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, OutputModes, tcgetattr, tcsetattr};

pub use self::agent::child;
use self::agent::{READY, ROLE, payload};
use super::LIMIT;

fn start(me: &str, role: &str, stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    // The test of the same adapter; the name of the crate is not in the name of a test.
    let module = me.split_once("::").map_or("", |(_, module)| module);
    command.args([&format!("{module}::child"), "--exact", "--nocapture"]).env(ROLE, role);
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

/// Reads, in between, up to a text; not a byte more.
fn read_to(mut from: impl Read, text: &str) {
    let mut seen = Vec::new();
    while !seen.ends_with(text.as_bytes()) {
        let mut byte = [0];
        from.read_exact(&mut byte).expect("more bytes");
        seen.push(byte[0]);
    }
}

fn file(me: &str, name: &str) -> (PathBuf, File) {
    let name = format!("{}.{}.{name}", std::process::id(), me.replace("::", "."));
    let path = std::env::temp_dir().join(name);
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

#[doc(hidden)]
pub fn over_pipes(me: &str) {
    let mut child = start(me, "echo", Stdio::piped(), Stdio::piped());
    let mut stdin = child.stdin.take().expect("piped");
    let writer = thread::spawn(move || stdin.write_all(&payload()));
    let (stdout, _) = finish(child);
    writer.join().expect("no panic").expect("all is read");
    assert!(wire(&stdout) == payload());
}

#[doc(hidden)]
pub fn a_pipe_ends_for_its_reader_at_the_close(me: &str) {
    // Its stdin stays open, so the agent runs on while the reader sees the end.
    let mut child = start(me, "terminated", Stdio::piped(), Stdio::piped());
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

#[doc(hidden)]
pub fn over_a_socket_pair(me: &str) {
    // One socket for both, as `socketpair` users have it.
    let (mut near, far) = UnixStream::pair().expect("a socket pair");
    let child = start(me, "echo", OwnedFd::from(far.try_clone().expect("a descriptor")), OwnedFd::from(far));
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

#[doc(hidden)]
pub fn over_files(me: &str) {
    let ((used, mut input), (path, output)) = (file(me, "over_files.in"), file(me, "over_files.out"));
    input.write_all(&payload()).and_then(|()| input.rewind()).expect("a file");
    finish(start(me, "echo", input, output));
    std::fs::remove_file(used).expect("it is ours");
    assert!(wire(&std::fs::read(&path).expect("a file")) == payload());
    std::fs::remove_file(path).expect("it is ours");
}

#[doc(hidden)]
pub fn a_drop_loses_no_bytes(me: &str) {
    let (path, output) = file(me, "a_drop_loses_no_bytes.out");
    finish(start(me, "drop", Stdio::null(), output));
    assert!(wire(&std::fs::read(&path).expect("a file")) == payload());
    std::fs::remove_file(path).expect("it is ours");

    let child = start(me, "drop", Stdio::null(), Stdio::piped());
    assert!(wire(&finish(child).0) == payload());

    let (mut near, far) = terminal();
    let child = start(me, "drop", Stdio::null(), clone(&far));
    let bytes = bounded("all bytes on the terminal", move || {
        read_to(&near, READY);
        let mut bytes = vec![0; payload().len()];
        near.read_exact(&mut bytes).map(|()| bytes)
    });
    assert!(bytes.expect("the terminal is read") == payload());
    finish(child);
}

/// Line by line, as a terminal is used, up to Ctrl-D.
fn over_a_terminal(me: &str, mut near: File, far: &OwnedFd) {
    let before = fcntl_getfl(far).expect("flags");
    let child = start(me, "echo", clone(far), clone(far));
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

#[doc(hidden)]
pub fn over_a_terminal_as_it_comes(me: &str) {
    let (near, far) = terminal();
    over_a_terminal(me, near, &far);
}

#[doc(hidden)]
pub fn over_a_terminal_that_somebody_left_non_blocking(me: &str) {
    let (near, far) = terminal();
    fcntl_setfl(&far, fcntl_getfl(&far).expect("flags") | OFlags::NONBLOCK).expect("flags");
    over_a_terminal(me, near, &far);
}

#[doc(hidden)]
pub fn a_read_from_a_terminal_does_not_keep_the_process(me: &str) {
    let (near, far) = terminal();
    let child = start(me, "read", far, Stdio::piped());
    assert_eq!(wire(&finish(child).0), b"reading\n");
    drop(near);
}

#[doc(hidden)]
pub fn a_terminal_that_nobody_reads_fills_no_memory(me: &str) {
    let (near, far) = terminal();
    let child = start(me, "full", Stdio::null(), far);
    let (_, stderr) = finish(child);
    assert!(stderr.ends_with("full\n"), "{stderr}");
    drop(near);
}

#[doc(hidden)]
pub fn over_dev_null(me: &str) {
    let child = start(me, "echo", Stdio::null(), Stdio::piped());
    assert_eq!(wire(&finish(child).0), b"", "the end at once");

    let mut child = start(me, "echo", Stdio::piped(), Stdio::null());
    let written = child.stdin.take().expect("piped").write_all(&payload());
    written.expect("all is read");
    finish(child);
}

#[doc(hidden)]
pub fn a_failed_write_surfaces(me: &str) {
    let mut child = start(me, "broken", Stdio::piped(), Stdio::piped());
    read_to(child.stderr.as_mut().expect("piped"), "written\n");
    read_to(child.stdout.take().expect("piped"), READY);
    let (_, stderr) = finish(child);
    assert!(stderr.contains("failed: Broken pipe"), "{stderr}");

    let (near, far) = terminal();
    let mut child = start(me, "broken", Stdio::piped(), far);
    read_to(child.stderr.as_mut().expect("piped"), "written\n");
    read_to(&near, READY);
    drop(near);
    let (_, stderr) = finish(child);
    assert!(stderr.contains("failed: Input/output error"), "{stderr}");
}

#[doc(hidden)]
pub fn prints_and_children_reach_stderr_and_never_the_wire(me: &str) {
    let mut child = start(me, "noise", Stdio::piped(), Stdio::piped());
    // In the pipe before the child that would read it starts.
    let written = child.stdin.take().expect("piped").write_all(b"for the agent\n");
    written.expect("all is read");
    let (stdout, stderr) = finish(child);
    assert_eq!(String::from_utf8_lossy(wire(&stdout)), "for the agent\n");
    for noise in ["stray print\n", "from a child\nits input is over\n"] {
        assert!(stderr.contains(noise), "{noise:?} in {stderr:?}");
    }
}

#[doc(hidden)]
pub fn the_second_call_is_an_error_that_says_so(me: &str) {
    let (_, stderr) = finish(start(me, "twice", Stdio::null(), Stdio::piped()));
    assert!(stderr.contains("stdio() was called before"), "{stderr}");
}

#[doc(hidden)]
pub fn an_agent_ends_by_itself_when_its_client_is_killed(me: &str) {
    // The client, which is killed, holds the only other ends of the pipes.
    let (near, far) = UnixStream::pair().expect("a socket pair");
    let child = start(me, "turn", OwnedFd::from(far.try_clone().expect("a descriptor")), OwnedFd::from(far));
    let (mut reader, mut writer) = (near.try_clone().expect("a descriptor"), near);
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}"#,
    ];
    bounded("an update in mid-turn", move || {
        read_to(&mut reader, READY);
        for line in lines {
            writer.write_all(format!("{line}\n").as_bytes()).expect("the agent reads");
            read_to(&mut reader, "\n");
        }
    });
    let (_, stderr) = finish(child);
    assert!(stderr.contains("the turn was cancelled\n"), "{stderr}");
}
