//! The chat of `drive`, on a terminal of its own: what a person types and sees.
#![cfg(target_os = "linux")]

use core::time::Duration;
use std::{
    fs::File,
    io::{ErrorKind, Read as _, Write as _},
    os::fd::OwnedFd,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Instant,
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};

/// How long anything may take to appear. A busy machine gets more than a person would wait.
const BOUND: Duration = Duration::from_secs(20);
const DRIVE: &str = env!("CARGO_BIN_EXE_drive");
const AGENT: &str = env!("CARGO_BIN_EXE_echo_agent");
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";

/// A terminal with `drive` in it.
struct Terminal {
    drive: Child,
    keys: File,
    /// The terminal as `drive` has it.
    inside: OwnedFd,
    printed: Receiver<Vec<u8>>,
    /// All that was printed, without what steers the terminal.
    seen: String,
    /// Up to where it was waited for.
    read: usize,
}

impl Terminal {
    fn open(arguments: &[&str]) -> Self {
        Self::open_with(arguments, |command| command)
    }

    fn open_with(arguments: &[&str], with: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let outside = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&outside).and_then(|()| unlockpt(&outside)).expect("it is ours");
        let name = ptsname(&outside, Vec::new()).expect("it has a name");
        let open = || {
            let file = File::options().read(true).write(true).open(PathBuf::from(name.to_str().expect("text")));
            OwnedFd::from(file.expect("the other end"))
        };
        let inside = open();
        let size = Winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&inside, size).expect("it has a size");
        let mut command = Command::new(DRIVE);
        command.args(arguments).env("TERM", "xterm").env_remove("NO_COLOR");
        let drive = with(&mut command).stdin(open()).stdout(open()).stderr(open()).spawn().expect("it was built");
        let keys = File::from(outside);
        let mut screen = keys.try_clone().expect("a second handle");
        let (sender, printed) = channel();
        thread::spawn(move || {
            let mut piece = [0; 4096];
            loop {
                match screen.read(&mut piece) {
                    Ok(read) if read > 0 => drop(sender.send(piece[..read].to_vec())),
                    Err(why) if why.kind() == ErrorKind::Interrupted => {}
                    _ => return,
                }
            }
        });
        Self { drive, keys, inside, printed, seen: String::new(), read: 0 }
    }

    fn type_in(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("somebody reads");
    }

    fn line(&mut self, line: &str) {
        self.type_in(line);
        self.type_in("\r");
    }

    /// Waits until this appears, behind what was waited for before.
    #[track_caller]
    fn until(&mut self, part: &str) {
        let deadline = Instant::now() + BOUND;
        loop {
            if let Some(at) = self.seen[self.read..].find(part) {
                self.read += at + part.len();
                return;
            }
            match self.printed.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.seen.push_str(&without_escapes(&String::from_utf8_lossy(&bytes))),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("{part:?} does not appear in\n{}", self.seen)
                }
            }
        }
    }

    /// Waits for the end of `drive`.
    fn end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + BOUND;
        loop {
            if let Some(status) = self.drive.try_wait().expect("it is ours") {
                return status;
            }
            assert!(Instant::now() < deadline, "it does not end:\n{}", self.seen);
            if let Ok(bytes) = self.printed.recv_timeout(Duration::from_millis(20)) {
                self.seen.push_str(&without_escapes(&String::from_utf8_lossy(&bytes)));
            }
        }
    }

    /// Whether the terminal is as a shell needs it.
    fn is_sane(&self) -> bool {
        let modes = tcgetattr(&self.inside).expect("a terminal").local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.drive.kill();
        let _ = self.drive.wait();
    }
}

/// What is left of the bytes without escape sequences. One that is cut off at the end of a piece is rare, and harmless.
fn without_escapes(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\x1b' {
            // `[`, then up to a letter.
            if chars.next() == Some('[') {
                chars.by_ref().find(char::is_ascii_alphabetic);
            }
        } else if c != '\r' {
            out.push(c);
        }
    }
    out
}

fn echo() -> Terminal {
    let mut terminal = Terminal::open(&["--", AGENT]);
    terminal.until("Echo");
    terminal.until("is opened");
    terminal
}

#[test]
fn text_streams_in_and_the_terminal_is_given_back() {
    let mut terminal = echo();
    assert!(!terminal.is_sane(), "the editor has it");
    terminal.line("stream 3 20");
    terminal.until("chunk 1/3");
    terminal.until("chunk 3/3");
    terminal.until("— done");
    terminal.line("/quit");
    assert!(terminal.end().success());
    assert!(terminal.is_sane());
}

#[test]
fn thoughts_plans_and_usage_are_shown() {
    let mut terminal = echo();
    terminal.line("plan");
    for part in ["First a plan", "☐ write", "☑ read", "◐ write", "☑ test", "All of it is done", "1200 of 200000 tokens"]
    {
        terminal.until(part);
    }
    terminal.type_in(CTRL_D);
    assert!(terminal.end().success());
}

#[test]
fn version_2_looks_the_same() {
    let mut terminal = Terminal::open(&["--protocol", "2", "--", AGENT]);
    terminal.until("Echo");
    terminal.until("is opened");
    terminal.line("plan");
    for part in ["First a plan", "☑ test", "All of it is done", "— done"] {
        terminal.until(part);
    }
    terminal.line("permission");
    terminal.until("? Edit a file");
    terminal.type_in("y");
    for part in ["-before", "+after", "✓ Edit a file", "— done"] {
        terminal.until(part);
    }
    terminal.line("hang");
    terminal.until("hang");
    terminal.type_in(CTRL_C);
    terminal.until("— stopped");
}

