//! What is asked and told: methods, their direction and form, their parameters, and the sessions they name.

use acp_core::{
    Payload, Side,
    wire::{Form, Id, Method, MethodName, Sender},
};
use serde_json::Value;

use super::{Observer, Open, Severity, r, sessions::State};
use crate::trace::{
    log::{name, other},
    redact::is_removed,
};

/// The parameters that a method must have, besides a session where it is one in a session: name and sort.
const fn required(method: Method, version: u16) -> &'static [(&'static str, Sort)] {
    match (method, version) {
        (Method::Initialize, 0..=1) => &[("protocolVersion", Sort::Number)],
        (Method::Initialize, _) => &[("protocolVersion", Sort::Number), ("info", Sort::Object)],
        (Method::Authenticate | Method::AuthLogin, _) => &[("methodId", Sort::Text)],
        (Method::SessionNew, 0..=1) => &[("cwd", Sort::Path), ("mcpServers", Sort::List)],
        (Method::SessionNew, _) => &[("cwd", Sort::Path)],
        (Method::SessionLoad, _) => &[("sessionId", Sort::Text), ("cwd", Sort::Path), ("mcpServers", Sort::List)],
        (Method::SessionResume | Method::SessionFork, _) => &[("sessionId", Sort::Text), ("cwd", Sort::Path)],
        (Method::SessionPrompt, 0..=1) => &[("prompt", Sort::List)],
        (Method::SessionPrompt, _) => &[("prompt", Sort::Filled)],
        (Method::SessionUpdate, _) => &[("update", Sort::Object)],
        (Method::SessionSetMode, _) => &[("modeId", Sort::Text)],
        (Method::SessionSetConfigOption, 0..=1) => &[("configId", Sort::Text)],
        (Method::SessionSetConfigOption, _) => &[("configId", Sort::Text), ("type", Sort::Text)],
        (Method::SessionDelete, _) => &[("sessionId", Sort::Text)],
        (Method::SessionRequestPermission, 0..=1) => &[("toolCall", Sort::Object), ("options", Sort::List)],
        (Method::SessionRequestPermission, _) => &[("title", Sort::Text), ("options", Sort::Filled)],
        (Method::ToolCallCancel, _) => &[("toolCallId", Sort::Text)],
        (Method::TerminalCancel, _) => &[("terminalId", Sort::Text)],
        (Method::FsReadTextFile, _) => &[("path", Sort::Path)],
        (Method::FsWriteTextFile, _) => &[("path", Sort::Path), ("content", Sort::Text)],
        (Method::TerminalCreate, _) => &[("command", Sort::Text)],
        (Method::TerminalOutput | Method::TerminalWaitForExit | Method::TerminalKill | Method::TerminalRelease, _) => {
            &[("terminalId", Sort::Text)]
        }
        (Method::ElicitationCreate, _) => &[("message", Sort::Text)],
        _ => &[],
    }
}

/// What a member must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Number,
    Text,
    Path,
    List,
    /// A list that is not empty.
    Filled,
    Object,
}

impl Sort {
    pub(super) fn fits(self, value: &Value) -> bool {
        match self {
            Self::Number => value.is_u64(),
            Self::Text | Self::Path => value.is_string(),
            Self::List => value.is_array(),
            Self::Filled => value.as_array().is_some_and(|entries| !entries.is_empty()),
            Self::Object => value.is_object(),
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Number => "a whole number",
            Self::Text | Self::Path => "a string",
            Self::List => "an array",
            Self::Filled => "an array that is not empty",
            Self::Object => "an object",
        }
    }
}

