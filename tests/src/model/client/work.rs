//! What version 2 makes of a client's turn: the answer to the prompt says that it has its place, and the turn is over when the
//! session comes to rest.

use super::{Client, Of, Settled, Told, Update};
use crate::model::{
    places::Seat,
    words::{State, Stop},
};

/// The error that says that something was cancelled.
const CANCELLED: i64 = -32800;

impl Client {
    /// A prompt has its place.
    pub(super) fn inserted(&mut self, number: usize, named: bool) {
        let Some(seat) = self.live.get(&number).copied() else { return };
        self.open.retain(|open| *open != Of::Prompt(number));
        self.inserted.insert(number);
        self.asked.remove(&number);
        self.end.tell(Told::Inserted(number, named));
        match self.places.get_mut(seat) {
            Some(place) => place.work.insert(number),
            // Its session is gone, and the work with it.
            None => self.settle(number, Settled::Cancelled),
        }
    }

    /// What an update of a session comes to, after it was told.
    pub(super) fn heed(&mut self, update: Update, seat: Seat) {
        match update {
            Update::Replayed(_) if self.is_replaying(seat) => {
                if let Some(place) = self.places.get_mut(seat) {
                    place.replayed = true;
                }
            }
            Update::State(_, state) => {
                if let (State::Rest(Some(Stop::Ended | Stop::Error(_))), Some(place)) =
                    (state, self.places.get_mut(seat))
                {
                    // Cancelled work would have ended as that: this was begun after it.
                    place.work.spare_none();
                }
                let over = self.places.get_mut(seat).map(|place| place.work.report(state)).unwrap_or_default();
                for number in over {
                    let wanted = self.wanted.contains(&number);
                    let how = match state {
                        State::Rest(Some(Stop::Error(code))) if code != CANCELLED => Settled::Failed,
                        State::Rest(Some(Stop::Error(_) | Stop::Cancelled)) if wanted => Settled::Cancelled,
                        State::Rest(Some(Stop::Error(_) | Stop::Cancelled)) => Settled::CancelledUnasked,
                        _ if wanted => Settled::EndedAlthoughCancelled,
                        _ => Settled::Ended,
                    };
                    self.settle(number, how);
                }
            }
            _ => {}
        }
    }
}
