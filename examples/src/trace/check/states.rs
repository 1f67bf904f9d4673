//! Version 2: the states of a session. Work begins and ends by them, they confirm cancels, and output belongs between them.

use acp_core::{
    machine::{Foreground, WorkInput, WorkOutput},
    wire::{Method, SessionState, StopReason, UpdateKind},
};
use serde_json::Value;

use super::{Observer, Severity, r, sessions::State, tools::Key, work::Cancel};

impl Observer {
    /// What the session is at.
    pub(super) fn state(&mut self, id: &str, update: &Value) {
        let state = SessionState::from(update["state"].as_str().unwrap_or_default());
        if let SessionState::Unknown(name) = &state
            && !name.starts_with('_')
        {
            self.found(r::SESSION_STATE, format!("the state `{name}`"), None);
        }
        self.state_told(id);
        self.background(id, update);
        let foreground = match state {
            SessionState::Idle => Foreground::Idle,
            SessionState::Running => Foreground::Running,
            SessionState::RequiresAction => Foreground::RequiresAction,
            _ => Foreground::Unknown,
        };
        let reason = update["stopReason"].as_str().map(StopReason::from);
        let line = self.line;
        let work = &mut self.session(id).work;
        let before = work.machine.foreground();
        (work.known, work.warned) = (true, work.warned && before == foreground);
        match work.step(WorkInput::Report(foreground)) {
            WorkOutput::Completed(over) => self.completed(id, before, &over, reason),
            WorkOutput::Reported(_) if before.is_idle() && !foreground.is_idle() => work.began = line,
            // An idle that repeats itself is none that ends anything.
            _ if foreground.is_idle() && reason.is_some() && work.machine.inserted().next().is_some() => {
                let what = "`idle` with a stop reason, and no work was reported";
                self.found(r::WORK_UNREPORTED, what, None);
            }
            _ => {}
        }
    }

    /// The session came to rest.
    fn completed(&mut self, id: &str, before: Foreground, over: &[u64], reason: Option<StopReason>) {
        let (line, read) = (self.line, self.client.read);
        let work = &mut self.session(id).work;
        let was_cancelled = reason == Some(StopReason::Cancelled);
        let began = work.began;
        let mut covered = Vec::new();
        for place in over {
            work.step(WorkInput::End { turn: *place, done: true });
            if let Some(prompt) = usize::try_from(*place).ok().and_then(|place| work.prompts.get_mut(place)) {
                prompt.over = true;
                covered.extend(prompt.cancelled);
            }
        }
        work.rest = Some((line, was_cancelled));
        let cancel = work.cancel;
        let due = cancel.and_then(|cancel| cancel.busy.or(covered.into_iter().min()));
        // One that crossed this end may still be about prompts that were sent before it, or about work begun since.
        work.cancel = cancel.filter(|_| !was_cancelled).map(|cancel| Cancel { busy: None, ..cancel });
        if cancel.is_some_and(|cancel| cancel.line <= read) && !work.has_covered() {
            work.cancel = None;
        }
        match (&reason, due) {
            (Some(StopReason::Cancelled), _) => {
                if cancel.is_none() && self.client.ended.is_none() {
                    self.found(r::CANCELLED_UNASKED, "`cancelled`, and nobody cancelled", Some(began));
                }
            }
            (Some(StopReason::Error), Some(cancel)) => {
                self.not_cancelled(r::CANCEL_FAILED, "the work ended with `error`", cancel);
            }
            (reason, Some(cancel)) => {
                let reason = reason.as_ref().map_or("no stop reason".to_owned(), |reason| format!("`{reason}`"));
                self.not_cancelled(r::CANCEL_IGNORED, &format!("the work ended with {reason}"), cancel);
            }
            (None, None) => {
                self.found_as(r::STOP_REASON, Severity::Warning, "work ended without a stop reason", Some(began));
            }
            (Some(StopReason::Unknown(name)), None) if !name.starts_with('_') => {
                self.found_as(r::STOP_REASON, Severity::Warning, format!("the stop reason `{name}`"), None);
            }
            (Some(_), None) => {}
        }
        if let Some(cancel) = cancel.filter(|_| was_cancelled || due.is_some()) {
            self.outlived(id, began, cancel.line, before);
        }
    }

