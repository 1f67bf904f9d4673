//! What both ends do about sessions and prompt turns.

use alloc::boxed::Box;

use smallvec::SmallVec;

use super::{Connection, Role, answer::Duty, call::Call};
use crate::{
    action::{CancelCause, Common, Delivery, Outcome},
    machine::{
        CancelKind, CancelScope, Cancelled, IncomingInput, IncomingOutput, Machine, Transcript, TranscriptInput,
        TurnInput, TurnOutput, Withdrawal,
    },
    outbox::Tag,
    role::Side,
    session::Stage,
    ticket::{FrameId, IncomingKey, SessionKey, TurnKey},
    timers::Cause,
    wire::{ErrorObject, Payload, ToolCallStatus, dialect::v1::ToolCallSeen},
};

/// A prompt turn that is not over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Turn {
    pub(super) session: SessionKey,
    /// The prompt: the key of the peer's request, or the id of ours.
    pub(super) request: u64,
    /// Agent: the prompt's parameters, until it runs.
    pub(super) params: Option<Payload>,
    /// Version 2: the id of the prompt's message, once it is inserted. Empty where the agent gave none.
    pub(super) message: Option<Box<str>>,
    /// Agent, version 2: what is needed to insert it.
    pub(super) held: Option<Box<Held>>,
    /// Our requests that end with this turn.
    pub(super) calls: SmallVec<[u64; 2]>,
    /// Who cancelled it first.
    pub(super) cause: Option<CancelCause>,
    /// Its tool calls without a result.
    pub(super) transcript: Transcript,
    /// Cancel frames that were handed out, while they may still fail.
    pub(super) sent: SmallVec<[(FrameId, CancelKind); 2]>,
    /// Client: whether it waits to take the place of a turn that is cut short for it.
    pub(super) steers: bool,
}

/// A prompt on its way into a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Held {
    /// What was asked, to be told as the user's message.
    pub(super) content: Payload,
    /// Under which key it may be sent again.
    pub(super) key: Option<Box<str>>,
    /// Requests that asked the same again, to be answered with it.
    pub(super) again: SmallVec<[u64; 1]>,
}

impl Turn {
    pub(super) fn new(session: SessionKey, request: u64, params: Option<Payload>) -> Self {
        let (calls, sent) = (SmallVec::new(), SmallVec::new());
        Self {
            session,
            request,
            params,
            message: None,
            held: None,
            calls,
            cause: None,
            transcript: Transcript::default(),
            sent,
            steers: false,
        }
    }

    /// An update of the turn's says this of a tool call. At most so many open ones are kept.
    pub(super) fn note_tool_call(&mut self, seen: &ToolCallSeen, most: usize) {
        let is_open = match seen.status {
            Some(ToolCallStatus::Completed | ToolCallStatus::Failed | ToolCallStatus::Cancelled) => {
                return self.transcript.step(TranscriptInput::Finished(&seen.id));
            }
            Some(_) => true,
            // Pending is what a call begins with, and may be left out.
            None => seen.is_new,
        };
        if is_open && self.transcript.open().count() < most {
            self.transcript.step(TranscriptInput::Open(&seen.id));
        }
    }

    /// Version 2: whether it was inserted, so that its prompt is answered and only its work goes on.
    pub(super) const fn is_inserted(&self) -> bool {
        self.message.is_some()
    }
}

/// `{"stopReason":"cancelled"}`
pub(super) const STOP_CANCELLED: &[u8] = br#"{"stopReason":"cancelled"}"#;
/// `{"outcome":{"outcome":"cancelled"}}`
pub(super) const OUTCOME_CANCELLED: &[u8] = br#"{"outcome":{"outcome":"cancelled"}}"#;

impl<R: Role> Connection<R> {
    /// One input of the turn machine of a session.
    pub(super) fn step_turns(&mut self, session: SessionKey, input: TurnInput) -> Option<TurnOutput> {
        self.sessions.get_mut(session)?.turns.step(input).ok()
    }

    pub(super) fn step_cancel(&mut self, session: SessionKey, scope: CancelScope, kind: CancelKind) -> Cancelled {
        match self.step_turns(session, TurnInput::Cancel(scope, kind)) {
            Some(TurnOutput::Cancelled(covered)) => covered,
            _ => Cancelled::default(),
        }
    }

    /// Who cancelled a turn, if somebody did. A turn that is over waits for nothing either.
    pub(super) fn cancelled_by(&self, turn: TurnKey) -> Option<CancelCause> {
        match self.turns.get(&turn) {
            Some(turn) => turn.cause,
            None => Some(CancelCause::Session),
        }
    }

    /// A turn is over: nothing of it stays, no deadline either.
    pub(super) fn retire_turn(&mut self, turn: TurnKey) -> Option<Turn> {
        let retired = self.turns.remove(&turn)?;
        self.timers.disarm(Cause::StopConfirm(turn));
        self.timers.disarm(Cause::ForceCancelled(turn));
        Some(retired)
    }

    pub(super) fn cancel_sent(&mut self, session: SessionKey, turn: TurnKey, kind: CancelKind, frame: FrameId) {
        if let (Some(TurnOutput::Sent), Some(turn)) =
            (self.step_turns(session, TurnInput::Sent(kind)), self.turns.get_mut(&turn))
        {
            turn.sent.push((frame, kind));
        }
    }