impl Observer {
    pub(super) fn request(&mut self, id: Id, method: MethodName, params: Payload) {
        if id.is_null() {
            let severity = if self.is_v2() { Severity::Error } else { r::NULL_ID.severity };
            self.found_as(r::NULL_ID, severity, format!("`{method}` has the id null"), None);
        }
        let open = self.way(self.from).open.get(&id).map(|open| (open.line, open.method.clone()));
        if let Some((line, first)) = open {
            let what = format!("`{method}` has the id {id} of `{first}`, which is not answered yet");
            return self.found(r::ID_IN_USE, what, Some(line));
        }
        // An id that is free again starts over: the answer to come is not a second one.
        let line = self.line;
        self.way(self.from).answered.remove(&id);
        let read: Value = params.get().unwrap_or_default();
        let session = self.sent(&method, &read, true);
        match self.in_force(&method) {
            Some(Method::Initialize) => {
                let may_repeat = self.is_v2() && !self.asked && !self.initializing;
                if (self.agreed || self.initializing) && !may_repeat {
                    self.found(r::INITIALIZE_TWICE, "`initialize` again", None);
                }
                self.initializing = true;
                self.of_client = acp_core::wire::Capabilities::of_client(&params);
            }
            Some(method) => self.asked(&id, method, session.as_deref(), &read),
            None => {}
        }
        self.asked |= self.from == Side::Client && method.known() != Some(Method::Initialize);
        let open = Open { line, method, session, params, cancelled: false };
        self.way(self.from).open.insert(id, open);
    }

    pub(super) fn notification(&mut self, method: &MethodName, params: &Payload) {
        let read: Value = params.get().unwrap_or_default();
        let session = self.sent(method, &read, false);
        match (self.in_force(method), session) {
            (Some(Method::SessionCancel), Some(session)) if self.from == Side::Client => self.cancelled(&session),
            (Some(Method::SessionUpdate), Some(session)) if self.from == Side::Agent => {
                self.update(&session, &read["update"]);
            }
            (Some(Method::CancelRequest), _) => self.cancel_request(&read["requestId"]),
            _ => {}
        }
    }

    /// The method, if the version in force has it, and it is known here.
    pub(super) fn in_force(&self, method: &MethodName) -> Option<Method> {
        method.known().filter(|method| !self.foreign && method.is_in(self.version))
    }

    /// What holds for every method. Gives the session it names.
    fn sent(&mut self, method: &MethodName, params: &Value, is_request: bool) -> Option<String> {
        let session = params["sessionId"].as_str().map(str::to_owned);
        let is_first = method.known() == Some(Method::Initialize) || method.is_protocol_level();
        if self.whole && !is_first && !self.agreed {
            self.found(r::BEFORE_INITIALIZE, format!("`{method}` before `initialize` was answered"), None);
        }
        let known = self.in_force(method);
        let Some((known, gate)) = known.and_then(|known| Some((known, known.spec().gate(self.version)?))) else {
            let what = format!("`{method}` is not a method of version {}", self.version);
            if self.foreign || method.is_extension() || method.is_protocol_level() {
            } else if method.known().is_some() {
                self.found(r::OTHER_VERSION, what, None);
            } else {
                self.found(r::UNKNOWN_METHOD, what, None);
            }
            return session;
        };
        let spec = known.spec();
        let sender = match spec.sender {
            Sender::Client => Side::Client,
            Sender::Agent => Side::Agent,
            Sender::Both => self.from,
        };
        if sender != self.from {
            let what = format!("`{method}` is for the {} to send", name(sender));
            self.found(r::WRONG_DIRECTION, what, None);
            return session;
        }
        match (spec.form, is_request) {
            (Form::Request, false) => {
                self.found(r::WRONG_FORM, format!("`{method}` without an id: nobody can answer it"), None);
            }
            (Form::Notification | Form::Either, true) => {
                self.found(r::WRONG_FORM, format!("`{method}` is a notification, and has an id"), None);
            }
            _ => {}
        }
        let offered = if self.from == Side::Client { self.of_agent } else { self.of_client };
        if self.whole && self.agreed && !offered.offers(gate) {
            let what = format!("`{method}`, which the {} did not advertise", name(other(self.from)));
            self.found(r::NOT_ADVERTISED, what, None);
        }
        // Which shape the parameters have is known with the version.
        if is_first || self.agreed || !self.whole {
            self.parameters(known, params);
        }
        if spec.in_session {
            match &session {
                None => self.found(r::BAD_PARAMS, format!("`{method}` names no session"), None),
                Some(id) if self.names_session(known, id) => {}
                // What is said about a session that is not there is not looked at any further.
                Some(_) => return None,
            }
        }
        session
    }

