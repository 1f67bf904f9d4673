//! What a trace tells: the messages as steps with their latencies, the turns they belong to, and the cancels in their two
//! phases.

use std::collections::BTreeMap;

use acp_core::{
    Side,
    wire::{Id, Line, Message, Method, parse_line},
};
use serde_json::Value;

use super::{
    check::{Finding, Severity},
    log::{Log, What, other},
};

/// Characters of a message that a picture shows on demand.
const SHOWN: usize = 2000;

/// A trace, ready to be shown.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// What happened, in order. Updates of one kind that follow each other are one step.
    pub steps: Vec<Step>,
    /// The prompt turns.
    pub turns: Vec<Turn>,
    /// The cancels.
    pub cancels: Vec<Cancel>,
    /// Version 2 was agreed: the answer to a prompt says that it was taken, and the state of the session when it is over.
    v2: bool,
}

/// One step.
#[derive(Clone, Debug)]
pub struct Step {
    /// The first and the last line of the file.
    pub lines: (usize, usize),
    /// When it began and ended, in milliseconds.
    pub at: (Option<f64>, Option<f64>),
    /// Who sent it.
    pub from: Side,
    /// What sort of thing it is.
    pub kind: Kind,
    /// What it is, in a few words.
    pub label: String,
    /// How many messages it stands for.
    pub count: usize,
    /// The first of them, as it came, cut where it gets long.
    pub raw: String,
    /// Of an answer: milliseconds since the request.
    pub latency: Option<f64>,
    /// Bit by bit what is wrong with it.
    pub findings: Vec<Finding>,
}

/// What sort of thing a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A request.
    Request,
    /// A notification.
    Notification,
    /// A result.
    Result,
    /// An error.
    Error,
    /// Anything else that passed.
    Noise,
    /// The end of one direction.
    End,
}

/// A prompt turn.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Its session.
    pub session: String,
    /// Its first and last step; `None`: it was not answered.
    pub steps: (usize, Option<usize>),
    /// How it ended: a stop reason or an error code.
    pub how: Option<String>,
}

/// A cancel: from being asked to being answered.
#[derive(Clone, Debug)]
pub struct Cancel {
    /// The turn, by its place among the turns.
    pub turn: usize,
    /// The step that asks for it.
    pub sent: usize,
    /// The step that ends the turn.
    pub answered: Option<usize>,
    /// Milliseconds in between.
    pub took: Option<f64>,
    /// Messages of the agent in between.
    pub late: usize,
}

/// What waits for an answer.
struct Waits {
    at: Option<f64>,
    method: String,
    turn: Option<usize>,
}

impl Story {
    /// Reads a trace, with what was found wrong with it.
    #[must_use]
    pub fn of(log: &Log, findings: &[Finding]) -> Self {
        let mut story = Self::default();
        let mut open: BTreeMap<(bool, Id), Waits> = BTreeMap::new();
        for entry in &log.entries {
            let found: Vec<_> = findings.iter().filter(|finding| finding.line == entry.line).cloned().collect();
            let step = |kind, label: String, raw: &[u8]| Step {
                lines: (entry.line, entry.line),
                at: (entry.at, entry.at),
                from: entry.from,
                kind,
                label,
                count: 1,
                raw: cut(&String::from_utf8_lossy(raw)),
                latency: None,
                findings: found.clone(),
            };
            match &entry.what {
                What::End(why) => story.push(step(Kind::End, format!("end: {why}"), b"")),
                What::Long { size, method } => {
                    let label = format!("{}, {size} bytes", method.as_deref().unwrap_or("a line"));
                    story.push(step(Kind::Noise, label, b""));
                }
                What::Noise(line) => story.push(step(Kind::Noise, "a line that is not JSON".to_owned(), line)),
                What::Line(line) => {
                    let messages = match parse_line(line, 64) {
                        Line::Message(message) => vec![message],
                        Line::Batch(messages) => messages,
                        Line::Blank => continue,
                        Line::EmptyBatch | Line::BatchTooLarge => Vec::new(),
                    };
                    if messages.is_empty() {
                        story.push(step(Kind::Noise, "a batch".to_owned(), line));
                    }
                    for message in messages {
                        story.message(&message, entry.from, entry.at, &mut open, |kind, label| step(kind, label, line));
                    }
                }
            }
        }
        story
    }

