//! One run, step by step: initialize, log in, open the sessions, call, prompt. Every step waits for its own answer and
//! deals with whatever is told meanwhile, so that events come out in the order of the wire.

use std::collections::VecDeque;

use acp_core::{
    Client, ClientAction, CloseReason, CommandError, Common, Outcome, Payload, RequestKey, SessionKey, wire::code,
};
use acp_tokio::{Actions, Handle};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::{
    args::{Opening, Plan},
    events::{Event, Failure, Of, initialized},
    exit,
    services::Services,
    session::Session,
    show::Output,
    turns::Held,
};
use crate::shape::payload;

/// The run is over: why was shown already.
#[derive(Debug)]
pub(super) struct Over;

/// What a request came to: its result, and the session it opened.
type Answer = (Payload, Option<SessionKey>);

/// The state of a run.
pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan,
    pub(super) client: Handle<Client>,
    actions: Actions<Client>,
    pub(super) out: Output,
    pub(super) services: Services,
    pub(super) sessions: Vec<Session>,
    /// Permission requests that are kept open.
    pub(super) held: VecDeque<Held>,
    /// What is under way, for errors.
    pub(super) place: String,
    /// The connection is ending: nothing more is sent.
    pub(super) lost: bool,
    /// Nobody takes our output.
    unread: bool,
    exit: u8,
}

impl<'a> Run<'a> {
    pub(super) fn new(plan: &'a Plan, client: Handle<Client>, actions: Actions<Client>, out: Output) -> Self {
        Self {
            plan,
            services: Services::new(client.clone(), plan.cwd.clone()),
            client,
            actions,
            out,
            sessions: Vec::new(),
            held: VecDeque::new(),
            place: String::new(),
            lost: false,
            unread: false,
            exit: 0,
        }
    }

    /// The highest exit code of anything that went wrong.
    pub(super) const fn exit(&self) -> u8 {
        self.exit
    }

    /// Everything the plan says.
    pub(super) async fn all(&mut self) -> Result<(), Over> {
        self.initialize().await?;
        if let Some(method) = &self.plan.auth {
            let v2 = self.speaks_v2();
            let name = if v2 { "auth/login" } else { "authenticate" };
            let Some(_) = self.request(name, json!({ "methodId": method }), method).await? else {
                return Err(Over);
            };
            self.show(&Event::Auth { ok: true });
        }
        for n in 0..self.plan.sessions {
            self.open(n).await?;
        }
        for (method, params) in &self.plan.calls {
            let sent = self.client.with(|conn, now| conn.request(method, Some(params.clone()), None, now));
            if let Some((result, _)) = self.answer(method, sent).await? {
                self.show(&Event::Result { method, result: &result });
            }
        }
        self.prompts().await
    }

    async fn initialize(&mut self) -> Result<(), Over> {
        let info = json!({ "name": "drive", "title": "Drive", "version": env!("CARGO_PKG_VERSION") });
        // The shape is that of the version which is asked for. Version 2 has no files and terminals of the client's.
        let params = match self.plan.protocol {
            0..=1 => json!({
                "clientCapabilities": {
                    "fs": { "readTextFile": self.plan.fs, "writeTextFile": self.plan.fs },
                    "terminal": self.plan.terminal,
                },
                "clientInfo": info,
            }),
            _ => json!({ "capabilities": {}, "info": info }),
        };
        let version = format!("protocol version {}", self.plan.protocol);
        self.show(&Event::Sent { method: "initialize", about: &version });
        let sent = self.client.with(|conn, now| conn.initialize(&payload(params), now));
        match self.answer("initialize", sent).await? {
            // A version that is not spoken here ends the connection, which is told next.
            Some(_) if self.client.with(|conn, _| conn.version()).is_none() => self.until_closed().await,
            Some((result, _)) => {
                if let Some(event) = initialized(&result) {
                    self.show(&event);
                }
                Ok(())
            }
            None => Err(Over),
        }
    }