    /// The work was cancelled: what it asked the user, and did not take back, is void.
    fn outlived(&mut self, id: &str, began: usize, cancel: usize, before: Foreground) {
        // While all of the work waits for the user, what waits belongs to the work. Otherwise it may be the background's.
        let severity = if before == Foreground::RequiresAction { Severity::Error } else { Severity::Warning };
        let line = self.line;
        let asks = |method| matches!(method, Some(Method::SessionRequestPermission | Method::ElicitationCreate));
        let open = self.agent.open.iter().filter(|(_, open)| {
            let is_here = open.session.as_deref() == Some(id) && asks(open.method.known());
            is_here && !open.cancelled && (began..cancel).contains(&open.line)
        });
        let void: Vec<_> = open.map(|(request, open)| (request.clone(), open.line, line, severity)).collect();
        self.session(id).work.void.extend(void);
    }

    /// A message: of the user's, the agent's, or its reasoning.
    pub(super) fn output(&mut self, id: &str, kind: &UpdateKind, update: &Value) {
        let line = self.line;
        let waits = self.agent.open.values().any(|open| open.session.as_deref() == Some(id) && !open.cancelled);
        let session = self.session(id);
        let (state, asked, resuming) = (session.state, session.line, session.resuming);
        let is_known = session.is_new || session.work.known;
        let work = &mut session.work;
        if state == State::Opening && resuming && work.is_at_rest() {
            session.resuming = false;
            return self.found(
                r::RESUME_REPLAYS,
                format!("`{kind}` before the answer to `session/resume`"),
                Some(asked),
            );
        }
        if matches!(kind, UpdateKind::UserMessage | UpdateKind::UserMessageChunk) || state != State::Open {
            return;
        }
        let is_thought = matches!(kind, UpdateKind::AgentThought | UpdateKind::AgentThoughtChunk);
        let message = (is_thought, update["messageId"].as_str().unwrap_or_default().to_owned());
        let first = *work.output.entry(message).or_insert(line);
        let (foreground, rest) = (work.machine.foreground(), work.rest);
        if work.warned || !is_known {
            return;
        }
        match (foreground, rest) {
            (Foreground::Idle, Some((rest, true))) if first < rest => {
                work.warned = true;
                let what = format!("`{kind}` of a message of the work that ended `cancelled`");
                self.found(r::UPDATE_AFTER_CANCELLED, what, Some(rest));
            }
            (Foreground::Idle, rest) => {
                work.warned = true;
                let rest = rest.map(|(rest, _)| rest);
                self.found(r::WORK_UNREPORTED, format!("`{kind}` while the session is idle"), rest);
            }
            (Foreground::RequiresAction, _) if !waits => {
                work.warned = true;
                self.found(r::STILL_WAITING, format!("`{kind}` in the state `requires_action`"), None);
            }
            _ => {}
        }
    }

    /// What is told of the background.
    fn background(&mut self, session_id: &str, update: &Value) {
        let line = self.line;
        let first = self.session(session_id).work.background;
        let Some(items) = update["background"].as_array() else {
            if first.is_some() {
                self.found(r::BACKGROUND, "a state without `background`, which was reported before", first);
            }
            return;
        };
        self.session(session_id).work.background.get_or_insert(line);
        for item in items {
            let id = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
            let session = self.session(session_id);
            let is_new = session.is_new;
            let is_told = match item["type"].as_str() {
                Some("tool_call") => session.things.contains_key(&Key::Call(id("toolCallId"))),
                Some("terminal") => session.things.contains_key(&Key::Terminal(id("terminalId"))),
                Some("subagent") => self.sessions.contains_key(&id("sessionId")),
                _ => continue,
            };
            if is_new && !is_told {
                self.found(r::BACKGROUND, format!("{item} in the background, which was not told before"), None);
            }
        }
    }
}
