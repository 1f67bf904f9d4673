//! What a session is at, as version 2 has an agent report it; and what it lets an update say. In version 1 the turns tell
//! all there is to tell, and nothing here is sent.

use alloc::boxed::Box;

use bytes::BytesMut;

use super::{Connection, answer::Duty, call::Purpose, recording::note, turns::Turn};
use crate::{
    error::{CommandError, Misuse},
    machine::{Foreground, ForegroundOutput, TurnInput, WorkInput, WorkOutput},
    outbox::Tag,
    role::Agent,
    session::Stage,
    ticket::{IncomingKey, Scope, SessionKey, TurnKey, TurnTicket},
    time::Timestamp,
    wire::{
        Method, MethodName, Payload, SessionState, UpdateKind,
        dialect::v2::{self, Ending, Entity},
        write_update,
    },
};

impl Connection<Agent> {
    /// What the session was last reported to be at: version 2 only.
    #[must_use]
    pub fn foreground(&self, session: SessionKey) -> Foreground {
        self.role.kept.get(&session).map_or(Foreground::Idle, |kept| kept.work.foreground())
    }

    /// Begins work in the foreground that nobody prompted: version 2 only. It is cancelled like a prompted turn, and ended
    /// with [`end_turn`](Self::end_turn).
    ///
    /// # Errors
    ///
    /// [`CommandError::Unsupported`] in version 1, [`Misuse::TurnInProgress`] while a turn runs, [`Misuse::SessionNotOpen`]
    /// while the session is being opened or closed.
    pub fn begin_work(&mut self, session: SessionKey, now: Timestamp) -> Result<TurnTicket, CommandError> {
        note!(self, "begin_work", now, "session" = session);
        self.advance(now);
        self.check_open()?;
        if !self.speaks_v2() {
            return Err(self.unsupported(&MethodName::Known(Method::SessionUpdate)));
        }
        let known = self.sessions.get(session).ok_or(Misuse::UnknownSession)?;
        if known.stage != Stage::Open {
            return Err(Misuse::SessionNotOpen.into());
        }
        if known.turns.running().is_some() {
            return Err(Misuse::TurnInProgress.into());
        }
        let turn = self.next_turn();
        self.step_turns(session, TurnInput::Prompt(turn.0));
        // No request of the client's has such a key.
        let request = u64::MAX - turn.0;
        let begun = Turn { message: Some(Box::default()), ..Turn::new(session, request, None) };
        self.turns.insert(turn, begun);
        self.step_work(session, WorkInput::Prompt { turn: turn.0, behind_cancel: false });
        self.step_work(session, WorkInput::Insert { turn: turn.0, cancelled: false });
        self.report(session, Foreground::Running, None);
        Ok(TurnTicket { key: IncomingKey(request), turn, session })
    }

    /// Says what goes on in the background of a session, from here on with every report of its state: version 2 only.
    /// `items` is an array; each of its items has to be announced before, and reported as ended before it is left out.
    ///
    /// # Errors
    ///
    /// `items` is no array, there is no such session, or [`CommandError::Unsupported`] in version 1.
    pub fn set_background(&mut self, session: SessionKey, items: &Payload, now: Timestamp) -> Result<(), CommandError> {
        note!(self, "set_background", now, "session" = session, "items" = items);
        self.advance(now);
        self.check_open()?;
        if !self.speaks_v2() {
            return Err(self.unsupported(&MethodName::Known(Method::SessionUpdate)));
        }
        if items.as_bytes().first() != Some(&b'[') {
            return Err(Misuse::Payload("background work must be a JSON array").into());
        }
        self.sessions.get(session).ok_or(Misuse::UnknownSession)?;
        let kept = self.role.kept.entry(session).or_default();
        kept.background = Some(items.clone());
        let state = kept.work.foreground();
        self.write_report(session, state, None);
        Ok(())
    }

    // ---- state -------------------------------------------------------------------------------------------------

    /// Reports what a session is at, if that is news.
    pub(super) fn report(&mut self, session: SessionKey, state: Foreground, end: Option<&Ending>) {
        let same = self.step_work(session, WorkInput::Report(state)) == WorkOutput::Reported(ForegroundOutput::Same);
        if !same || end.is_some() {
            self.write_report(session, state, end);
        }
    }

    /// Tells the state again, as it stands: a resumed session begins with it.
    pub(super) fn report_again(&mut self, session: SessionKey) {
        self.write_report(session, self.foreground(session), None);
    }

    fn write_report(&mut self, session: SessionKey, state: Foreground, end: Option<&Ending>) {
        let word = match state {
            Foreground::Idle => SessionState::Idle,
            Foreground::Running => SessionState::Running,
            Foreground::RequiresAction => SessionState::RequiresAction,
            Foreground::Unknown => SessionState::Unobserved,
        };
        let background = self.role.kept.get(&session).and_then(|kept| kept.background.clone());
        self.write_update_of(session, &v2::write_state(&word, end, background.as_ref()));
    }

