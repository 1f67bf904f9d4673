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
mod parts;
mod pending;
#[cfg(feature = "process")]
pub mod process;
mod runtime;
mod shared;
pub mod stdio;
mod turn;

pub use acp_core;

pub use self::{
    handle::{Actions, Handle},
    parts::{Parts, agent, client, config_from_env},
    pending::{Pending, PromptTurn},
    stdio::{Stdin, Stdout, stdio, terminated},
    turn::Turn,
};
#[cfg(feature = "process")]
pub use self::{
    launch::{Ending, Running, launch, launch_through},
    process::{AgentProcess, Ended, Grace, KeptProcess, Pipes},
};
