//! The life of a connection: open, draining, closed; one end, told once, with the first reason.
//!
//! ```text
//!           End(reason)              Settled, or Expired
//!   Open ────────────────▶ Draining ────────────────────▶ Closed(first reason)
//!     └────────────────────────┴──────────── Cut(reason) ────▶
//! ```
//!
//! *Draining* is for an end that leaves the output standing: what was accepted is still answered and the queue is still
//! flushed. *Cut* is for a stream that is gone, or must not be used any more.

/// Where a connection is; `R` is why it ends.
#[cfg_attr(doc, doc = "\n\n", doc = include_str!("../../docs/machines/lifecycle.svg"))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lifecycle<R> {
    /// It works.
    #[default]
    Open,
    /// It takes nothing new and pays what it owes.
    Draining(R),
    /// It is over.
    Closed(R),
}

/// What may happen to a [`Lifecycle`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LifecycleInput<R> {
    /// It shall end: the input is over, or we want to go.
    End(R),
    /// Nothing is owed and nothing waits to be written.
    Settled,
    /// The time to pay what is owed is over.
    Expired,
    /// It ends at once.
    Cut(R),
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LifecycleOutput {
    /// Begin to drain: cancel turns, resolve our own requests, arm the time.
    Drain,
    /// Tell `Closed`, once.
    Tell,
    /// Answer what is still owed; then it is settled.
    Force,
    /// Nothing: it is not the moment, or it happened before.
    Nothing,
}

impl<R> Lifecycle<R> {
    /// Whether new work is taken.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// Whether it is over.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }

    /// Why it ends, once that is known.
    #[must_use]
    pub const fn reason(&self) -> Option<&R> {
        match self {
            Self::Open => None,
            Self::Draining(reason) | Self::Closed(reason) => Some(reason),
        }
    }

    /// Takes one input. Every input fits every state, so this cannot be refused: the first reason stays.
    pub fn step(&mut self, input: LifecycleInput<R>) -> LifecycleOutput {
        let (next, output) = match (core::mem::take(self), input) {
            (Self::Open, LifecycleInput::End(reason)) => (Self::Draining(reason), LifecycleOutput::Drain),
            (Self::Open, LifecycleInput::Cut(reason)) => (Self::Closed(reason), LifecycleOutput::Tell),
            (Self::Draining(reason), LifecycleInput::Settled | LifecycleInput::Cut(_)) => {
                (Self::Closed(reason), LifecycleOutput::Tell)
            }
            (Self::Draining(reason), LifecycleInput::Expired) => (Self::Draining(reason), LifecycleOutput::Force),
            (same, _) => (same, LifecycleOutput::Nothing),
        };
        *self = next;
        output
    }
}

#[cfg(test)]
mod tests {
    use super::{Lifecycle, LifecycleInput as In, LifecycleOutput as Out};

    #[test]
    fn every_state_answers_every_input_as_the_table_says() {
        use Lifecycle::{Closed, Draining, Open};
        for (from, input, next, output) in [
            (Open, In::End('a'), Draining('a'), Out::Drain),
            (Open, In::Settled, Open, Out::Nothing),
            (Open, In::Expired, Open, Out::Nothing),
            (Open, In::Cut('a'), Closed('a'), Out::Tell),
            (Draining('a'), In::End('b'), Draining('a'), Out::Nothing),
            (Draining('a'), In::Settled, Closed('a'), Out::Tell),
            (Draining('a'), In::Expired, Draining('a'), Out::Force),
            (Draining('a'), In::Cut('b'), Closed('a'), Out::Tell),
            (Closed('a'), In::End('b'), Closed('a'), Out::Nothing),
            (Closed('a'), In::Settled, Closed('a'), Out::Nothing),
            (Closed('a'), In::Expired, Closed('a'), Out::Nothing),
            (Closed('a'), In::Cut('b'), Closed('a'), Out::Nothing),
        ] {
            let mut machine = from.clone();
            assert_eq!(machine.step(input.clone()), output, "{from:?} × {input:?}");
            assert_eq!(machine, next, "{from:?} × {input:?}");
        }
    }
}
