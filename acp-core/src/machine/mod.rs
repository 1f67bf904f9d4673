//! Layer 0: the rules, as pure state machines.
//!
//! A machine here sees small keys and nothing else: no bytes, no JSON, no clock, and not the role it plays. One
//! transition function serves what we send and what we receive; the role enters one layer up. They are public, so that
//! users can model-check their own glue together with ours.
//!
//! | machine | states | decides |
//! |---|---|---|
//! | [`Handshake`] | idle, offered, agreed, failed | what is admitted before and after the version is agreed |
//! | [`Foreground`] | idle, running, requires action, unknown | which snapshot of a session's state completes its work |
//! | [`Work`] | prompts waiting or inserted, and the foreground | which prompts are over when a session comes to rest |
//! | [`Outgoing`] | our open ids, in sequence | whether an answer resolves, is stale, or was never asked for |
//! | [`Incoming`] | the peer's open ids | duplicates, the limit, who still waits for an answer |
//! | [`Cancel`] | per kind: unasked, pending, sent | when a cancel is written, joined, or has to be asked again |
//! | [`Turns`] | queued → running → cancelling → settled | who runs next, what a cancel covers, which asks are void |
//! | [`Setup`] | asking, logging in, over | whether a demanded login is tried, once |
//! | [`Lifecycle`] | open, draining, closed | when the one `Closed` is told, and with which reason |
//! | [`Transcript`] | open tool calls of a turn | which still need a last word, in order |
//! | [`Shutdown`] | running … reaped | which step ends a child process, in which order |
//!
//! The graphs of the small ones, drawn from the code, are in `docs/machines.md` of this crate.

mod cancel;
mod few;
mod foreground;
mod handshake;
mod incoming;
mod lifecycle;
mod outgoing;
mod setup;
pub mod shutdown;
mod transcript;
mod turn;
mod work;

pub(crate) use few::Few;

pub use cancel::{Asked, Cancel, CancelInput, CancelKind, CancelOutput, CancelReject, Unsent};
pub use foreground::{Foreground, ForegroundOutput};
pub use handshake::{Admission, Handshake, HandshakeInput, HandshakeReject, agree};
pub use incoming::{Arrival, Incoming, IncomingInput, IncomingOutput, IncomingReject, Withdrawal};
pub use lifecycle::{Lifecycle, LifecycleInput, LifecycleOutput};
pub use outgoing::{Answered, Outgoing, OutgoingInput, OutgoingOutput, OutgoingReject};
pub use setup::{OutOfStep, Setup, SetupInput, SetupOutput, Way, way};
pub use shutdown::Shutdown;
pub use transcript::{Transcript, TranscriptInput};
pub use turn::{Broken, CancelScope, Cancelled, Ended, Overlap, TurnInput, TurnOutput, TurnReject, Turns};
pub use work::{Work, WorkInput, WorkOutput};

/// A pure state machine.
///
/// The law, tested for every state and every input: when [`step`](Self::step) returns `Err`, `self` is unchanged.
pub trait Machine {
    /// What may happen to it.
    type Input;
    /// What follows.
    type Output;
    /// Why an input was refused. A race is an `Output`; a `Reject` is misuse, or a fault of the peer.
    type Reject;

    /// Takes one input.
    ///
    /// # Errors
    ///
    /// The input does not fit the state. Nothing has changed.
    fn step(&mut self, input: Self::Input) -> Result<Self::Output, Self::Reject>;
}
