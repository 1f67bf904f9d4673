//! Turns: prompts, what is reported in them, how they are cancelled, and how they end.

use acp_core::{
    Payload, Side,
    wire::{Id, Method, StopReason, UpdateKind},
};
use serde_json::Value;

use super::{Observer, Open, Severity, r, sessions::State};

/// A turn that is not answered.
#[derive(Debug)]
pub(super) struct Turn {
    id: Id,
    line: usize,
    /// Where it was cancelled.
    cancelled: Option<usize>,
    /// Its open permission requests.
    permissions: Vec<Id>,
}

impl Observer {
    pub(super) fn prompted(&mut self, id: &Id, session: &str, params: &Value) {
        for block in params["prompt"].as_array().into_iter().flatten() {
            let kind = block["type"].as_str().unwrap_or_default();
            if matches!(kind, "image" | "audio" | "resource") && self.whole && !self.content.contains(kind) {
                self.found(r::CONTENT_NOT_ADVERTISED, format!("a block of type `{kind}`"), None);
            }
        }
        if self.is_v2() {
            return self.prompted_v2(id, session, params);
        }
        let line = self.line;
        let running = self.session(session).turns.back().map(|turn| turn.line);
        if running.is_some() {
            self.found(r::SECOND_PROMPT, "a prompt while a turn runs", running);
        }
        let session = self.session(session);
        session.loaded = false;
        session.told = false;
        session.turns.push_back(Turn { id: id.clone(), line, cancelled: None, permissions: Vec::new() });
    }

    /// The client cancels whatever runs in a session.
    pub(super) fn cancelled(&mut self, session: &str) {
        if self.is_v2() {
            return self.work_cancelled(session);
        }
        let line = self.line;
        for turn in &mut self.session(session).turns {
            turn.cancelled.get_or_insert(line);
        }
    }

    /// `$/cancel_request`: of a prompt it cancels the turn.
    pub(super) fn cancel_request(&mut self, id: &Value) {
        let Some(id) = Payload::new(id).ok().and_then(|id| Id::parse(&id)) else {
            return self.found(r::BAD_PARAMS, "`requestId` of `$/cancel_request` must be an id", None);
        };
        let line = self.line;
        let Some(open) = self.way(self.from).open.get_mut(&id) else { return };
        open.cancelled = true;
        let session = open.session.clone().filter(|_| open.method.known() == Some(Method::SessionPrompt));
        if self.is_v2() {
            return session.into_iter().for_each(|session| self.prompt_cancelled(&id, &session));
        }
        if let Some(session) = session
            && let Some(turn) = self.session(&session).turns.iter_mut().find(|turn| turn.id == id)
        {
            turn.cancelled.get_or_insert(line);
        }
    }

    /// Output of the agent, or a tool call: it belongs to a turn, or to a history.
    pub(super) fn talk(&mut self, id: &str, kind: &UpdateKind) {
        let whole = self.whole;
        let session = self.session(id);
        let (state, line, last) = (session.state, session.line, session.last);
        if !session.turns.is_empty() || session.told || !whole {
            return;
        }
        match state {
            State::Opening if session.resuming => {
                session.told = true;
                self.found(r::RESUME_REPLAYS, format!("`{kind}` before the answer to `session/resume`"), Some(line));
            }
            State::Open if session.loaded => {
                session.told = true;
                let what = format!("`{kind}` after `session/load` was answered, and before any prompt");
                self.found(r::LOAD_ORDER, what, Some(line));
            }
            State::Open => {
                session.told = true;
                match last {
                    Some((line, true)) => {
                        let what = format!("`{kind}` after the turn was answered `cancelled`");
                        self.found(r::UPDATE_AFTER_CANCELLED, what, Some(line));
                    }
                    last => {
                        let what = format!("`{kind}` while no turn runs");
                        self.found(r::UPDATE_OUTSIDE_TURN, what, last.map(|(line, _)| line));
                    }
                }
            }
            State::Opening | State::Early | State::Closed => {}
        }
    }

    pub(super) fn permission_asked(&mut self, id: &Id, session: &str, params: &Value) {
        if self.is_v2() {
            if !params["toolCall"].is_null() {
                self.found(r::OTHER_VERSION, "`toolCall` of a permission request: version 2 has `subject`", None);
            }
            // What it says of its tool call counts like an update.
            return self.tool_call(session, &UpdateKind::ToolCallUpdate, &params["subject"]["toolCall"]);
        }
        if let Some(turn) = self.session(session).turns.front_mut() {
            turn.permissions.push(id.clone());
        }
    }

