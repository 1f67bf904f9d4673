//! The sessions of one end: which are known, and in which place each is. A place that is free again is used before a new one
//! is made, the last one first; what stood there before is not taken for what stands there now.

use std::collections::BTreeSet;

/// Which session, of those that ever stood in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seat {
    place: usize,
    times: usize,
}

/// Where a session is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is being loaded or resumed.
    Opening,
    /// It works.
    #[default]
    Open,
    /// It is being closed.
    Closing,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Places<T> {
    places: Vec<(usize, Option<(usize, T)>)>,
    free: Vec<usize>,
    ever: BTreeSet<usize>,
}

impl<T: Default> Places<T> {
    /// The seat of this session.
    pub(super) fn find(&self, session: usize) -> Option<Seat> {
        let there = |(_, taken): &(usize, Option<(usize, T)>)| taken.as_ref().is_some_and(|(of, _)| *of == session);
        let place = self.places.iter().position(there)?;
        Some(Seat { place, times: self.places[place].0 })
    }

    /// Whether it was ever known here.
    pub(super) fn knew(&self, session: usize) -> bool {
        self.ever.contains(&session)
    }

    /// The session in this seat.
    pub(super) fn name(&self, seat: Seat) -> Option<usize> {
        let (times, taken) = &self.places[seat.place];
        taken.as_ref().filter(|_| *times == seat.times).map(|(session, _)| *session)
    }

    pub(super) fn get(&self, seat: Seat) -> Option<&T> {
        let (times, taken) = &self.places[seat.place];
        taken.as_ref().filter(|_| *times == seat.times).map(|(_, place)| place)
    }

    pub(super) fn get_mut(&mut self, seat: Seat) -> Option<&mut T> {
        let (times, taken) = &mut self.places[seat.place];
        taken.as_mut().filter(|_| *times == seat.times).map(|(_, place)| place)
    }

    /// The seat of this session, which gets one if it has none.
    pub(super) fn open(&mut self, session: usize) -> Seat {
        if let Some(seat) = self.find(session) {
            return seat;
        }
        self.ever.insert(session);
        let place = self.free.pop().unwrap_or(self.places.len());
        if place == self.places.len() {
            self.places.push((0, None));
        }
        self.places[place].1 = Some((session, T::default()));
        Seat { place, times: self.places[place].0 }
    }

    pub(super) fn close(&mut self, seat: Seat) {
        if self.get(seat).is_some() {
            let (times, taken) = &mut self.places[seat.place];
            (*times, *taken) = (*times + 1, None);
            self.free.push(seat.place);
        }
    }

    /// The sessions that are known, in their order.
    pub(super) fn seats(&self) -> Vec<Seat> {
        let mut sessions: Vec<_> = self.places.iter().filter_map(|(_, taken)| Some(taken.as_ref()?.0)).collect();
        sessions.sort_unstable();
        sessions.into_iter().filter_map(|session| self.find(session)).collect()
    }
}
