//! What is asked and told: methods, their direction and form, their parameters, and the sessions they name.

use acp_core::{
    Payload, Side,
    wire::{Form, Id, Method, MethodName, Sender},
};
use serde_json::Value;

use super::{Handshake, Observer, Open, r, sessions::State};
use crate::trace::{
    log::{name, other},
    redact::is_removed,
};

/// The version whose rules these are.
const VERSION: u16 = 1;

/// The parameters that a method must have, besides a session where it is one in a session: name and sort.
const fn required(method: Method) -> &'static [(&'static str, Sort)] {
    match method {
        Method::Initialize => &[("protocolVersion", Sort::Number)],
        Method::Authenticate => &[("methodId", Sort::Text)],
        Method::SessionNew => &[("cwd", Sort::Path), ("mcpServers", Sort::List)],
        Method::SessionLoad => &[("sessionId", Sort::Text), ("cwd", Sort::Path), ("mcpServers", Sort::List)],
        Method::SessionResume | Method::SessionFork => &[("sessionId", Sort::Text), ("cwd", Sort::Path)],
        Method::SessionPrompt => &[("prompt", Sort::List)],
        Method::SessionUpdate => &[("update", Sort::Object)],
        Method::SessionSetMode => &[("modeId", Sort::Text)],
        Method::SessionSetConfigOption => &[("configId", Sort::Text)],
        Method::SessionDelete => &[("sessionId", Sort::Text)],
        Method::SessionRequestPermission => &[("toolCall", Sort::Object), ("options", Sort::List)],
        Method::FsReadTextFile => &[("path", Sort::Path)],
        Method::FsWriteTextFile => &[("path", Sort::Path), ("content", Sort::Text)],
        Method::TerminalCreate => &[("command", Sort::Text)],
        Method::TerminalOutput | Method::TerminalWaitForExit | Method::TerminalKill | Method::TerminalRelease => {
            &[("terminalId", Sort::Text)]
        }
        Method::ElicitationCreate => &[("message", Sort::Text)],
        _ => &[],
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Number,
    Text,
    Path,
    List,
    Object,
}

impl Sort {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Number => value.is_u64(),
            Self::Text | Self::Path => value.is_string(),
            Self::List => value.is_array(),
            Self::Object => value.is_object(),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Number => "a whole number",
            Self::Text | Self::Path => "a string",
            Self::List => "an array",
            Self::Object => "an object",
        }
    }
}

impl Observer {
    pub(super) fn request(&mut self, id: Id, method: MethodName, params: Payload) {
        if id.is_null() {
            self.found(r::NULL_ID, format!("`{method}` has the id null"), None);
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
        match method.known() {
            Some(Method::Initialize) => {
                if !matches!(self.handshake, Handshake::Not) {
                    self.found(r::INITIALIZE_TWICE, "`initialize` again", None);
                }
                self.handshake = Handshake::Asked;
                self.of_client = acp_core::wire::Capabilities::of_client(&params);
            }
            Some(method) if !self.foreign => self.asked(&id, method, session.as_deref(), &read),
            Some(_) | None => {}
        }
        let open = Open { line, method, session, params, cancelled: false };
        self.way(self.from).open.insert(id, open);
    }

    pub(super) fn notification(&mut self, method: &MethodName, params: &Payload) {
        let read: Value = params.get().unwrap_or_default();
        let session = self.sent(method, &read, false);
        if self.foreign {
            return;
        }
        match (method.known(), session) {
            (Some(Method::SessionCancel), Some(session)) if self.from == Side::Client => self.cancelled(&session),
            (Some(Method::SessionUpdate), Some(session)) if self.from == Side::Agent => {
                self.update(&session, &read["update"]);
            }
            (Some(Method::CancelRequest), _) => self.cancel_request(&read["requestId"]),
            _ => {}
        }
    }

    /// What holds for every method. Gives the session it names.
    fn sent(&mut self, method: &MethodName, params: &Value, is_request: bool) -> Option<String> {
        let session = params["sessionId"].as_str().map(str::to_owned);
        let is_first = method.known() == Some(Method::Initialize) || method.is_protocol_level();
        if self.whole && !is_first && !matches!(self.handshake, Handshake::Done) {
            self.found(r::BEFORE_INITIALIZE, format!("`{method}` before `initialize` was answered"), None);
        }
        let known = method.known().filter(|_| !self.foreign);
        let Some((known, gate)) = known.and_then(|known| Some((known, known.spec().gate(VERSION)?))) else {
            if !self.foreign && !method.is_extension() && !method.is_protocol_level() {
                self.found(r::UNKNOWN_METHOD, format!("`{method}` is not a method of version 1"), None);
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
        if self.whole && matches!(self.handshake, Handshake::Done) && !offered.offers(gate) {
            let what = format!("`{method}`, which the {} did not advertise", name(other(self.from)));
            self.found(r::NOT_ADVERTISED, what, None);
        }
        self.parameters(known, params);
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
        for (param, sort) in required(method) {
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
                self.opening(session, method);
            }
            // Tolerated as a request.
            (Side::Client, Method::SessionCancel, Some(session)) => self.cancelled(session),
            (Side::Client, Method::SessionClose, Some(session)) => self.closing(session),
            (Side::Client, Method::SessionSetMode, Some(session)) => self.mode_set(session, &params["modeId"]),
            (Side::Client, Method::Authenticate, _) => {
                let method = params["methodId"].as_str().unwrap_or_default();
                if self.auth_methods.as_ref().is_some_and(|known| !known.iter().any(|known| known == method)) {
                    self.found(r::AUTH_METHOD, format!("`{method}` was not advertised"), None);
                }
            }
            (Side::Agent, Method::SessionRequestPermission, Some(session)) => self.permission_asked(id, session),
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
            None => {
                self.found(r::UNKNOWN_SESSION, format!("`{}` in {id:?}, which was not opened", method.name()), None);
                return false;
            }
            Some((State::Opening, line)) if self.from == Side::Client && method != Method::SessionCancel => {
                let what = format!("`{}` in {id:?} before it was opened", method.name());
                self.found(r::UNKNOWN_SESSION, what, Some(line));
            }
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
