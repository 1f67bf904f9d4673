//! How the agent's turns and sessions end: each turn in one way, answered once, with a last word for its tool calls; and
//! a session after its turns, with what it had asked.

use alloc::vec::Vec;

use super::{Connection, answer::Duty, turns::STOP_CANCELLED};
use crate::{
    action::{AgentAction, CancelCause, Delivery, TurnEnd},
    machine::{CancelScope, Ended, Transcript, TurnInput, TurnOutput},
    outbox::Tag,
    role::Agent,
    session::Stage,
    ticket::{IncomingKey, SessionKey, Ticket, TurnKey},
    timers::Cause,
    wire::{StopReason, own, write_update},
};

impl Connection<Agent> {
    /// The one way in which a turn ends. `forced`: not by its host, which is told before anything else begins.
    pub(super) fn settle_turn(&mut self, turn: TurnKey, end: &TurnEnd, forced: bool) -> Delivery {
        let Some(mut retired) = self.retire_turn(turn) else { return Delivery::TooLate };
        let session = retired.session;
        let Ended { cancelled, next } = match self.step_turns(session, TurnInput::End(turn.0)) {
            Some(TurnOutput::Ended(ended)) => ended,
            // Whatever became of its session: the prompt is owed an answer.
            _ => Ended { cancelled: retired.cause.is_some(), next: None },
        };
        if cancelled || !matches!(end, TurnEnd::Stop(reason) if *reason != StopReason::Cancelled) {
            let transcript = core::mem::take(&mut retired.transcript);
            self.close_tool_calls(session, turn, transcript);
        }
        let delivery = if self.speaks_v2() {
            self.settle_work(turn, retired, cancelled, end)
        } else {
            self.answer_prompt(IncomingKey(retired.request), cancelled, end)
        };
        if forced {
            self.tell(AgentAction::TurnForced { session, turn });
        }
        match next {
            Some((next, true)) => self.start_turn(TurnKey(next)),
            Some((next, false)) => self.hand_on(session, TurnKey(next)),
            None => {}
        }
        self.turns_over(session);
        self.settle_end();
        delivery
    }

    /// Version 1: the answer to the prompt is the end of its turn.
    fn answer_prompt(&mut self, key: IncomingKey, cancelled: bool, end: &TurnEnd) -> Delivery {
        match end {
            TurnEnd::Stop(StopReason::Cancelled) if cancelled => match self.answer_cancelled(key, STOP_CANCELLED) {
                Delivery::AsCancelled => Delivery::Queued,
                other => other,
            },
            _ if cancelled => self.answer_cancelled(key, STOP_CANCELLED),
            TurnEnd::Stop(StopReason::Cancelled) => match self.answer(key, Err(&Self::cancelled_error("the prompt"))) {
                Delivery::Queued => Delivery::AsWithdrawn,
                other => other,
            },
            TurnEnd::Stop(reason) => self.answer(key, Ok(&own::stopped(reason.as_str()))),
            TurnEnd::Error(error) => self.answer(key, Err(error)),
        }
    }

    /// To a backend that queues by itself goes what came behind a cancel: see [`is_cancelling_work`](Self::is_cancelling_work).
    fn hand_on(&mut self, session: SessionKey, next: TurnKey) {
        let queued = self.sessions.get(session).map(|known| known.turns.queued().map(TurnKey).collect());
        let queued: Vec<TurnKey> = queued.unwrap_or_default();
        for turn in core::iter::once(next).chain(queued) {
            self.start_turn(turn);
        }
    }

    /// The host had its time to end a cancelled turn.
    pub(super) fn force_turn(&mut self, turn: TurnKey) {
        self.settle_turn(turn, &TurnEnd::Stop(StopReason::Cancelled), true);
    }

    /// Gives every open tool call of a turn that did not come to its own end a last word, before the turn's answer.
    pub(super) fn close_tool_calls(&mut self, session: SessionKey, turn: TurnKey, transcript: Transcript) {
        let calls = transcript.close();
        if calls.is_empty() {
            return;
        }
        let known = self.sessions.get(session).filter(|_| !self.lifecycle.is_closed());
        if let Some(id) = known.map(|known| known.id.clone()) {
            let status = if self.speaks_v2() { "cancelled" } else { "failed" };
            for call in &calls {
                let update = own::closed_call(call, status);
                self.outbox.push(Tag::Plain, |out| write_update(out, &id, &update));
                self.cancel_no_longer(session, call);
            }
        }
        self.tell(AgentAction::ToolCallsClosed { session, turn, calls });
    }

    // ---- sessions ----------------------------------------------------------------------------------------------

    /// Closing a session cancels its turns as `session/cancel` does (ACP v1, Session Setup), waits for them for a while,
    /// and then has the host release what it owns.
    pub(super) fn receive_close(&mut self, key: IncomingKey, session: SessionKey) {
        self.set_duty(key, Duty::Close { session, told: false });
        if let Some(session) = self.sessions.get_mut(session) {
            session.stage = Stage::Closing;
        }
        self.cancel_turns(session, CancelScope::Session, CancelCause::CloseSession);
        if self.running_turn(session).is_some() {
            self.timers.arm(Cause::CloseSession(session), self.now + self.config.close_session);
        }
        self.turns_over(session);
    }

    /// If the session is being closed and its turns are over, the host is told.
    fn turns_over(&mut self, session: SessionKey) {
        let Some(known) = self.sessions.get(session) else { return };
        if known.stage != Stage::Closing || known.turns.running().is_some() {
            return;
        }
        let closing: Vec<IncomingKey> = self
            .incoming
            .iter()
            .filter(|(_, served)| served.duty == Duty::Close { session, told: false })
            .map(|(key, _)| IncomingKey(key))
            .collect();
        for key in closing {
            self.timers.disarm(Cause::CloseSession(session));
            self.set_duty(key, Duty::Close { session, told: true });
            self.tell(AgentAction::CloseSession { ticket: Ticket { key }, session });
        }
    }

    /// The session is about to be gone: nothing of it is left to answer, or to wait for.
    pub(super) fn end_session(&mut self, session: SessionKey) {
        self.cancel_turns(session, CancelScope::Session, CancelCause::CloseSession);
        if let Some(turn) = self.running_turn(session) {
            self.force_turn(turn);
        }
        self.resolve_session_calls(session);
        for child in self.sessions.children(session) {
            self.forget_session(child);
        }
        self.role.kept.remove(&session);
    }
}