    async fn open(&mut self, n: usize) -> Result<(), Over> {
        let place = json!({ "cwd": self.plan.cwd, "mcpServers": [] });
        let with_id = |id: &str| json!({ "sessionId": id, "cwd": self.plan.cwd, "mcpServers": [] });
        let (method, params) = match &self.plan.opening {
            Opening::New => ("session/new", place),
            Opening::Load(id) if self.speaks_v2() => {
                let mut params = with_id(id);
                params["replayFrom"] = json!({ "type": "start" });
                ("session/resume", params)
            }
            Opening::Load(id) => ("session/load", with_id(id)),
            Opening::Resume(id) => ("session/resume", with_id(id)),
        };
        let about = format!("in {}", self.plan.cwd.display());
        let Some((_, opened)) = self.request(method, params, &about).await? else { return Ok(()) };
        let id = opened.and_then(|session| self.client.session_id(session));
        let (Some(session), Some(id)) = (opened, id) else {
            self.fail(
                exit::REFUSED,
                method,
                Failure::here(code::INTERNAL_ERROR, "the answer names no `sessionId` of its own"),
                None,
            );
            return Ok(());
        };
        self.show(&Event::Session { session_id: &id, n });
        self.sessions.push(Session::new(session, id.clone()));
        if let Some(mode) = &self.plan.mode {
            self.request("session/set_mode", json!({ "sessionId": id, "modeId": mode }), mode).await?;
        }
        Ok(())
    }

    fn speaks_v2(&self) -> bool {
        self.client.with(|conn, _| conn.version()) == Some(2)
    }

    async fn request(&mut self, method: &str, params: serde_json::Value, about: &str) -> Result<Option<Answer>, Over> {
        self.show(&Event::Sent { method, about });
        let sent = self.client.with(|conn, now| conn.request(method, Some(payload(params)), None, now));
        self.answer(method, sent).await
    }

    /// Waits for the answer to a request. `None`: it came to nothing, and that was shown.
    async fn answer(&mut self, method: &str, sent: Result<RequestKey, CommandError>) -> Result<Option<Answer>, Over> {
        method.clone_into(&mut self.place);
        let request = match sent {
            Ok(request) => request,
            Err(why) => {
                self.refused(method, &why, None);
                return if why == CommandError::Closed { self.until_closed().await } else { Ok(None) };
            }
        };
        let until = Instant::now() + self.plan.timeout;
        let resolved = loop {
            match self.next(until).await? {
                Some(ClientAction::Common(Common::Resolved(resolved))) if resolved.request == request => {
                    break resolved;
                }
                Some(action) => self.handle(action),
                None => return Err(self.timed_out(method, None)),
            }
        };
        match (Failure::of(&resolved.outcome), resolved.outcome) {
            (_, Outcome::Result(result)) => Ok(Some((result, resolved.session))),
            (Some(failure), _) => {
                self.fail(exit::REFUSED, method, failure, None);
                Ok(None)
            }
            (None, _) => self.until_closed().await,
        }
    }

    /// The next action; `None` if there is none until then.
    pub(super) async fn next(&mut self, until: Instant) -> Result<Option<ClientAction>, Over> {
        if self.unread {
            self.exit = self.exit.max(exit::OURS);
            return Err(Over);
        }
        match timeout_at(until, self.actions.next()).await {
            Ok(Some(action)) => Ok(Some(action)),
            Ok(None) => Err(Over),
            Err(_) => Ok(None),
        }
    }

    /// The connection is ending, which is its last action.
    pub(super) async fn until_closed<T>(&mut self) -> Result<T, Over> {
        let until = Instant::now() + self.plan.timeout;
        while let Some(action) = self.next(until).await? {
            self.handle(action);
        }
        Err(Over)
    }

    /// The last action of all.
    pub(super) fn closed(&mut self, reason: &CloseReason) {
        let place = self.place.clone();
        match reason {
            CloseReason::Version { .. } => {
                self.fail(exit::REFUSED, "initialize", Failure::version(reason.to_string()), None);
            }
            CloseReason::StopUnconfirmed => {
                self.fail(exit::TIMEOUT, "session/cancel", Failure::timeout(reason.to_string()), None);
            }
            _ => {
                self.exit = self.exit.max(exit::GONE);
                self.show(&Event::Closed { r#where: &place, reason: reason.to_string() });
            }
        }
    }

    pub(super) fn show(&mut self, event: &Event<'_>) {
        self.unread |= self.out.show(event).is_err();
    }

    pub(super) fn fail(&mut self, code: u8, place: &str, what: Failure, of: Option<Of>) {
        self.exit = self.exit.max(code);
        self.show(&Event::Error { r#where: place, what, of });
    }

    /// The connection would not send it; if because it is ending, that is told when it has.
    pub(super) fn refused(&mut self, place: &str, why: &CommandError, of: Option<Of>) {
        if let Some(what) = Failure::unsent(why) {
            self.fail(exit::REFUSED, place, what, of);
        }
    }

    pub(super) fn timed_out(&mut self, place: &str, of: Option<Of>) -> Over {
        let why = format!("no answer within {:?}", self.plan.timeout);
        self.fail(exit::TIMEOUT, place, Failure::timeout(why), of);
        Over
    }
}