    fn parameters(&mut self, method: Method, params: &Value) {
        // Which shape `initialize` has, follows from the version that it asks for.
        let asked = params["protocolVersion"].as_u64().map_or(1, |asked| asked.min(2) as u16);
        let version = if method == Method::Initialize { asked } else { self.version };
        for (param, sort) in required(method, version) {
            let value = &params[*param];
            if !sort.fits(value) {
                let what = format!("`{param}` of `{}` must be {}", method.name(), sort.name());
                self.found(r::BAD_PARAMS, what, None);
            } else if *sort == Sort::Path && !value.as_str().is_some_and(|path| is_absolute(path) || is_removed(path)) {
                self.found(r::RELATIVE_PATH, format!("`{param}` of `{}` is {value}", method.name()), None);
            }
        }
    }

    /// A request in a form and direction that it may have.
    fn asked(&mut self, id: &Id, method: Method, session: Option<&str>, params: &Value) {
        match (self.from, method, session) {
            (Side::Client, Method::SessionPrompt, Some(session)) => self.prompted(id, session, params),
            (Side::Client, Method::SessionLoad | Method::SessionResume, Some(session)) => {
                self.opening(session, method, !params["replayFrom"].is_null());
            }
            (Side::Client, Method::ToolCallCancel | Method::TerminalCancel, Some(session)) => {
                self.thing_cancelled(session, method, params);
            }
            // Tolerated as a request.
            (Side::Client, Method::SessionCancel, Some(session)) => self.cancelled(session),
            (Side::Client, Method::SessionClose, Some(session)) => self.closing(session),
            (Side::Client, Method::SessionSetMode, Some(session)) => self.mode_set(session, &params["modeId"]),
            (Side::Client, Method::Authenticate | Method::AuthLogin, _) => {
                let method = params["methodId"].as_str().unwrap_or_default();
                if self.auth_methods.as_ref().is_some_and(|known| !known.iter().any(|known| known == method)) {
                    self.found(r::AUTH_METHOD, format!("`{method}` was not advertised"), None);
                }
            }
            (Side::Agent, Method::SessionRequestPermission, Some(session)) => {
                self.permission_asked(id, session, params)
            }
            (
                Side::Agent,
                Method::TerminalOutput | Method::TerminalWaitForExit | Method::TerminalKill | Method::TerminalRelease,
                _,
            ) => {
                let terminal = params["terminalId"].as_str().unwrap_or_default();
                if self.whole && !terminal.is_empty() && !self.terminals.contains(terminal) {
                    self.found(r::UNKNOWN_TERMINAL, format!("`{}` of {terminal:?}", method.name()), None);
                }
                if method == Method::TerminalRelease {
                    self.terminals.remove(terminal);
                }
            }
            _ => {}
        }
    }

    /// Whether the session is one that is known.
    fn names_session(&mut self, method: Method, id: &str) -> bool {
        if !self.whole {
            return true;
        }
        let opening = |open: &Open| matches!(open.method.known(), Some(Method::SessionNew | Method::SessionFork));
        match self.sessions.get(id).map(|session| (session.state, session.line)) {
            // An agent may report on a session before the answer that names it; nobody else may know its name.
            None if self.from == Side::Agent && self.client.open.values().any(opening) => {
                self.sessions.insert(id.to_owned(), super::Session::early(self.line));
            }
            None if self.is_v2() && method == Method::SessionClose => return false,
            None => {
                self.found(r::UNKNOWN_SESSION, format!("`{}` in {id:?}, which was not opened", method.name()), None);
                return false;
            }
            Some((State::Opening, line)) if self.from == Side::Client && method != Method::SessionCancel => {
                let what = format!("`{}` in {id:?} before it was opened", method.name());
                self.found(r::UNKNOWN_SESSION, what, Some(line));
            }
            // To close what is closed does no harm in version 2.
            Some((State::Closed, _)) if self.is_v2() && method == Method::SessionClose => {}
            Some((State::Closed, line)) => {
                let what = format!("`{}` in {id:?}, which is closed", method.name());
                self.found(r::UNKNOWN_SESSION, what, Some(line));
                return false;
            }
            Some(_) => {}
        }
        true
    }
}

/// On any system: traces travel.
fn is_absolute(path: &str) -> bool {
    let drive =
        |path: &str| path.as_bytes().get(1) == Some(&b':') && path.starts_with(|c: char| c.is_ascii_alphabetic());
    path.starts_with(['/', '\\']) || drive(path)
}
