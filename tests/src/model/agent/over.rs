//! What an agent's time comes to, and its end; and what its transport gives up.

use super::{Agent, Due, errands::Task};
use crate::model::{
    end::Frame,
    words::{Cause, Ending, Message, Of, Reason, Resolution, Said, Told, Want},
};

impl Agent {
    pub(in crate::model) fn expire(&mut self, due: Due) {
        match due {
            Due::Request(ask) => {
                if !self.resolve_unsent(ask, Resolution::TimedOut) {
                    self.resolve(ask, Resolution::TimedOut);
                }
            }
            Due::Floor(_, number) => drop(self.settle(number, Ending::Cancelled, true)),
            Due::CloseSession(seat) => {
                if let Some(running) = self.places.get(seat).and_then(|place| place.running) {
                    self.settle(running, Ending::Cancelled, true);
                }
            }
            Due::Drain if self.owes() => self.force(),
            Due::Drain => self.cut(Reason::Local),
            Due::Stop(_) => {}
        }
    }

    /// What the host owes is answered in its place, in the order in which it was asked.
    fn force(&mut self) {
        self.end.arm_drain();
        let mut owed: Vec<_> = self.turns.iter().map(|turn| (turn.inserted, turn.came, Ok(turn.number))).collect();
        owed.extend(self.tasks.iter().map(|task| (false, task.came, Err(task.of))));
        // Work whose prompt is answered comes last.
        owed.sort_unstable_by_key(|(inserted, came, _)| (*inserted, *came));
        for (.., owed) in owed {
            match owed {
                Ok(number) => drop(self.settle(number, Ending::Cancelled, true)),
                Err(of) => {
                    if let Some(place) = self.tasks.iter().position(|task| task.of == of) {
                        let task = self.tasks.remove(place);
                        self.undo(task, Said::Withdrawn);
                    }
                }
            }
        }
    }

    pub(in crate::model) fn drain(&mut self, reason: Reason) {
        if self.end.drain(reason) {
            self.let_go();
            for place in 0..self.tasks.len() {
                let Task { want, told, .. } = self.tasks[place];
                if told && want != Want::Initialize {
                    self.signal(place, true);
                }
            }
            self.end.arm_drain();
            self.end.settle(self.owes());
        }
    }

    pub(in crate::model) fn cut(&mut self, reason: Reason) {
        if self.end.is_closed() {
            return;
        }
        let open = self.end.is_open();
        self.end.cut(reason);
        if open {
            self.let_go();
        }
        self.tasks.clear();
        for turn in core::mem::take(&mut self.turns) {
            self.close_calls(turn);
        }
        self.end.dues.clear();
        self.end.tell_closed();
    }

    fn let_go(&mut self) {
        self.resolve_those(|_| true, Resolution::Closed);
        for seat in self.places.seats() {
            self.cancel_all(seat, Cause::Closing);
        }
    }

    /// A frame of ours did not arrive.
    pub(in crate::model) fn undelivered(&mut self, frame: &Frame) {
        match frame.message {
            Message::Ask(ask, _) if self.asks.contains_key(&ask) => self.resolve(ask, Resolution::Undelivered),
            Message::Withdraw(Of::Ask(ask)) => {
                if let Some(asked) = self.asks.get_mut(&ask) {
                    asked.taken_back = false;
                    self.end.tell(Told::CancelUnconfirmed(Of::Ask(ask)));
                }
            }
            Message::Ask(..) => {}
            _ => self.cut(Reason::Lost),
        }
    }
}
