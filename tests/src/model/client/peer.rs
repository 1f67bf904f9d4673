//! What a client makes of the agent's messages.

use super::{Client, Kind, Of, Owed, Settled, Told, Update};
use crate::model::words::{Message, Origin, Resolution, Said, Stray};

/// There is no such method.
const NOT_FOUND: i64 = -32601;

impl Client {
    /// An update in this session.
    pub(in crate::model) fn update(&mut self, update: Update, session: usize) {
        let Some(seat) = self.places.find(session) else {
            if self.is_opening() {
                self.early.entry(session).or_default().push(update);
            } else {
                self.end.tell(Told::Update(update, None, Origin::OutOfTurn));
            }
            return;
        };
        let running = self.places.get(seat).and_then(|place| place.running);
        let origin = match running {
            _ if self.is_replaying(seat) => Origin::Replay,
            Some(running) => Origin::Turn(running),
            None => Origin::OutOfTurn,
        };
        self.end.tell(Told::Update(update, Some(session), origin));
        match (update, origin) {
            (Update::Open(call), Origin::Turn(of)) if !self.calls.contains(&(of, call)) => self.calls.push((of, call)),
            (Update::Finished(call) | Update::LastWord(call), Origin::Turn(of)) => {
                self.calls.retain(|open| *open != (of, call));
            }
            _ => self.heed(update, seat),
        }
    }

    /// A request in this session.
    pub(in crate::model) fn asked(&mut self, ask: usize, kind: Kind, session: usize) {
        let seat = self.places.find(session);
        let place = seat.and_then(|seat| self.places.get(seat));
        match (kind, place) {
            (Kind::Permission, None) => {
                self.end.send(Message::Answer(Of::Ask(ask), Said::Dismissed));
                return self.end.tell(Told::Violation);
            }
            (Kind::Permission, Some(place)) if place.is_cancelled() => {
                return self.end.send(Message::Answer(Of::Ask(ask), Said::Dismissed));
            }
            (Kind::Permission, Some(place)) => {
                let running = place.running;
                self.end.tell(Told::Permission(ask, running));
            }
            (Kind::Read, _) => self.end.tell(Told::Request(ask)),
        }
        self.owed.insert(ask, Owed { seat, kind: Some(kind), signalled: false });
    }

    /// The agent takes a request back.
    pub(in crate::model) fn taken_back(&mut self, ask: usize) {
        match self.owed.get(&ask) {
            Some(Owed { kind: Some(Kind::Permission), .. }) => self.revoke(ask),
            Some(_) => self.signal(ask),
            None => {}
        }
    }

    /// The answer to a request of ours. One that is resolved already is of no interest.
    pub(in crate::model) fn answered(&mut self, of: Of, said: Said) {
        if of == Of::Stray {
            return self.end.tell(Told::Violation);
        }
        if !self.is_open(of) {
            return;
        }
        self.end.over(of);
        match of {
            Of::Prompt(number) => {
                if let Said::Inserted(named) = said {
                    return self.inserted(number, named);
                }
                let wanted = self.wanted.contains(&number);
                let how = match said {
                    Said::Ended if wanted => Settled::EndedAlthoughCancelled,
                    Said::Ended => Settled::Ended,
                    Said::Cancelled | Said::Withdrawn if wanted => Settled::Cancelled,
                    Said::Cancelled | Said::Withdrawn => Settled::CancelledUnasked,
                    _ => Settled::Failed,
                };
                self.settle(number, how);
            }
            Of::Errand(number, _) => self.resolved(number, Resolution::Answered(said)),
            Of::Ask(_) | Of::Stray => {}
        }
    }

    /// What nobody of the agent's would say.
    pub(in crate::model) fn stray(&mut self, stray: Stray) {
        match stray {
            Stray::Again(Of::Ask(ask)) if !self.owed.contains_key(&ask) => {
                self.end.send(Message::Answer(Of::Ask(ask), Said::Failed(NOT_FOUND)));
            }
            Stray::Again(Of::Ask(_)) if self.two => {
                self.end.send(Message::UsedTwice);
                self.end.tell(Told::Violation);
            }
            _ => self.end.tell(Told::Violation),
        }
    }
}
