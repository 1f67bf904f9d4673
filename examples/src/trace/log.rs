//! What a trace holds, whatever form it was written in.

use acp_core::Side;
use bytes::Bytes;

/// A trace.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// What passed, in the order in which it was written down.
    pub entries: Vec<Entry>,
    /// The program that wrote it, as it calls itself.
    pub program: Option<String>,
    /// At which end it was written.
    pub side: Option<Side>,
    /// Lines of the file that are no part of the trace.
    pub skipped: usize,
}

/// One thing that passed.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The line of the file, from 1.
    pub line: usize,
    /// When, in milliseconds after the first; `None` if the file does not say.
    pub at: Option<f64>,
    /// Who sent it.
    pub from: Side,
    /// What it is.
    pub what: What,
}

/// What passed.
#[derive(Clone, Debug)]
pub enum What {
    /// A line, as it came; a message, as a rule.
    Line(Bytes),
    /// A line that was not JSON when it came, as far as it is text.
    Noise(Bytes),
    /// A line that was too long to be kept.
    Long {
        /// Its bytes.
        size: u64,
        /// Its method, if that could be read.
        method: Option<String>,
    },
    /// The end of what this side sends.
    End(String),
}

impl Log {
    /// Sets the times off against the first.
    pub(super) fn rebase(&mut self) {
        let first = self.entries.iter().find_map(|entry| entry.at).unwrap_or_default();
        for entry in &mut self.entries {
            entry.at = entry.at.map(|at| at - first);
        }
    }
}

/// The other side.
#[must_use]
pub const fn other(side: Side) -> Side {
    match side {
        Side::Client => Side::Agent,
        Side::Agent => Side::Client,
    }
}

/// What a side is called.
#[must_use]
pub const fn name(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Agent => "agent",
    }
}
