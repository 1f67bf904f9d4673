//! Traces: what passed between a client and an agent, one JSON object a line, to be looked at, passed on and checked.
//!
//! [`record`] writes them and [`tap`] hears what is to be written; [`forms`] reads them, and the logs of others too;
//! [`mod@check`] holds the rules of the protocol against one; [`story`] finds its turns, and [`draw`] and [`page`] show them.
//! `examples/README.md` describes the format.

pub mod check;
mod cli;
pub mod draw;
pub mod forms;
pub mod log;
pub mod page;
pub mod record;
pub mod redact;
pub mod story;
pub mod tap;

pub use self::{
    check::{Finding, Severity, check},
    cli::main,
    forms::{Unreadable, read},
    log::{Entry, Log, What},
    record::Recorder,
    tap::Tap,
};
