//! How long the core's work takes on your machine: `cargo bench -p acp-tests --bench core`.
//!
//! Each figure is for [`MANY`] of the kind; the rates are for one. It is the work that `tests/instructions` counts.

use acp_core::{Timestamp, wire::UpdateKind};
use acp_tests::work::{Both, text, update_line};
use divan::{Bencher, counter::ItemsCount};

/// So many are done between two looks at the clock.
const MANY: usize = 1_000;
const SESSION: &str = "session-0123456789";
const SIZES: [usize; 2] = [64, 1024];

fn main() {
    divan::main();
}

/// The client receives updates with so much text, and reads it.
#[divan::bench(args = SIZES)]
fn receive(bencher: Bencher<'_, '_>, size: usize) {
    let mut both = Both::default();
    both.open(SESSION);
    let line = update_line(SESSION, &text(size));
    bencher.counter(ItemsCount::new(MANY)).bench_local(|| both.receive(line.as_bytes(), MANY, true));
}

/// The agent says so much text, and it is handed out.
#[divan::bench(args = SIZES)]
fn send(bencher: Bencher<'_, '_>, size: usize) {
    let mut both = Both::default();
    let (_, session) = both.open(SESSION);
    let text = text(size);
    bencher.counter(ItemsCount::new(MANY)).bench_local(|| {
        both.send(MANY, |conn| {
            conn.say(session, &UpdateKind::AgentMessageChunk, &text, Timestamp::ZERO).expect("there is room");
        })
    });
}

/// The client asks, and the agent answers; both ends.
#[divan::bench]
fn round_trip(bencher: Bencher<'_, '_>) {
    let mut both = Both::default();
    let (session, _) = both.open(SESSION);
    bencher.counter(ItemsCount::new(MANY)).bench_local(|| both.trips(session, MANY));
}

/// A prompt, ten updates of 64 bytes and the answer; both ends.
#[divan::bench]
fn turn(bencher: Bencher<'_, '_>) {
    let mut both = Both::default();
    let (session, _) = both.open(SESSION);
    bencher.counter(ItemsCount::new(MANY)).bench_local(|| both.turns(session, MANY));
}
