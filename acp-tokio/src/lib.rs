#![cfg_attr(any(feature = "process", not(doctest)), doc = include_str!("../README.md"))]
//!
//! # How it works
//!
//! [`client`] and [`agent`] take any stream and give three things: a [`Handle`] for commands, the [`Actions`] that the
//! host is told, and the driver, a future that you spawn or poll. Nothing is spawned behind your back, nothing needs a
//! `LocalSet`, and all futures are `Send`. The rules are the core's: this crate moves bytes, watches the clock and wakes
//! whoever waits: [`acp_core::guide`] tells what to do with them.
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod attended;
mod driver;
mod handle;
#[cfg(feature = "process")]
mod launch;
mod pending;
#[cfg(feature = "process")]
pub mod process;
mod shared;
pub mod stdio;
mod turn;

use core::future::Future;

pub use acp_core;
use acp_core::{Agent, Client, CloseReason, Config, ConfigError, Connection, Role};
use tokio::io::{AsyncRead, AsyncWrite};

pub use self::{
    handle::{Actions, Handle},
    pending::{Pending, PromptTurn},
    stdio::{Stdin, Stdout, stdio, terminated},
    turn::Turn,
};
#[cfg(feature = "process")]
pub use self::{
    launch::{Ending, Running, launch, launch_through},
    process::{AgentProcess, Ended, Grace, KeptProcess, Pipes},
};

/// A connection in three parts: what sends, what is told, and what moves the bytes.
pub type Parts<R, D> = (Handle<R>, Actions<R>, D);

/// The client's end of a connection over any stream.
///
/// # Errors
///
/// The configuration holds a zero or an impossible value.
pub fn client(
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    config: Config,
) -> Result<Parts<Client, impl Future<Output = CloseReason> + Send + 'static>, ConfigError> {
    connect(reader, writer, config)
}

/// The agent's end of a connection over any stream.
///
/// # Errors
///
/// The configuration holds a zero or an impossible value.
pub fn agent(
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    config: Config,
) -> Result<Parts<Agent, impl Future<Output = CloseReason> + Send + 'static>, ConfigError> {
    connect(reader, writer, config)
}

/// Takes what the environment says into a configuration: `ACP_CLIENT_RPC_TIMEOUT_MS`, for how long an agent waits for
/// the client to answer `fs/*` and `terminal/*`.
///
/// # Errors
///
/// The variable holds zero, or no whole number of milliseconds.
pub fn config_from_env(config: Config) -> Result<Config, ConfigError> {
    match std::env::var("ACP_CLIENT_RPC_TIMEOUT_MS") {
        Ok(millis) => config.client_request_millis(&millis),
        Err(std::env::VarError::NotPresent) => Ok(config),
        Err(std::env::VarError::NotUnicode(given)) => config.client_request_millis(&given.to_string_lossy()),
    }
}

fn connect<R: Role>(
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
    config: Config,
) -> Result<Parts<R, impl Future<Output = CloseReason> + Send + 'static>, ConfigError> {
    let shared = shared::Shared::new(Connection::new(config)?);
    let handle = Handle { shared: shared.clone() };
    let actions = Actions { shared: shared.clone(), taken: 0 };
    Ok((handle, actions, driver::drive(driver::Finish(shared), reader, writer)))
}
