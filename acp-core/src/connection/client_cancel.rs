//! Stop and Steer: what a client's cancel of a turn sends, answers and takes back.

use alloc::vec::Vec;

use super::{Connection, call::Purpose, client::meta_member, recording::note, turns::Turn};
use crate::{
    action::{CancelCause, Cancellation, ClientAction, Outcome, Settlement},
    error::{CommandError, Misuse},
    machine::{Asked, CancelKind, CancelScope, Cancelled, TurnInput, TurnOutput, WorkInput},
    outbox::Tag,
    role::Client,
    ticket::{FrameId, IncomingKey, RequestKey, SessionKey, TurnKey},
    time::Timestamp,
    timers::Cause,
    wire::{Method, MethodName, Payload, session_member, write_notification},
};

impl Connection<Client> {
    /// Cancels a turn of ours: one `session/cancel`, then the outcome `cancelled` for every open permission of the
    /// session, and for those that cross it, unless their owner is [committed](Self::commit). Other requests of the agent
    /// in this session are signalled and stay their owners' to answer; ours in this turn resolve as cancelled.
    ///
    /// A [`CancelKind::Stop`] is bounded: if the turn is not over within [`Config::stop_confirm`], the connection closes.
    /// A [`CancelKind::Steer`] is sent once per turn, is never bounded and never closes. Once a turn is over, nothing is
    /// sent: a late cancel cannot hit the next one. A prompt that waits behind another was never sent, and is taken back.
    ///
    /// [`Config::stop_confirm`]: crate::Config::stop_confirm
    ///
    /// # Errors
    ///
    /// [`Misuse::UnknownKey`] if the key was never given.
    pub fn cancel_turn(
        &mut self,
        turn: TurnKey,
        kind: CancelKind,
        now: Timestamp,
    ) -> Result<Cancellation, CommandError> {
        self.cancel_turn_with(turn, kind, None, now)
    }

    /// The same with an object for `_meta`. It goes out only if a frame does.
    ///
    /// # Errors
    ///
    /// As for [`cancel_turn`](Self::cancel_turn); or `meta` is no object.
    pub fn cancel_turn_with(
        &mut self,
        turn: TurnKey,
        kind: CancelKind,
        meta: Option<&Payload>,
        now: Timestamp,
    ) -> Result<Cancellation, CommandError> {
        note!(self, "cancel_turn", now, "turn" = turn, "kind" = kind, "meta" = meta);
        self.advance(now);
        let extra = meta_member(meta)?;
        self.cancel(turn, kind, &extra)
    }

    /// Cancels a turn of ours, with these members more.
    pub(super) fn cancel(
        &mut self,
        turn: TurnKey,
        kind: CancelKind,
        extra: &[u8],
    ) -> Result<Cancellation, CommandError> {
        let Some(session) = self.turns.get(&turn).map(|turn| turn.session) else {
            let given = 0 < turn.0 && turn.0 <= self.last_turn;
            return if given { Ok(Cancellation::Moot) } else { Err(Misuse::UnknownKey.into()) };
        };
        let turn = match (self.waits_at_agent(turn), self.running_turn(session)) {
            // Its work is one with that of the turn that runs.
            (true, Some(running)) if self.turns.get(&turn).is_some_and(Turn::is_inserted) => {
                if let Some(turn) = self.turns.get_mut(&turn) {
                    turn.cause.get_or_insert(CancelCause::Session);
                }
                running
            }
            (true, _) => return self.cancel_forwarded(turn),
            (false, _) => turn,
        };
        let covered = self.step_cancel(session, CancelScope::Turn(turn.0), kind);
        let Cancelled { running: Some((_, asked)), void, .. } = covered else {
            self.take_back(turn, Settlement::Cancelled, Outcome::Cancelled(CancelCause::Session));
            return Ok(Cancellation::Requested);
        };
        let bound = self.config.stop_confirm.filter(|_| kind == CancelKind::Stop);
        if let Some(bound) = bound.filter(|_| !self.timers.is_armed(Cause::StopConfirm(turn))) {
            self.timers.arm(Cause::StopConfirm(turn), self.now + bound);
        }
        if let Some(turn) = self.turns.get_mut(&turn) {
            turn.cause.get_or_insert(CancelCause::Session);
        }
        if asked == Asked::Shared {
            return Ok(Cancellation::AlreadyRequested);
        }
        // It is about all that was sent so far.
        self.step_work(session, WorkInput::Uncancel);
        // The cancel goes first, then the answers that the protocol demands.
        self.send_cancel(session, Tag::Cancel { session, turn, kind }, extra);
        if !self.may_be_of_background(session) {
            for ask in void {
                self.withdraw(IncomingKey(ask));
            }
        }
        self.signal_session(session, !self.may_be_of_background(session));
        self.resolve_calls(turn, CancelCause::Session);
        Ok(Cancellation::Requested)
    }

