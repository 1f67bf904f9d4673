//! Tool calls, and the terminals that an agent shows in version 2: their status, and whether they can be cancelled by
//! themselves.

use acp_core::wire::{Method, ToolCallStatus, UpdateKind};
use serde_json::Value;

use super::{Observer, Severity, r};

/// Which one of a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Call(String),
    Terminal(String),
}

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Thing {
    /// Where it was reported to be no longer pending.
    begun: Option<usize>,
    /// Whether it can be cancelled by itself, and where that was said last.
    cancellable: Option<(bool, usize)>,
}

impl Observer {
    /// A tool call, as an update or a permission request tells of it.
    pub(super) fn tool_call(&mut self, id: &str, kind: &UpdateKind, update: &Value) {
        let Some(call) = update["toolCallId"].as_str() else { return };
        let status = update["status"].as_str().map(ToolCallStatus::from);
        if let Some(status) = &status {
            self.status_named(status);
        }
        let (line, is_v2) = (self.line, self.is_v2());
        let session = self.session(id);
        let key = Key::Call(call.to_owned());
        let (is_known, is_new) = (session.things.contains_key(&key), session.is_new);
        let thing = session.things.entry(key).or_default();
        if is_v2 {
            let begun = thing.begun;
            match &status {
                Some(ToolCallStatus::Pending) => {}
                Some(_) => drop(thing.begun.get_or_insert(line)),
                None => {}
            }
            let over = [ToolCallStatus::Completed, ToolCallStatus::Failed, ToolCallStatus::Cancelled];
            thing.told(update, status.as_ref().is_some_and(|status| over.contains(status)), line);
            if let (Some(ToolCallStatus::Pending), Some(begun)) = (status, begun) {
                self.found(r::TOOL_BACKWARDS, format!("tool call {call:?} is pending again"), Some(begun));
            }
        } else if *kind == UpdateKind::ToolCallUpdate && !is_known && is_new {
            self.found(r::UNKNOWN_TOOL_CALL, format!("tool call {call:?} was not announced"), None);
        }
    }

    /// A terminal that the agent shows.
    pub(super) fn terminal(&mut self, id: &str, update: &Value) {
        let Some(terminal) = update["terminalId"].as_str() else { return };
        let line = self.line;
        let thing = self.session(id).things.entry(Key::Terminal(terminal.to_owned())).or_default();
        thing.told(update, update["exitStatus"].is_object(), line);
    }

    /// The client cancels one by itself.
    pub(super) fn thing_cancelled(&mut self, id: &str, method: Method, params: &Value) {
        let (name, make): (_, fn(String) -> Key) = match method {
            Method::TerminalCancel => ("terminalId", Key::Terminal),
            _ => ("toolCallId", Key::Call),
        };
        let Some(thing) = params[name].as_str() else { return };
        let session = self.session(id);
        let is_new = session.is_new;
        let said = session.things.get(&make(thing.to_owned())).and_then(|thing| thing.cancellable);
        match said {
            Some((true, _)) => {}
            Some((false, line)) if line > self.agent.read => {
                let what = format!("{thing:?} cannot be cancelled any more, which may have crossed this");
                self.found_as(r::NOT_CANCELLABLE, Severity::Warning, what, Some(line));
            }
            Some((false, line)) => {
                self.found(r::NOT_CANCELLABLE, format!("{thing:?} cannot be cancelled any more"), Some(line));
            }
            // Of a session that is older than this connection the client may know more.
            None if is_new => self.found(r::NOT_CANCELLABLE, format!("the agent never offered it for {thing:?}"), None),
            None => {}
        }
    }

    fn status_named(&mut self, status: &ToolCallStatus) {
        let is_own = status.as_str().starts_with('_');
        let severity = match (status, self.is_v2()) {
            // A value without an underscore may be one of a later version.
            (ToolCallStatus::Unknown(_), true) if !is_own => Severity::Warning,
            (ToolCallStatus::Unknown(_) | ToolCallStatus::Paused | ToolCallStatus::Cancelled, false) => Severity::Error,
            _ => return,
        };
        self.found_as(r::TOOL_STATUS, severity, format!("the status `{status}`"), None);
    }
}

impl Thing {
    fn told(&mut self, update: &Value, is_over: bool, line: usize) {
        if let Some(capabilities) = update.get("capabilities") {
            self.cancellable = Some((capabilities["cancel"].is_object(), line));
        }
        if is_over && self.cancellable.is_some() {
            self.cancellable = Some((false, line));
        }
    }
}
