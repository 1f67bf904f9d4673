//! The requests we sent, until each is resolved once.
//!
//! Ids are given in sequence from 1 and never twice. That alone tells a late answer from one that nobody asked for: an
//! id below the next one that is not open is *stale*, anything else was *never issued*. No tombstones are kept.
//!
//! ```text
//!   Issue ──▶ open ──┬── Answer ───▶ resolved     a second Answer: stale
//!               │    └── Abandon ──▶ resolved     timed out, cancelled by us, closed; a late Answer: stale
//!               └─ Cancel (once written, stays open: the peer still owes the answer)
//! ```

use super::{Asked, Cancel, CancelInput, CancelKind, CancelOutput, Few, Machine};

/// Our open requests; `T` is what the owner wants to know again when one is resolved.
#[cfg_attr(doc, doc = "\n\n", doc = include_str!("../../docs/machines/outgoing.svg"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Outgoing<T> {
    next: u64,
    limit: usize,
    open: Few<u64, Open<T>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Open<T> {
    cancel: Cancel,
    about: T,
}

/// What may happen to [`Outgoing`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OutgoingInput<T> {
    /// We want to send a request.
    Issue(T),
    /// We want the peer to cancel this request.
    Cancel(u64),
    /// What asked to cancel it could not be delivered.
    CancelFailed(u64),
    /// An answer with this id arrived.
    Answer(u64),
    /// We resolve this request ourselves.
    Abandon(u64),
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OutgoingOutput<T> {
    /// Send the request under this id.
    Issued(u64),
    /// Whether to write a `$/cancel_request`.
    Asked(Asked),
    /// The cancel has to be asked again.
    Unsent,
    /// The request is resolved.
    Resolved(Answered<T>),
    /// It was resolved before: the answer is late or a repetition.
    Stale,
}

/// A request that is resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Answered<T> {
    /// What the owner said about it.
    pub about: T,
    /// Whether we had asked to cancel it.
    pub cancelled: bool,
}

/// Why an input was refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OutgoingReject<T> {
    /// As many requests are open as the limit allows. The owner's data comes back.
    Full(T),
    /// This id was never given.
    NeverIssued,
}

impl<T> Outgoing<T> {
    /// None open; at most `limit` at a time.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { next: 1, limit, open: Few::new() }
    }

    /// The id that the next request will have, if there is room for one.
    #[must_use]
    pub fn next_id(&self) -> Option<u64> {
        (self.open.len() < self.limit).then_some(self.next)
    }

    /// How many are open.
    #[must_use]
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether none is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// What is known about an open request.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<&T> {
        self.open.get(&id).map(|open| &open.about)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut T> {
        self.open.get_mut(&id).map(|open| &mut open.about)
    }

    /// The open requests, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.open.iter().map(|(id, open)| (*id, &open.about))
    }
}

impl<T> Machine for Outgoing<T> {
    type Input = OutgoingInput<T>;
    type Output = OutgoingOutput<T>;
    type Reject = OutgoingReject<T>;

    fn step(&mut self, input: OutgoingInput<T>) -> Result<OutgoingOutput<T>, OutgoingReject<T>> {
        match input {
            OutgoingInput::Issue(about) => {
                if self.open.len() >= self.limit {
                    return Err(OutgoingReject::Full(about));
                }
                let id = self.next;
                self.next += 1;
                self.open.insert(id, Open { cancel: Cancel::default(), about });
                Ok(OutgoingOutput::Issued(id))
            }
            OutgoingInput::Cancel(id) => match self.open.get_mut(&id) {
                Some(open) => match open.cancel.step(CancelInput::Ask(CancelKind::Steer)) {
                    Ok(CancelOutput::Asked(asked)) => Ok(OutgoingOutput::Asked(asked)),
                    Ok(CancelOutput::Sent | CancelOutput::Unsent(_)) | Err(_) => Ok(OutgoingOutput::Stale),
                },
                None => self.closed(id),
            },
            OutgoingInput::CancelFailed(id) => match self.open.get_mut(&id) {
                Some(open) => match open.cancel.step(CancelInput::Failed(CancelKind::Steer)) {
                    Ok(_) => Ok(OutgoingOutput::Unsent),
                    Err(_) => Ok(OutgoingOutput::Stale),
                },
                None => self.closed(id),
            },
            OutgoingInput::Answer(id) | OutgoingInput::Abandon(id) => match self.open.remove(&id) {
                Some(open) => {
                    Ok(OutgoingOutput::Resolved(Answered { cancelled: open.cancel.settle(), about: open.about }))
                }
                None => self.closed(id),
            },
        }
    }
}

