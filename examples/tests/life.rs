//! Who outlives whom: a client that is killed leaves no agent behind, and an agent that is killed leaves no client waiting.
//!
//! What an agent has got to is what it logs on stderr, or what is in its pipes; no test waits for time to pass.
#![cfg(unix)]

use core::time::Duration;
use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{self, Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Instant,
};

/// How long any of this may take. What is asked for is a second; a busy machine gets more.
const BOUND: Duration = Duration::from_secs(5);

/// `drive` with a running agent, whose stderr is a named pipe: when nothing of the agent is left, whoever its parent is by
/// then, the other end reads the end of the file.
struct Run {
    drive: Child,
    events: BufReader<process::ChildStdout>,
    agent: String,
    /// What the agent logs; it is disconnected when the agent is gone.
    log: mpsc::Receiver<String>,
    fifo: PathBuf,
}

impl Run {
    fn start(name: &str, prompt: &[&str]) -> Self {
        let fifo = std::env::temp_dir().join(format!("acp-life-{}-{name}", process::id()));
        assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
        // The shell becomes the agent, so that its process id is the agent's.
        let script = "exec 2>\"$0\"; echo $$ >&2; exec \"$1\"";
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
        let (tell, log) = mpsc::channel();
        thread::spawn(move || {
            for line in pipe.lines().map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        let events = BufReader::new(drive.stdout.take().expect("piped"));
        Self { drive, events, agent: agent.trim().to_owned(), log, fifo }
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

    /// Waits until the agent has logged this.
    fn logged(&self, part: &str) {
        while !self.log.recv_timeout(BOUND).expect("the agent says so").contains(part) {}
    }

    /// Waits until one of the agent's pipes takes nothing more: only its output is ever full.
    #[cfg(target_os = "linux")]
    fn is_stuck(&self) {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        let (begun, at_once) = (Instant::now(), Timespec { tv_sec: 0, tv_nsec: 0 });
        let descriptors = PathBuf::from(format!("/proc/{}/fd", self.agent));
        loop {
            let full = fs::read_dir(&descriptors).expect("it runs").flatten().any(|entry| {
                fs::read_link(entry.path()).is_ok_and(|target| target.to_string_lossy().starts_with("pipe:"))
                    && File::options().write(true).open(entry.path()).is_ok_and(|pipe| {
                        let room = poll(&mut [PollFd::new(&pipe, PollFlags::OUT)], Some(&at_once));
                        room == Ok(0)
                    })
            });
            if full {
                return;
            }
            assert!(begun.elapsed() < BOUND, "its output is never full");
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn agent_is_there(&self) -> bool {
        loop {
            match self.log.try_recv() {
                Ok(_) => {}
                Err(why) => return why == mpsc::TryRecvError::Empty,
            }
        }
    }

    /// Kills the client, which cannot do anything about it.
    fn kill_drive(&mut self) {
        assert!(self.agent_is_there(), "the agent runs until then");
        self.drive.kill().expect("it runs");
        self.drive.wait().expect("it is ours");
        let begun = Instant::now();
        let over = loop {
            if let Err(why) = self.log.recv_timeout(BOUND.saturating_sub(begun.elapsed())) {
                break why;
            }
        };
        assert_eq!(over, mpsc::RecvTimeoutError::Disconnected, "the agent {} is still there", self.agent);
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
    run.logged("streamed 900 chunks");
    run.kill_drive();
}

#[test]
fn a_killed_client_leaves_no_agent_that_hangs_in_a_turn() {
    let mut run = Run::start("hang", &["--prompt", "hang"]);
    run.logged("hangs");
    run.kill_drive();
}

#[test]
fn a_killed_client_leaves_no_agent_in_mid_stream() {
    let mut run = Run::start("stream", &["--prompt", "stream 100000 1"]);
    run.until("chunk 20/");
    run.kill_drive();
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_client_leaves_no_agent_that_writes_into_a_full_pipe() {
    // Nobody reads the events, so `drive` takes no more, and the agent is stuck in the middle of a write.
    let mut run = Run::start("full", &["--prompt", "stream 1000000"]);
    run.until("chunk 1/");
    run.is_stuck();
    run.kill_drive();
}

#[test]
fn a_killed_agent_gives_its_client_a_reason() {
    for (name, prompt) in [("reason-hang", "hang"), ("reason-stream", "stream 100000 1")] {
        let mut run = Run::start(name, &["--prompt", prompt]);
        if prompt == "hang" {
            run.logged("hangs");
        } else {
            run.until("chunk 20/");
        }
        let killed = Instant::now();
        assert!(Command::new("kill").args(["-KILL", &run.agent]).status().expect("kill runs").success());
        let event = run.until(r#""ev":"closed""#);
        assert!(event.contains(r#""reason":"the "#), "{event}");
        let code = run.drive.wait().expect("it is ours").code();
        assert_eq!(code, Some(5), "the agent is gone: {event}");
        assert!(killed.elapsed() < BOUND, "{:?}", killed.elapsed());
    }
}

#[test]
fn an_agent_that_is_asked_to_go_answers_its_turn_and_goes() {
    for how in ["-TERM", "-INT", "the end of its input"] {
        let mut agent = Command::new(env!("CARGO_BIN_EXE_echo_agent"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it was built with this test");
        let mut stdin = agent.stdin.take();
        let mut say = |message: &str| {
            writeln!(stdin.as_mut().expect("piped"), r#"{{"jsonrpc":"2.0",{message}}}"#).expect("it reads");
        };
        let mut stdout = BufReader::new(agent.stdout.take().expect("piped")).lines();
        let mut stderr = BufReader::new(agent.stderr.take().expect("piped")).lines();
        let mut answer = || stdout.next().expect("an answer").expect("text");
        say(r#""id":1,"method":"initialize","params":{"protocolVersion":1}"#);
        answer();
        say(r#""id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}"#);
        let opened: serde_json::Value = serde_json::from_str(&answer()).expect("JSON");
        let prompt = serde_json::json!({
            "sessionId": opened["result"]["sessionId"], "prompt": [{ "type": "text", "text": "hang" }],
        });
        say(&format!(r#""id":3,"method":"session/prompt","params":{prompt}"#));
        assert!(stderr.any(|line| line.expect("text").contains("hangs")), "it begins the turn");

        let asked = Instant::now();
        if how.starts_with('-') {
            let id = agent.id().to_string();
            assert!(Command::new("kill").args([how, &id]).status().expect("kill runs").success());
        } else {
            stdin = None;
        }
        let rest: Vec<_> = stdout.by_ref().map_while(Result::ok).filter(|line| line.contains(r#""id":3"#)).collect();
        assert_eq!(rest, [r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#], "{how}");
        assert_eq!(agent.wait().expect("it is ours").code(), Some(0), "{how}");
        assert!(asked.elapsed() < BOUND, "{how}: {:?}", asked.elapsed());
        drop(stdin);
    }
}
