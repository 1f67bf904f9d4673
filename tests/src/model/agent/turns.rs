//! What an agent makes of prompts and of cancels, and how its turns end.

use acp_core::Overlap;

use super::{Agent, Due, FLOOR, INTERNAL, INVALID, LOGIN, Place, Turn};
use crate::model::{
    places::{Seat, Stage},
    words::{Cause, Ending, Message, Of, Report, Said, Told, Update},
};

impl Agent {
    // ---- its host --------------------------------------------------------------------------------------------------

    /// The number is that of the update, or of the tool call.
    pub(in crate::model) fn report(&mut self, prompt: usize, report: Report, number: usize) -> &'static str {
        if self.end.is_closed() {
            return "TooLate";
        }
        if prompt == 0 {
            return "UnknownKey";
        }
        self.insert(prompt, false);
        let two = self.two;
        let Some(turn) = self.turn(prompt).filter(|turn| turn.inserted || !two) else { return "TooLate" };
        let update = match report {
            Report::Text => Update::Text(number),
            Report::Open => {
                turn.calls.push(number);
                Update::Open(number)
            }
            Report::Finish => {
                turn.calls.retain(|call| *call != number);
                Update::Finished(number)
            }
        };
        self.end.send(Message::Update(update));
        "Queued"
    }

    /// Something that belongs to no turn.
    pub(in crate::model) fn tell(&mut self, session: usize, number: usize) -> &'static str {
        if self.end.is_closed() {
            return "TooLate";
        }
        let Some(place) = self.places.find(session).and_then(|seat| self.places.get(seat)) else {
            return "UnknownSession";
        };
        if self.two && place.stage == Stage::Opening && !self.is_replaying(session) {
            // The client wants no history.
            return "Payload";
        }
        self.end.send(Message::Update(Update::Text(number)));
        "Queued"
    }

    pub(in crate::model) fn end_turn(&mut self, number: usize, ending: Ending) -> &'static str {
        self.settle(number, ending, false)
    }

    // ---- the client ------------------------------------------------------------------------------------------------

    pub(in crate::model) fn prompted(&mut self, number: usize, session: usize) {
        let two = self.two;
        let (overlap, came) = (self.overlap, self.arrival(Of::Prompt(number)));
        self.end.used = true;
        let refused = if self.locked { Some(LOGIN) } else { self.why_not(session) };
        let seat = self.places.find(session);
        let (None, Some(seat)) = (refused, seat) else {
            return self.answer(Of::Prompt(number), Said::Failed(refused.unwrap_or(INVALID)));
        };
        let Some(Place { running, waiting, work, cancelled, .. }) = self.places.get_mut(seat) else { return };
        let starts = match (&running, overlap) {
            (None, _) => {
                *running = Some(number);
                true
            }
            (Some(_), Overlap::Queue(limit) | Overlap::Forward(limit)) if waiting.len() < limit => {
                waiting.push_back(number);
                // In version 2 cancelled work has to be over before other work begins.
                matches!(overlap, Overlap::Forward(_)) && !(two && *cancelled)
            }
            (Some(_), Overlap::Refuse) => return self.answer(Of::Prompt(number), Said::Failed(INVALID)),
            (Some(_), _) => return self.answer(Of::Prompt(number), Said::Failed(INTERNAL)),
        };
        work.sent(number, false);
        self.turns.push(Turn { number, came, seat, cause: None, told: starts, inserted: false, calls: Vec::new() });
        if starts {
            self.end.tell(Told::Prompt(number));
        }
    }

    /// `session/cancel`: all that came before it.
    pub(in crate::model) fn cancelled(&mut self, session: usize) {
        if let Some(seat) = self.places.find(session) {
            self.cancel_all(seat, Cause::Session);
        }
    }

    pub(super) fn cancel_all(&mut self, seat: Seat, cause: Cause) {
        let Some(Place { running, waiting, .. }) = self.places.get_mut(seat) else { return };
        let (running, dropped) = (*running, core::mem::take(waiting));
        if let (None, Cause::Session, Some(session)) = (running, cause, self.places.name(seat)) {
            self.end.tell(Told::IdleCancel(session));
        }
        for number in dropped {
            self.drop_waiting(number, cause);
        }
        if let Some(running) = running {
            self.abort(running, seat, cause);
        }
    }

    /// `$/cancel_request` of a prompt: that one.
    pub(in crate::model) fn prompt_cancelled(&mut self, number: usize) {
        // One that is inserted is answered.
        let Some(seat) = self.turn(number).filter(|turn| !turn.inserted).map(|turn| turn.seat) else { return };
        let Some(place) = self.places.get_mut(seat) else { return };
        if place.running == Some(number) {
            self.abort(number, seat, Cause::Request);
        } else {
            place.waiting.retain(|waiting| *waiting != number);
            self.drop_waiting(number, Cause::Request);
        }
    }

    fn drop_waiting(&mut self, number: usize, cause: Cause) {
        if matches!(self.overlap, Overlap::Forward(_)) && self.turn(number).is_some_and(|turn| turn.told) {
            self.end.tell(Told::DropQueued(number));
        }
        self.resolve_of(number, cause);
        if let Some(turn) = self.retire(number) {
            let inserted = turn.inserted;
            if let Some(place) = self.places.get_mut(turn.seat) {
                place.work.end(number, false);
            }
            self.close_calls(turn);
            match (self.two, inserted) {
                (false, _) => self.answer(Of::Prompt(number), Said::Cancelled),
                (true, false) => self.answer(Of::Prompt(number), Said::Withdrawn),
                (true, true) => {}
            }
        }
    }

    fn abort(&mut self, number: usize, seat: Seat, cause: Cause) {
        let again = self.places.get_mut(seat).is_some_and(|place| core::mem::replace(&mut place.cancelled, true));
        let Some(turn) = self.turn(number) else { return };
        turn.cause.get_or_insert(cause);
        let came = turn.came;
        self.end.tell(Told::Abort(number, cause, again));
        self.resolve_of(number, cause);
        if !again && self.end.is_open() {
            self.end.arm(Due::Floor(came, number), FLOOR);
        }
    }

    // ---- the end of a turn -----------------------------------------------------------------------------------------

    fn retire(&mut self, number: usize) -> Option<Turn> {
        let place = self.turns.iter().position(|turn| turn.number == number)?;
        // What it asked outlives a turn that comes to its own end.
        self.asks.values_mut().filter(|asked| asked.turn == number).for_each(|asked| asked.turn = 0);
        let turn = self.turns.remove(place);
        self.end.dues.remove(&Due::Floor(turn.came, number));
        Some(turn)
    }

    pub(super) fn close_calls(&mut self, turn: Turn) {
        if !turn.calls.is_empty() {
            for call in &turn.calls {
                self.end.send(Message::Update(Update::LastWord(*call)));
            }
            self.end.tell(Told::CallsClosed(turn.number, turn.calls));
        }
    }

    pub(super) fn settle(&mut self, number: usize, ending: Ending, forced: bool) -> &'static str {
        let Some(turn) = self.retire(number) else { return "TooLate" };
        let seat = turn.seat;
        let (mut cancelled, mut next) = (turn.cause.is_some(), None);
        if let Some(place) = self.places.get_mut(seat) {
            cancelled = false;
            if place.running == Some(number) {
                cancelled = place.cancelled;
                next = place.waiting.pop_front();
                (place.running, place.cancelled) = (next, false);
            } else {
                place.waiting.retain(|waiting| *waiting != number);
            }
        }
        if cancelled || ending != Ending::Ended {
            self.close_calls(turn.clone());
        }
        let delivery =
            if self.two { self.settle_work(&turn, cancelled, ending) } else { self.reply(number, cancelled, ending) };
        if forced {
            self.end.tell(Told::Forced(number));
        }
        let waiting = self.places.get(seat).filter(|_| matches!(self.overlap, Overlap::Forward(_)));
        let waiting = waiting.map(|place| place.waiting.clone()).unwrap_or_default();
        for next in next.into_iter().chain(waiting.into_iter().filter(|_| next.is_some())) {
            self.start(next);
        }
        self.may_close(seat);
        self.end.settle(self.owes());
        delivery
    }

    /// The host is told of a prompt, if it was not.
    fn start(&mut self, number: usize) {
        if self.turn(number).is_some_and(|turn| !core::mem::replace(&mut turn.told, true)) {
            self.end.tell(Told::Prompt(number));
        }
    }

    /// Version 1: the answer to the prompt is the end of the turn.
    fn reply(&mut self, number: usize, cancelled: bool, ending: Ending) -> &'static str {
        let (said, delivery) = match ending {
            Ending::Cancelled if cancelled => (Said::Cancelled, "Queued"),
            _ if cancelled => (Said::Cancelled, "AsCancelled"),
            Ending::Cancelled => (Said::Withdrawn, "AsWithdrawn"),
            Ending::Ended => (Said::Ended, "Queued"),
            Ending::Failed => (Said::Failed(INTERNAL), "Queued"),
        };
        self.end.send(Message::Answer(Of::Prompt(number), said));
        delivery
    }
}
