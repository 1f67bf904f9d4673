//! Version 2: what a session works on. A prompt is answered when it is inserted, work begins and ends by states, and a
//! cancel is confirmed by one. Which prompts a state completes is what the machine of the core says,
//! [`acp_core::machine::Work`].

use std::collections::BTreeMap;

use acp_core::{
    Side,
    machine::{self, Machine as _, WorkInput, WorkOutput},
    wire::{Id, UpdateKind},
};
use serde_json::Value;

use super::{Observer, Severity, r, sessions::State};
use crate::trace::redact::is_removed;

/// The answer to a prompt that was cancelled before it was inserted.
const CANCELLED: i64 = -32800;
/// Answers to a prompt that could never be inserted: a login is due, the session is not there, its content is wrong.
const REFUSED: [i64; 3] = [-32000, -32002, -32602];

/// What is seen of the work of a session.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// A prompt is named by its place among them.
    pub(super) machine: machine::Work,
    pub(super) prompts: Vec<Prompt>,
    /// The messages of the user that were told, and where first.
    pub(super) told: BTreeMap<String, usize>,
    /// The messages of the agent that were told, by sort and id, and where first.
    pub(super) output: BTreeMap<(bool, String), usize>,
    pub(super) cancel: Option<Cancel>,
    /// Some state was told: without one, only that of a new session is known.
    pub(super) known: bool,
    /// Where the work under way began.
    pub(super) began: usize,
    /// Where the last work ended, and whether as cancelled.
    pub(super) rest: Option<(usize, bool)>,
    /// What is told of the background, and where first.
    pub(super) background: Option<usize>,
    /// Output at the wrong time was found: once a state is enough.
    pub(super) warned: bool,
    /// Requests that outlived their work, which was cancelled: where they were asked, and where it ended.
    pub(super) void: Vec<(Id, usize, usize, Severity)>,
}

#[derive(Debug)]
pub(super) struct Prompt {
    id: Id,
    pub(super) line: usize,
    content: Value,
    /// Its idempotency key.
    key: Option<String>,
    /// Where it was cancelled, with its session or by itself.
    pub(super) cancelled: Option<usize>,
    /// Where its message was told, before it was answered.
    pub(super) told: Option<usize>,
    /// Where it was answered, and its message; `None` for an error.
    answered: Option<(usize, Option<String>)>,
    pub(super) over: bool,
}

impl Prompt {
    const fn is_open(&self) -> bool {
        self.answered.is_none()
    }

