//! Many connections in one process, without a runtime: what an idle one costs, what a session costs, what a turn costs while
//! it waits for a permission, and that nothing is left of any of them. `swarm [CONNECTIONS]`, by default 10 000.
//!
//! All of them go one step before any goes the next, so that at the top everything is open at once.

use core::error::Error;
use std::env;

use acp_core::{CancelKind, Config, Connection, Payload, Settlement, Timestamp};
use acp_examples::{
    bare::{Asking, End, Waiting},
    pipe::Pair,
    shape::{payload, text_block},
    weigh::Scales,
};
use peak_alloc::PeakAlloc;
use serde_json::json;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Bytes that a pipe holds: less than some of the messages have.
const ROOM: usize = 128;

fn main() -> Result<(), Box<dyn Error>> {
    let count = env::args().nth(1).map_or(Ok(10_000), |count| count.parse())?;
    // Time stands still: nothing in here is ever due.
    let now = Timestamp::ZERO;
    let mut pairs = Vec::with_capacity(count);
    let whole = Scales::read();
    let mut scales = whole;
    println!("both ends of {count} connections, each:");

    for _ in 0..count {
        let client = End { conn: Connection::new(Config::client())?, host: Waiting::default() };
        let agent = End { conn: Connection::new(Config::agent())?, host: Asking::default() };
        let mut pair = Pair::new(client, agent, ROOM);
        pair.client.conn.initialize(&Payload::EMPTY, now)?;
        pair.settle(now)?;
        pairs.push(pair);
    }
    println!("{}", scales.weigh("idle", count));

    for pair in &mut pairs {
        let place = payload(json!({ "cwd": "/", "mcpServers": [] }));
        pair.client.conn.request("session/new", Some(place), None, now)?;
        pair.settle(now)?;
    }
    println!("{}", scales.weigh("with a session, more", count));

    for pair in &mut pairs {
        let session = pair.client.host.session.ok_or("no session was opened")?;
        pair.client.conn.prompt(session, &payload(json!([text_block("Go on.")])), None, now)?;
        pair.settle(now)?;
    }
    println!("{}", scales.weigh("in a turn that asks, more", count));

    for pair in &mut pairs {
        let turn = pair.client.host.asked.ok_or("no permission was asked for")?;
        pair.client.conn.cancel_turn(turn, CancelKind::Stop, now)?;
        pair.settle(now)?;
    }
    println!("{}", scales.weigh("cancelled, more", count));
    let cancelled = pairs.iter().filter(|pair| pair.client.host.settlement == Some(Settlement::Cancelled)).count();
    let idle = pairs.iter().filter(|pair| pair.is_idle()).count();

    for pair in &mut pairs {
        pair.client.conn.close(now);
        pair.settle(now)?;
    }
    let closed = pairs.iter().filter(|pair| pair.is_closed() && pair.is_idle()).count();
    pairs = Vec::new();
    println!("{}", scales.weigh("closed and dropped, more", count));
    println!("of {count}: {cancelled} cancelled, {idle} idle afterwards, {closed} closed; left: {} B", whole.more());
    drop(pairs);
    Ok(())
}
