//! What version 2 asks of an agent: a prompt is answered when it is inserted, and the state of the foreground tells when
//! work begins and ends. In version 1 the answer to the prompt is both, and nothing here is sent.

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet, VecDeque},
    format,
};

use bytes::BytesMut;
use smallvec::SmallVec;

use super::{
    Connection,
    answer::Duty,
    recording::note,
    turns::{Held, Turn},
};
use crate::{
    action::{Delivery, TurnEnd},
    error::{CommandError, Misuse},
    machine::{Foreground, Machine, Work, WorkInput, WorkOutput},
    outbox::Tag,
    role::Agent,
    session::Stage,
    ticket::{IncomingKey, SessionKey, TurnKey},
    time::Timestamp,
    wire::{
        ErrorObject, Payload, StopReason, code,
        dialect::v2::{self, Ending, Entity},
        write_update,
    },
};

/// What an agent keeps of a session in version 2.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Kept {
    pub(super) work: Work,
    /// What goes on in the background, an array, if the host said so: then every report has to.
    pub(super) background: Option<Payload>,
    /// Prompts that may be sent again: their keys, and the ids of their messages.
    recorded: BTreeMap<Box<str>, Box<str>>,
    /// The same keys, oldest first.
    order: VecDeque<Box<str>>,
    /// What may be cancelled by itself.
    pub(super) cancellable: BTreeSet<Entity>,
}

impl Connection<Agent> {
    /// Inserts a prompt into its session under this id, in version 2: answers `session/prompt`, reports the session as
    /// running, and tells the user's message. In version 1 nothing is sent.
    ///
    /// Without it the core does the same with an id of its own, unique on this connection only, when the first thing is
    /// sent in the turn, or when it ends well. So an agent that keeps its history, or may have to wait before a prompt has
    /// a place in it, calls this; and one that cannot take a prompt ends the turn with an error before: then it was never
    /// inserted.
    ///
    /// [`Delivery::TooLate`]: it is inserted already, or the turn is over or being cancelled.
    ///
    /// # Errors
    ///
    /// The id is empty; [`CommandError::Full`] if the user's message has no room: nothing was sent.
    pub fn insert_prompt(&mut self, turn: TurnKey, message: &str, now: Timestamp) -> Result<Delivery, CommandError> {
        note!(self, "insert_prompt", now, "turn" = turn, "message" = message);
        self.advance(now);
        if message.is_empty() {
            return Err(Misuse::Payload("the id of a message must not be empty").into());
        }
        if !self.speaks_v2() {
            return Ok(Delivery::Queued);
        }
        let fits = |conn: &mut Self, size| match conn.has_room(size) {
            true => Ok(0),
            false => Err(CommandError::Full { what: "limits.queued_bytes" }),
        };
        let inserted = self.insert_waiting(turn, Some(message), fits)?;
        Ok(if inserted.is_some() { Delivery::Queued } else { Delivery::TooLate })
    }

    /// The id of a turn's prompt in its session, once it is inserted: version 2 only.
    #[must_use]
    pub fn message_id(&self, turn: TurnKey) -> Option<&str> {
        self.turns.get(&turn)?.message.as_deref().filter(|message| !message.is_empty())
    }

    // ---- what arrives --------------------------------------------------------------------------------------------

    /// A prompt of version 2. `None`: it was sent before, and is answered, or will be with the first.
    pub(super) fn receive_submission(
        &mut self,
        key: IncomingKey,
        session: SessionKey,
        params: &Payload,
    ) -> Result<Option<Held>, ErrorObject> {
        let invalid = |why| ErrorObject::new(code::INVALID_PARAMS, why);
        let content = v2::prompt(params).ok_or_else(|| invalid("`prompt` must be an array that is not empty"))?;
        let Some(name) = v2::idempotency_key(params).map_err(invalid)? else {
            return Ok(Some(Held::new(content.detach(), None)));
        };
        if let Some(message) = self.recorded(session, &name) {
            self.answer(key, Ok(&v2::write_inserted(&message)));
            return Ok(None);
        }
        let limit = self.config.limits.idempotency_keys;
        let same = |turn: &&mut Turn| {
            turn.session == session && turn.held.as_ref().is_some_and(|held| held.key.as_ref() == Some(&name))
        };
        let first = self.turns.iter_mut().find(|(_, turn)| same(turn));
        let Some((turn, held)) = first.and_then(|(turn, of)| Some((*turn, of.held.as_mut()?))) else {
            return Ok(Some(Held::new(content.detach(), Some(name))));
        };
        if held.again.len() >= limit {
            return Err(ErrorObject::new(code::INTERNAL_ERROR, "this prompt was sent too many times"));
        }
        held.again.push(key.0);
        self.set_duty(key, Duty::PromptAgain(turn));
        Ok(None)
    }

