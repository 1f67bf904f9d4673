//! What a connection holds, counted by the allocator: bounded by its limits, whatever comes, and given back.
//!
//! The whole line of 1 GiB runs here, in the profile of the tests as well: the scanner passes over text at the speed of
//! memory.

#[path = "wire_properties/traffic.rs"]
mod traffic;

use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use acp_core::{Agent, AgentAction, Client, Config, Limits, Overlap, Payload, Role};
use acp_tests::{
    describe::Describe,
    taped,
    wire::{Wire, raw, rpc},
};
use peak_alloc::PeakAlloc;
use proptest::{prelude::*, test_runner::TestRunner};
use traffic::{cut, stream};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The allocator counts for the whole process, so one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// What lines are cut from: several of them share one, and the last of them keeps it.
const BLOCK: usize = 64 * KIB;

/// Measures from here on.
struct Meter {
    base: usize,
}

fn alone() -> MutexGuard<'static, ()> {
    taped::off();
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Meter {
    fn start() -> Self {
        MEMORY.reset_peak_usage();
        Self { base: MEMORY.current_usage() }
    }

    /// Bytes held now.
    fn held(&self) -> usize {
        MEMORY.current_usage().saturating_sub(self.base)
    }

    /// The most bytes held since the last call.
    fn peak(&self) -> usize {
        let peak = MEMORY.peak_usage().saturating_sub(self.base);
        MEMORY.reset_peak_usage();
        peak
    }
}

/// Feeds one line of `size` bytes in pieces of 64 KiB, and says what was held: at most until the limit was crossed, and
/// at most from there on.
fn feed_line<R: Role>(wire: &mut Wire<R>, meter: &Meter, front: &str, size: u64, back: &str) -> (usize, usize)
where
    R::Action: Describe<R>,
{
    let piece = [b'y'; 64 * KIB];
    let limit = wire.conn.config().limits.line as u64;
    wire.feed(front);
    let mut left = size - (front.len() + back.len()) as u64;
    let mut before = 0;
    while left > 0 {
        let now = left.min(piece.len() as u64);
        wire.feed(&piece[..usize::try_from(now).expect("a piece")]);
        left -= now;
        if before == 0 && size - left > limit + 2 * piece.len() as u64 {
            before = meter.peak();
        }
    }
    wire.feed(back).feed("\n");
    (before, meter.peak())
}

