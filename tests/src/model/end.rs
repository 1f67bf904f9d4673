//! What both ends have in common on paper: whether the connection stands, what waits to be written, what waits to be
//! told, and until when.

use std::collections::{BTreeMap, VecDeque};

use super::{
    places::Seat,
    words::{CancelKind, Message, Of, Reason, Told},
};

/// Time to pay what is owed, in milliseconds; and then for each message that waits to be written.
const DRAIN: u64 = 2_000;

/// What a deadline is for. Of two at once the first of these comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// The answer to a request of this number.
    Request(usize),
    /// The end of a prompt that was stopped.
    Stop(usize),
    /// The end of a turn that was cancelled, which came as the so manieth.
    Floor(usize, usize),
    /// The end of the turn of a session that is closed.
    CloseSession(Seat),
    /// What is owed at the end.
    Drain,
}

/// Where the connection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Life {
    /// It works.
    #[default]
    Open,
    /// It pays what it owes.
    Draining(Reason),
    /// It is over.
    Closed(Reason),
}

/// How far the version agreement is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Accord {
    /// There is none.
    #[default]
    None,
    /// It was asked for.
    Offered,
    /// There is one.
    Agreed,
}

/// A message, and what its writer has to know if it gets lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) message: Message,
    /// The prompt that it cancels, and how.
    pub(super) cancels: Option<(usize, CancelKind)>,
}

/// One end.
#[derive(Clone, Debug, Default)]
pub(super) struct End {
    /// Whether it is initialized.
    pub(super) accord: Accord,
    /// Whether anything else was asked since.
    pub(super) used: bool,
    /// Where it is.
    pub(super) life: Life,
    /// The last time it was told, in milliseconds.
    pub(super) clock: u64,
    /// What waits to be written.
    pub(super) outbox: VecDeque<Frame>,
    /// What waits for the host.
    pub(super) told: VecDeque<Told>,
    /// When something is due.
    pub(super) dues: BTreeMap<Due, u64>,
}

impl End {
    /// Whether new work can begin.
    pub(super) fn is_open(&self) -> bool {
        self.life == Life::Open
    }

    /// Whether all is over.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.life, Life::Closed(_))
    }

    /// Queues a message. After the end there is nobody to send it to.
    pub(super) fn send(&mut self, message: Message) {
        if !self.is_closed() {
            self.outbox.push_back(Frame { message, cancels: None });
        }
    }

    /// The same for a cancel of this prompt.
    pub(super) fn send_cancel(&mut self, session: usize, prompt: usize, kind: CancelKind) {
        self.outbox.push_back(Frame { message: Message::Cancel(session), cancels: Some((prompt, kind)) });
    }

    /// Takes messages back that were not written. Whether there were any.
    pub(super) fn unsend(&mut self, unwanted: &Message) -> bool {
        self.take_back(|frame| frame.message == *unwanted)
    }

    /// The same for the cancels of this prompt.
    pub(super) fn unsend_cancels(&mut self, prompt: usize) -> bool {
        self.take_back(|frame| frame.cancels.is_some_and(|(of, _)| of == prompt))
    }

    fn take_back(&mut self, unwanted: impl Fn(&Frame) -> bool) -> bool {
        let before = self.outbox.len();
        self.outbox.retain(|frame| !unwanted(frame));
        self.outbox.len() < before
    }

    /// The host will be told.
    pub(super) fn tell(&mut self, told: Told) {
        self.told.push_back(told);
    }

    /// Something is due in so many milliseconds.
    pub(super) fn arm(&mut self, due: Due, after: u64) {
        self.dues.insert(due, self.clock + after);
    }

    /// When something is due next, and what.
    pub(super) fn next(&self) -> Option<(u64, Due)> {
        self.dues.iter().map(|(due, at)| (*at, *due)).min()
    }

    /// What is due now.
    pub(super) fn due(&mut self) -> Option<Due> {
        let (at, due) = self.next()?;
        if at > self.clock {
            return None;
        }
        self.dues.remove(&due);
        Some(due)
    }

    /// Begins the end. Whether it had not begun.
    pub(super) fn drain(&mut self, reason: Reason) -> bool {
        let first = self.is_open();
        if first {
            self.life = Life::Draining(reason);
            self.dues.clear();
        }
        first
    }

    /// The same at once. The first reason stays.
    pub(super) fn cut(&mut self, reason: Reason) {
        self.life = match self.life {
            Life::Open => Life::Closed(reason),
            Life::Draining(first) | Life::Closed(first) => Life::Closed(first),
        };
        self.outbox.clear();
        self.dues.clear();
    }

    /// The end has its time.
    pub(super) fn arm_drain(&mut self) {
        self.arm(Due::Drain, DRAIN);
    }

    /// The last thing that is told.
    pub(super) fn tell_closed(&mut self) {
        if let Life::Closed(reason) = self.life {
            self.tell(Told::Closed(reason));
        }
    }

    /// Whether the end has come.
    pub(super) fn settle(&mut self, owes: bool) {
        if let (Life::Draining(reason), false, true) = (self.life, owes, self.outbox.is_empty()) {
            self.life = Life::Closed(reason);
            self.dues.clear();
            self.tell_closed();
        }
    }

    /// The next message is written. A peer that reads gets its time again.
    pub(super) fn hand_out(&mut self, owes: bool) -> Option<Frame> {
        let frame = self.outbox.pop_front()?;
        if self.dues.contains_key(&Due::Drain) && !owes {
            self.arm_drain();
        }
        self.settle(owes);
        Some(frame)
    }

    /// Nobody needs to hear of a cancel of what is over.
    pub(super) fn over(&mut self, what: Of) {
        self.unsend(&Message::Withdraw(what));
    }
}
