//! The Agent Client Protocol (ACP) as sans-io state machines: bytes and time go in; **frames, timers and actions** come
//! out. There is no socket, clock, thread, lock, waker or callback in here.
//!
//! A [`Connection`] is one end. What is around it is yours: a runtime, a plain loop, a simulator. With tokio, async-std
//! or smol, take `acp-tokio` or `acp-async-std`, which have written the loop for you. The [`guide`] has a page for each
//! reader; this page goes through the whole once.
//!
//! # The loop
//!
//! Here is one whole loop, for an agent that answers every prompt with one line:
//!
//! ```
//! use acp_core::{Agent, AgentAction, Config, Connection, Payload, Timestamp, TurnEnd};
//! use acp_core::wire::{StopReason, UpdateKind};
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
//!                 agent.say(&ticket, &UpdateKind::AgentMessageChunk, "Hello.", now)?;
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
//! Four kinds of methods are all there is. *Inputs*, `handle_*`, take what happened. *Outputs*, `poll_*`, tell what to
//! do, and do not depend on each other. *Commands*, such as [`update`](Connection::update) and
//! [`prompt`](Connection::prompt), are what you want. *Gauges*, such as [`wants_input`](Connection::wants_input), tell
//! how things are, and change nothing.
//!
//! What you are told is an [`AgentAction`] or a [`ClientAction`], in the order of the wire. If it carries a *ticket*,
//! you owe an answer, and answering takes the ticket; [`decline`](Connection::decline) gives the answer that any action
//! you do not handle is owed. *Keys* name sessions, turns and requests. They are `Copy`, and never ids of the wire.
//!
//! # The contract
//!
//! - **Inputs cannot fail.** What the peer does wrong is an action to look at; the end is one [`Common::Closed`], told
//!   last, and once.
//! - **Obligations are never refused.** Answers, cancels and closing always find room; only what one sends of one's own
//!   accord can meet [`CommandError::Full`].
//! - **Every request resolves exactly once**, in both directions, whatever happens.
//! - **Races are values, misuse is an error**, and a refused command changed nothing. "Already over" is a
//!   [`Delivery::TooLate`] or a [`Cancellation::Moot`]; a [`Misuse`] is found by reading your code.
//! - **Deterministic.** The same inputs give the same outputs, byte for byte; how the input was cut never matters.
//! - **Bounded.** Every table and queue has its limit in [`Limits`], with what happens there.
//!
//! # The machines
//!
//! The rules are in [`machine`]: pure state machines that know neither bytes nor roles; [`wire`] knows bytes and
//! no rules; [`Connection`] translates between the two. A machine steps from one state to the next, or refuses and
//! stays as it was. Each is tested with every input in every state, and both ends together in every order of what may
//! happen. They are public, so that you can explore your own code together with them.
//!
//! # Cancel
//!
//! A cancel covers the prompts that arrived before it, in the order of the wire, and nothing else. At the client it is
//! a *Stop*, which is bounded in time, or a *Steer*, which makes room for another prompt ([`CancelKind`]). At the agent
//! it has two phases: the turn's own work is aborted, then its requests to the client resolve as cancelled. The prompt
//! is answered `cancelled` exactly once, after the last update, whatever the host says, and even if the host says
//! nothing. [`guide::cancel`] has the order of events.
//!
//! # Limits
//!
//! One [`Config`] holds every policy, one [`Limits`] every bound, each with its default and the reason for it. At a
//! limit there are three answers: your own command gets an error and nothing has changed; the peer's request is
//! answered with an error; or, if the peer only sends noise, the connection closes. A line that is too long is skipped
//! in bounded memory and settles only the request that it belongs to. If your host falls behind,
//! [`wants_input`](Connection::wants_input) turns false; if the peer does, what you send of your own accord is refused,
//! while answers keep a reserve.
//!
//! # Embedding
//!
//! Wait for input, room, a command, or [`poll_timeout`](Connection::poll_timeout); feed what happened; act; write; and
//! leave when [`is_closed`](Connection::is_closed) and nothing is left to write. [`guide::embedding`] has the loop for
//! partial reads and writes, for message transports, and what an adapter needs ([`Desk`]). [`guide::porting`] is about
//! targets without std.
//!
//! # Testing your glue
//!
//! A connection is a value and time is an argument, so two ends in one test, and 30 s in no time, are a few lines:
//! [`guide::testing`]. [`record`](Connection::record) a connection and [`replay`] it; [`fork`](Connection::fork) it to
//! try every order.
//!
//! # Versions
//!
//! Version 1 of the protocol is the default. Version 2, a preview, is spoken where [`Config::versions`] names it: a
//! client asks for the newest it has and goes on in an older one, an agent serves each client as it asked. The machines
//! are the same, and so is what a host does:
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
#![no_std]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod action;
pub mod config;
mod connection;
mod desk;
pub mod error;
pub mod guide;
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
    AgentAction, CancelCause, Cancellation, ClientAction, Common, Decision, Delivery, NoResult, Offer, Origin, Outcome,
    PermissionOption, Resolved, Settlement, TurnEnd,
};
pub use config::{Batches, Config, ConfigError, Limits};
pub use connection::{Connection, OptionValue, Role, SessionPlan};
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
pub use wire::{ErrorObject, Payload, view};

/// What the README shows is compiled as it stands there.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
