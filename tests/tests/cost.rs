//! What things cost, counted by the allocator: next to nothing for a notification, a bound for a session, and never more
//! because of what was before. Instructions are counted by the script `tests/instructions`.

use std::{
    alloc::System,
    sync::{Mutex, MutexGuard, PoisonError},
};

use acp_core::{
    AgentAction, ClientAction, Common, Input, Payload, Timestamp,
    wire::{Message, UpdateKind},
};
use acp_tests::{
    bench::payload,
    work::{Both, text, update_line},
};
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static MEMORY: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The allocator counts for the whole process, so one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often memory was asked for, for more or for the first time.
fn allocations(work: impl FnOnce()) -> usize {
    let region = Region::new(MEMORY);
    work();
    let change = region.change();
    change.allocations + change.reallocations
}

/// Bytes that are held after the work and were not before.
fn held(work: impl FnOnce()) -> usize {
    let region = Region::new(MEMORY);
    work();
    let change = region.change();
    change.bytes_allocated.saturating_sub(change.bytes_deallocated)
}

/// At most one allocation for twenty: 0.05 each.
fn assert_next_to_none(allocations: usize, count: usize, of: &str) {
    assert!(allocations * 20 <= count, "{allocations} allocations for {count} {of}");
}

#[test]
fn a_received_notification_costs_no_allocation_of_its_own() {
    let _alone = alone();
    for size in [64, 1024] {
        let mut both = Both::default();
        both.open("s");
        let line = update_line("s", &text(size));
        let block = line.repeat((64 << 10) / line.len());
        both.receive(block.as_bytes(), 1000, false);
        let count = allocations(|| {
            both.receive(block.as_bytes(), 10_000, false);
        });
        assert_next_to_none(count, 10_000, &format!("received updates of {size} bytes"));
    }
}

#[test]
fn a_sent_notification_costs_no_allocation_of_its_own() {
    let _alone = alone();
    let now = Timestamp::ZERO;
    for size in [64, 1024] {
        let mut both = Both::default();
        let (_, session) = both.open("s");
        let text = text(size);
        let content = json!({ "type": "text", "text": text });
        let update = payload(json!({ "sessionUpdate": "agent_message_chunk", "content": content }));
        both.send(1000, |conn| {
            conn.update(session, &update, now).expect("there is room");
        });
        let said = allocations(|| {
            both.send(10_000, |conn| {
                conn.say(session, &UpdateKind::AgentMessageChunk, &text, now).expect("there is room");
            });
        });
        assert_next_to_none(said, 10_000, &format!("texts of {size} bytes"));
        let updated = allocations(|| {
            both.send(10_000, |conn| {
                conn.update(session, &update, now).expect("there is room");
            });
        });
        assert_next_to_none(updated, 10_000, &format!("updates of {size} bytes"));
    }
}

#[test]
fn an_open_session_takes_half_a_kibibyte_at_most() {
    let _alone = alone();
    const COUNT: usize = 10_000;
    let mut both = Both::default();
    both.open("the first, and all tables with it");
    let ids: Vec<String> = (0..COUNT).map(|index| format!("sess-{index:08}")).collect();
    let mut keys = Vec::with_capacity(COUNT);
    let open = held(|| keys.extend(ids.iter().map(|id| both.open(id).0)));
    // Both ends have their part of it.
    assert!(open / COUNT / 2 <= 512, "{} bytes for an open session", open / COUNT / 2);
    println!("{} bytes for an open session", open / COUNT / 2);
}

#[test]
fn a_connection_that_says_little_holds_little() {
    let _alone = alone();
    let mut kept = None;
    let held = held(|| {
        let mut both = Both::default();
        both.open("s");
        // What a driver reads into, at each end.
        kept = Some((both, [Input::default(), Input::default()]));
    });
    drop(kept);
    println!("{held} bytes for both ends of a connection with one session");
    assert!(held <= 24 << 10, "{held} bytes for both ends of a connection with one session");
}

#[test]
fn what_is_told_is_small() {
    for (name, size, most) in [
        ("ClientAction", size_of::<ClientAction>(), 128),
        ("AgentAction", size_of::<AgentAction>(), 128),
        ("Common", size_of::<Common>(), 128),
        ("Message", size_of::<Message>(), 128),
        ("Payload", size_of::<Payload>(), 40),
    ] {
        println!("{name}: {size} bytes");
        assert!(size <= most, "{name}: {size} bytes, {most} allowed");
    }
}

/// Allocations of `work` at `count` and at eight times that: eight times as many, and some for tables that grow.
fn assert_linear(of: &str, count: usize, mut work: impl FnMut(usize)) {
    work(count);
    let once = allocations(|| work(count));
    let eight = allocations(|| work(8 * count));
    assert!(eight <= 8 * once + once / 2 + 64, "{of}: {once} allocations for {count}, {eight} for eight times as many");
}

#[test]
fn cost_grows_with_what_is_done_and_not_with_what_was_done() {
    let _alone = alone();
    let now = Timestamp::ZERO;
    let mut both = Both::default();
    let (client, agent) = both.open("s");
    let text = text(64);
    let line = update_line("s", &text);
    assert_linear("updates received", 500, |count| {
        both.receive(line.as_bytes(), count, true);
    });
    assert_linear("texts sent", 500, |count| {
        both.send(count, |conn| {
            conn.say(agent, &UpdateKind::AgentMessageChunk, &text, now).expect("there is room");
        });
    });
    assert_linear("round trips", 100, |count| both.trips(client, count));
    assert_linear("turns", 50, |count| both.turns(client, count));
    let mut index = 0;
    assert_linear("sessions", 100, |count| {
        for _ in 0..count {
            index += 1;
            both.open(&format!("s-{index}"));
        }
    });
}