    /// The client answered a permission request with this outcome; `None`: with none of the options.
    pub(super) fn permission_answered(&mut self, id: &Id, asked: &Open, option: Option<&str>) {
        // In version 2 a client may decline as it likes, and what it answers to a cancelled agent is passed over.
        let Some(session) = asked.session.as_deref().filter(|_| !self.is_v2()) else { return };
        let of = self.session(session);
        let turn = of.turns.iter_mut().find(|turn| turn.permissions.contains(id));
        let cancelled = match turn {
            Some(turn) => {
                turn.permissions.retain(|open| open != id);
                turn.cancelled
            }
            None => of.void.iter().position(|(open, _)| open == id).map(|at| of.void.swap_remove(at).1),
        };
        match (option, cancelled) {
            // The client knows what it sent before.
            (Some(option), Some(cancel)) => {
                let what = format!("`{option}` is selected after the cancel");
                self.found(r::PERMISSION_AFTER_CANCEL, what, Some(cancel));
            }
            (None, None) if !asked.cancelled => {
                // Once the turn is over, there is nothing else to say.
                let is_over = self.session(session).last.is_some_and(|(line, _)| line > asked.line);
                if !is_over {
                    self.found(r::PERMISSION_UNASKED_CANCEL, "`cancelled`, and nobody cancelled", Some(asked.line));
                }
            }
            _ => {}
        }
    }

    /// A prompt was answered: with a stop reason, or with an error.
    pub(super) fn turn_ended(&mut self, id: &Id, session: &str, how: Result<&str, i64>) {
        let line = self.line;
        let turns = &mut self.session(session).turns;
        let Some(at) = turns.iter().position(|turn| turn.id == *id) else { return };
        let Some(turn) = turns.remove(at) else { return };
        let was_cancelled = how == Ok("cancelled");
        self.session(session).last = Some((line, was_cancelled));
        match (how, turn.cancelled) {
            (Ok("cancelled"), None) => {
                if self.client.ended.is_none() {
                    self.found(r::CANCELLED_UNASKED, "`cancelled`, and nobody cancelled", Some(turn.line));
                }
            }
            (Ok(reason), cancelled) => {
                // Version 2 has more of them.
                if matches!(StopReason::from(reason), StopReason::Unknown(_) | StopReason::Error) {
                    self.found(r::STOP_REASON, format!("the stop reason `{reason}`"), None);
                }
                if let Some(cancel) = cancelled.filter(|_| !was_cancelled) {
                    self.not_cancelled(r::CANCEL_IGNORED, &format!("the turn ended with `{reason}`"), cancel);
                }
            }
            // What `$/cancel_request` asks for.
            (Err(-32800), Some(_)) => {}
            (Err(code), Some(cancel)) => {
                self.not_cancelled(r::CANCEL_FAILED, &format!("the turn ended with the error {code}"), cancel);
            }
            (Err(_), None) => {}
        }
        if let Some(cancel) = turn.cancelled {
            let void = turn.permissions.iter().map(|id| (id.clone(), cancel));
            self.session(session).void.extend(void);
        }
        let open: Vec<_> = turn.permissions.iter().filter_map(|id| self.agent.open.get(id)).collect();
        if let (Some(open), None) = (open.first().map(|open| open.line), turn.cancelled) {
            self.found(r::OPEN_REQUEST, "the turn ended while its permission request was open", Some(open));
        }
    }

    pub(super) fn not_cancelled(&mut self, rule: super::Rule, what: &str, cancel: usize) {
        if self.may_have_crossed(cancel) {
            self.found_as(rule, Severity::Warning, format!("{what}; the cancel may have crossed it"), Some(cancel));
        } else {
            self.found(rule, what, Some(cancel));
        }
    }

    /// The trace ends, and this was not answered. Whether there was more to say about it than that.
    pub(super) fn left_open(&mut self, id: &Id, open: &Open) -> bool {
        if self.is_v2() {
            return open.session.as_deref().is_some_and(|session| self.left_open_v2(id, session));
        }
        let Some(session) = open.session.as_deref().and_then(|session| self.sessions.get(session)) else {
            return false;
        };
        let cancelled = match (open.method.known(), self.from) {
            (Some(Method::SessionPrompt), Side::Agent) => {
                session.turns.iter().find(|turn| turn.id == *id).and_then(|turn| turn.cancelled)
            }
            (Some(Method::SessionRequestPermission), Side::Client) => {
                let turn = session.turns.iter().find(|turn| turn.permissions.contains(id));
                let void = session.void.iter().find(|(open, _)| open == id).map(|(_, cancel)| *cancel);
                turn.and_then(|turn| turn.cancelled).or(void)
            }
            _ => None,
        };
        let Some(cancel) = cancelled else { return false };
        if self.from == Side::Agent {
            self.line = cancel;
            self.found(r::CANCEL_UNANSWERED, "the turn that is cancelled here is never answered", Some(open.line));
        } else {
            self.found(r::PERMISSION_AFTER_CANCEL, "a permission request is left open by the cancel", Some(cancel));
        }
        true
    }
}
