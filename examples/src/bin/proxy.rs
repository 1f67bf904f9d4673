//! A proxy between a client and an agent: `proxy AGENT [ARGS…]`, in place of the agent's command.
//!
//! Every byte passes as it came, also what is no message at all. The tap on stderr is a look at a copy of it, after it
//! has passed: when, which way, the method or what else it is, the id, and the size.

use core::error::Error;
use std::{
    env,
    io::{self, ErrorKind, Read, Write},
    process::{Command, ExitCode, Stdio},
    thread,
    time::Instant,
};

use acp_core::{
    Limits,
    wire::{Deframer, Framed, Line, Message, Oversized, parse_line},
};
use bytes::Bytes;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let program = env::args_os().nth(1).ok_or("usage: proxy AGENT [ARGS…]")?;
    // Its stderr stays ours: the agent logs where it would without us.
    let mut agent =
        Command::new(program).args(env::args_os().skip(2)).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(stdin), Some(stdout)) = (agent.stdin.take(), agent.stdout.take()) else { return Ok(ExitCode::FAILURE) };
    let started = Instant::now();
    // Not waited for: when the agent is gone, the client has still to notice. When the client is gone, this drops the
    // agent's stdin, which tells the agent.
    thread::spawn(move || carry(io::stdin(), stdin, Tap::new(started, "client → agent")));
    carry(stdout, io::stdout(), Tap::new(started, "agent → client"));
    let status = agent.wait()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Carries bytes until one of the two is closed.
fn carry(mut from: impl Read, mut to: impl Write, mut tap: Tap) {
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        if to.write_all(&piece[..read]).and_then(|()| to.flush()).is_err() {
            break;
        }
        tap.look(&piece[..read]);
    }
    tap.finish();
}

/// Reads one direction.
struct Tap {
    started: Instant,
    way: &'static str,
    lines: Deframer,
    limits: Limits,
}

impl Tap {
    fn new(started: Instant, way: &'static str) -> Self {
        let limits = Limits::default();
        Self { started, way, lines: Deframer::new(limits.line), limits }
    }

    fn look(&mut self, mut bytes: &[u8]) {
        while let Some(framed) = self.lines.next(&mut bytes) {
            self.show(framed);
        }
    }

    /// What came without a line break at the end.
    fn finish(&mut self) {
        if let Some(framed) = self.lines.finish() {
            self.show(framed);
        }
    }

    fn show(&self, framed: Framed) {
        let (what, size) = match framed {
            Framed::Line(line) => (describe(&line, self.limits.batch), line.len() as u64),
            Framed::TooLong(Oversized { size, method, .. }) => {
                (format!("{}, too long to look at", method.map_or("a line".into(), |method| method.to_string())), size)
            }
        };
        // Nobody reads the tap: the traffic goes on.
        let _ = writeln!(
            io::stderr(),
            "{:9.3} s  {}  {what}, {size} bytes",
            self.started.elapsed().as_secs_f64(),
            self.way
        );
    }
}

/// What a line is, in a few words.
fn describe(line: &Bytes, batch: usize) -> String {
    let one = |message: &Message| match message {
        Message::Request { id, method, .. } => format!("{method} #{}", String::from_utf8_lossy(id.as_json())),
        Message::Notification { method, .. } => method.to_string(),
        Message::Response { id, answer: Ok(_) } => format!("result #{}", String::from_utf8_lossy(id.as_json())),
        Message::Response { id, answer: Err(error) } => {
            format!("error {} #{}", error.code, String::from_utf8_lossy(id.as_json()))
        }
        Message::Malformed(malformed) => malformed.why.to_owned(),
    };
    match parse_line(line, batch) {
        Line::Blank => "blank".to_owned(),
        Line::Message(message) => one(&message),
        Line::Batch(messages) => format!("batch of {}", messages.iter().map(one).collect::<Vec<_>>().join(" and ")),
        Line::EmptyBatch => "an empty batch".to_owned(),
        Line::BatchTooLarge => "a batch that is too large".to_owned(),
    }
}
