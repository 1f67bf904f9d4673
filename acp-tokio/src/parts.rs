//! A connection in three parts: what sends, what is told, and what moves the bytes.
//!
//! Both adapters have this file: one of them has a link to it.

use core::future::Future;

use acp_core::{Agent, Client, CloseReason, Config, ConfigError, Connection, Role};

use crate::{
    Actions, Handle, driver,
    runtime::{AsyncRead, AsyncWrite},
    shared::Shared,
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
    let shared = Shared::new(Connection::new(config)?);
    let handle = Handle { shared: shared.clone() };
    let actions = Actions { shared: shared.clone(), taken: 0 };
    Ok((handle, actions, driver::drive(driver::Finish(shared), reader, writer)))
}
