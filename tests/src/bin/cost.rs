//! Does one kind of work a number of times, to be counted from outside:
//!
//! ```text
//! valgrind --tool=callgrind target/release/cost receive 1024 2000
//! ```
//!
//! `tests/instructions` runs it so, and compares.

use std::process::ExitCode;

use acp_core::{Timestamp, wire::UpdateKind};
use acp_tests::{
    bench::payload,
    work::{Both, text, update_line},
};
use serde_json::json;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, size, count] = &arguments[..] else {
        eprintln!("cost receive|read|say|update|trip|turn|sessions SIZE COUNT");
        return ExitCode::FAILURE;
    };
    let (Ok(size), Ok(count)) = (size.parse(), count.parse()) else {
        eprintln!("SIZE and COUNT are numbers");
        return ExitCode::FAILURE;
    };
    let now = Timestamp::ZERO;
    let mut both = Both::default();
    let (client, agent) = both.open("session-0123456789");
    let text = text(size);
    let done = match kind.as_str() {
        "receive" | "read" => {
            let line = update_line("session-0123456789", &text);
            both.receive(line.as_bytes(), count, kind == "read")
        }
        "say" => both.send(count, |conn| {
            conn.say(agent, &UpdateKind::AgentMessageChunk, &text, now).expect("there is room");
        }),
        "update" => {
            let content = json!({ "type": "text", "text": text });
            let update = payload(json!({ "sessionUpdate": "agent_message_chunk", "content": content }));
            both.send(count, |conn| {
                conn.update(agent, &update, now).expect("there is room");
            })
        }
        "trip" => {
            both.trips(client, count);
            count
        }
        "turn" => {
            both.turns(client, count);
            count
        }
        "sessions" => (0..count).map(|index| both.open(&format!("s-{index}"))).count(),
        other => {
            eprintln!("there is no work called `{other}`");
            return ExitCode::FAILURE;
        }
    };
    println!("{done}");
    ExitCode::SUCCESS
}