    /// Nobody waits for the answers to a cancelled turn's requests.
    pub(super) fn resolve_calls(&mut self, turn: TurnKey, cause: CancelCause) {
        let calls: SmallVec<[u64; 2]> =
            self.turns.get_mut(&turn).map(|turn| core::mem::take(&mut turn.calls)).unwrap_or_default();
        for id in calls {
            let unsent = self.outbox.withdraw(|tag| *tag == Tag::Request(id));
            // "MUST", says version 2 of what an agent asked for the work that is cancelled.
            let cascade = self.config.cascade || (self.speaks_v2() && R::SIDE == Side::Agent);
            if cascade && !unsent && self.lifecycle.is_open() {
                self.send_cancel_request(id);
            }
            self.resolve_own(id, Outcome::Cancelled(cause));
        }
    }

    /// The host answers. If that ends a session, everything of it ends before the answer; a session that was to be closed
    /// and is not is open again.
    pub(super) fn before_answer(&mut self, key: IncomingKey, answer: Result<(), &ErrorObject>) {
        match self.duty(key).cloned() {
            Some(Duty::Close { session, .. }) => {
                match answer {
                    Ok(()) => self.forget_session(session),
                    Err(_) => self.reopen(session),
                }
                self.answer_closed_too(session, answer);
            }
            // One that is being opened anew will be there for its opener.
            Some(Duty::Delete { session: Some(session) })
                if answer.is_ok()
                    && self.sessions.get(session).is_some_and(|session| session.stage != Stage::Opening) =>
            {
                self.forget_session(session);
            }
            _ => {}
        }
    }

    /// Version 2: closing what is being closed is answered when it is closed, or not.
    fn answer_closed_too(&mut self, session: SessionKey, answer: Result<(), &ErrorObject>) {
        let closed = Payload::EMPTY;
        let too = |duty: &Duty| matches!(duty, Duty::CloseToo { session: of } if *of == session);
        let keys: SmallVec<[u64; 1]> =
            self.incoming.iter().filter(|(_, served)| too(&served.duty)).map(|(key, _)| key).collect();
        for key in keys {
            self.answer(IncomingKey(key), answer.map(|()| &closed));
        }
    }

    /// Nobody here waits for what was asked in a session that is gone.
    pub(super) fn resolve_session_calls(&mut self, session: SessionKey) {
        let of = |call: &Call| call.session == Some(session);
        let ids: SmallVec<[u64; 4]> = self.outgoing.iter().filter(|(_, call)| of(call)).map(|(id, _)| id).collect();
        for id in ids {
            self.resolve_own(id, Outcome::Cancelled(CancelCause::CloseSession));
        }
    }

    /// Asks the owner of a request of the peer's to come to an end, once.
    pub(super) fn signal(&mut self, key: IncomingKey) {
        if let Ok(IncomingOutput::Withdrawn(Withdrawal::Signal(_))) = self.incoming.step(IncomingInput::Signal(key.0)) {
            self.tell(Common::CancelRequested(key));
        }
    }

    /// The same for every request of a session that is the host's to answer. `permissions`: those that are open, too.
    pub(super) fn signal_session(&mut self, session: SessionKey, permissions: bool) {
        let of = |duty: &Duty| match duty {
            Duty::Plain { session: Some(of) } => *of == session,
            // A cancel leaves only those open whose owner is committed, or which it may not be about.
            Duty::Permission { session: of, .. } => permissions && *of == session,
            _ => false,
        };
        let keys: SmallVec<[u64; 4]> =
            self.incoming.iter().filter(|(_, served)| of(&served.duty)).map(|(key, _)| key).collect();
        for key in keys {
            self.signal(IncomingKey(key));
        }
    }

    // ---- answers in the host's place ---------------------------------------------------------------------------

    /// Answers a request whose owner did not, as its kind demands.
    pub(super) fn answer_for_host(&mut self, key: IncomingKey, error: &ErrorObject) -> Delivery {
        match self.duty(key).cloned() {
            Some(Duty::Permission { session, .. }) => {
                self.step_turns(session, TurnInput::Answered(key.0));
                self.answer_cancelled(key, OUTCOME_CANCELLED)
            }
            Some(Duty::Prompt(turn)) => R::end_for_host(self, turn, error),
            Some(Duty::Open { session: Some(session), fresh, .. }) => {
                self.opening_failed(session, fresh);
                self.answer(key, Err(error))
            }
            Some(Duty::Initialize { before, .. }) => {
                self.withdraw_initialize(before);
                self.answer(key, Err(error))
            }
            Some(Duty::Close { .. }) => {
                self.before_answer(key, Err(error));
                self.answer(key, Err(error))
            }
            Some(Duty::Plain { .. } | Duty::Open { .. } | Duty::Delete { .. } | Duty::CloseToo { .. }) => {
                self.answer(key, Err(error))
            }
            Some(Duty::PromptAgain(turn)) => {
                self.forget_again(turn, key);
                self.answer(key, Err(error))
            }
            // The prompt of a turn that goes on may be answered already.
            None => R::end_answered(self, key, error),
        }
    }

    /// A repetition of a prompt gets an answer of its own.
    pub(super) fn forget_again(&mut self, turn: TurnKey, key: IncomingKey) {
        if let Some(held) = self.turns.get_mut(&turn).and_then(|turn| turn.held.as_mut()) {
            held.again.retain(|again| *again != key.0);
        }
    }

    pub(super) fn answer_cancelled(&mut self, key: IncomingKey, result: &'static [u8]) -> Delivery {
        match self.answer(key, Ok(&Payload::from_static(result))) {
            Delivery::Queued => Delivery::AsCancelled,
            other => other,
        }
    }
}
