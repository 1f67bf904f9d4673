//! The Agent Client Protocol (ACP) as sans-io state machines: bytes and time go in; **frames, timers and actions** come
//! out. There is no socket, clock, thread, lock, waker or callback in here.
//!
//! A [`Connection`] is one end. What is around it is yours: a runtime, a plain loop, a simulator. Here is one whole loop,
//! for an agent that answers every prompt with one line:
//!
//! ```
//! use acp_core::{Agent, AgentAction, Config, Connection, Payload, Timestamp, TurnEnd, wire::StopReason};
//!
//! fn act(agent: &mut Connection<Agent>, now: Timestamp) -> Result<(), Box<dyn std::error::Error>> {
//!     while let Some(action) = agent.poll_action() {
//!         match action {
//!             AgentAction::Initialize { ticket, .. } => {
//!                 agent.accept_initialize(ticket, &Payload::EMPTY, now)?;
//!             }
//!             AgentAction::SessionRequested { ticket, .. } => {
//!                 let id = serde_json::json!({ "sessionId": "s1" });
//!                 agent.accept_session(ticket, &Payload::try_from(id)?, now)?;
//!             }
//!             AgentAction::Prompt { ticket, .. } => {
//!                 let update = serde_json::json!({
//!                     "sessionUpdate": "agent_message_chunk",
//!                     "content": { "type": "text", "text": "Hello." },
//!                 });
//!                 agent.update(&ticket, &Payload::try_from(update)?, now)?;
//!                 agent.end_turn(ticket, &TurnEnd::Stop(StopReason::EndTurn), now);
//!             }
//!             // Whatever else is owed is answered, too.
//!             other => drop(agent.decline(other, now)),
//!         }
//!     }
//!     Ok(())
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut agent = Connection::<Agent>::new(Config::agent())?;
//! let (mut input, mut output) = (&b"\
//!     {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n\
//!     {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":\"/\",\"mcpServers\":[]}}\n\
//!     {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s1\",\"prompt\":[]}}\n"[..], Vec::new());
//! let started = std::time::Instant::now();
//! while !agent.is_closed() {
//!     let now = Timestamp::from_elapsed(started.elapsed());
//!     let mut piece = [0; 40];
//!     match std::io::Read::read(&mut input, &mut piece)? {
//!         0 => agent.handle_eof(now),
//!         n => agent.handle_input(&piece[..n], now),
//!     }
//!     agent.handle_timeout(now); // a loop that can sleep sleeps until `poll_timeout` first
//!     act(&mut agent, now)?;
//!     while let Some(frame) = agent.poll_transmit() {
//!         output.extend_from_slice(&frame.into_line());
//!     }
//! }
//! let output = String::from_utf8(output)?;
//! assert!(output.ends_with("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}\n"));
//! # Ok(())
//! # }
//! ```
//!
//! # The contract
//!
//! - **Inputs cannot fail.** What the peer does wrong is an action to look at; the end is one [`Common::Closed`], told
//!   last, and once.
//! - **Obligations are never refused.** Answers, cancels and closing always find room; only what one sends of one's own
//!   accord can meet [`CommandError::Full`].
//! - **Every request resolves exactly once**, in both directions, whatever happens.
//! - **Races are values, misuse is an error**, and a refused command changed nothing.
//! - **Deterministic.** The same inputs give the same outputs, byte for byte; how the input was cut never matters.
//! - **Bounded.** Every table and queue has its limit in [`Limits`], with what happens there.
//!
//! # Versions
//!
//! Version 1 of the protocol is the default. Version 2, a preview, is spoken where [`Config::versions`] names it: a client
//! asks for the newest it has and goes on in an older one, an agent serves each client as it asked. The machines are the
//! same, and so is what a host does:
//!
//! | | version 1 | version 2 |
//! |---|---|---|
//! | a turn begins | `prompt` | `prompt`; [`ClientAction::PromptInserted`] says when it has its place |
//! | a turn is over | the prompt is answered | the session comes to rest; to the host [`ClientAction::TurnEnded`], once, in both |
//! | an agent ends it | `end_turn` | `end_turn`; before, it may choose when and as what to `insert_prompt` |
//! | it is cancelled | Stop and Steer | Stop and Steer |
//! | before it was sent, or inserted | taken back, or answered `cancelled` | taken back, or answered -32800 |
//! | stored sessions | load, resume | resume, with or without the history: `open_session` picks in both |
//! | work without a prompt | updates of no turn | `begin_work`, `set_background`; `foreground` tells |
//! | sent once, however often it arrives | – | `prompt_once` |
//!
//! Payloads are each version's own, `initialize` first of all. What the agreed version does not have is refused as
//! [`CommandError::Unsupported`].
//!
//! The rules stand in [`machine`], as pure state machines that know neither bytes nor roles; [`wire`] knows bytes and no
//! rules; [`Connection`] translates between the two.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod action;
pub mod config;
mod connection;
mod desk;
pub mod error;
mod host;
pub mod machine;
mod outbox;
pub mod process;
pub mod replay;
pub mod role;
mod session;
mod tape;
pub mod ticket;
pub mod time;
mod timers;
pub mod wire;

pub use action::{
    AgentAction, CancelCause, Cancellation, ClientAction, Common, Decision, Delivery, Offer, Origin, Outcome,
    PermissionOption, Resolved, Settlement, TurnEnd,
};
pub use config::{Batches, Config, ConfigError, Limits};
pub use connection::{Connection, Role, SessionPlan};
pub use desk::{Desk, Happened, Input, Next, PIECE, Round, Wake};
pub use error::{CloseReason, CommandError, Misuse, Refused, Violation};
pub use host::{HostAction, TurnSignal};
pub use machine::{CancelKind, Overlap};
pub use outbox::Frame;
pub use role::{Agent, Client, Side};
pub use ticket::{
    ChildKey, FrameId, IncomingKey, InitializeTicket, PermissionTicket, RequestKey, Scope, SessionKey, SessionTicket,
    Ticket, TurnKey, TurnTicket,
};
pub use time::Timestamp;
pub use timers::{Cause, Deadline};
pub use wire::{ErrorObject, Payload};
