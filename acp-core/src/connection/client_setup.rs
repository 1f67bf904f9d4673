//! Opening a session in one command: the method that fits what the agent offers, and a login if the agent demands one and
//! the caller named it.

use alloc::boxed::Box;
use core::time::Duration;

use super::{
    Connection,
    call::{Call, Purpose},
    recording::note,
};
use crate::{
    action::Outcome,
    error::{CommandError, Misuse},
    machine::{Machine, Setup, SetupInput, SetupOutput, Way, way},
    role::Client,
    ticket::{RequestKey, Scope},
    time::Timestamp,
    wire::{ErrorObject, Gate, Method, MethodName, Payload, own},
};

/// What session to open, and how: see [`Connection::open_session`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SessionPlan {
    /// The parameters, an object without `sessionId`: `cwd`, `mcpServers`, `_meta` and what else there may be.
    pub params: Payload,
    /// The stored session to load or resume. `None`: a new one.
    pub stored: Option<Box<str>>,
    /// Whether to resume a stored session, which comes without its history, where loading is offered, too.
    pub prefer_resume: bool,
    /// The id of the way to log in, of those the agent advertised, that may be tried once if the agent demands a login. No
    /// other is ever picked. Default: none.
    pub login: Option<Box<str>>,
    /// How long each request may take. Default: as long as the connection lives.
    pub timeout: Option<Duration>,
}

impl SessionPlan {
    /// A new session with these parameters.
    #[must_use]
    pub const fn new(params: Payload) -> Self {
        Self { params, stored: None, prefer_resume: false, login: None, timeout: None }
    }

    /// A stored session.
    #[must_use]
    pub fn stored(id: &str, params: Payload) -> Self {
        Self { stored: Some(id.into()), ..Self::new(params) }
    }
}

/// An opening that may need a login.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Opening {
    machine: Setup,
    method: MethodName,
    params: Payload,
    login: Payload,
    timeout: Option<Duration>,
    /// The demand for a login, and the request that it answered.
    refused: Option<(Call, ErrorObject)>,
}

