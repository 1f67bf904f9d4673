//! The tool calls of a turn that are still open, in the order in which they were announced.
//!
//! ```text
//!   Announced ──▶ open ── Finished ──▶ closed       (an unknown call that is updated counts as announced)
//!                   └───── Close ────▶ every open call, oldest first, each once
//! ```
//!
//! A cancelled turn leaves tool calls without a result. Clients would show them running for ever, and a history that
//! holds one is refused by model providers from then on. So whoever ends a turn asks what is open, and gives each of
//! them a last word. The ledger is fed by the updates that go out, and is useful by itself for a host's own history.

use alloc::{boxed::Box, vec::Vec};

/// The open tool calls of one turn.
#[cfg_attr(doc, doc = "\n\n", doc = include_str!("../../docs/machines/transcript.svg"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Transcript {
    open: Vec<Box<str>>,
}

/// What may happen to a [`Transcript`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TranscriptInput<'a> {
    /// A call was announced, or is under way.
    Open(&'a str),
    /// A call has its result: completed or failed.
    Finished(&'a str),
}

impl Transcript {
    /// The open calls, oldest first.
    pub fn open(&self) -> impl Iterator<Item = &str> {
        self.open.iter().map(|id| &**id)
    }

    /// Takes one input. Every input fits every state: a repetition changes nothing.
    pub fn step(&mut self, input: TranscriptInput<'_>) {
        match input {
            TranscriptInput::Open(id) => {
                if !self.open.iter().any(|open| **open == *id) {
                    self.open.push(id.into());
                }
            }
            TranscriptInput::Finished(id) => self.open.retain(|open| **open != *id),
        }
    }

    /// Ends the turn: the calls that still need a last word, oldest first.
    #[must_use]
    pub fn close(self) -> Box<[Box<str>]> {
        self.open.into()
    }
}

#[cfg(test)]
mod tests {
    use super::{Transcript, TranscriptInput as In};

    #[test]
    fn every_state_answers_every_input() {
        let states: [&[&str]; 5] = [&[], &["a"], &["b"], &["a", "b"], &["b", "a"]];
        for state in states {
            let before = Transcript { open: state.iter().map(|id| (*id).into()).collect() };
            for id in ["a", "b"] {
                let mut opened = before.clone();
                opened.step(In::Open(id));
                let mut expected = state.to_vec();
                if !state.contains(&id) {
                    expected.push(id);
                }
                assert_eq!(opened.open().collect::<alloc::vec::Vec<_>>(), expected, "{state:?} opens {id}");

                let mut finished = before.clone();
                finished.step(In::Finished(id));
                let expected: alloc::vec::Vec<_> = state.iter().copied().filter(|open| *open != id).collect();
                assert_eq!(finished.open().collect::<alloc::vec::Vec<_>>(), expected, "{state:?} finishes {id}");
            }
            assert_eq!(before.close().iter().map(|id| &**id).collect::<alloc::vec::Vec<_>>(), state);
        }
    }
}