    /// `session/close` in version 2, where it may be repeated: `None` if this one is the first.
    pub(super) fn close_again(
        &mut self,
        key: IncomingKey,
        session: Option<SessionKey>,
    ) -> Option<Result<(), ErrorObject>> {
        match session.and_then(|key| Some((key, self.sessions.get(key)?.stage))) {
            None => drop(self.answer(key, Ok(&Payload::EMPTY))),
            Some((session, Stage::Closing)) => self.set_duty(key, Duty::CloseToo { session }),
            Some(_) => return None,
        }
        Some(Ok(()))
    }

    /// Whether work is being cancelled that has to be reported as over before other work begins (ACP v2, `session/cancel`): a
    /// backend that queues by itself gets what is prompted meanwhile when it is, since it could begin it at once.
    pub(super) fn is_cancelling_work(&self, session: SessionKey) -> bool {
        self.speaks_v2() && self.sessions.get(session).is_some_and(|known| known.turns.is_cancelling())
    }

    // ---- insertion ---------------------------------------------------------------------------------------------

    /// A prompt that its host did not insert is inserted when its work shows: when what shows it has room, since a refused
    /// command changes nothing. Bytes that have room in any case, now that this is done.
    pub(super) fn insert_if_due(
        &mut self,
        turn: TurnKey,
        write: impl FnOnce(&mut BytesMut),
    ) -> Result<usize, CommandError> {
        Ok(self.insert_waiting(turn, None, |conn, _| conn.fits(write))?.unwrap_or(0))
    }

    /// Gives a prompt its place, unless that comes too late. `fits` is given the size of its message, and says how many
    /// bytes more will follow if all has room: a refused command changes nothing.
    fn insert_waiting(
        &mut self,
        turn: TurnKey,
        message: Option<&str>,
        fits: impl FnOnce(&mut Self, usize) -> Result<usize, CommandError>,
    ) -> Result<Option<usize>, CommandError> {
        let Some((of, held)) = self.turns.get(&turn).and_then(|of| Some((of, of.held.as_ref()?))) else {
            return Ok(None);
        };
        let (session, request, cancelled, size) = (of.session, of.request, of.cause.is_some(), held.content.len());
        let mut work = self.role.kept.get(&session).map(|kept| kept.work.clone()).unwrap_or_default();
        let Ok(placed) = work.step(WorkInput::Insert { turn: turn.0, cancelled });
        if placed != WorkOutput::Inserted {
            return Ok(None);
        }
        let follows = fits(self, size)?;
        self.role.kept.entry(session).or_default().work = work;
        let message = message.map_or_else(|| message_of(turn), Into::into);
        let held = self.turns.get_mut(&turn).and_then(|of| {
            of.message = Some(message.clone());
            of.held.take()
        });
        if let Some(held) = held {
            self.insert(session, request, *held, &message, follows);
        }
        Ok(Some(follows))
    }

    /// One input of the machine of a session's work. In a session that is gone nothing is worked on.
    pub(super) fn step_work(&mut self, session: SessionKey, input: WorkInput) -> WorkOutput {
        if self.sessions.get(session).is_none() {
            return WorkOutput::TooLate;
        }
        let Ok(output) = self.role.kept.entry(session).or_default().work.step(input);
        output
    }

    /// The answer, the state, and the message. `follows`: bytes for which there has to be room afterwards.
    fn insert(&mut self, session: SessionKey, request: u64, held: Held, message: &str, follows: usize) {
        let inserted = v2::write_inserted(message);
        for key in core::iter::once(request).chain(held.again) {
            self.answer(IncomingKey(key), Ok(&inserted));
        }
        if let Some(key) = held.key {
            self.remember(session, key, message);
        }
        self.report(session, Foreground::Running, None);
        let told = self.has_room(held.content.len().saturating_add(follows)) && {
            let whole = v2::write_user_message(message, Some(&held.content));
            let id = self.sessions.get(session).map(|known| known.id.clone());
            id.is_some_and(|id| self.offer(Tag::Plain, |out| write_update(out, &id, &whole)).is_ok())
        };
        if !told {
            // What has no room is left out: the message is there, and its text the client has.
            self.write_update_of(session, &v2::write_user_message(message, None));
        }
    }

