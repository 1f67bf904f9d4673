//! What a client's time comes to, and its end; and what its transport gives up.

use super::{Client, Due, Kind, Message, Of, Place, Said, Settled, Steer, Told, leg};
use crate::model::{
    end::Frame,
    words::{CancelKind, Reason, Resolution},
};

impl Client {
    pub(in crate::model) fn expire(&mut self, due: Due) {
        match due {
            Due::Request(number) => {
                if let Some((_, leg)) = self.open.iter().filter_map(|of| leg(*of)).find(|(of, _)| *of == number) {
                    self.end.unsend(&Message::Errand(number, leg));
                    self.resolved(number, Resolution::TimedOut);
                }
            }
            Due::Stop(_) => self.cut(Reason::StopUnconfirmed),
            Due::Drain if self.owes() => {
                self.end.arm_drain();
                for (ask, owed) in core::mem::take(&mut self.owed) {
                    let said = if owed.kind == Some(Kind::Read) { Said::Withdrawn } else { Said::Dismissed };
                    self.answer(ask, said);
                }
                self.end.settle(false);
            }
            Due::Drain => self.cut(Reason::Local),
            Due::Floor(..) | Due::CloseSession(_) => {}
        }
    }

    pub(in crate::model) fn drain(&mut self, reason: Reason) {
        if self.end.drain(reason) {
            self.let_go();
            for ask in self.those(|owed| owed.kind == Some(Kind::Read)) {
                self.signal(ask);
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
        self.owed.clear();
        self.end.dues.clear();
        self.end.tell_closed();
    }

    /// Nothing of ours will be answered any more.
    fn let_go(&mut self) {
        for of in self.open.clone() {
            match of {
                Of::Prompt(number) => {
                    self.end.unsend(&Message::Prompt(number));
                    self.settle(number, Settled::Closed);
                }
                Of::Errand(number, leg) => {
                    self.end.unsend(&Message::Errand(number, leg));
                    self.resolved(number, Resolution::Closed);
                }
                Of::Ask(_) | Of::Stray => {}
            }
        }
        for number in self.live.keys().copied().collect::<Vec<_>>() {
            self.settle(number, Settled::Closed);
        }
        for seat in self.places.seats() {
            self.void(seat);
        }
    }

    /// A frame of ours did not arrive.
    pub(in crate::model) fn undelivered(&mut self, frame: &Frame) {
        if let Some((number, kind)) = frame.cancels {
            return self.not_cancelled(number, kind);
        }
        match frame.message {
            Message::Prompt(number) if self.is_open(Of::Prompt(number)) => self.settle(number, Settled::Undelivered),
            Message::Errand(number, leg) if self.is_open(Of::Errand(number, leg)) => {
                self.resolved(number, Resolution::Undelivered);
            }
            Message::Withdraw(Of::Errand(number, leg)) => self.not_retracted(number, leg),
            Message::Withdraw(Of::Prompt(number)) => self.not_taken_back(number),
            Message::Prompt(_) | Message::Errand(..) => {}
            _ => self.cut(Reason::Lost),
        }
    }

    /// The cancel of a turn did not arrive: nothing was asked, and it may be asked again.
    fn not_cancelled(&mut self, number: usize, kind: CancelKind) {
        let Some(place) = self.live.get(&number).copied().and_then(|seat| self.places.get_mut(seat)) else { return };
        let stop = kind == CancelKind::Stop;
        let steer = !stop || place.steered == Steer::Joined;
        if stop {
            place.stopped = false;
            self.end.dues.remove(&Due::Stop(number));
        }
        if steer {
            place.steered = Steer::Unasked;
        }
        if !place.is_cancelled() {
            place.work.spare_none();
            let seat = self.live.get(&number).copied();
            let riding: Vec<_> = self.riding.iter().copied().filter(|of| self.live.get(of).copied() == seat).collect();
            for number in riding.into_iter().chain([number]) {
                self.riding.remove(&number);
                self.wanted.remove(&number);
            }
        }
        self.end.tell(Told::CancelUndelivered(number, stop, steer));
    }

    /// The same for one that waited at the agent. By now it may run, and be cancelled as that.
    fn not_taken_back(&mut self, number: usize) {
        let (true, Some(seat)) = (self.asked.remove(&number), self.live.get(&number).copied()) else { return };
        let runs = self.is_running(number, seat);
        if !(runs && self.places.get(seat).is_some_and(Place::is_cancelled)) {
            self.wanted.remove(&number);
            self.end.tell(Told::CancelUndelivered(number, true, true));
        }
    }
}
