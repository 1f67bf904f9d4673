//! The peer's requests: what is owed for each, and paying it once. Answers of a batch wait for each other.

use alloc::{boxed::Box, collections::BTreeMap, format, vec::Vec};

use bytes::{Bytes, BytesMut};

use super::{Connection, Role, recording::note};
use crate::{
    action::{Common, Delivery},
    error::Refused,
    machine::{IncomingInput, IncomingOutput, Machine},
    outbox::{NoRoom, Room, Tag},
    ticket::{IncomingKey, SessionKey, Ticket, TurnKey},
    timers::Cause,
    wire::{Capabilities, ErrorObject, Id, Method, MethodName, Payload, code, write_answer},
};

/// What is known about an open request of the peer's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Served {
    pub(super) method: MethodName,
    pub(super) duty: Duty,
    pub(super) place: Option<Place>,
}

/// What kind of answer is owed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Duty {
    /// Whatever the host says.
    Plain { session: Option<SessionKey> },
    /// The version agreement, and what the peer had offered before it.
    Initialize { version: u16, before: Capabilities },
    /// A session; for load and resume it is there already, and `fresh` if it was made for this request. `replay`: its
    /// history is to be told first.
    Open { method: Method, session: Option<SessionKey>, fresh: bool, replay: bool },
    /// The end of a session; the host is told once its turns are over.
    Close { session: SessionKey, told: bool },
    /// Version 2: the same, asked for again.
    CloseToo { session: SessionKey },
    /// The end of a stored session, which may be open here as well.
    Delete { session: Option<SessionKey> },
    /// The end of a prompt turn; in version 2 its insertion.
    Prompt(TurnKey),
    /// Version 2: the same prompt, sent again.
    PromptAgain(TurnKey),
    /// A decision among these options.
    Permission { session: SessionKey, options: Box<[Box<str>]> },
}

/// Where in a batch the answer belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) batch: u64,
    pub(super) index: usize,
}

/// Batches whose answers are not all there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct OpenBatches {
    next: u64,
    /// Bytes of all answers that wait here.
    bytes: usize,
    open: BTreeMap<u64, Batch>,
}

/// Bytes to set aside for an answer that may come to an error; most are shorter.
const ERROR: usize = 160;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Batch {
    /// In the order of the elements; those that get no answer stay empty.
    answers: Vec<Option<(Id, Bytes)>>,
    /// What they take in the array: with a comma each.
    bytes: usize,
    /// Answers owed; one more while the elements are still being read.
    owed: usize,
}

impl OpenBatches {
    /// Opens a batch of this many elements, to be closed by one extra [`settle`](Self::settle).
    pub(super) fn begin(&mut self, elements: usize) -> u64 {
        self.next += 1;
        self.open.insert(self.next, Batch { answers: alloc::vec![None; elements], bytes: 0, owed: 1 });
        self.next
    }

    pub(super) fn owe(&mut self, batch: u64) {
        if let Some(batch) = self.open.get_mut(&batch) {
            batch.owed += 1;
        }
    }

    fn put(&mut self, place: Place, id: Id, answer: Bytes) {
        let Some(batch) = self.open.get_mut(&place.batch) else { return };
        if let Some(slot) = batch.answers.get_mut(place.index) {
            self.bytes += answer.len() + 1;
            batch.bytes += answer.len() + 1;
            *slot = Some((id, answer));
        }
    }

    /// Bytes that the array of this batch will have at least, once an answer of `size` is in it, and errors in the places
    /// of what is still owed.
    fn length_with(&self, batch: u64, size: usize) -> usize {
        self.open.get(&batch).map_or(0, |batch| {
            let others = batch.owed.saturating_sub(1).saturating_mul(ERROR);
            batch.bytes.saturating_add(size).saturating_add(2).saturating_add(others)
        })
    }

    /// One thing owed less; the answers, if that was the last.
    fn settle(&mut self, batch: u64) -> Option<Vec<(Id, Bytes)>> {
        let open = self.open.get_mut(&batch)?;
        open.owed = open.owed.saturating_sub(1);
        if open.owed > 0 {
            return None;
        }
        let done = self.open.remove(&batch)?;
        self.bytes -= done.bytes;
        Some(done.answers.into_iter().flatten().collect())
    }
}