    /// Cancels whatever goes on in a session. Prompts that wait there are taken back; then, if a turn of ours runs, this
    /// is a Stop of that turn. If none does, it is one `session/cancel`, not bounded, for what the agent does without a
    /// prompt of ours.
    ///
    /// # Errors
    ///
    /// [`Misuse::UnknownSession`], or the connection is closed.
    pub fn stop_session(&mut self, session: SessionKey, now: Timestamp) -> Result<Cancellation, CommandError> {
        note!(self, "stop_session", now, "session" = session);
        self.advance(now);
        self.check_open()?;
        let waiting: Vec<TurnKey> = self.waiting_prompts(session).collect();
        if self.sessions.get(session).is_none() {
            return Err(Misuse::UnknownSession.into());
        }
        for turn in waiting {
            self.cancel(turn, CancelKind::Stop, &[])?;
        }
        if let Some(turn) = self.running_turn(session) {
            return self.cancel(turn, CancelKind::Stop, &[]);
        }
        if self.sessions.get(session).and_then(|known| known.child.as_ref()).is_some_and(|child| !child.cancel) {
            return Err(CommandError::NotOffered(MethodName::Known(Method::SessionCancel)));
        }
        let frame = self.send_cancel(session, Tag::StopSession, &[]);
        self.role.stops.insert(session, frame);
        for key in self.open_permissions(session) {
            if !self.may_be_of_background(session) && !self.is_committed(session, key) {
                self.step_turns(session, TurnInput::Answered(key.0));
                self.withdraw(key);
            }
        }
        self.signal_session(session, !self.may_be_of_background(session));
        Ok(Cancellation::Requested)
    }

    // ---- inside ------------------------------------------------------------------------------------------------

    /// Whether a prompt was sent and waits behind another one, at an agent that queues.
    fn waits_at_agent(&self, turn: TurnKey) -> bool {
        self.turns
            .get(&turn)
            .is_some_and(|waiting| waiting.params.is_none() && self.running_turn(waiting.session) != Some(turn))
    }

    /// Cancels such a prompt by its request: `session/cancel` would hit the one before it. It keeps its place in the order
    /// until it is answered. What it asks meanwhile still reaches the host: the duty to answer `cancelled` unasked is that
    /// of `session/cancel`.
    fn cancel_forwarded(&mut self, turn: TurnKey) -> Result<Cancellation, CommandError> {
        let Some(waiting) = self.turns.get_mut(&turn) else { return Ok(Cancellation::Moot) };
        waiting.cause.get_or_insert(CancelCause::Request);
        let request = RequestKey(waiting.request);
        self.withdraw_own(request)
    }

    /// A prompt that was never sent comes to its end here.
    pub(super) fn take_back(&mut self, turn: TurnKey, settlement: Settlement, outcome: Outcome) {
        if let Some(Turn { session, .. }) = self.retire_turn(turn) {
            self.tell(ClientAction::TurnEnded { session, turn, settlement, outcome });
        }
    }

    fn send_cancel(&mut self, session: SessionKey, tag: Tag, extra: &[u8]) -> FrameId {
        let id = self.sessions.get(session).map_or("", |session| &*session.id);
        let members = session_member(id, extra);
        let params = Payload::splice(&members, &Payload::EMPTY);
        self.outbox.push(tag, |out| write_notification(out, Method::SessionCancel.name(), params.as_ref()))
    }

    /// A cancel frame could not be delivered. Whether this frame was one.
    pub(super) fn client_cancel_failed(&mut self, frame: FrameId) -> bool {
        let found = self.turns.iter().find_map(|(key, turn)| {
            let (_, kind) = turn.sent.iter().find(|(sent, _)| *sent == frame)?;
            Some((*key, turn.session, *kind))
        });
        let Some((key, session, kind)) = found else {
            return self.prompt_cancel_failed(frame) || self.session_stop_failed(frame);
        };
        if let Some(turn) = self.turns.get_mut(&key) {
            turn.sent.retain(|(sent, _)| *sent != frame);
        }
        if let Some(TurnOutput::Unsent(unsent)) = self.step_turns(session, TurnInput::Failed(kind)) {
            if unsent.stop {
                self.timers.disarm(Cause::StopConfirm(key));
            }
            let cancelling = self.sessions.get(session).is_some_and(|session| session.turns.is_cancelling());
            if let Some(turn) = self.turns.get_mut(&key).filter(|_| !cancelling) {
                turn.cause = None;
                self.step_work(session, WorkInput::Uncancel);
            }
            self.tell(ClientAction::CancelUndelivered { turn: key, stop: unsent.stop, steer: unsent.steer });
        }
        true
    }

    /// The cancel of a prompt that waited at the agent could not be delivered. By now it may be the one that runs, and be
    /// cancelled as that: then the agent hears of it all the same.
    fn prompt_cancel_failed(&mut self, frame: FrameId) -> bool {
        let found = self.outgoing.iter().find_map(|(id, call)| match call.purpose {
            Purpose::Prompt(turn) if call.cancel == Some(frame) => Some((id, turn)),
            _ => None,
        });
        let Some((id, key)) = found else { return false };
        let Some(session) = self.turns.get(&key).map(|turn| turn.session) else { return true };
        let runs = self.running_turn(session) == Some(key);
        let cancelled = runs && self.sessions.get(session).is_some_and(|session| session.turns.is_cancelling());
        if self.uncancel(id) && !cancelled {
            if let Some(turn) = self.turns.get_mut(&key) {
                turn.cause = None;
            }
            self.tell(ClientAction::CancelUndelivered { turn: key, stop: true, steer: true });
        }
        true
    }

    /// A cancel of a session without a turn of ours could not be delivered.
    fn session_stop_failed(&mut self, frame: FrameId) -> bool {
        let found = self.role.stops.iter().find(|(_, sent)| **sent == frame).map(|(session, _)| *session);
        if let Some(session) = found {
            self.role.stops.remove(&session);
            self.tell(ClientAction::SessionStopUndelivered { session });
        }
        found.is_some()
    }
}