#[test]
fn an_answer_of_1_gib_is_skipped_and_fails_its_call() {
    let _alone = alone();
    let meter = Meter::start();
    let mut client = Wire::client(|_| {});
    client.conn.request("_big", None, None, client.now).expect("room");
    client.quiet();
    let (front, back) = (r#"{"jsonrpc":"2.0","result":{"id":9,"t":""#, r#""},"id":3}"#);
    let (before, while_skipping) = feed_line(&mut client, &meter, front, 1 << 30, back);
    println!("held at most {before} bytes up to the limit, {while_skipping} bytes while skipping");
    // The receive buffer, and half of one more while it grows to its full size.
    assert!(before < 16 * MIB + 8 * MIB + MIB, "{before}");
    assert!(while_skipping < MIB, "{while_skipping}");
    assert_eq!(client.actions(), ["resolved 3 - too long: 1073741824 of 16777216"]);
    client.feed(rpc(r#""method":"_after""#));
    assert_eq!(client.actions(), ["notification _after -"]);
    assert_eq!(client.counts(), [0; 4]);
}

#[test]
fn a_request_of_1_gib_is_skipped_and_refused_under_its_id() {
    let _alone = alone();
    let meter = Meter::start();
    let mut agent = Wire::agent(|_| {});
    let (front, back) = (r#"{"params":{"sessionId":"s1","t":""#, r#""},"method":"_big","id":"q","jsonrpc":"2.0"}"#);
    let (_, while_skipping) = feed_line(&mut agent, &meter, front, 1 << 30, back);
    assert!(while_skipping < MIB, "{while_skipping}");
    let data = r#"{"method":"_big","size":1073741824,"limit":16777216}"#;
    assert_eq!(agent.frames(), [acp_tests::wire::err_with("\"q\"", -32600, data)]);
    assert_eq!(agent.actions(), ["violation too long: 1073741824 of 16777216, _big s1"]);
}

/// Keys, brackets and quotes without end: what the scanner keeps does not grow with what it reads.
#[test]
fn a_long_line_of_structure_is_skipped_as_well() {
    let _alone = alone();
    let meter = Meter::start();
    let mut client = Wire::client(|config| config.limits.line = 1000);
    for piece in [r#""k":{"id":[{},"\"]}"]},"#, "[[[[", r#""\u0069d\\","#] {
        client.conn.request("_big", None, None, client.now).expect("room");
        client.feed(r#"{"jsonrpc":"2.0","x":["#);
        client.quiet();
        meter.peak();
        let pieces = piece.repeat(4 * KIB);
        for _ in 0..64 {
            client.feed(&pieces);
        }
        assert!(meter.peak() < MIB);
        client.feed("\n");
        assert_eq!(client.actions().len(), 1);
    }
    client.conn.handle_lost("done", client.now);
    assert_eq!(client.counts(), [0; 4]);
}

fn tight(limits: &mut Limits) {
    limits.line = 2 * KIB;
    limits.queued_bytes = 4 * KIB;
    limits.reserve_per_request = KIB;
    limits.own_requests = 4;
    limits.peer_requests = 4;
    limits.actions = 8;
    limits.sessions = 4;
    limits.batch = 8;
    limits.noise_lines = usize::MAX;
    limits.noise_bytes = usize::MAX;
    limits.early_updates = 4;
    limits.open_tool_calls = 4;
}

const PROMPTS: usize = 2;
/// The most that is read at once.
const CHUNK: usize = 4 * KIB;

/// What the documentation of [`Limits`] adds up to. Payloads that wait for the host are slices of the receive buffer, and
/// keep it: the actions up to their limit, and those of one more chunk, lie in as many blocks as they have bytes.
fn bound(limits: &Limits) -> usize {
    // A line that is not complete, and the buffer it moves to when it grows.
    let receive = BLOCK + 2 * limits.line;
    let actions = limits.actions * limits.line + CHUNK;
    let blocks = actions + 2 * BLOCK;
    // The id of a request is kept twice: by id and by key.
    let requests = limits.peer_requests * 2 * limits.line;
    let prompts = limits.sessions * (PROMPTS + 1) * 3 * limits.line;
    let tool_calls = limits.sessions * PROMPTS * limits.open_tool_calls * limits.line;
    let early = limits.own_requests * limits.early_updates * limits.line;
    // What one chunk is answered with, at most: an error of 128 bytes to every byte pair `1\n`, or batch entry.
    let answers = limits.queued_bytes + limits.reserve_per_request * (limits.peer_requests + 1) + CHUNK * 64;
    let tables = 64 * KIB;
    receive + blocks + requests + prompts + tool_calls + early + answers + tables
}

/// Reads what it may, as long as it may; then takes what waits and drops it, answering nothing. Gives back what was held
/// at most, and at the end.
fn drown<R: Role>(make: impl FnOnce() -> Wire<R>, bytes: &[u8], rounds: usize) -> (usize, usize)
where
    R::Action: Describe<R>,
{
    let meter = Meter::start();
    let mut wire = make();
    for _ in 0..rounds {
        for piece in cut(bytes, &[CHUNK]) {
            if !wire.conn.wants_input() {
                while wire.conn.poll_action().is_some() {}
                while wire.conn.poll_transmit().is_some() {}
            }
            wire.conn.handle_input(piece, wire.now);
        }
    }
    let peak = meter.peak();
    wire.conn.handle_lost("over", wire.now);
    while wire.conn.poll_action().is_some() {}
    (peak, meter.held())
}

fn tight_agent() -> Wire<Agent> {
    Wire::agent(|config| {
        tight(&mut config.limits);
        config.overlap = Overlap::Queue(PROMPTS);
    })
}

fn tight_client() -> Wire<Client> {
    let mut client = Wire::client(|config| tight(&mut config.limits));
    let session = client.key("s1");
    client.conn.prompt(session, &raw("[]"), None, client.now).expect("idle");
    let new = raw(r#"{"cwd":"/","mcpServers":[]}"#);
    client.conn.request("session/new", Some(new), None, client.now).expect("room");
    client.quiet();
    client
}

/// Runs a property alone, the making of its inputs included.
fn always(lines: usize, property: impl Fn(&[u8]) -> Result<(), TestCaseError>) {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) };
    let held = TestRunner::new(config).run(&stream(1..lines), |bytes| property(&[&bytes[..], b"\n"].concat()));
    if let Err(broken) = held {
        panic!("{broken}");
    }
}

#[test]
fn whatever_comes_what_is_held_keeps_below_the_limits() {
    let _alone = alone();
    let mut config = Config::agent();
    tight(&mut config.limits);
    let bound = bound(&config.limits);
    always(60, |bytes| {
        for (peak, left) in [drown(tight_agent, bytes, 40), drown(tight_client, bytes, 40)] {
            prop_assert!(peak < bound, "{} of {}", peak, bound);
            // Its tables are empty; the block that is received into, and the one that is written from, stay.
            prop_assert!(left < 3 * BLOCK, "{}", left);
        }
        Ok(())
    });
}

/// The same traffic ten times as long takes no more.
#[test]
fn what_is_held_does_not_grow_with_time() {
    let _alone = alone();
    always(40, |bytes| {
        let (short, _) = drown(tight_agent, bytes, 40);
        let (long, _) = drown(tight_agent, bytes, 400);
        prop_assert!(long <= short + 2 * BLOCK, "{} after {}", long, short);
        Ok(())
    });
}

/// Requests that nobody answers, given up one after the other.
#[test]
fn requests_given_up_leave_nothing_behind() {
    let _alone = alone();
    let meter = Meter::start();
    let mut client = Wire::client(|_| {});
    let mut after_warm_up = 0;
    for round in 0..100_000 {
        client.conn.request("_x", None, Some(Duration::from_millis(1)), client.now).expect("room");
        client.conn.poll_transmit();
        client.sleep(Duration::from_millis(1));
        while client.conn.poll_action().is_some() {}
        if round == 1000 {
            after_warm_up = meter.held();
        }
    }
    assert!(meter.held() <= after_warm_up + 32 * KIB, "{} after {after_warm_up}", meter.held());
    assert_eq!(client.counts(), [0; 4]);
}

/// A small thing that waits must not keep the large buffer alive in which it came.
#[test]
fn what_waits_does_not_pin_the_receive_buffer() {
    let _alone = alone();
    let filler = rpc(&format!(r#""method":"_filler","params":["{}"]"#, "y".repeat(1000))).repeat(70);
    assert!(filler.len() > BLOCK);
    let meter = Meter::start();

    let mut client = Wire::client(|_| {});
    let new = raw(r#"{"cwd":"/","mcpServers":[]}"#);
    client.conn.request("session/new", Some(new), None, client.now).expect("room");
    let empty = meter.held();
    for _ in 0..256 {
        client.feed(rpc(r#""method":"session/update","params":{"sessionId":"early","update":{}}"#)).feed(&filler);
        client.quiet();
    }
    assert!(meter.held() - empty < 256 * KIB, "{}", meter.held() - empty);
    client.feed(rpc(r#""id":3,"result":{"sessionId":"early"}"#));
    assert_eq!(client.actions().len(), 257);
    drop(client);

    let mut agent = Wire::agent(|_| {});
    let empty = meter.held();
    for id in 0..129 {
        let params = r#"{"sessionId":"s1","prompt":[]}"#;
        agent.feed(rpc(&format!(r#""id":{id},"method":"session/prompt","params":{params}"#))).feed(&filler);
        agent.quiet();
    }
    assert_eq!(agent.conn.unanswered().count(), 129);
    assert!(meter.held() - empty < 256 * KIB, "{}", meter.held() - empty);
}

/// Sessions that are opened and closed give everything back.
#[test]
fn closed_sessions_leave_nothing_behind() {
    let _alone = alone();
    let meter = Meter::start();
    let mut agent = Wire::agent(|_| {});
    let mut after_warm_up = 0;
    for round in 0..5000 {
        agent.open("s2").expect("room");
        agent.feed(rpc(r#""id":1,"method":"session/close","params":{"sessionId":"s2"}"#));
        let Some(AgentAction::CloseSession { ticket, .. }) = agent.conn.poll_action() else { panic!("told to close") };
        agent.conn.respond(ticket, Ok(Payload::EMPTY), agent.now).expect("an answer");
        agent.quiet();
        if round == 500 {
            after_warm_up = meter.held();
        }
    }
    assert!(meter.held() <= after_warm_up + BLOCK, "{} after {after_warm_up}", meter.held());
    assert_eq!((agent.counts(), agent.conn.sessions()), ([0; 4], 1));
}
