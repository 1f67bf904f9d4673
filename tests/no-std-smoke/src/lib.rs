//! Proof that `acp-core` links, and works, where there is no std.
//!
//! This library brings its own panic handler. std brings one too, so the moment anything below drags std in, the build
//! stops with "found duplicate lang item `panic_impl`" (or, on a target without std, "can't find crate for `std`").
//!
//! It is also the example of an embedding without an operating system: both ends of a connection talk over two [`queue`]s
//! of 64 bytes, on a [`heap`] of fixed size, through a whole turn and a cancelled one. `check` builds that for every
//! target it finds, and runs it on the host, as `src/bin/run.rs`.
//!
//! It is the only place of the repository with `unsafe`: a global allocator cannot be written without it.
#![no_std]

pub mod heap;
pub mod queue;

use core::panic::PanicInfo;

use acp_core::{
    Agent, AgentAction, CancelKind, Client, ClientAction, Common, Config, Connection, Frame, Origin, Outcome, Payload,
    Role, Settlement, Timestamp, TurnEnd, TurnTicket, wire::StopReason,
};
use bytes::Bytes;

use self::queue::Queue;

/// A connection, and the frame it is writing.
struct End<R: Role> {
    conn: Connection<R>,
    frame: Bytes,
}

impl<R: Role> End<R> {
    /// Moves what can be moved: whether that was anything.
    fn exchange(&mut self, input: &mut Queue, output: &mut Queue, now: Timestamp) -> bool {
        let piece = if self.conn.wants_input() { input.pop() } else { &[] };
        let read = !piece.is_empty();
        self.conn.handle_input(piece, now);
        self.conn.handle_timeout(now);
        if self.frame.is_empty() {
            self.frame = self.conn.poll_transmit().map(Frame::into_line).unwrap_or_default();
        }
        let wrote = output.push(&self.frame);
        drop(self.frame.split_to(wrote));
        read || wrote > 0
    }
}

/// How the two turns ended, as bits: 1, the first one by itself; 2, the second one cancelled, as was asked; 4, nothing was
/// left on the heap afterwards. `acp_smoke` is 7 when all is well. It is exported, so what it reaches must be linked.
#[unsafe(no_mangle)]
pub extern "C" fn acp_smoke() -> u32 {
    let (before, _) = heap::usage();
    let seen = converse().unwrap_or(0);
    let (after, _) = heap::usage();
    seen | u32::from(before == after) << 2
}

fn payload(text: &'static str) -> Option<Payload> {
    Payload::parse(text).ok()
}

/// `None`: something was refused.
fn converse() -> Option<u32> {
    // The clock is a counter of rounds, and a round is a millisecond.
    let mut now = Timestamp::ZERO;
    let mut client = End { conn: Connection::<Client>::new(Config::client()).ok()?, frame: Bytes::new() };
    let mut agent = End { conn: Connection::<Agent>::new(Config::agent()).ok()?, frame: Bytes::new() };
    let (mut there, mut back) = (Queue::new(), Queue::new());
    let (mut held, mut prompts, mut session, mut seen) = (None, 0, None, 0);
    client.conn.initialize(&Payload::EMPTY, now).ok()?;
    for round in 1..10_000 {
        now = Timestamp::from_millis(round);
        let moved = client.exchange(&mut back, &mut there, now) | agent.exchange(&mut there, &mut back, now);
        while let Some(action) = agent.conn.poll_action() {
            act(&mut agent.conn, action, &mut held, now)?;
        }
        while let Some(action) = client.conn.poll_action() {
            match action {
                ClientAction::Common(Common::Resolved(resolved)) => match (resolved.outcome, resolved.session) {
                    (Outcome::Result(_), Some(opened)) => session = Some(opened),
                    (Outcome::Result(_), None) => {
                        let place = payload(r#"{"cwd":"/","mcpServers":[]}"#);
                        client.conn.request("session/new", place, None, now).ok()?;
                    }
                    _ => return None,
                },
                // The second one is stopped at its first word.
                ClientAction::Update { origin: Origin::Turn(turn), .. } if prompts == 2 => {
                    client.conn.cancel_turn(turn, CancelKind::Stop, now).ok()?;
                }
                ClientAction::TurnEnded { settlement, .. } => {
                    seen |= u32::from(prompts == 1 && settlement == Settlement::Ended(StopReason::EndTurn));
                    seen |= u32::from(prompts == 2 && settlement == Settlement::Cancelled) << 1;
                }
                other => drop(client.conn.decline(other, now)),
            }
        }
        let idle = !moved && client.conn.unresolved() == 0;
        match session {
            Some(session) if idle && prompts < 2 => {
                prompts += 1;
                client.conn.prompt(session, &payload(r#"[{"type":"text","text":"Hello!"}]"#)?, None, now).ok()?;
            }
            _ if idle && prompts == 2 => return Some(seen),
            _ => {}
        }
    }
    None
}

/// The agent: one word, and the end; from the second turn on it does not end by itself.
fn act(
    agent: &mut Connection<Agent>,
    action: AgentAction,
    held: &mut Option<TurnTicket>,
    now: Timestamp,
) -> Option<()> {
    match action {
        AgentAction::Initialize { ticket, .. } => drop(agent.accept_initialize(ticket, &Payload::EMPTY, now).ok()?),
        AgentAction::SessionRequested { ticket, .. } => {
            agent.accept_session(ticket, &payload(r#"{"sessionId":"only"}"#)?, now).ok()?;
        }
        AgentAction::Prompt { ticket, .. } => {
            let word = r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello."}}"#;
            agent.update(&ticket, &payload(word)?, now).ok()?;
            match ticket.turn().number() {
                1 => drop(agent.end_turn(ticket, &TurnEnd::Stop(StopReason::EndTurn), now)),
                _ => *held = Some(ticket),
            }
        }
        AgentAction::AbortTurn { .. } => {
            agent.end_turn(held.take()?, &TurnEnd::Stop(StopReason::EndTurn), now);
        }
        other => drop(agent.decline(other, now)),
    }
    Some(())
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
