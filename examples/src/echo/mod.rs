//! An agent that does what the prompt says: it echoes, streams, hangs, uses tools, asks for permission, for files and
//! for terminals. It has no model, so that every path of the protocol can be driven on purpose.
//!
//! The shape of an agent: one loop takes the actions, and nothing in it waits for anybody; each turn is a task of its
//! own.

mod commands;
mod dialect;
mod services;
mod store;
mod talk;
mod tools;

use std::{pin::pin, process::ExitCode, sync::Arc};

use acp_core::{
    Agent, AgentAction, CloseReason, Common, Config, ErrorObject, InitializeTicket, Payload, Refused, SessionKey,
    SessionTicket, Side,
    wire::{Method, MethodName, code},
};
use acp_tokio::{Handle, Parts};
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinHandle;

use self::{
    dialect::{AUTH_METHOD, Dialect},
    store::{Mode, Store},
    talk::Talk,
};
use crate::{
    shape::{internal, invalid_params, no_such_session, payload, widened},
    trace::{Recorder, Tap},
};

/// What the agent is told on its command line.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Open no session before `authenticate`.
    pub require_auth: bool,
    /// Writes down what passes.
    pub trace: Option<Recorder>,
}

/// Speaks ACP on stdin and stdout until one of them ends, or SIGTERM or SIGINT comes.
///
/// The exit code is 0 when the client closed stdin, or after a signal: then every turn was answered `cancelled` and
/// everything written. It is 1 when stdio failed.
pub async fn serve(options: Options) -> ExitCode {
    let (agent, mut actions, driver) = match start(options.trace) {
        Ok(parts) => parts,
        Err(why) => {
            eprintln!("echo_agent: {why}");
            return ExitCode::FAILURE;
        }
    };
    let mut host = Host {
        agent: agent.clone(),
        store: Arc::default(),
        locked: options.require_auth,
        require_auth: options.require_auth,
        dialect: Dialect::default(),
    };
    let mut terminated = pin!(acp_tokio::terminated());
    let mut terminating = false;
    loop {
        tokio::select! {
            action = actions.next() => match action {
                Some(action) => host.act(action),
                None => break,
            },
            () = &mut terminated, if !terminating => {
                terminating = true;
                agent.close();
            }
        }
    }
    match driver.await {
        Ok(CloseReason::Eof | CloseReason::Local) => ExitCode::SUCCESS,
        Ok(reason) => {
            eprintln!("echo_agent: {reason}");
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("echo_agent: the driver failed: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The connection on stdio, its driver at work, with a recorder in between if what passes is to be written down.
fn start(trace: Option<Recorder>) -> Result<Parts<Agent, JoinHandle<CloseReason>>, String> {
    let (reader, writer) = acp_tokio::stdio().map_err(|why| format!("stdio cannot be used: {why}"))?;
    let mut config = widened(Config::agent());
    // Version 2 is a preview: a client has to ask for it.
    config.versions = [1, 2].into_iter().collect();
    let wrong = |why| format!("configuration: {why}");
    Ok(match trace {
        None => {
            let (agent, actions, driver) = acp_tokio::agent(reader, writer, config).map_err(wrong)?;
            (agent, actions, tokio::spawn(driver))
        }
        Some(recorder) => {
            let reader = Tap::new(reader, Side::Client, recorder.clone());
            let writer = Tap::new(writer, Side::Agent, recorder);
            let (agent, actions, driver) = acp_tokio::agent(reader, writer, config).map_err(wrong)?;
            (agent, actions, tokio::spawn(driver))
        }
    })
}

/// What the loop keeps between two actions.
struct Host {
    agent: Handle<Agent>,
    store: Arc<Store>,
    /// Nobody has logged in yet, and somebody must.
    locked: bool,
    require_auth: bool,
    dialect: Dialect,
}

impl Host {
    fn act(&mut self, action: AgentAction) {
        match action {
            AgentAction::Initialize { ticket, version, .. } => self.initialize(ticket, version),
            AgentAction::SessionRequested { ticket, method, session, replay, params } => {
                if let Err((ticket, error)) = self.open(ticket, method, session, replay, &params) {
                    self.agent.reject_session(ticket, &error);
                }
            }
            AgentAction::Prompt { ticket, params } => {
                let talk =
                    Talk::new(self.agent.clone(), self.agent.turn(ticket), Arc::clone(&self.store), self.dialect);
                tokio::spawn(commands::run(talk, params));
            }
            // Its turns are over, and there is nothing else to release: the history stays and can be loaded.
            AgentAction::CloseSession { ticket, .. } => {
                self.agent.respond(ticket, Ok(Payload::EMPTY));
            }
            AgentAction::Common(Common::Request { ticket, method, params, .. }) => {
                let params = params.filter(|params| !params.is_null()).unwrap_or(Payload::EMPTY);
                let answer = self.answer(&method, &params);
                self.agent.respond(ticket, answer);
            }
            // Cancels reach each turn through its token. Extensions and the rest get the answer they are owed.
            other => {
                self.agent.decline(other);
            }
        }
    }

    fn initialize(&mut self, ticket: InitializeTicket, version: u16) {
        self.dialect = Dialect::of(version);
        let result = self.dialect.initialized(self.require_auth);
        if let Err(Refused { ticket, why }) = self.agent.accept_initialize(ticket, &payload(result)) {
            self.agent.with(|conn, now| conn.reject_initialize(ticket, &internal(why), now));
        }
    }

    /// New, load and resume. What cannot be opened comes back with its error.
    fn open(
        &self,
        ticket: SessionTicket,
        method: Method,
        session: Option<SessionKey>,
        replay: bool,
        params: &Payload,
    ) -> Result<(), (SessionTicket, ErrorObject)> {
        if self.locked {
            let why = format!("log in first: call `authenticate` with the method `{AUTH_METHOD}`");
            return Err((ticket, ErrorObject::new(code::AUTH_REQUIRED, why)));
        }
        let asked = match Open::read(params) {
            Ok(asked) => asked,
            Err(error) => return Err((ticket, error)),
        };
        let id = match (method, session) {
            (Method::SessionNew, _) => match self.store.create(asked.cwd) {
                Some(id) => id,
                None => return Err((ticket, internal("too many sessions are kept: delete some"))),
            },
            (_, Some(session)) => {
                let id = self.agent.session_id(session).unwrap_or_default();
                if self.store.mode(&id).is_none() {
                    return Err((ticket, no_such_session(&id)));
                }
                id
            }
            (other, None) => {
                let why = format!("`{}` is not served here", other.name());
                return Err((ticket, ErrorObject::new(code::METHOD_NOT_FOUND, why)));
            }
        };
        let mut result = match self.dialect {
            Dialect::V1 => json!({ "modes": self.store.modes(&id) }),
            // It has no modes.
            Dialect::V2 => json!({}),
        };
        if method == Method::SessionNew {
            result["sessionId"] = json!(id);
        }
        // Only loading brings the history back, and all of it comes before the answer.
        let history = if replay { self.store.history(&id, self.dialect) } else { Vec::new() };
        let agent = self.agent.clone();
        let accept = move |ticket| {
            if let Err(Refused { ticket, why }) = agent.accept_session(ticket, &payload(result)) {
                agent.reject_session(ticket, &internal(why));
            }
        };
        match session.filter(|_| !history.is_empty()) {
            // An answer that waits for nothing is given at once.
            None => accept(ticket),
            Some(session) => {
                let agent = self.agent.clone();
                tokio::spawn(async move {
                    for update in history {
                        // A client that is gone needs no history.
                        let _ = agent.update(session, &payload(update)).await;
                    }
                    accept(ticket);
                });
            }
        }
        Ok(())
    }

    /// The requests that are answered from what is known.
    fn answer(&mut self, method: &MethodName, params: &Payload) -> Result<Payload, ErrorObject> {
        if !params.is_object() {
            return Err(invalid_params("the params must be an object"));
        }
        let asked: Asked = params.get().map_err(|why| invalid_params(why.to_string()))?;
        match method.known() {
            Some(Method::Authenticate | Method::AuthLogin)
                if self.require_auth && asked.method_id.as_deref() == Some(AUTH_METHOD) =>
            {
                self.locked = false;
                Ok(Payload::EMPTY)
            }
            Some(Method::Authenticate | Method::AuthLogin) => {
                Err(invalid_params("`methodId` must be one of the advertised auth methods"))
            }
            Some(Method::Logout | Method::AuthLogout) => {
                self.locked = self.require_auth;
                Ok(Payload::EMPTY)
            }
            Some(Method::SessionList) => match asked.cursor {
                Some(_) => Err(invalid_params("`cursor` was not given by this agent: its lists have one page")),
                None => Ok(payload(json!({ "sessions": self.store.list(asked.cwd.as_deref()) }))),
            },
            Some(Method::SessionDelete) => {
                self.store.delete(&asked.session_id.ok_or_else(|| invalid_params("`sessionId` is missing"))?);
                Ok(Payload::EMPTY)
            }
            Some(Method::SessionSetMode) => {
                let id = asked.session_id.unwrap_or_default();
                let mode = asked.mode_id.as_deref().and_then(Mode::from_id);
                let mode = mode.ok_or_else(|| invalid_params("`modeId` must be one of the session's modes"))?;
                if self.store.set_mode(&id, mode) { Ok(Payload::EMPTY) } else { Err(no_such_session(&id)) }
            }
            _ => Err(ErrorObject::new(code::METHOD_NOT_FOUND, format!("`{method}` is not served here"))),
        }
    }
}

/// What is read of a request to open a session.
struct Open {
    cwd: String,
}

impl Open {
    fn read(params: &Payload) -> Result<Self, ErrorObject> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Raw {
            cwd: String,
            /// Left out or null by some clients; this agent starts none in any case.
            #[serde(default)]
            mcp_servers: Option<Vec<serde::de::IgnoredAny>>,
        }
        if !params.is_object() {
            return Err(invalid_params("the params must be an object"));
        }
        let raw: Raw = params.get().map_err(|why| invalid_params(why.to_string()))?;
        if !std::path::Path::new(&raw.cwd).is_absolute() {
            return Err(invalid_params("`cwd` must be an absolute path"));
        }
        if let Some(servers) = raw.mcp_servers.filter(|servers| !servers.is_empty()) {
            eprintln!("echo_agent: {} MCP servers are not started: this agent has no use for them", servers.len());
        }
        Ok(Self { cwd: raw.cwd })
    }
}

/// What is read of the other requests.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    session_id: Option<String>,
    method_id: Option<String>,
    mode_id: Option<String>,
    cwd: Option<String>,
    cursor: Option<String>,
}
