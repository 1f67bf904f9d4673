//! The requests the peer sent, until each is answered once.
//!
//! The peer chooses its ids, so they are data: `K` is any ordered type. A request is told to the owner under a key of
//! ours, given in sequence, because a finished id may come again while the old key is still in somebody's hands.
//!
//! ```text
//!   Arrive ──▶ waiting ── Cancel ──▶ cancel seen        (signalled once)
//!                 └──────── Answer ────────┴──▶ gone    (the id is free again)
//! ```

use super::{Few, Machine};

/// The peer's open requests; `T` is what the owner wants to know again when one is answered.
#[cfg_attr(doc, doc = "\n\n", doc = include_str!("../../docs/machines/incoming.svg"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Incoming<K, T> {
    next: u64,
    limit: usize,
    counted: usize,
    ids: Few<K, u64>,
    open: Few<u64, Open<K, T>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Open<K, T> {
    id: K,
    counts: bool,
    cancel_seen: bool,
    about: T,
}

/// What may happen to [`Incoming`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum IncomingInput<K, T> {
    /// A request arrived. `counts`: whether it takes a place under the limit; prompts have a limit of their own.
    Arrive {
        /// The peer's id.
        id: K,
        /// Whether it takes a place under the limit.
        counts: bool,
        /// What the owner wants to know again.
        about: T,
    },
    /// The peer asks to cancel the request of this id.
    Cancel(K),
    /// We ask the owner of this key to come to an end.
    Signal(u64),
    /// We answer the request of this key.
    Answer(u64),
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum IncomingOutput<K, T> {
    /// What became of an arrival.
    Arrived(Arrival),
    /// What became of a cancel.
    Withdrawn(Withdrawal),
    /// Write the answer under this id.
    Answered {
        /// The peer's id.
        id: K,
        /// What the owner said about it.
        about: T,
        /// Whether the peer had asked to cancel it.
        cancel_seen: bool,
    },
    /// It was answered before.
    AlreadyAnswered,
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arrival {
    /// It waits for its answer under this key.
    Waiting(u64),
    /// As many are open as the limit allows: answer with an error; it is not kept.
    Full,
}

/// What became of a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Withdrawal {
    /// Tell the owner of this key.
    Signal(u64),
    /// The owner was told before.
    Again(u64),
    /// No such request is open. It may have been answered a moment ago: not an error.
    Unknown,
}

/// Why an input was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IncomingReject {
    /// An open request has this id. Any answer would settle that one, so there is none to give.
    Duplicate,
    /// This key was never given.
    NeverArrived,
}

impl<K: Ord + Clone, T> Incoming<K, T> {
    /// None open; at most `limit` counted ones at a time.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { next: 1, limit, counted: 0, ids: Few::new(), open: Few::new() }
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
    pub fn get(&self, key: u64) -> Option<&T> {
        self.open.get(&key).map(|open| &open.about)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, key: u64) -> Option<&mut T> {
        self.open.get_mut(&key).map(|open| &mut open.about)
    }

    /// Whether the peer has asked to cancel it.
    #[must_use]
    pub fn cancel_seen(&self, key: u64) -> bool {
        self.open.get(&key).is_some_and(|open| open.cancel_seen)
    }

    /// The key of the open request with this id.
    #[must_use]
    pub fn key(&self, id: &K) -> Option<u64> {
        self.ids.get(id).copied()
    }

    /// The open requests, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.open.iter().map(|(key, open)| (*key, &open.about))
    }
}

impl<K: Ord + Clone, T> Machine for Incoming<K, T> {
    type Input = IncomingInput<K, T>;
    type Output = IncomingOutput<K, T>;
    type Reject = IncomingReject;

    fn step(&mut self, input: IncomingInput<K, T>) -> Result<IncomingOutput<K, T>, IncomingReject> {
        match input {
            IncomingInput::Arrive { id, counts, about } => {
                if self.ids.contains_key(&id) {
                    return Err(IncomingReject::Duplicate);
                }
                if counts && self.counted >= self.limit {
                    return Ok(IncomingOutput::Arrived(Arrival::Full));
                }
                let key = self.next;
                self.next += 1;
                self.counted += usize::from(counts);
                self.ids.insert(id.clone(), key);
                self.open.insert(key, Open { id, counts, cancel_seen: false, about });
                Ok(IncomingOutput::Arrived(Arrival::Waiting(key)))
            }
            IncomingInput::Cancel(id) => {
                let withdrawn = self.ids.get(&id).copied().map_or(Withdrawal::Unknown, |key| self.signal(key));
                Ok(IncomingOutput::Withdrawn(withdrawn))
            }
            IncomingInput::Signal(key) => Ok(IncomingOutput::Withdrawn(self.signal(key))),
            IncomingInput::Answer(key) => match self.open.remove(&key) {
                Some(Open { id, counts, cancel_seen, about }) => {
                    self.ids.remove(&id);
                    self.counted -= usize::from(counts);
                    Ok(IncomingOutput::Answered { id, about, cancel_seen })
                }
                None if 0 < key && key < self.next => Ok(IncomingOutput::AlreadyAnswered),
                None => Err(IncomingReject::NeverArrived),
            },
        }
    }
}

