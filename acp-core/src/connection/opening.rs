//! Sessions that we ask for: from the request to the key, and until the session is gone.

use core::time::Duration;

use super::{
    Connection, Role,
    call::{Call, Purpose},
};
use crate::{
    action::Outcome,
    error::{CommandError, Misuse},
    session::Stage,
    ticket::{RequestKey, Scope, SessionKey},
    timers::Cause,
    wire::{
        Method, MethodName, Payload,
        dialect::{v1, v2},
    },
};

impl<R: Role> Connection<R> {
    /// Sessions whose opening is under way count: the answer cannot be refused.
    pub(super) fn check_session_room(&self) -> Result<(), CommandError> {
        let opens = |call: &Call| call.session.is_none() && matches!(call.purpose, Purpose::Open { .. });
        let opening = self.outgoing.iter().filter(|(_, call)| opens(call)).count();
        if self.sessions.len() + opening < self.config.limits.sessions {
            Ok(())
        } else {
            Err(CommandError::Full { what: "limits.sessions" })
        }
    }

    /// Loads or resumes: the session is there as soon as it is asked for, since its history comes before the answer.
    pub(super) fn open_known(
        &mut self,
        method: &MethodName,
        params: Option<&Payload>,
        timeout: Option<Duration>,
    ) -> Result<RequestKey, CommandError> {
        let missing = Misuse::Payload("the params need `sessionId`, a string");
        let id = params.and_then(v1::session_id).ok_or(missing)?;
        let known = self.sessions.find(&id);
        if let Some(known) = known.and_then(|session| self.sessions.get(session)) {
            if known.turns.running().is_some() {
                return Err(Misuse::TurnInProgress.into());
            }
            if known.stage != Stage::Open {
                return Err(Misuse::SessionNotOpen.into());
            }
            let before = known.options.as_ref();
            if before.zip(params).is_some_and(|(before, params)| !v1::same_options(before, params)) {
                return Err(Misuse::OpenedOtherwise.into());
            }
        }
        let session = match known {
            Some(session) => session,
            None => {
                self.check_session_room()?;
                self.sessions.next_key()
            }
        };
        let fresh = known.is_none();
        let place = Some((session, Scope::Session(session)));
        // One that cannot be read may be any.
        let resumes = method.known() == Some(Method::SessionResume);
        let history = !resumes || params.is_some_and(|params| v2::replay_from(params) != Ok(v2::Replay::No));
        let sent = self.send_call(method, params, Purpose::Open { fresh, history }, place, timeout)?;
        // Only now: a refused command leaves nothing behind, not even in the numbers of the keys.
        self.sessions.intern(&id, Stage::Opening);
        if let Some(session) = self.sessions.get_mut(session) {
            session.stage = Stage::Opening;
        }
        Ok(sent)
    }

    /// A session works: it was opened, or its closing was refused; unless another request of ours still opens or closes it.
    pub(super) fn reopen(&mut self, session: SessionKey) {
        let about = self.outgoing.iter().filter(|(_, call)| call.session == Some(session));
        let stage = about.fold(Stage::Open, |stage, (_, call)| match (stage, call.purpose) {
            (Stage::Closing, _) | (_, Purpose::Close) => Stage::Closing,
            (_, Purpose::Open { .. } | Purpose::LogIn) => Stage::Opening,
            _ => stage,
        });
        if let Some(session) = self.sessions.get_mut(session) {
            session.stage = stage;
        }
    }

    /// A request to open a session came to nothing. `fresh`: the session was made for it, and goes with it.
    pub(super) fn opening_failed(&mut self, session: SessionKey, fresh: bool) {
        if fresh { self.forget_session(session) } else { self.reopen(session) }
    }

    /// The answer to a request of ours that opens a session.
    ///
    /// A result that names no session cannot be worked with: the agent may have made one all the same, but nobody here can
    /// name it.
    pub(super) fn opened(&mut self, call: &Call, fresh: bool, outcome: &mut Outcome) -> Option<SessionKey> {
        match (&*outcome, call.session) {
            (Outcome::Result(_), Some(session)) => {
                self.reopen(session);
                if let Some(session) = self.sessions.get_mut(session) {
                    session.options.clone_from(&call.options);
                }
                Some(session)
            }
            (Outcome::Result(result), None) => {
                let Some(id) = v1::session_id(result) else {
                    let why = "`sessionId` is missing, or is no string";
                    *outcome = Outcome::Invalid { why, raw: result.clone() };
                    return None;
                };
                let session = self.sessions.intern(&id, Stage::Open)?;
                if let Some(session) = self.sessions.get_mut(session) {
                    session.options.clone_from(&call.options);
                }
                Some(session)
            }
            (_, Some(session)) => {
                self.opening_failed(session, fresh);
                (!fresh).then_some(session)
            }
            (_, None) => None,
        }
    }

    /// How many sessions are gone. When this changes, some key names nothing any more.
    pub(crate) const fn sessions_forgotten(&self) -> u64 {
        self.sessions.removed()
    }

    /// A session is gone: its key names nothing from here on.
    pub(super) fn forget_session(&mut self, session: SessionKey) {
        if self.sessions.get(session).is_none() {
            // It is gone already: closing may be repeated in version 2.
            return;
        }
        self.timers.disarm(Cause::CloseSession(session));
        R::on_forget(self, session);
        self.sessions.remove(session);
    }
}
