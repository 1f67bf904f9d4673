//! A connection is recorded, replayed to the same outputs, and shown to others without its texts:
//!
//! ```text
//! replay --record FILE     an agent talks to a client, and its end is recorded (`--cancel`: it is cancelled)
//! replay FILE              does the same again, says what happened, and whether anything came out differently
//! replay --redact FILE     prints the recording without its texts
//! ```
//!
//! With an adapter: `handle.with(|conn, _| conn.record(1 << 24))` before its driver runs, and `take_recording` as it grows.

use core::{error::Error, time::Duration};
use std::{env, fs};

use acp_core::{
    Timestamp,
    replay::{redact, replay},
};
use acp_examples::bare::{Asker, Talker};
use serde_json::Value;

type Fault = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Fault> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--record", file] => fs::write(file, record(None)?)?,
        ["--record", file, "--cancel"] => fs::write(file, record(Some(2))?)?,
        ["--redact", file] => print!("{}", redact(&fs::read_to_string(file)?)?),
        [file] if !file.starts_with('-') => {
            let recording = fs::read_to_string(file)?;
            for line in recording.lines().skip(1) {
                println!("{}", in_words(&serde_json::from_str(line)?));
            }
            let replayed = replay(&recording)?;
            println!("{} calls, and the same came out of each of them", replayed.calls);
        }
        _ => return Err("usage: replay [--redact] FILE | replay --record FILE [--cancel]".into()),
    }
    Ok(())
}

/// One line of a recording.
fn in_words(line: &Value) -> String {
    let text = |name: &str| line[name].as_str().unwrap_or("(not UTF-8)").trim_end().to_owned();
    let at = Duration::from_nanos(line["at"].as_u64().unwrap_or_default());
    let what = match line["do"].as_str().unwrap_or("the recording is torn here") {
        "input" | "message" => format!("<- {}", text("bytes")),
        "transmit" => format!("-> {}", text("bytes")),
        "action" => format!("   told: {}", text("told")),
        other => format!("   {other}"),
    };
    format!("{:>9.3} {what}", at.as_secs_f64())
}

/// A conversation without a pipe, in which time passes at once; what the agent's end was given and gave.
fn record(enough: Option<usize>) -> Result<String, Fault> {
    let mut client = Asker::begin(enough)?;
    let mut agent = Talker::begin(Duration::from_millis(10))?;
    agent.conn.record(1 << 20);
    let mut now = Timestamp::ZERO;
    while !(client.conn.is_closed() && agent.conn.is_closed()) {
        let due = [client.step(now)?, agent.step(now)?];
        let mut moved = false;
        while let Some(frame) = client.conn.poll_transmit() {
            agent.conn.handle_message(&frame.into_message(), now);
            moved = true;
        }
        while let Some(frame) = agent.conn.poll_transmit() {
            client.conn.handle_message(&frame.into_message(), now);
            moved = true;
        }
        if client.conn.is_closed() && !agent.conn.is_closed() {
            agent.conn.handle_eof(now);
            moved = true;
        }
        match due.into_iter().flatten().min() {
            Some(at) if !moved => now = at,
            None if !moved => break,
            _ => {}
        }
    }
    Ok(agent.conn.take_recording().unwrap_or_default())
}