impl<K: Ord + Clone, T> Incoming<K, T> {
    fn signal(&mut self, key: u64) -> Withdrawal {
        match self.open.get_mut(&key) {
            Some(open) if open.cancel_seen => Withdrawal::Again(key),
            Some(open) => {
                open.cancel_seen = true;
                Withdrawal::Signal(key)
            }
            None => Withdrawal::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Arrival, Incoming, IncomingInput as In, IncomingOutput as Out, IncomingReject as No, Machine, Withdrawal,
    };

    fn arrive(id: u8, counts: bool) -> In<u8, u8> {
        In::Arrive { id, counts, about: id }
    }

    /// With a limit of 2: id 10 answered (key 1), id 11 waiting (key 2), id 12 waiting with its cancel seen (key 3).
    fn every_kind_of_request() -> Incoming<u8, u8> {
        let mut incoming = Incoming::new(2);
        for input in [arrive(10, true), arrive(11, true), In::Answer(1), arrive(12, true), In::Cancel(12)] {
            assert!(incoming.step(input).is_ok());
        }
        incoming
    }

    #[test]
    fn every_kind_of_request_answers_every_input() {
        let answered = |id, cancel_seen| Ok(Out::Answered { id, about: id, cancel_seen });
        let waiting = |key| Ok(Out::Arrived(Arrival::Waiting(key)));
        for (input, expected) in [
            (arrive(10, true), Ok(Out::Arrived(Arrival::Full))),
            (arrive(11, true), Err(No::Duplicate)),
            (arrive(12, true), Err(No::Duplicate)),
            (arrive(10, false), waiting(4)),
            (arrive(11, false), Err(No::Duplicate)),
            (In::Cancel(10), Ok(Out::Withdrawn(Withdrawal::Unknown))),
            (In::Cancel(11), Ok(Out::Withdrawn(Withdrawal::Signal(2)))),
            (In::Cancel(12), Ok(Out::Withdrawn(Withdrawal::Again(3)))),
            (In::Signal(0), Ok(Out::Withdrawn(Withdrawal::Unknown))),
            (In::Signal(1), Ok(Out::Withdrawn(Withdrawal::Unknown))),
            (In::Signal(2), Ok(Out::Withdrawn(Withdrawal::Signal(2)))),
            (In::Signal(3), Ok(Out::Withdrawn(Withdrawal::Again(3)))),
            (In::Signal(4), Ok(Out::Withdrawn(Withdrawal::Unknown))),
            (In::Answer(0), Err(No::NeverArrived)),
            (In::Answer(1), Ok(Out::AlreadyAnswered)),
            (In::Answer(2), answered(11, false)),
            (In::Answer(3), answered(12, true)),
            (In::Answer(4), Err(No::NeverArrived)),
        ] {
            let before = every_kind_of_request();
            let mut machine = before.clone();
            let output = machine.step(input.clone());
            assert_eq!(output, expected, "{input:?}");
            if output.is_err() {
                assert_eq!(machine, before, "a refused input changed the state");
            }
        }
    }

    #[test]
    fn a_finished_id_may_come_again_under_another_key() {
        let mut incoming = Incoming::new(1);
        assert_eq!(incoming.step(arrive(5, true)), Ok(Out::Arrived(Arrival::Waiting(1))));
        assert!(incoming.step(In::Answer(1)).is_ok());
        assert_eq!(incoming.step(arrive(5, true)), Ok(Out::Arrived(Arrival::Waiting(2))));
        assert_eq!(incoming.step(In::Answer(1)), Ok(Out::AlreadyAnswered), "the old key cannot reach the new request");
        assert!(incoming.step(In::Answer(2)).is_ok());
        assert!(incoming.is_empty());
        assert_eq!(incoming.counted, 0);
    }
}