impl Connection<Client> {
    /// Opens a session: a new one, or a stored one by loading or resuming it, whichever the agent offers; loading is
    /// preferred unless the plan says otherwise. The end is told as [`Common::Resolved`](crate::Common::Resolved) under the
    /// key that is returned, once, with the session.
    ///
    /// If the agent demands a login ([`Outcome::is_auth_required`]) and the plan names one that it advertised, that login is
    /// tried once and the session asked for once more. Otherwise the demand is the outcome: show the user
    /// [`auth_methods`](Self::auth_methods). Nothing else is ever asked for again, a prompt least of all.
    ///
    /// # Errors
    ///
    /// [`CommandError::NotOffered`] if a stored session is wanted and neither way to it is offered;
    /// [`Misuse::OpenedOtherwise`] if it is open on this connection with other parameters; otherwise see
    /// [`CommandError`]. Nothing was sent.
    pub fn open_session(&mut self, plan: &SessionPlan, now: Timestamp) -> Result<RequestKey, CommandError> {
        note!(
            self,
            "open_session",
            now,
            "params" = plan.params,
            "stored" = plan.stored.as_deref(),
            "prefer_resume" = plan.prefer_resume,
            "login" = plan.login.as_deref(),
            "timeout" = plan.timeout,
        );
        self.advance(now);
        let (load, resume) = (self.peer.offers(Gate::LoadSession), self.peer.offers(Gate::Resume));
        let way = way(plan.stored.is_some(), load, resume, plan.prefer_resume);
        let method = match way {
            Some(Way::New) => Method::SessionNew,
            // Version 2 has one method for both.
            Some(Way::Load) if !self.speaks_v2() => Method::SessionLoad,
            Some(Way::Load) => Method::SessionResume,
            Some(Way::Resume) => Method::SessionResume,
            None => {
                self.check_open()?;
                return Err(CommandError::NotOffered(MethodName::Known(Method::SessionLoad)));
            }
        };
        let params = match &plan.stored {
            None => Some(plan.params.clone()).filter(Payload::is_object),
            Some(id) => {
                let id = Payload::new(&**id).map_err(|_| Misuse::Payload("the id of the session is not JSON"))?;
                let replay: &[u8] = match way {
                    Some(Way::Load) if self.speaks_v2() => br#","replayFrom":{"type":"start"}"#,
                    _ => b"",
                };
                Payload::splice(&[br#""sessionId":"#, id.as_bytes(), replay].concat(), &plan.params)
            }
        };
        let params = params.ok_or(Misuse::Payload("the params must be a JSON object"))?;
        let request = self.call(MethodName::Known(method), Some(&params), None, None, plan.timeout)?;
        let login = plan.login.as_ref().filter(|login| self.role.auth_methods.contains(login));
        let login = login.map(|login| own::login(login));
        if let (Some(login), Some(call)) = (login, self.outgoing.get_mut(request.0)) {
            call.told_as = Some(request.0);
            let opening = Opening {
                machine: Setup::Asking { login: true },
                method: MethodName::Known(method),
                params,
                login,
                timeout: plan.timeout,
                refused: None,
            };
            self.role.openings.insert(request.0, opening);
        }
        Ok(request)
    }

    /// Logs in by one of the ways that the agent [advertised](Self::auth_methods): `authenticate`, or `auth/login` in
    /// version 2. The end is told as [`Common::Resolved`](crate::Common::Resolved).
    ///
    /// # Errors
    ///
    /// [`CommandError::NotOffered`] for a way that is for a terminal: start the agent's program there, as the agent says, and
    /// a new connection afterwards; otherwise see [`CommandError`]. Nothing was sent.
    pub fn log_in(
        &mut self,
        auth_method: &str,
        timeout: Option<Duration>,
        now: Timestamp,
    ) -> Result<RequestKey, CommandError> {
        note!(self, "log_in", now, "auth_method" = auth_method, "timeout" = timeout);
        self.advance(now);
        let login = own::login(auth_method);
        self.call(MethodName::Known(self.login_method()), Some(&login), None, None, timeout)
    }

    /// Logs out: `logout`, or `auth/logout` in version 2. The end is told as [`Common::Resolved`](crate::Common::Resolved).
    ///
    /// # Errors
    ///
    /// [`CommandError::NotOffered`] if the agent did not offer it; otherwise see [`CommandError`]. Nothing was sent.
    pub fn log_out(&mut self, timeout: Option<Duration>, now: Timestamp) -> Result<RequestKey, CommandError> {
        note!(self, "log_out", now, "timeout" = timeout);
        self.advance(now);
        let method = if self.speaks_v2() { Method::AuthLogout } else { Method::Logout };
        self.call(MethodName::Known(method), Some(&Payload::EMPTY), None, None, timeout)
    }

    fn login_method(&self) -> Method {
        if self.speaks_v2() { Method::AuthLogin } else { Method::Authenticate }
    }

    /// The ids of the ways to log in that the agent advertised, without those that are for a terminal: a client "MUST NOT
    /// send an `authenticate` request for a terminal method" (ACP v1, Authentication).
    pub fn auth_methods(&self) -> impl Iterator<Item = &str> {
        self.role.auth_methods.iter().map(|id| &**id)
    }

    // ---- inside ------------------------------------------------------------------------------------------------

    /// The session was answered. Whether that is not yet the end of it.
    pub(super) fn opening_answered(&mut self, call: &Call, outcome: &Outcome) -> bool {
        let Some(first) = call.told_as else { return false };
        let Some(opening) = self.role.openings.get_mut(&first) else { return false };
        // What was to be cancelled does not go on.
        let refused = outcome.is_auth_required() && call.cancel.is_none();
        let input = if refused { SetupInput::Refused } else { SetupInput::Answered };
        if let (Ok(SetupOutput::LogIn), Outcome::Error(refusal)) = (opening.machine.step(input), outcome) {
            opening.refused = Some((call.clone(), refusal.clone()));
            let (params, timeout) = (opening.login.clone(), opening.timeout);
            let method = MethodName::Known(self.login_method());
            let place = call.session.map(|session| (session, Scope::Session(session)));
            if let Ok(login) = self.send_call(&method, Some(&params), Purpose::LogIn, place, timeout) {
                self.tell_as(login, first);
                return true;
            }
        }
        self.role.openings.remove(&first);
        false
    }

    /// The login was answered.
    pub(super) fn logged_in(&mut self, call: &Call, outcome: Outcome) {
        let Some((first, opening)) =
            call.told_as.and_then(|first| self.role.openings.get_mut(&first).map(|of| (first, of)))
        else {
            return;
        };
        let Some((asked, refusal)) = opening.refused.take() else { return };
        let good = matches!(outcome, Outcome::Result(_)) && call.cancel.is_none();
        let input = if good { SetupInput::LoggedIn } else { SetupInput::NotLoggedIn };
        if let Ok(SetupOutput::AskAgain) = opening.machine.step(input) {
            let (method, params, timeout) = (opening.method.clone(), opening.params.clone(), opening.timeout);
            let place = asked.session.map(|session| (session, Scope::Session(session)));
            if let Ok(again) = self.send_call(&method, Some(&params), asked.purpose, place, timeout) {
                return self.tell_as(again, first);
            }
        }
        self.role.openings.remove(&first);
        // What the user has to know is that a login is needed.
        let outcome = if outcome == Outcome::Closed { outcome } else { Outcome::Error(refusal) };
        self.resolved(first, &asked, outcome);
    }

    fn tell_as(&mut self, request: RequestKey, first: u64) {
        if let Some(call) = self.outgoing.get_mut(request.0) {
            call.told_as = Some(first);
        }
    }
}