#[test]
fn a_permission_is_decided_with_one_key() {
    let mut terminal = echo();
    for (key, said, mark) in [("y", "selected allow", "✓ Edit a file"), ("n", "selected reject", "✗ Edit a file")] {
        terminal.line("permission");
        terminal.until("? Edit a file");
        terminal.until("y  Allow");
        terminal.type_in(key);
        terminal.until(said);
        terminal.until(mark);
        terminal.until("— done");
    }
    // Without a menu it is a letter like others.
    terminal.line("yes");
    terminal.until("I do what the first word says");
}

#[test]
fn ctrl_c_stops_a_turn_and_its_permission() {
    let mut terminal = echo();
    terminal.line("hang");
    terminal.until("hang");
    terminal.type_in(CTRL_C);
    terminal.until("stopping");
    terminal.until("— stopped");
    terminal.line("permission");
    terminal.until("y  Allow");
    terminal.type_in(CTRL_C);
    terminal.until("→ cancelled");
    terminal.until("— stopped");
    terminal.type_in(CTRL_C);
    terminal.until("nothing runs");
    terminal.line("echo still here");
    terminal.until("still here");
    terminal.until("still here");
}

#[test]
fn a_line_while_it_works_steers() {
    let mut terminal = echo();
    terminal.line("stream 1000000 5");
    terminal.until("chunk 3/");
    terminal.line("echo turned");
    terminal.until("cut short for that");
    terminal.until("— cut short");
    terminal.until("turned");
    terminal.until("— done");
}

#[test]
fn a_session_is_listed_resumed_and_its_mode_set() {
    let mut terminal = echo();
    terminal.line("echo remember");
    terminal.until("— done");
    terminal.line("/new");
    terminal.until("is opened");
    terminal.line("/sessions");
    terminal.until("(this one)");
    terminal.until("/resume N");
    terminal.line("/resume 1");
    terminal.until("is resumed");
    terminal.line("/mode loud");
    terminal.until("mode: loud");
    terminal.line("echo quiet");
    terminal.until("QUIET");
    terminal.line("/nonsense");
    terminal.until("there is no /nonsense");
}

#[test]
fn the_death_of_the_agent_is_told_with_its_last_words() {
    let mut terminal = echo();
    terminal.line("crash 7");
    terminal.until("the connection is over");
    terminal.until("exit status: 7");
    terminal.until("asked to crash");
    assert_eq!(terminal.end().code(), Some(5));
    assert!(terminal.is_sane());
}

#[test]
fn an_agent_that_does_not_stop_is_killed_at_the_second_ctrl_c() {
    let deaf = r#"read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
        read -r line; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'; trap '' TERM; while :; do sleep 1; done"#;
    let mut terminal = Terminal::open(&["--", "sh", "-c", deaf]);
    terminal.until("is opened");
    terminal.line("go");
    terminal.until("go");
    terminal.type_in(CTRL_C);
    terminal.until("stopping");
    terminal.type_in(CTRL_C);
    terminal.until("killed unless it stops");
    terminal.until("it did not stop");
    assert_eq!(terminal.end().code(), Some(5));
    assert!(terminal.is_sane());
}

#[test]
fn what_goes_wrong_at_the_start_is_said_in_words() {
    let mut terminal = Terminal::open(&["/no/such/agent"]);
    terminal.until("there is no program /no/such/agent");
    assert_eq!(terminal.end().code(), Some(5));

    let mut terminal = Terminal::open(&["--", AGENT, "--require-auth"]);
    terminal.until("log in first");
    terminal.until("/login interop-token");
    terminal.line("/login interop-token");
    terminal.until("logged in");
    terminal.until("is opened");

    let noisy = format!("echo Starting up; exec {AGENT}");
    let mut terminal = Terminal::open(&["--", "sh", "-c", &noisy]);
    terminal.until("prints what is no message");
    terminal.line("echo heard");
    terminal.until("heard");
}

#[test]
fn a_trace_is_written_from_when_it_is_asked_for() {
    let file = std::env::temp_dir().join(format!("acp-chat-{}.ndjson", std::process::id()));
    let mut terminal = echo();
    terminal.line(&format!("/trace {}", file.display()));
    terminal.until("is written to");
    terminal.line("echo noted");
    terminal.until("— done");
    terminal.line("/quit");
    assert!(terminal.end().success());
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert!(
        text.contains("\"trace\":\"acp\"") && text.contains("session/prompt") && text.contains("end_turn"),
        "{text}"
    );
    std::fs::remove_file(file).expect("it is ours");
}

#[test]
fn there_are_colours_unless_they_are_not_wanted() {
    for (no_color, colours) in [("", true), ("1", false)] {
        let mut terminal = Terminal::open_with(&["--", AGENT], |command| command.env("NO_COLOR", no_color));
        let mut raw = Vec::new();
        let deadline = Instant::now() + BOUND;
        while !String::from_utf8_lossy(&raw).contains("is opened") {
            assert!(Instant::now() < deadline);
            raw.extend(terminal.printed.recv_timeout(BOUND).expect("it prints"));
        }
        assert_eq!(String::from_utf8_lossy(&raw).contains("\x1b[1mEcho"), colours);
        terminal.type_in(CTRL_D);
        terminal.end();
    }
}

#[test]
fn without_a_terminal_there_are_events() {
    for arguments in [&["echo"][..], &["--json", "echo"], &["echo", "--", "--ignored"]] {
        let said = Command::new(DRIVE).args(arguments).stdin(Stdio::null()).output().expect("it was built");
        let text = String::from_utf8_lossy(&said.stdout);
        assert!(text.starts_with("{\"ev\":\"initialized\""), "{text}");
        assert!(said.status.success());
    }
}