impl<T> Outgoing<T> {
    const fn closed(&self, id: u64) -> Result<OutgoingOutput<T>, OutgoingReject<T>> {
        if 0 < id && id < self.next { Ok(OutgoingOutput::Stale) } else { Err(OutgoingReject::NeverIssued) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Answered, Asked, Machine, Outgoing, OutgoingInput as In, OutgoingOutput as Out, OutgoingReject as No};

    /// Issues 1, 2 and 3 with a limit of 2: 1 resolved, 2 open, 3 open and cancelled.
    fn every_kind_of_id() -> Outgoing<char> {
        let mut outgoing = Outgoing::new(2);
        assert_eq!(outgoing.step(In::Issue('a')), Ok(Out::Issued(1)));
        assert_eq!(outgoing.step(In::Issue('b')), Ok(Out::Issued(2)));
        assert!(outgoing.step(In::Answer(1)).is_ok());
        assert_eq!(outgoing.step(In::Issue('c')), Ok(Out::Issued(3)));
        assert_eq!(outgoing.step(In::Cancel(3)), Ok(Out::Asked(Asked::First)));
        outgoing
    }

    #[test]
    fn every_kind_of_id_answers_every_input() {
        let resolved = |about, cancelled| Ok(Out::Resolved(Answered { about, cancelled }));
        let never = || Err(No::NeverIssued);
        for (id, on_cancel, on_failed, on_end) in [
            (0, never(), never(), never()),
            (1, Ok(Out::Stale), Ok(Out::Stale), Ok(Out::Stale)),
            (2, Ok(Out::Asked(Asked::First)), Ok(Out::Stale), resolved('b', false)),
            (3, Ok(Out::Asked(Asked::Shared)), Ok(Out::Unsent), resolved('c', true)),
            (4, never(), never(), never()),
            (u64::MAX, never(), never(), never()),
        ] {
            for (input, expected) in [
                (In::Cancel(id), on_cancel),
                (In::CancelFailed(id), on_failed),
                (In::Answer(id), on_end.clone()),
                (In::Abandon(id), on_end),
            ] {
                let before = every_kind_of_id();
                let mut machine = before.clone();
                let output = machine.step(input.clone());
                assert_eq!(output, expected, "{input:?}");
                if output.is_err() {
                    assert_eq!(machine, before, "a refused input changed the state");
                }
            }
        }
    }

    #[test]
    fn a_cancel_that_was_not_delivered_is_written_when_asked_again() {
        let mut outgoing = every_kind_of_id();
        assert_eq!(outgoing.step(In::CancelFailed(3)), Ok(Out::Unsent));
        assert_eq!(outgoing.step(In::Cancel(3)), Ok(Out::Asked(Asked::First)));
    }

    #[test]
    fn the_limit_refuses_and_a_resolved_request_gives_its_place_back() {
        let mut outgoing = every_kind_of_id();
        let before = outgoing.clone();
        assert_eq!(outgoing.step(In::Issue('d')), Err(No::Full('d')));
        assert_eq!(outgoing, before, "a refused input changed the state");
        assert!(outgoing.step(In::Abandon(2)).is_ok());
        assert_eq!(outgoing.step(In::Issue('d')), Ok(Out::Issued(4)), "ids are never given twice");
    }
}
