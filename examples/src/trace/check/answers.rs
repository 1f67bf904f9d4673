//! What is answered.

use acp_core::{
    ErrorObject, Payload, Side,
    view::{Initialize, Initialized, Permission},
    wire::{Capabilities, Id, Method, PermissionOutcome, permission_outcome},
};
use serde_json::Value;

use super::{Observer, Open, r};

impl Observer {
    pub(super) fn response(&mut self, id: &Id, answer: Result<Payload, ErrorObject>) {
        // Of an error with the id null nobody knows what it is about, unless a request had that id.
        if let (true, Err(error)) = (id.is_null(), &answer)
            && !self.way(super::other(self.from)).open.contains_key(id)
        {
            let what = format!("could not read something that it was sent: error {}", error.code);
            return self.found(r::PEER_REJECTED, what, None);
        }
        let Some(open) = self.settle(id) else { return };
        let Some(method) = self.in_force(&open.method) else { return };
        match (self.from, answer) {
            (Side::Agent, answer) => self.agent_answered(id, method, &open, answer),
            (Side::Client, Ok(result)) => self.client_answered(id, method, &open, &result),
            // A refused permission request is over, too.
            (Side::Client, Err(_)) if method == Method::SessionRequestPermission => {
                self.permission_answered(id, &Open { cancelled: true, ..open }, None);
            }
            (Side::Client, Err(_)) => {}
        }
    }

    fn agent_answered(&mut self, id: &Id, method: Method, open: &Open, answer: Result<Payload, ErrorObject>) {
        let session = open.session.as_deref();
        match (method, answer) {
            (Method::Initialize, answer) => self.initialized(open, answer.ok().as_ref()),
            (Method::SessionNew | Method::SessionLoad | Method::SessionResume | Method::SessionFork, Ok(result)) => {
                self.opened(method, session, &result.get().unwrap_or_default())
            }
            (Method::SessionLoad | Method::SessionResume, Err(_)) => self.not_opened(session),
            (Method::SessionSetConfigOption, Ok(result)) if self.is_v2() => {
                let result: Value = result.get().unwrap_or_default();
                if !result["configOptions"].is_array() {
                    let what = "the answer to `session/set_config_option` has no `configOptions`";
                    self.found(r::BAD_RESULT, what, None);
                }
            }
            (Method::SessionClose, Ok(_)) => {
                if let Some(session) = session {
                    self.closed(session);
                }
            }
            (Method::SessionPrompt, answer) if self.is_v2() => {
                let answer = answer.map(|result| result.get().unwrap_or_default()).map_err(|error| error.code);
                self.submitted(id, session.unwrap_or_default(), answer);
            }
            (Method::SessionPrompt, Ok(result)) => {
                let result: Value = result.get().unwrap_or_default();
                let reason = result["stopReason"].as_str();
                if reason.is_none() {
                    self.found(r::BAD_RESULT, "the answer to `session/prompt` has no `stopReason`", None);
                }
                // Without one it is over all the same.
                self.turn_ended(id, session.unwrap_or_default(), reason.ok_or(-32800));
            }
            (Method::SessionPrompt, Err(error)) => self.turn_ended(id, session.unwrap_or_default(), Err(error.code)),
            _ => {}
        }
    }

    /// `initialize` was answered; with an error, if there is no result.
    fn initialized(&mut self, asked: &Open, result: Option<&Payload>) {
        self.initializing = false;
        // After an error, what was agreed before holds.
        let Some(result) = result else { return };
        self.agreed = true;
        self.of_agent = Capabilities::of_agent(result);
        let Ok(said) = result.view::<Initialized<'_>>() else {
            return self.found(r::BAD_RESULT, "`protocolVersion` of the answer must be a whole number", None);
        };
        self.foreign = !matches!(said.version, 1 | 2);
        self.version = said.version;
        if self.version == 2 {
            let asked = asked.params.view::<Initialize<'_>>().map_or(u16::MAX, |asked| asked.version);
            if asked < 2 {
                self.found(r::VERSION, format!("version 2, and version {asked} was asked for"), None);
            }
            self.initialized_v2(&result.get().unwrap_or_default());
        }
        let offers = &said.capabilities;
        let blocks = [(offers.images, "image"), (offers.audio, "audio"), (offers.embedded_context, "resource")];
        self.content = blocks.into_iter().filter_map(|(offered, kind)| offered.then_some(kind)).collect();
        self.auth_methods = Some(said.logins.into_iter().flatten().map(|method| method.id.into_owned()).collect());
    }

    fn initialized_v2(&mut self, result: &Value) {
        let old = ["agentInfo", "agentCapabilities"].into_iter().find(|name| !result[*name].is_null());
        if let Some(old) = old {
            let what = format!("`{old}` in the answer to `initialize`: it has another name in version 2");
            self.found(r::OTHER_VERSION, what, None);
        } else if !result["info"].is_object() {
            self.found(r::BAD_RESULT, "the answer to `initialize` has no `info`", None);
        }
        let logins = result["authMethods"].as_array();
        if logins.into_iter().flatten().any(|login| !login["methodId"].is_string() || !login["type"].is_string()) {
            self.found(r::BAD_RESULT, "a way to log in has no `methodId`, or no `type`", None);
        }
    }

    fn client_answered(&mut self, id: &Id, method: Method, open: &Open, result: &Payload) {
        let read: Value = result.get().unwrap_or_default();
        match method {
            Method::SessionRequestPermission => match permission_outcome(result) {
                Some(PermissionOutcome::Selected(option)) => {
                    let asked: Option<Permission<'_>> = open.params.view().ok();
                    if !asked.into_iter().flat_map(|asked| asked.options).any(|offered| *offered.id == *option) {
                        let what = format!("option {option:?} was not offered");
                        self.found(r::OPTION_NOT_OFFERED, what, Some(open.line));
                    }
                    self.permission_answered(id, open, Some(&option));
                }
                Some(PermissionOutcome::Cancelled) => self.permission_answered(id, open, None),
                Some(PermissionOutcome::Unknown(_)) | None => {
                    self.found(r::BAD_RESULT, "the answer to a permission request has no outcome", Some(open.line));
                    self.permission_answered(id, &Open { cancelled: true, ..open.clone() }, None);
                }
            },
            Method::TerminalCreate => match read["terminalId"].as_str() {
                Some(terminal) => drop(self.terminals.insert(terminal.to_owned())),
                None => self.found(r::BAD_RESULT, "the answer to `terminal/create` names no terminal", None),
            },
            Method::FsReadTextFile if !read["content"].is_string() => {
                self.found(r::BAD_RESULT, "the answer to `fs/read_text_file` has no `content`", None);
            }
            _ => {}
        }
    }
}
