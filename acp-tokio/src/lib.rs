//! The tokio adapter of `acp-core`.

pub mod process;
pub mod stdio;

pub use process::{AgentProcess, Ended, Grace, Pipes};
pub use stdio::{Stdin, Stdout, stdio, terminated};
