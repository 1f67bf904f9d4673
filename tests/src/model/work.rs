//! The work of one session in version 2: what the session was last said to be at, and which prompts are in it. Both ends keep
//! the same books, the agent of what it says, the client of what it is told.

use super::words::State;

/// A prompt that is not over.
#[derive(Clone, Copy, Debug)]
struct Entry {
    number: usize,
    inserted: bool,
    /// It was sent behind a cancel that the end of the work before it confirms.
    spared: bool,
}

/// What the end of a prompt comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// It was worked on; whether nothing else is.
    Worked { last: bool },
    /// It was never inserted; whether the session says that it is at work, and nothing is worked on.
    Refused { idle: bool },
}

/// The work of one session.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    pub(super) state: State,
    prompts: Vec<Entry>,
}

impl Work {
    /// A prompt is sent, or arrives.
    pub(super) fn sent(&mut self, number: usize, spared: bool) {
        self.prompts.push(Entry { number, inserted: false, spared });
    }

    /// A prompt gets its place.
    pub(super) fn insert(&mut self, number: usize) {
        if let Some(entry) = self.prompts.iter_mut().find(|entry| entry.number == number) {
            entry.inserted = true;
        }
    }

    /// A prompt is over. `done`: its work was done, so that it counts as inserted.
    pub(super) fn end(&mut self, number: usize, done: bool) -> Over {
        let place = self.prompts.iter().position(|entry| entry.number == number);
        let inserted = place.is_some_and(|place| self.prompts.remove(place).inserted);
        let last = !self.prompts.iter().any(|entry| entry.inserted);
        if inserted || done {
            return Over::Worked { last };
        }
        let rests = matches!(self.state, State::Rest(_));
        if rests && !self.prompts.iter().any(|entry| entry.inserted && !entry.spared) {
            // No work goes on whose end would confirm the cancel.
            self.spare_none();
        }
        Over::Refused { idle: last && !rests }
    }

    /// The cancel came to nothing, or is confirmed.
    pub(super) fn spare_none(&mut self) {
        self.prompts.iter_mut().for_each(|entry| entry.spared = false);
    }

    /// The session is said to be at this. The prompts that are over with it.
    pub(super) fn report(&mut self, state: State) -> Vec<usize> {
        let worked = !matches!(core::mem::replace(&mut self.state, state), State::Rest(_));
        if !worked || !matches!(state, State::Rest(_)) {
            return Vec::new();
        }
        let over = self.prompts.iter().filter(|entry| entry.inserted && !entry.spared);
        let over = over.map(|entry| entry.number).collect();
        self.spare_none();
        over
    }
}