impl<R: Role> Connection<R> {
    /// Answers a request of the peer's.
    ///
    /// # Errors
    ///
    /// None at present: that nobody waits any more is [`Delivery::TooLate`].
    pub fn respond(
        &mut self,
        ticket: Ticket,
        answer: Result<Payload, ErrorObject>,
        now: crate::Timestamp,
    ) -> Result<Delivery, Refused<Ticket>> {
        note!(self, "respond", now, "ticket" = ticket.key, "answer" = answer);
        self.advance(now);
        self.before_answer(ticket.key, answer.as_ref().map(drop));
        Ok(self.answer(ticket.key, answer.as_ref()))
    }

    /// Tells the core that a ticket was dropped: it answers in the host's place. A permission is `cancelled`, a turn
    /// that was being cancelled is `cancelled`, anything else is an error: of code -32800 if you were asked to cancel it,
    /// else -32603.
    pub fn abandon(&mut self, key: IncomingKey, now: crate::Timestamp) -> Delivery {
        note!(self, "abandon", now, "ticket" = key);
        self.advance(now);
        let error = if self.incoming.cancel_seen(key.0) {
            Self::cancelled_error("the request")
        } else {
            ErrorObject::new(code::INTERNAL_ERROR, "the request was dropped without an answer")
        };
        self.answer_for_host(key, &error)
    }

    /// Answers what an action still owes, for a host that does not handle it: a method is not found, a permission is
    /// `cancelled`, a session is not opened, a turn ends with an error, a closing session may go. Actions that owe
    /// nothing are simply dropped.
    pub fn decline(&mut self, action: R::Action, now: crate::Timestamp) -> Delivery {
        // The answer, if one is owed, is written down as the command it is.
        note!(self, "time", now);
        self.advance(now);
        R::decline(self, action)
    }

    pub(super) fn decline_common(&mut self, common: Common) -> Delivery {
        match common {
            Common::Request { ticket, method, .. } => {
                let error = Self::not_served(method.as_str());
                note!(self, "respond", self.now, "ticket" = ticket.key, "answer" = error);
                self.answer(ticket.key, Err(&error))
            }
            Common::CancelRequested(_)
            | Common::CancelUnconfirmed(_)
            | Common::Silent(_)
            | Common::Notification { .. }
            | Common::Resolved(_)
            | Common::Violation(_)
            | Common::Closed(_) => Delivery::TooLate,
        }
    }

    pub(super) fn not_served(method: &str) -> ErrorObject {
        ErrorObject::new(code::METHOD_NOT_FOUND, format!("`{method}` is not served here"))
    }

    // ---- inside ------------------------------------------------------------------------------------------------

    /// Pays what is owed for this request. The only way any of them is answered.
    pub(super) fn answer(&mut self, key: IncomingKey, answer: Result<&Payload, &ErrorObject>) -> Delivery {
        let Ok(IncomingOutput::Answered { id, about, .. }) = self.incoming.step(IncomingInput::Answer(key.0)) else {
            return Delivery::TooLate;
        };
        self.timers.disarm(Cause::Permission(key));
        let delivery =
            if self.lifecycle.is_closed() { Delivery::TooLate } else { self.write_answer(&id, about.place, answer) };
        self.touch_clocks();
        self.settle_end();
        delivery
    }

    /// Writes an answer, alone or into its batch.
    pub(super) fn write_answer(
        &mut self,
        id: &Id,
        place: Option<Place>,
        answer: Result<&Payload, &ErrorObject>,
    ) -> Delivery {
        if let Some(place) = place {
            return self.write_answer_into(id, place, answer);
        }
        let limits = &self.config.limits;
        let room = Room {
            line: limits.line,
            total: self.obligation_room().saturating_sub(self.batches.bytes),
            always: limits.reserve_per_request,
        };
        let written = self.outbox.offer(Tag::Plain, room, |out| {
            write_answer(out, id, answer);
            out.extend_from_slice(b"\n");
        });
        match written {
            Ok(_) => Delivery::Queued,
            Err(why) => {
                let error = no_room(why, self.config.limits.line);
                self.outbox.push(Tag::Plain, |out| {
                    write_answer(out, id, Err(&error));
                    out.extend_from_slice(b"\n");
                });
                Delivery::AsError
            }
        }
    }