    fn remember(&mut self, session: SessionKey, key: Box<str>, message: &str) {
        let limit = self.config.limits.idempotency_keys;
        let kept = self.role.kept.entry(session).or_default();
        if kept.order.len() >= limit {
            if let Some(oldest) = kept.order.pop_front() {
                kept.recorded.remove(&oldest);
            }
        }
        kept.order.push_back(key.clone());
        kept.recorded.insert(key, message.into());
    }

    /// The id under which a prompt of this key was inserted before.
    pub(super) fn recorded(&self, session: SessionKey, key: &str) -> Option<Box<str>> {
        self.role.kept.get(&session)?.recorded.get(key).cloned()
    }

    fn has_room(&self, size: usize) -> bool {
        self.outbox.bytes().saturating_add(size) <= self.config.limits.queued_bytes
    }

    // ---- the end -----------------------------------------------------------------------------------------------

    /// Ends a turn of version 2: a prompt that was never inserted is answered with an error, and work that was done is
    /// reported as over.
    pub(super) fn settle_work(&mut self, key: TurnKey, turn: Turn, cancelled: bool, end: &TurnEnd) -> Delivery {
        let Turn { session, request, held, .. } = turn;
        let done = !cancelled && matches!(end, TurnEnd::Stop(reason) if *reason != StopReason::Cancelled);
        match (self.step_work(session, WorkInput::End { turn: key.0, done }), held) {
            (ended, Some(held)) if !matches!(ended, WorkOutput::Ended { .. }) => {
                let (error, delivery) = match end {
                    TurnEnd::Error(error) if !cancelled => (error.clone(), Delivery::Queued),
                    TurnEnd::Stop(StopReason::Cancelled) if cancelled => {
                        (Self::cancelled_error("the prompt"), Delivery::Queued)
                    }
                    _ if cancelled => (Self::cancelled_error("the prompt"), Delivery::AsCancelled),
                    TurnEnd::Stop(_) | TurnEnd::Error(_) => {
                        (Self::cancelled_error("the prompt"), Delivery::AsWithdrawn)
                    }
                };
                let refused = self.refuse_prompt(request, &held.again, &error);
                if ended == (WorkOutput::Refused { rest: true }) {
                    // The work was that of prompts which waited behind this one, and were dropped.
                    self.report(session, Foreground::Idle, Some(&Ending::Stop(StopReason::Cancelled)));
                }
                if refused == Delivery::Queued { delivery } else { refused }
            }
            (WorkOutput::Ended { rest, .. }, held) => {
                if let Some(held) = held {
                    self.insert(session, request, *held, &message_of(key), 0);
                }
                // A backend that queues by itself may work on several prompts: the last of them ends the work.
                self.work_over(session, rest, cancelled, end)
            }
            _ => Delivery::TooLate,
        }
    }

    /// A prompt was not inserted, and will not be.
    pub(super) fn refuse_prompt(&mut self, request: u64, again: &[u64], error: &ErrorObject) -> Delivery {
        for key in again {
            self.answer(IncomingKey(*key), Err(error));
        }
        self.answer(IncomingKey(request), Err(error))
    }

    fn work_over(&mut self, session: SessionKey, rest: bool, cancelled: bool, end: &TurnEnd) -> Delivery {
        if self.lifecycle.is_closed() {
            return Delivery::TooLate;
        }
        let (ending, delivery) = match end {
            TurnEnd::Stop(StopReason::Cancelled) if cancelled => {
                (Ending::Stop(StopReason::Cancelled), Delivery::Queued)
            }
            _ if cancelled => (Ending::Stop(StopReason::Cancelled), Delivery::AsCancelled),
            TurnEnd::Stop(StopReason::Cancelled) => {
                (Ending::Error(Self::cancelled_error("the work")), Delivery::AsWithdrawn)
            }
            TurnEnd::Stop(reason) => (Ending::Stop(reason.clone()), Delivery::Queued),
            TurnEnd::Error(error) => (Ending::Error(error.clone()), Delivery::Queued),
        };
        if rest {
            self.report(session, Foreground::Idle, Some(&ending));
        } else {
            // Perhaps it was only this prompt's work that waited for the user.
            self.waits_no_longer(session);
        }
        delivery
    }
}

impl Held {
    pub(super) fn new(content: Payload, key: Option<Box<str>>) -> Self {
        Self { content, key, again: SmallVec::new() }
    }
}

/// The id of a message that the host did not name.
fn message_of(turn: TurnKey) -> Box<str> {
    format!("prompt-{}", turn.0).into()
}
