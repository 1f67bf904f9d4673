//! What things cost, counted by the allocator: next to nothing for a notification, a bound for a session, and never more
//! because of what was before. Instructions are counted by the script `tests/instructions`.

use std::{
    alloc::System,
    sync::{Mutex, MutexGuard, PoisonError},
};

use acp_core::{
    AgentAction, ClientAction, Common, Input, Payload, Timestamp,
    view::{Initialized, Opened, Patch, Permission, SessionList, SessionUpdate, Update},
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

/// The same for work that is to ask for none. The threads of the test runner ask for some now and then, which is counted too;
/// what the work asks for comes again each time.
fn least_allocations(mut work: impl FnMut()) -> usize {
    (0..5).map(|_| allocations(&mut work)).min().unwrap_or_default()
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

/// Updates as agents write them, without escapes: one of each sort.
const UPDATES: &[&str] = &[
    r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"plain"},"messageId":"m"}"#,
    r#"{"sessionUpdate":"user_message_chunk","content":{"type":"resource","resource":{"uri":"file:///a","text":"x"}}}"#,
    r#"{"sessionUpdate":"agent_message","messageId":"m","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
    r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"Edit","kind":"edit","status":"pending","rawInput":{"a":[1]},
        "locations":[{"path":"/a","line":3}],"content":[{"type":"diff","path":"/a","oldText":"a","newText":"b"},7,
        {"type":"content","content":{"type":"image","data":"AA==","mimeType":"image/png"}}]}"#,
    r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":null,"content":[{"type":"diff",
        "changes":[{"operation":"move","oldPath":"/a","path":"/b"}],"patch":{"format":"git_patch","text":"-a"}}]}"#,
    r#"{"sessionUpdate":"plan","entries":[{"content":"a","priority":"high","status":"completed"},{"content":"b"}]}"#,
    r#"{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p","entries":[{"content":"a"}]}}"#,
    r#"{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"web","description":"Looks"}]}"#,
    r#"{"sessionUpdate":"current_mode_update","modeId":"code"}"#,
    r#"{"sessionUpdate":"config_option_update","configOptions":[{"id":"m","type":"select","currentValue":"a",
        "options":[{"value":"a"},{"group":"g","options":[{"value":"b","name":"B"}]}]}]}"#,
    r#"{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":0.5,"currency":"EUR"}}"#,
    r#"{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn","background":[{"type":"terminal","terminalId":"t"}]}"#,
    r#"{"sessionUpdate":"terminal_update","terminalId":"t","exitStatus":{"exitCode":0},"size":{"cols":80,"rows":25}}"#,
    r#"{"sessionUpdate":"_vendor","x":1}"#,
];

/// Goes over all that is in a list or more deeply inside.
fn look_into(update: Update<'_>) -> usize {
    match update {
        Update::ToolCall(call) | Update::ToolCallUpdate(call) => {
            call.content.into_value().into_iter().flatten().count()
                + call.locations.into_value().into_iter().flatten().count()
        }
        Update::AgentMessage(message) => message.content.into_value().into_iter().flatten().count(),
        Update::Plan(plan) => plan.entries.into_iter().count(),
        Update::AvailableCommandsUpdate(commands) => commands.commands.into_iter().count(),
        Update::ConfigOptionUpdate(options) => options.options.into_iter().count(),
        Update::StateUpdate(state) => state.background.into_iter().flatten().count(),
        other => usize::from(other.raw().member("sessionUpdate").is_some()),
    }
}

#[test]
fn to_look_at_a_payload_costs_no_allocation_where_there_is_no_escape() {
    let _alone = alone();
    for update in UPDATES {
        let params = Payload::parse(format!(r#"{{"sessionId":"s","update":{update}}}"#)).expect("JSON");
        let mut seen = 0;
        let count =
            least_allocations(|| seen = look_into(params.view::<SessionUpdate<'_>>().expect("readable").update));
        assert!(seen > 0 && count == 0, "{count} allocations to look at {seen} parts of {update}");
    }
    let payload = |text: &'static str| Payload::parse(text).expect("JSON");
    let asked = payload(
        r#"{"sessionId":"s","toolCall":{"toolCallId":"t","title":"Write"},"options":[{"optionId":"y","kind":"allow_once"}]}"#,
    );
    let agent = payload(
        r#"{"protocolVersion":1,"agentInfo":{"name":"a","version":"1"},"agentCapabilities":{"loadSession":true},
            "authMethods":[{"id":"key","name":"Key"}]}"#,
    );
    let opened = payload(r#"{"sessionId":"s","modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"}]}}"#);
    let list = payload(r#"{"sessions":[{"sessionId":"s","cwd":"/","title":"T"}],"nextCursor":"c"}"#);
    let count = least_allocations(|| {
        let asked: Permission<'_> = asked.view().expect("readable");
        assert_eq!((asked.title(), asked.options.into_iter().count()), (Some("Write"), 1));
        let agent: Initialized<'_> = agent.view().expect("readable");
        assert_eq!(agent.logins.into_iter().flatten().count(), 1);
        let opened: Opened<'_> = opened.view().expect("readable");
        assert_eq!(opened.modes.map(|modes| modes.available.into_iter().count()), Some(1));
        assert_eq!(list.view::<SessionList<'_>>().expect("readable").sessions.into_iter().count(), 1);
    });
    assert_eq!(count, 0, "allocations for answers and a permission");
    // What costs one is counted, too: the text of a title with an escape, and a status that nobody knows.
    let escaped = payload(
        r#"{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"a\tb","status":"_x"}}"#,
    );
    let count = least_allocations(|| {
        let Update::ToolCall(call) = escaped.view::<SessionUpdate<'_>>().expect("readable").update else { return };
        assert!(matches!(call.title, Patch::Value(title) if title == "a\tb"));
    });
    assert_eq!(count, 2, "allocations for an escape and an unknown value");
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