    fn message(
        &mut self,
        message: &Message,
        from: Side,
        at: Option<f64>,
        open: &mut BTreeMap<(bool, Id), Waits>,
        step: impl Fn(Kind, String) -> Step,
    ) {
        let by_client = |side| side == Side::Client;
        match message {
            Message::Request { id, method, params } => {
                let params: Value = params.as_ref().and_then(|params| params.get().ok()).unwrap_or_default();
                let turn = (method.known() == Some(Method::SessionPrompt)).then(|| {
                    let session = params["sessionId"].as_str().unwrap_or("?").to_owned();
                    self.turns.push(Turn { session, steps: (self.steps.len(), None), how: None });
                    self.turns.len() - 1
                });
                open.insert((by_client(from), id.clone()), Waits { at, method: method.to_string(), turn });
                self.push(step(Kind::Request, format!("{method} #{}{}", short(id), about(method.known(), &params))));
                if method.known() == Some(Method::SessionCancel) {
                    self.cancel(&params);
                }
            }
            Message::Notification { method, params } => {
                let params: Value = params.as_ref().and_then(|params| params.get().ok()).unwrap_or_default();
                let place = self.steps.len();
                self.push(step(Kind::Notification, format!("{method}{}", about(method.known(), &params))));
                match method.known() {
                    Some(Method::SessionCancel) => self.cancel(&params),
                    Some(Method::SessionUpdate) if self.v2 && params["update"]["state"] == "idle" => {
                        self.idle(&params, place, at);
                    }
                    _ => {}
                }
            }
            Message::Response { id, answer } => {
                let waited = open.remove(&(by_client(other(from)), id.clone()));
                let method = waited.as_ref().map_or("answer", |waits| waits.method.as_str());
                let (kind, how) = match answer {
                    Ok(result) => (Kind::Result, outcome(&result.get().unwrap_or_default())),
                    Err(error) => (Kind::Error, Some(format!("error {}", error.code))),
                };
                let said = how.clone().unwrap_or_else(|| "ok".to_owned());
                let version = answer.as_ref().ok().and_then(|result| result.get::<Value>().ok());
                self.v2 |= method == "initialize" && version.is_some_and(|it| it["protocolVersion"] == 2);
                let mut step = step(kind, format!("{method} #{}: {said}", short(id)));
                step.latency = waited.as_ref().and_then(|waits| Some(at? - waits.at?));
                let place = self.steps.len();
                self.push(step);
                let is_over = !self.v2 || kind == Kind::Error;
                if let Some(turn) = waited.and_then(|waits| waits.turn).filter(|_| is_over) {
                    self.end(turn, place, how, at);
                }
            }
            Message::Malformed(malformed) => self.push(step(Kind::Noise, malformed.why.to_owned())),
        }
    }

    /// Adds a step, to the one before if it is more of the same.
    fn push(&mut self, step: Step) {
        if let Some(last) = self.steps.last_mut()
            && step.kind == Kind::Notification
            && last.kind == Kind::Notification
            && last.from == step.from
            && last.label == step.label
            && step.findings.is_empty()
            && last.findings.is_empty()
            && step.label.contains("chunk")
        {
            last.count += 1;
            last.lines.1 = step.lines.1;
            last.at.1 = step.at.1;
            return;
        }
        self.steps.push(step);
    }

    fn cancel(&mut self, params: &Value) {
        let session = params["sessionId"].as_str().unwrap_or("?");
        let sent = self.steps.len().saturating_sub(1);
        for (turn, of) in self.turns.iter().enumerate() {
            let is_new = self.cancels.iter().all(|cancel| cancel.turn != turn);
            if of.session == session && of.steps.1.is_none() && is_new {
                self.cancels.push(Cancel { turn, sent, answered: None, took: None, late: 0 });
            }
        }
    }

    /// Version 2: nothing goes on in a session any more.
    fn idle(&mut self, params: &Value, place: usize, at: Option<f64>) {
        let reason = params["update"]["stopReason"].as_str().map(str::to_owned);
        let session = params["sessionId"].as_str().unwrap_or("?");
        let is_open = |turn: &Turn| turn.session == session && turn.steps.1.is_none();
        if let Some(turn) = self.turns.iter().position(is_open) {
            self.end(turn, place, reason, at);
        }
    }

    fn end(&mut self, turn: usize, place: usize, how: Option<String>, at: Option<f64>) {
        if let Some(turn) = self.turns.get_mut(turn) {
            turn.steps.1 = Some(place);
            turn.how = how;
        }
        if let Some(cancel) = self.cancels.iter_mut().find(|cancel| cancel.turn == turn) {
            cancel.answered = Some(place);
            let between = self.steps.get(cancel.sent + 1..place).unwrap_or_default();
            cancel.late = between.iter().filter(|step| step.from == Side::Agent).map(|step| step.count).sum();
            cancel.took = self.steps.get(cancel.sent).and_then(|sent| Some(at? - sent.at.0?));
        }
    }
}

impl Step {
    /// The worst that was found.
    #[must_use]
    pub fn severity(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// The label, with how often.
    #[must_use]
    pub fn title(&self) -> String {
        if self.count > 1 { format!("{} ×{}", self.label, self.count) } else { self.label.clone() }
    }
}

/// What a message is about, in a word or two.
fn about(method: Option<Method>, params: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match method {
        Some(Method::SessionUpdate) => {
            let update = &params["update"];
            let parts =
                ["sessionUpdate", "toolCallId", "status", "state", "stopReason"].map(|name| text(&update[name]));
            let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            format!(" {}", parts.join(" "))
        }
        Some(Method::SessionRequestPermission) => {
            // In version 2 the tool call is what the question is about.
            let calls = [&params["toolCall"], &params["subject"]["toolCall"]];
            format!(" {}", calls.map(|call| text(&call["toolCallId"])).concat())
        }
        Some(Method::CancelRequest) => format!(" #{}", params["requestId"]),
        _ => String::new(),
    }
}

/// What a result says, if it is one of those that say something in a word.
fn outcome(result: &Value) -> Option<String> {
    if let Some(reason) = result["stopReason"].as_str() {
        return Some(reason.to_owned());
    }
    let outcome = &result["outcome"];
    let option = outcome["optionId"].as_str();
    option.or_else(|| outcome["outcome"].as_str()).or_else(|| result["sessionId"].as_str()).map(str::to_owned)
}

/// An id that fits into a picture.
fn short(id: &Id) -> String {
    let id = id.to_string();
    match id.char_indices().nth(12) {
        Some((end, _)) => format!("{}…", id.get(..end).unwrap_or_default()),
        None => id,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