    /// An update that is owed, and so always queued.
    pub(super) fn write_update_of(&mut self, session: SessionKey, update: &Payload) {
        let known = self.sessions.get(session).filter(|_| !self.lifecycle.is_closed());
        if let Some(id) = known.map(|known| known.id.clone()) {
            self.outbox.push(Tag::Plain, |out| write_update(out, &id, update));
        }
    }

    /// Work that waits for the user's answer, and for nothing else that we know of, is reported so; with the last answer it
    /// goes on.
    pub(super) fn asked(&mut self, turn: TurnKey) {
        let Some(of) = self.turns.get(&turn).filter(|turn| turn.cause.is_none() && turn.is_inserted()) else { return };
        let (session, waits) = (of.session, self.waits(of));
        self.report(session, if waits { Foreground::RequiresAction } else { Foreground::Running }, None);
    }

    /// One of several turns that were worked on is over. If no other waits for the user, the work goes on.
    pub(super) fn waits_no_longer(&mut self, session: SessionKey) {
        if !self.turns.iter().any(|(_, turn)| turn.session == session && self.waits(turn)) {
            self.report(session, Foreground::Running, None);
        }
    }

    /// Whether this turn waits for the user's answer.
    fn waits(&self, turn: &Turn) -> bool {
        let asks = |id: &u64| self.outgoing.get(*id).is_some_and(|call| matches!(call.purpose, Purpose::Ask(_)));
        turn.calls.iter().any(asks)
    }

    // ---- updates of the host's ---------------------------------------------------------------------------------

    /// Whether version 2 lets this update pass.
    pub(super) fn check_update(
        &self,
        scope: Scope,
        session: SessionKey,
        update: &Payload,
    ) -> Result<UpdateKind, Misuse> {
        let kind = v2::kind(update.as_bytes()).ok_or(Misuse::Payload("the update needs `sessionUpdate`, a string"))?;
        if matches!(kind, UpdateKind::StateUpdate | UpdateKind::ReplayComplete) {
            return Err(Misuse::HasItsOwnCommand);
        }
        if let Some(why) = v2::lacks(&kind, update.as_bytes()) {
            return Err(Misuse::Payload(why));
        }
        let opening = self.sessions.get(session).is_some_and(|session| session.stage == Stage::Opening);
        if opening && matches!(scope, Scope::Session(_)) && v2::is_message(&kind) && !self.replays(session) {
            return Err(Misuse::Payload("the client resumed the session without its history: none may be told"));
        }
        Ok(kind)
    }

    /// Whether a session's history is being told.
    fn replays(&self, session: SessionKey) -> bool {
        self.incoming.iter().any(
            |(_, served)| matches!(served.duty, Duty::Open { session: Some(of), replay: true, .. } if of == session),
        )
    }

    /// Whether something may be told here: a prompt that was not inserted is, first, unless it was cancelled before that.
    /// Bytes that have room in any case, now that this is done; `None`: it is too late.
    pub(super) fn may_tell(
        &mut self,
        scope: Scope,
        write: impl FnOnce(&mut BytesMut),
    ) -> Result<Option<usize>, CommandError> {
        match scope {
            Scope::Turn(turn) if self.speaks_v2() => {
                let room = self.insert_if_due(turn, write)?;
                Ok(self.turns.get(&turn).filter(|turn| turn.is_inserted()).map(|_| room))
            }
            Scope::Turn(_) | Scope::Session(_) => Ok(Some(0)),
        }
    }

    /// What an update that was sent means for later.
    pub(super) fn note_update(&mut self, session: SessionKey, kind: &UpdateKind, update: &Payload) {
        if let Some((entity, yes)) = v2::cancellable(kind, update.as_bytes()) {
            let limit = self.config.limits.cancellable;
            let cancellable = &mut self.role.kept.entry(session).or_default().cancellable;
            if !yes {
                cancellable.remove(&entity);
            } else if cancellable.len() < limit {
                cancellable.insert(entity);
            }
        }
    }

    /// A tool call had its last word from the core.
    pub(super) fn cancel_no_longer(&mut self, session: SessionKey, call: &str) {
        if let Some(kept) = self.role.kept.get_mut(&session) {
            kept.cancellable.remove(&Entity::ToolCall(call.into()));
        }
    }

    /// Whether what a client wants to cancel by itself may be.
    pub(super) fn is_cancellable(&self, session: SessionKey, params: &Payload, terminal: bool) -> bool {
        v2::entity(params, terminal)
            .zip(self.role.kept.get(&session))
            .is_some_and(|(entity, kept)| kept.cancellable.contains(&entity))
    }

    /// The turn whose prompt, answered or not, has this key.
    pub(super) fn turn_of(&self, key: IncomingKey) -> Option<TurnKey> {
        self.turns.iter().find(|(_, turn)| turn.request == key.0).map(|(turn, _)| *turn)
    }
}
