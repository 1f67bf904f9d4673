//! Who outlives whom: a client that is killed leaves no agent behind, and an agent that is killed leaves no client waiting.
#![cfg(unix)]

use core::time::Duration;
use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _},
    path::PathBuf,
    process::{self, Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Instant,
};

/// How long any of this may take. What is asked for is a second; a busy machine gets more.
const BOUND: Duration = Duration::from_secs(5);

/// `drive` with a running agent, which holds one end of a named pipe: when nothing of the agent is left, whoever its
/// parent is by then, the other end reads the end of the file.
struct Run {
    drive: Child,
    events: BufReader<process::ChildStdout>,
    agent: String,
    held: mpsc::Receiver<()>,
    fifo: PathBuf,
}

impl Run {
    fn start(name: &str, prompt: &[&str]) -> Self {
        let fifo = std::env::temp_dir().join(format!("acp-life-{}-{name}", process::id()));
        assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
        // The shell becomes the agent, so that its process id is the agent's.
        let script = "exec 3>\"$0\"; echo $$ >&3; exec \"$1\"";
        let mut drive = Command::new(env!("CARGO_BIN_EXE_drive"))
            .args(prompt)
            .args(["--", "sh", "-c", script])
            .arg(&fifo)
            .arg(env!("CARGO_BIN_EXE_echo_agent"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it was built with this test");
        // Opening waits for the agent to do the same.
        let mut pipe = BufReader::new(File::open(&fifo).expect("the pipe is there"));
        let mut agent = String::new();
        pipe.read_line(&mut agent).expect("the agent says who it is");
        let (over, held) = mpsc::channel();
        thread::spawn(move || {
            let _ = pipe.read_to_end(&mut Vec::new());
            let _ = over.send(());
        });
        let events = BufReader::new(drive.stdout.take().expect("piped"));
        Self { drive, events, agent: agent.trim().to_owned(), held, fifo }
    }

    /// Reads events until one holds this.
    fn until(&mut self, part: &str) -> String {
        let mut event = String::new();
        while !event.contains(part) {
            event.clear();
            assert_ne!(self.events.read_line(&mut event).expect("events are text"), 0, "no event holds {part}");
        }
        event
    }

    fn agent_is_there(&self) -> bool {
        self.held.try_recv() == Err(mpsc::TryRecvError::Empty)
    }

    /// Kills the client, which cannot do anything about it.
    fn kill_drive(&mut self) {
        assert!(self.agent_is_there(), "the agent runs until then");
        self.drive.kill().expect("it runs");
        self.drive.wait().expect("it is ours");
        assert_eq!(self.held.recv_timeout(BOUND), Ok(()), "the agent {} is still there", self.agent);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.drive.kill();
        let _ = self.drive.wait();
        let _ = fs::remove_file(&self.fifo);
    }
}

#[test]
fn a_killed_client_leaves_no_idle_agent() {
    // The agent has said all it had to say. The client has taken that, and waits for somebody to read its events.
    let mut run = Run::start("idle", &["--prompt", "stream 900"]);
    run.until("chunk 1/");
    thread::sleep(Duration::from_millis(500));
    run.kill_drive();
}

#[test]
fn a_killed_client_leaves_no_agent_that_hangs_in_a_turn() {
    let mut run = Run::start("hang", &["--prompt", "echo on", "--prompt", "hang"]);
    run.until(r#""ev":"stop""#);
    // The next prompt is on its way; give the turn time to begin.
    thread::sleep(Duration::from_millis(100));
    run.kill_drive();
}

#[test]
fn a_killed_client_leaves_no_agent_in_mid_stream() {
    let mut run = Run::start("stream", &["--prompt", "stream 100000 1"]);
    run.until("chunk 20/");
    run.kill_drive();
}

#[test]
fn a_killed_client_leaves_no_agent_that_writes_into_a_full_pipe() {
    // Nobody reads the events, so `drive` takes no more, and the agent is stuck in the middle of a write.
    let mut run = Run::start("full", &["--prompt", "stream 1000000"]);
    run.until("chunk 1/");
    thread::sleep(Duration::from_millis(500));
    run.kill_drive();
}

#[test]
fn a_killed_agent_gives_its_client_a_reason() {
    for (name, prompt) in [("reason-hang", "hang"), ("reason-stream", "stream 100000 1")] {
        let mut run = Run::start(name, &["--prompt", "echo on", "--prompt", prompt]);
        run.until(r#""ev":"stop""#);
        thread::sleep(Duration::from_millis(100));
        let killed = Instant::now();
        assert!(Command::new("kill").args(["-KILL", &run.agent]).status().expect("kill runs").success());
        let event = run.until(r#""ev":"closed""#);
        assert!(event.contains(r#""reason":"the "#), "{event}");
        let code = run.drive.wait().expect("it is ours").code();
        assert_eq!(code, Some(5), "the agent is gone: {event}");
        assert!(killed.elapsed() < BOUND, "{:?}", killed.elapsed());
    }
}