    /// It may still become, or is, what the session works on.
    const fn is_due(&self) -> bool {
        !self.over && !matches!(self.answered, Some((_, None)))
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cancel {
    pub(super) line: usize,
    /// Where it, or one behind it, was sent while work went on that did not end since.
    pub(super) busy: Option<usize>,
}

impl Work {
    pub(super) const fn is_at_rest(&self) -> bool {
        self.machine.foreground().is_idle()
    }

    pub(super) fn step(&mut self, input: WorkInput) -> WorkOutput {
        let Ok(output) = self.machine.step(input);
        output
    }

    /// Whether the cancel under way is about anything.
    pub(super) fn has_covered(&self) -> bool {
        let covered = |prompt: &Prompt| prompt.cancelled.is_some() && prompt.is_due();
        self.cancel.is_some_and(|cancel| cancel.busy.is_some() || self.prompts.iter().any(covered))
    }
}

/// The number of a prompt for the machine.
fn turn(place: usize) -> u64 {
    u64::try_from(place).unwrap_or(u64::MAX)
}

impl Observer {
    pub(super) fn prompted_v2(&mut self, id: &Id, session: &str, params: &Value) {
        let key = &params["idempotencyKey"];
        let is_key = key.as_str().is_some_and(|key| (1..=255).contains(&key.chars().count()));
        if !key.is_null() && !is_key {
            self.found(r::BAD_PARAMS, "`idempotencyKey` must be a string of 1 to 255 characters", None);
        }
        let line = self.line;
        let work = &mut self.session(session).work;
        let behind_cancel = work.has_covered();
        work.step(WorkInput::Prompt { turn: turn(work.prompts.len()), behind_cancel });
        work.prompts.push(Prompt {
            id: id.clone(),
            line,
            content: params["prompt"].clone(),
            key: key.as_str().filter(|key| !is_removed(key)).map(str::to_owned),
            cancelled: None,
            told: None,
            answered: None,
            over: false,
        });
    }

    /// A prompt was answered: it was inserted under a message id, or it was not.
    pub(super) fn submitted(&mut self, id: &Id, session: &str, answer: Result<Value, i64>) {
        let line = self.line;
        let work = &mut self.session(session).work;
        let Some(place) = work.prompts.iter().position(|prompt| prompt.id == *id && prompt.is_open()) else { return };
        match answer {
            Ok(result) => {
                let message = result["messageId"].as_str().map(str::to_owned);
                work.step(WorkInput::Insert { turn: turn(place), cancelled: false });
                self.inserted(session, place, message, &result);
            }
            Err(code) => {
                work.step(WorkInput::End { turn: turn(place), done: false });
                let Some(prompt) = work.prompts.get_mut(place) else { return };
                prompt.answered = Some((line, None));
                let (cancelled, told) = (prompt.cancelled, prompt.told);
                if work.cancel.is_some() && !work.has_covered() {
                    work.step(WorkInput::Uncancel);
                    work.cancel = None;
                }
                if let Some(told) = told {
                    let what = format!("the error {code}, and its message is told");
                    self.found(r::PROMPT_FAILED, what, Some(told));
                } else if let Some(cancel) = cancelled.filter(|_| code != CANCELLED && !REFUSED.contains(&code)) {
                    let what = format!("a prompt that was not inserted is answered with the error {code}");
                    self.not_cancelled(r::CANCEL_FAILED, &what, cancel);
                }
            }
        }
    }

    fn inserted(&mut self, session: &str, place: usize, message: Option<String>, result: &Value) {
        let line = self.line;
        let work = &mut self.session(session).work;
        let Some(prompt) = work.prompts.get_mut(place) else { return };
        prompt.answered = Some((line, message.clone().or_else(|| Some(String::new()))));
        let (key, sent) = (prompt.key.clone(), prompt.line);
        let Some(message) = message else {
            if !result["stopReason"].is_null() {
                let what = "`stopReason` in the answer to `session/prompt`: in version 2, the state says it";
                return self.found(r::OTHER_VERSION, what, None);
            }
            return self.found(r::BAD_RESULT, "the answer to `session/prompt` has no `messageId`", None);
        };
        let others = || work.prompts.iter().enumerate().filter(|(other, _)| *other != place);
        let same_key = |other: &Prompt| key.is_some() && other.key == key;
        let taken = others().find_map(|(_, other)| {
            let (line, theirs) = other.answered.as_ref()?;
            (theirs.as_ref() == Some(&message) && !same_key(other)).then_some(*line)
        });
        let moved = others().find_map(|(_, other)| {
            let (line, theirs) = other.answered.as_ref()?;
            (same_key(other) && theirs.as_ref().is_some_and(|theirs| *theirs != message)).then_some(*line)
        });
        let earlier = work.told.get(&message).copied().filter(|told| *told < sent && key.is_none());
        if let Some(first) = taken.or(earlier) {
            self.found(r::MESSAGE_ID, format!("{message:?} is the id of another message"), Some(first));
        } else if let Some(first) = moved {
            let what = format!("{message:?} for a prompt that was inserted under another id");
            self.found(r::MESSAGE_ID, what, Some(first));
        }
    }

    /// A message of the user is told: that of a prompt, or of a history.
    pub(super) fn user_told(&mut self, id: &str, kind: &UpdateKind, update: &Value) {
        let Some(message) = update["messageId"].as_str() else { return };
        let line = self.line;
        let session = self.session(id);
        let is_history = session.state == State::Opening;
        let work = &mut session.work;
        if work.told.contains_key(message) {
            return;
        }
        work.told.insert(message.to_owned(), line);
        let mut open = work.prompts.iter_mut().filter(|prompt| prompt.is_open());
        if let (Some(prompt), None) = (open.next(), open.next())
            && !is_history
            && *kind == UpdateKind::UserMessage
            && prompt.content == update["content"]
        {
            prompt.told = Some(line);
        }
    }

    /// The client cancels what a session works on, and the prompts that it sent.
    pub(super) fn work_cancelled(&mut self, session: &str) {
        let line = self.line;
        let work = &mut self.session(session).work;
        let before = work.cancel.filter(|_| work.has_covered());
        let busy = before.and_then(|before| before.busy).or((!work.is_at_rest()).then_some(line));
        work.cancel = Some(Cancel { line: before.map_or(line, |before| before.line), busy });
        for prompt in work.prompts.iter_mut().filter(|prompt| prompt.is_due()) {
            prompt.cancelled.get_or_insert(line);
        }
    }

    /// `$/cancel_request` for a prompt.
    pub(super) fn prompt_cancelled(&mut self, id: &Id, session: &str) {
        let line = self.line;
        let prompts = &mut self.session(session).work.prompts;
        if let Some(prompt) = prompts.iter_mut().find(|prompt| prompt.id == *id && prompt.is_open()) {
            prompt.cancelled.get_or_insert(line);
        }
    }

    /// A session is closed.
    pub(super) fn closed_at_work(&mut self, id: &str) {
        if !self.is_v2() {
            return;
        }
        let work = &mut self.session(id).work;
        work.cancel = None;
        let (is_busy, began) = (!work.is_at_rest(), work.began);
        if is_busy {
            self.found(r::CLOSE_ORDER, "it is closed, and was not reported idle", Some(began));
        }
    }

    /// The trace ends: what is still due.
    pub(super) fn work_left(&mut self) {
        self.from = Side::Agent;
        let sessions: Vec<_> = self.sessions.keys().cloned().collect();
        for id in sessions {
            let work = &self.session(&id).work;
            let untold = work.prompts.iter().filter(|prompt| prompt.over).filter_map(|prompt| {
                let (line, message) = prompt.answered.as_ref()?;
                let message = message.as_deref().filter(|message| !message.is_empty())?;
                (!work.told.contains_key(message)).then(|| (*line, message.to_owned()))
            });
            let untold: Vec<_> = untold.collect();
            let unended = work.cancel.filter(|_| !work.is_at_rest()).map(|cancel| (cancel.line, work.began));
            let void = work.void.clone();
            // What was too long to be kept may have told it.
            let untold = if self.blind { Vec::new() } else { untold };
            for (line, message) in untold {
                self.line = line;
                self.found(r::PROMPT_UNTOLD, format!("the message {message:?} is never told"), None);
            }
            if let Some((line, began)) = unended {
                self.line = line;
                self.found(r::CANCEL_UNANSWERED, "the work that is cancelled here never ends", Some(began));
            }
            for (request, asked, ended, severity) in void {
                let is_open = |open: &super::Open| open.line == asked && !open.cancelled;
                if self.agent.open.get(&request).is_some_and(is_open) {
                    self.line = ended;
                    let what = format!("request {request} is left open by the cancel");
                    self.found_as(r::REQUEST_NOT_CANCELLED, severity, what, Some(asked));
                }
            }
        }
    }

    /// The trace ends, and this was not answered. Whether there was more to say about it than that.
    pub(super) fn left_open_v2(&mut self, id: &Id, session: &str) -> bool {
        let Some(work) = self.sessions.get(session).map(|session| &session.work) else { return false };
        if self.from == Side::Client {
            // It is the agent's to take back.
            return work.void.iter().any(|(void, ..)| void == id);
        }
        let cancelled = work.prompts.iter().find(|prompt| prompt.id == *id && prompt.is_open());
        let Some((cancel, line)) = cancelled.and_then(|prompt| Some((prompt.cancelled?, prompt.line))) else {
            return false;
        };
        self.line = cancel;
        self.found(r::CANCEL_UNANSWERED, "the prompt that is cancelled here is never answered", Some(line));
        true
    }
}
