//! A bridge between the two versions of the protocol: `bridge [--agent-version N] AGENT [ARGS…]`, in place of the agent's
//! command. A client of version 1 uses an agent of version 2 through it, and the reverse.
//!
//! The bridge itself is [`acp_examples::bridge`], made of the core alone. Here are its bytes and its clock: a thread for
//! each reader, and one loop.

use core::{error::Error, time::Duration};
use std::{
    env,
    io::{self, Read, Write},
    process::{Command, ExitCode, Stdio},
    sync::mpsc::{self, Sender},
    thread,
    time::Instant,
};

use acp_core::{Connection, Role, Timestamp};
use acp_examples::bridge::Bridge;

enum Heard {
    Client(Vec<u8>),
    Agent(Vec<u8>),
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments: Vec<_> = env::args_os().skip(1).collect();
    let mut version = 2;
    if arguments.first().is_some_and(|first| first == "--agent-version") {
        version = arguments.get(1).and_then(|of| of.to_str()?.parse().ok()).ok_or("--agent-version takes a number")?;
        arguments.drain(..2);
    }
    let (program, rest) = arguments.split_first().ok_or("usage: bridge [--agent-version N] AGENT [ARGS…]")?;
    let mut agent = Command::new(program).args(rest).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(mut to_agent), Some(from_agent)) = (agent.stdin.take(), agent.stdout.take()) else {
        return Ok(ExitCode::FAILURE);
    };
    let (heard, hear) = mpsc::channel();
    let of_client = heard.clone();
    thread::spawn(move || listen(io::stdin(), &of_client, Heard::Client));
    thread::spawn(move || listen(from_agent, &heard, Heard::Agent));

    let started = Instant::now();
    let mut bridge = Bridge::new(version)?;
    let mut to_client = io::stdout();
    while !(bridge.front.is_closed() && bridge.back.is_closed()) {
        let now = Timestamp::from_elapsed(started.elapsed());
        let wait = bridge.due().map_or(Duration::from_secs(3600), |due| due.saturating_duration_since(now));
        let said = hear.recv_timeout(wait);
        let now = Timestamp::from_elapsed(started.elapsed());
        match said {
            Ok(Heard::Client(bytes)) if bytes.is_empty() => bridge.front.handle_eof(now),
            Ok(Heard::Client(bytes)) => bridge.front.handle_input(&bytes, now),
            Ok(Heard::Agent(bytes)) if bytes.is_empty() => bridge.back.handle_eof(now),
            Ok(Heard::Agent(bytes)) => bridge.back.handle_input(&bytes, now),
            Err(_) => {}
        }
        bridge.step(now);
        write(&mut bridge.back, &mut to_agent, now);
        write(&mut bridge.front, &mut to_client, now);
        bridge.step(now);
    }
    drop(to_agent);
    let status = agent.wait()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Passes on what is read; nothing at all is the end.
fn listen(mut from: impl Read, to: &Sender<Heard>, heard: fn(Vec<u8>) -> Heard) {
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut piece).unwrap_or(0);
        if to.send(heard(piece[..read].to_vec())).is_err() || read == 0 {
            return;
        }
    }
}

fn write<R: Role>(conn: &mut Connection<R>, to: &mut impl Write, now: Timestamp) {
    while let Some(frame) = conn.poll_transmit() {
        if let Err(why) = to.write_all(&frame.into_line()).and_then(|()| to.flush()) {
            return conn.handle_lost(&why.to_string(), now);
        }
    }
}
