//! The peer's requests: what is owed for each, and paying it once. Answers of a batch wait for each other.

use alloc::{boxed::Box, collections::BTreeMap, format, vec::Vec};

use bytes::{Bytes, BytesMut};

use super::{Connection, Role};
use crate::{
    action::Delivery,
    machine::{IncomingInput, IncomingOutput, Machine},
    outbox::{NoRoom, Room, Tag},
    ticket::{IncomingKey, SessionKey, TurnKey},
    wire::{ErrorObject, Id, Method, MethodName, Payload, code, write_answer},
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
    /// The version agreement.
    Initialize { version: u16 },
    /// A session; for load and resume it is there already, and `fresh` if it was made for this request.
    Open { method: Method, session: Option<SessionKey>, fresh: bool },
    /// The end of a session; the host is told once its turns are over.
    Close { session: SessionKey, told: bool },
    /// The end of a stored session, which may be open here as well.
    Delete { session: Option<SessionKey> },
    /// The end of a prompt turn.
    Prompt(TurnKey),
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
    open: BTreeMap<u64, Batch>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Batch {
    /// In the order of the elements; those that get no answer stay empty.
    answers: Vec<Option<(Id, Bytes)>>,
    /// Answers owed; one more while the elements are still being read.
    owed: usize,
}

impl OpenBatches {
    /// Opens a batch of this many elements, to be closed by one extra [`settle`](Self::settle).
    pub(super) fn begin(&mut self, elements: usize) -> u64 {
        self.next += 1;
        self.open.insert(self.next, Batch { answers: alloc::vec![None; elements], owed: 1 });
        self.next
    }

    pub(super) fn owe(&mut self, batch: u64) {
        if let Some(batch) = self.open.get_mut(&batch) {
            batch.owed += 1;
        }
    }

    fn put(&mut self, place: Place, id: Id, answer: Bytes) {
        let batch = self.open.get_mut(&place.batch);
        if let Some(slot) = batch.and_then(|batch| batch.answers.get_mut(place.index)) {
            *slot = Some((id, answer));
        }
    }

    /// One thing owed less; the answers, if that was the last.
    fn settle(&mut self, batch: u64) -> Option<Vec<(Id, Bytes)>> {
        let open = self.open.get_mut(&batch)?;
        open.owed = open.owed.saturating_sub(1);
        if open.owed > 0 {
            return None;
        }
        let done = self.open.remove(&batch)?;
        Some(done.answers.into_iter().flatten().collect())
    }
}

impl<R: Role> Connection<R> {
    /// Pays what is owed for this request. The only way any of them is answered.
    pub(super) fn answer(&mut self, key: IncomingKey, answer: Result<&Payload, &ErrorObject>) -> Delivery {
        let Ok(IncomingOutput::Answered { id, about, .. }) = self.incoming.step(IncomingInput::Answer(key.0)) else {
            return Delivery::TooLate;
        };
        let delivery =
            if self.lifecycle.is_closed() { Delivery::TooLate } else { self.write_answer(&id, about.place, answer) };
        self.touch_idle();
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
            let mut out = BytesMut::new();
            write_answer(&mut out, id, answer);
            self.batches.put(place, id.clone(), out.freeze());
            self.settle_batch(place.batch);
            return Delivery::Queued;
        }
        let room = Room { line: self.config.limits.line, total: self.obligation_room() };
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

    /// One thing owed less in a batch; once nothing is, its answers go out as one array, if there are any.
    pub(super) fn settle_batch(&mut self, batch: u64) {
        let Some(mut answers) = self.batches.settle(batch) else { return };
        if answers.is_empty() {
            return;
        }
        // An array over the limit is made to fit by turning the largest answers into errors.
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
}

fn no_room(why: NoRoom, line: usize) -> ErrorObject {
    let why = match why {
        NoRoom::Line { size } => format!("the answer takes {size} bytes, and a line may have {line}"),
        NoRoom::Total => "too many bytes wait to be written".into(),
    };
    ErrorObject::new(code::INTERNAL_ERROR, why)
}