    /// The same into a batch, where it waits for the others: it counts as what waits to be written, and the array of
    /// them has to fit a line.
    fn write_answer_into(&mut self, id: &Id, place: Place, answer: Result<&Payload, &ErrorObject>) -> Delivery {
        let limits = &self.config.limits;
        let mut out = BytesMut::new();
        write_answer(&mut out, id, answer);
        let waiting = self.outbox.bytes().saturating_add(self.batches.bytes);
        let why = match self.batches.length_with(place.batch, out.len()) {
            size if size > limits.line => Some(NoRoom::Line { size }),
            _ if out.len() > limits.reserve_per_request
                && waiting.saturating_add(out.len()) > self.obligation_room() =>
            {
                Some(NoRoom::Total)
            }
            _ => None,
        };
        let (delivery, error) = match why.filter(|_| out.len() > ERROR) {
            Some(why) => (Delivery::AsError, Some(no_room(why, limits.line))),
            None => (Delivery::Queued, None),
        };
        if let Some(error) = &error {
            out.clear();
            write_answer(&mut out, id, Err(error));
        }
        self.batches.put(place, id.clone(), out.freeze());
        self.settle_batch(place.batch);
        delivery
    }

    /// One thing owed less in a batch; once nothing is, its answers go out as one array, if there are any.
    pub(super) fn settle_batch(&mut self, batch: u64) {
        let Some(mut answers) = self.batches.settle(batch) else { return };
        if answers.is_empty() {
            return;
        }
        // Should it be too long all the same, for the length of the ids, the largest answers become errors.
        let line = self.config.limits.line;
        let length = |answers: &[(Id, Bytes)]| answers.iter().map(|(_, answer)| answer.len() + 1).sum::<usize>() + 1;
        let mut by_size: Vec<usize> = (0..answers.len()).collect();
        by_size.sort_by_key(|index| core::cmp::Reverse(answers.get(*index).map_or(0, |(_, answer)| answer.len())));
        for index in by_size {
            let size = length(&answers);
            if size <= line {
                break;
            }
            if let Some((id, answer)) = answers.get_mut(index) {
                let mut out = BytesMut::new();
                write_answer(&mut out, id, Err(&no_room(NoRoom::Line { size }, line)));
                *answer = out.freeze();
            }
        }
        self.outbox.push(Tag::Plain, |out| {
            for (index, (_, answer)) in answers.iter().enumerate() {
                out.extend_from_slice(if index == 0 { b"[" } else { b"," });
                out.extend_from_slice(answer);
            }
            out.extend_from_slice(b"]\n");
        });
    }

    /// Bytes that answers may fill the queue to: the budget, and a reserve for each of them.
    pub(super) fn obligation_room(&self) -> usize {
        let limits = &self.config.limits;
        let reserve = limits.reserve_per_request.saturating_mul(self.incoming.len().saturating_add(1));
        limits.queued_bytes.saturating_add(reserve)
    }

    /// What is known about an open request of the peer's.
    pub(super) fn duty(&self, key: IncomingKey) -> Option<&Duty> {
        self.incoming.get(key.0).map(|served| &served.duty)
    }

    pub(super) fn set_duty(&mut self, key: IncomingKey, duty: Duty) {
        if let Some(served) = self.incoming.get_mut(key.0) {
            served.duty = duty;
        }
    }

    /// The error for a session that does not exist here (ACP: resource not found, with `data.sessionId`).
    pub(super) fn unknown_session(&self, id: &str) -> ErrorObject {
        let error = ErrorObject::new(self.config.unknown_session_code, format!("no session {id:?} on this connection"));
        match Payload::new(id) {
            Ok(id) => match Payload::splice(&[br#""sessionId":"#, id.as_bytes()].concat(), &Payload::EMPTY) {
                Some(data) => error.with_data(data),
                None => error,
            },
            Err(_) => error,
        }
    }

    /// The error that stands in for an answer nobody gave.
    pub(super) fn cancelled_error(what: &str) -> ErrorObject {
        ErrorObject::new(code::REQUEST_CANCELLED, format!("{what} was cancelled"))
    }
}

fn no_room(why: NoRoom, line: usize) -> ErrorObject {
    let why = match why {
        NoRoom::Line { size } => format!("the answer takes {size} bytes, and a line may have {line}"),
        NoRoom::Total => "too many bytes wait to be written".into(),
    };
    ErrorObject::new(code::INTERNAL_ERROR, why)
}
