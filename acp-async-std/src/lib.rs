//! The async-std and smol adapter of [`acp_core`]: a driver, a handle, the agent's stdio, and child processes.
//!
//! [`client`] and [`agent`] take any stream of `futures-io` and give three things: a [`Handle`] for commands, the
//! [`Actions`] that the host is told, and the driver, a future that you spawn or poll. Nothing is spawned behind your
//! back, and all futures are `Send`. The rules are the core's: this crate moves bytes, watches the clock and wakes whoever
//! waits. Names and behaviour are those of `acp-tokio`.
//!
//! It depends on no runtime: clock and reactor are those of `async-io`, on which async-std and smol stand, and which works
//! under any executor. It is tested under async-std and under smol. async-std itself is discontinued (RUSTSEC-2025-0052):
//! for something new, take smol.
//!
//! Child processes are the feature `process`, which is on by default: switch it off where nothing is started, for example
//! in an agent without MCP servers.
//!
//! # An agent
//!
//! It answers each prompt with one line, stops when it is told to, and ends when its client goes away. As a program its
//! streams are those of [`stdio()`]; here they are whatever it is given.
//!
//! ```
//! use acp_async_std::acp_core::{Agent, AgentAction, CloseReason, Config, Payload, wire::StopReason};
//! use acp_async_std::{Handle, Turn};
//! use futures_io::{AsyncRead, AsyncWrite};
//! use serde_json::json;
//!
//! async fn run(
//!     reader: impl AsyncRead + Unpin + Send + 'static,
//!     writer: impl AsyncWrite + Unpin + Send + 'static,
//! ) -> Result<CloseReason, Box<dyn std::error::Error>> {
//!     let (agent, mut actions, driver) = acp_async_std::agent(reader, writer, Config::agent())?;
//!     let driver = smol::spawn(driver); // or `async_std::task::spawn`, or any other
//!     while let Some(action) = actions.next().await {
//!         match action {
//!             AgentAction::Initialize { ticket, .. } => drop(agent.accept_initialize(ticket, &Payload::EMPTY)?),
//!             AgentAction::SessionRequested { ticket, .. } => {
//!                 let id = Payload::try_from(json!({ "sessionId": "s1" }))?;
//!                 agent.accept_session(ticket, &id)?;
//!             }
//!             AgentAction::Prompt { ticket, .. } => smol::spawn(talk(agent.turn(ticket))).detach(),
//!             // Whatever else is owed is answered, too.
//!             other => drop(agent.decline(other)),
//!         }
//!     }
//!     Ok(driver.await)
//! }
//!
//! async fn talk(turn: Turn) {
//!     let update = json!({
//!         "sessionUpdate": "agent_message_chunk",
//!         "content": { "type": "text", "text": "Hello." },
//!     });
//!     if let Ok(update) = Payload::try_from(update)
//!         && !turn.token().is_cancelled()
//!         && turn.update(&update).await.is_ok()
//!     {
//!         turn.stop(StopReason::EndTurn);
//!     } // dropped without an end, it is answered for you
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # smol::block_on(async {
//! let input = smol::io::Cursor::new(concat!(
//!     r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#, "\n",
//! ));
//! assert_eq!(run(input, smol::io::sink()).await?, CloseReason::Eof);
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! # A client
//!
//! It connects to an agent, prompts it once, and prints what it hears. `launch` does the same with a program.
//!
//! ```
//! use acp_async_std::acp_core::{AgentAction, ClientAction, Config, Payload, Settlement, wire::StopReason};
//! use serde_json::json;
//!
//! async fn ask(
//!     stream: async_std::os::unix::net::UnixStream,
//! ) -> Result<(String, Settlement), Box<dyn std::error::Error>> {
//!     let (client, mut actions, driver) = acp_async_std::client(stream.clone(), stream, Config::client())?;
//!     async_std::task::spawn(driver);
//!     client.initialize(&Payload::EMPTY)?.await;
//!     let place = Payload::try_from(json!({ "cwd": "/", "mcpServers": [] }))?;
//!     let opened = client.request("session/new", Some(place), None)?.await;
//!     let session = opened.session.ok_or_else(|| format!("no session: {:?}", opened.outcome))?;
//!
//!     let content = Payload::try_from(json!([{ "type": "text", "text": "Hi." }]))?;
//!     let turn = client.prompt(session, &content)?.detach();
//!     let mut heard = String::new();
//!     while let Some(action) = actions.next().await {
//!         match action {
//!             ClientAction::Update { params, .. } => heard.push_str(params.as_str()),
//!             ClientAction::TurnEnded { turn: ended, settlement, .. } if ended == turn => {
//!                 client.close();
//!                 return Ok((heard, settlement));
//!             }
//!             // A permission, for one, is answered `cancelled`.
//!             other => drop(client.decline(other)),
//!         }
//!     }
//!     Err("the agent went away".into())
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (near, far) = async_std::os::unix::net::UnixStream::pair()?;
//! # let (agent, mut told, driver) = acp_async_std::agent(far.clone(), far, Config::agent())?;
//! # async_std::task::spawn(driver);
//! # async_std::task::spawn(async move {
//! #     while let Some(action) = told.next().await {
//! #         match action {
//! #             AgentAction::Initialize { ticket, .. } => drop(agent.accept_initialize(ticket, &Payload::EMPTY)),
//! #             AgentAction::SessionRequested { ticket, .. } => {
//! #                 let id = Payload::try_from(json!({ "sessionId": "s1" })).expect("JSON");
//! #                 agent.accept_session(ticket, &id).expect("it is new");
//! #             }
//! #             AgentAction::Prompt { ticket, .. } => {
//! #                 let turn = agent.turn(ticket);
//! #                 let update = json!({ "sessionUpdate": "agent_message_chunk" });
//! #                 turn.update(&Payload::try_from(update).expect("JSON")).await.expect("it fits");
//! #                 turn.stop(StopReason::EndTurn);
//! #             }
//! #             other => drop(agent.decline(other)),
//! #         }
//! #     }
//! # });
//! let (heard, settlement) = async_std::task::block_on(ask(near))?;
//! assert!(heard.contains("agent_message_chunk"));
//! assert_eq!(settlement, Settlement::Ended(StopReason::EndTurn));
//! # Ok(())
//! # }
//! ```
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod driver;
mod handle;
#[cfg(feature = "process")]
mod launch;
mod parts;
mod pending;
#[cfg(feature = "process")]
pub mod process;
mod runtime;
mod shared;
pub mod stdio;
mod token;
mod turn;

pub use acp_core;

pub use self::{
    handle::{Actions, Handle},
    parts::{Parts, agent, client, config_from_env},
    pending::{Pending, PromptTurn},
    stdio::{Stdin, Stdout, stdio, terminated},
    token::Token,
    turn::Turn,
};
#[cfg(feature = "process")]
pub use self::{
    launch::{Ending, Running, launch, launch_through},
    process::{AgentProcess, Ended, Grace, KeptProcess, Pipes},
};

/// What the README shows is compiled as it stands there.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
