//! A linter: holds a trace against the rules of the version that was agreed, and says for each breach in which line, by
//! whom, and where the rule is written.
//!
//! It is an observer on top of [`acp_core::wire`], not a connection: a connection at one end has no opinion about what its
//! own host would not let it send, and what it forgives it does not report. An observer sees both directions, but only as
//! one end saw them. What may have crossed on the way is a warning, unless the trace proves that the other side had read
//! it: it answered something that was sent later.

mod answers;
mod requests;
pub mod rules;
mod sessions;
mod states;
mod tools;
mod turns;
mod updates;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use acp_core::{
    Payload, Side,
    wire::{Capabilities, Id, Line, Malformed, Message, Method, MethodName, Shape, parse_line},
};

pub use self::rules::{Place, Rule};
use self::{rules as r, sessions::Session};
use super::log::{Log, What, name, other};

/// The kind of update that only version 2 has, and cannot do without.
const STATE: &[u8] = b"\"state_update\"";
/// Messages of a batch that are looked at.
const BATCH: usize = 1024;

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It may be right: the messages may have crossed, or the protocol is silent.
    Warning,
    /// It is against the protocol.
    Error,
}

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line of the file.
    pub line: usize,
    /// Who broke it.
    pub by: Side,
    /// Which rule.
    pub rule: Rule,
    /// How sure it is.
    pub severity: Severity,
    /// What happened.
    pub what: String,
    /// Another line that belongs to it.
    pub see: Option<usize>,
    /// The version of the protocol that was in force.
    pub version: u16,
}

impl Finding {
    /// Where the rule stands.
    #[must_use]
    pub fn place(&self) -> Place {
        self.rule.place(self.version)
    }
}

impl core::fmt::Display for Finding {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let severity = if self.severity == Severity::Error { "error" } else { "warning" };
        write!(f, "{}: {severity}[{}]: the {}: {}", self.line, self.rule.name, name(self.by), self.what)?;
        if let Some(see) = self.see {
            write!(f, " (see line {see})")?;
        }
        Ok(())
    }
}

/// What came of checking a trace.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order of the lines.
    pub findings: Vec<Finding>,
    /// What could not be checked, and why.
    pub notes: Vec<&'static str>,
}

impl Report {
    /// Whether something is against the protocol; with `strict`, warnings count as well.
    #[must_use]
    pub fn is_bad(&self, strict: bool) -> bool {
        self.findings.iter().any(|finding| strict || finding.severity == Severity::Error)
    }
}

/// Holds a trace against the rules.
#[must_use]
pub fn check(log: &Log) -> Report {
    let whole = has_initialize(log);
    let version = if whole { 1 } else { guessed(log) };
    let mut observer = Observer { whole, version, ..Observer::default() };
    for entry in &log.entries {
        observer.line = entry.line;
        observer.from = entry.from;
        match &entry.what {
            What::Line(line) => observer.line(line),
            What::Noise(line) => observer.noise(line),
            // What it was cannot be told, and whom it answered neither.
            What::Long { .. } => observer.blind = true,
            What::End(_) => {
                observer.way(entry.from).ended.get_or_insert(entry.line);
            }
        }
    }
    observer.finish()
}

fn has_initialize(log: &Log) -> bool {
    log.entries.iter().any(|entry| match &entry.what {
        What::Line(line) => matches!(
            parse_line(line, 1),
            Line::Message(Message::Request { method: MethodName::Known(Method::Initialize), .. })
        ),
        What::Noise(_) | What::Long { .. } | What::End(_) => false,
    })
}

/// The version of a trace without its beginning: only version 2 tells of states.
fn guessed(log: &Log) -> u16 {
    let tells_states = |entry: &super::log::Entry| match &entry.what {
        What::Line(line) => line.windows(STATE.len()).any(|part| part == STATE),
        What::Noise(_) | What::Long { .. } | What::End(_) => false,
    };
    if log.entries.iter().any(tells_states) { 2 } else { 1 }
}

/// A request that is not answered.
#[derive(Clone, Debug)]
struct Open {
    line: usize,
    method: MethodName,
    session: Option<String>,
    params: Payload,
    /// It was cancelled with `$/cancel_request`.
    cancelled: bool,
}

/// What one side sends.
#[derive(Debug, Default)]
struct Way {
    open: BTreeMap<Id, Open>,
    /// Requests that were answered, and in which line.
    answered: BTreeMap<Id, usize>,
    /// What was sent up to this line was certainly read by the other side.
    read: usize,
    ended: Option<usize>,
}

/// Who looks at the trace, line by line.
#[derive(Debug)]
struct Observer {
    line: usize,
    from: Side,
    /// The trace has its beginning.
    whole: bool,
    /// Something passed that could not be looked at.
    blind: bool,
    /// The version in force: 1 until another is agreed.
    version: u16,
    /// A version was agreed that this knows nothing of.
    foreign: bool,
    client: Way,
    agent: Way,
    /// `initialize` waits for its answer.
    initializing: bool,
    /// A version was agreed.
    agreed: bool,
    /// Something else than `initialize` was asked.
    asked: bool,
    /// What the agent offers, and the client.
    of_agent: Capabilities,
    of_client: Capabilities,
    /// Kinds of content that a prompt may hold.
    content: BTreeSet<&'static str>,
    auth_methods: Option<Vec<String>>,
    sessions: BTreeMap<String, Session>,
    /// Version 1: terminals of the client.
    terminals: BTreeSet<String>,
    findings: Vec<Finding>,
}

impl Default for Observer {
    fn default() -> Self {
        Self {
            line: 0,
            from: Side::Client,
            whole: false,
            blind: false,
            version: 1,
            foreign: false,
            client: Way::default(),
            agent: Way::default(),
            initializing: false,
            agreed: false,
            asked: false,
            of_agent: Capabilities::default(),
            of_client: Capabilities::default(),
            content: BTreeSet::new(),
            auth_methods: None,
            sessions: BTreeMap::new(),
            terminals: BTreeSet::new(),
            findings: Vec::new(),
        }
    }
}

impl Observer {
    /// Whether the rules of version 2 apply.
    const fn is_v2(&self) -> bool {
        self.version >= 2
    }

    const fn way(&mut self, side: Side) -> &mut Way {
        match side {
            Side::Client => &mut self.client,
            Side::Agent => &mut self.agent,
        }
    }

    /// Whoever sent the line broke a rule.
    fn found(&mut self, rule: Rule, what: impl Into<String>, see: Option<usize>) {
        self.found_as(rule, rule.severity, what, see);
    }

    fn found_as(&mut self, rule: Rule, severity: Severity, what: impl Into<String>, see: Option<usize>) {
        let (line, by, version) = (self.line, self.from, self.version);
        self.findings.push(Finding { line, by, rule, severity, what: what.into(), see, version });
    }

    fn line(&mut self, line: &bytes::Bytes) {
        let parsed = parse_line(line, BATCH);
        // The reader forgives what some programs print in front of a message.
        if matches!(parsed, Line::Message(ref message) if !matches!(message, Message::Malformed(_)))
            && !line.trim_ascii_start().starts_with(b"{")
        {
            self.found(r::NOT_JSON, "there is something in front of the message", None);
        }
        match parsed {
            Line::Blank => {}
            Line::Message(message) => self.message(message),
            Line::EmptyBatch => self.found(r::BATCH, "an empty batch", None),
            Line::BatchTooLarge => self.found(r::BATCH, "a huge batch", None),
            Line::Batch(messages) => {
                self.found(r::BATCH, format!("a batch of {}", messages.len()), None);
                messages.into_iter().for_each(|message| self.message(message));
            }
        }
    }

    fn noise(&mut self, line: &bytes::Bytes) {
        match parse_line(line, BATCH) {
            Line::Message(Message::Malformed(malformed)) => self.malformed(malformed),
            _ => self.found(r::NOT_JSON, "the line is not UTF-8", None),
        }
    }

    fn message(&mut self, message: Message) {
        match message {
            Message::Request { id, method, params } => self.request(id, method, params.unwrap_or(Payload::EMPTY)),
            Message::Notification { method, params } => {
                self.notification(&method, &params.unwrap_or(Payload::EMPTY));
            }
            Message::Response { id, answer } => self.response(&id, answer),
            Message::Malformed(malformed) => self.malformed(malformed),
        }
    }

    fn malformed(&mut self, malformed: Malformed) {
        let rule = if malformed.shape == Shape::NotJson { r::NOT_JSON } else { r::NOT_A_MESSAGE };
        let not_json = malformed.raw.is_none() && malformed.why.contains("not JSON");
        self.found(if not_json { r::NOT_JSON } else { rule }, malformed.why, None);
        let Some(id) = malformed.id else { return };
        match malformed.shape {
            // It was meant as an answer, so nobody waits for another.
            Shape::Response => drop(self.settle(&id)),
            // It was meant as a request: the answer to it is no surprise.
            Shape::Call => {
                let params = malformed.raw.unwrap_or(Payload::EMPTY);
                let method = MethodName::new("(unreadable)");
                let open = Open { line: self.line, method, session: None, params, cancelled: true };
                self.way(self.from).open.insert(id, open);
            }
            Shape::NotJson | Shape::Hybrid | Shape::Bare | Shape::Nothing => {}
        }
    }

    /// Takes the request that is answered. `None`: there is none, which was told.
    fn settle(&mut self, id: &Id) -> Option<Open> {
        let (line, whole) = (self.line, self.whole && !self.blind);
        let asked = self.way(other(self.from));
        if let Some(open) = asked.open.remove(id) {
            asked.read = asked.read.max(open.line);
            asked.answered.insert(id.clone(), line);
            return Some(open);
        }
        match asked.answered.get(id).copied() {
            Some(first) => self.found(r::ANSWERED_TWICE, format!("a second answer to request {id}"), Some(first)),
            None if whole => self.found(r::UNKNOWN_ANSWER, format!("an answer to {id}, which nobody asked"), None),
            None => {}
        }
        None
    }

    /// Whether what the client sent in this line may have crossed what the agent sends now.
    const fn may_have_crossed(&self, line: usize) -> bool {
        self.client.read < line
    }

    fn finish(mut self) -> Report {
        self.work_left();
        for asker in [Side::Client, Side::Agent] {
            self.from = other(asker);
            let gone = self.way(self.from).ended;
            let asker_gone = self.way(asker).ended;
            // Who goes first and owes an answer owes it; whoever asked and left waits for nothing.
            let owed = gone.is_some_and(|gone| asker_gone.is_none_or(|left| left > gone));
            let open = core::mem::take(&mut self.way(asker).open);
            for (id, open) in open {
                self.line = open.line;
                if self.left_open(&id, &open) || open.method.as_str() == "(unreadable)" {
                    continue;
                }
                let severity = if owed { Severity::Error } else { Severity::Warning };
                self.found_as(r::UNANSWERED, severity, format!("no answer to `{}`, request {id}", open.method), gone);
            }
        }
        let mut report = Report { findings: self.findings, notes: Vec::new() };
        report.findings.sort_by_key(|finding| finding.line);
        if !self.whole {
            report.notes.push("`initialize` is not in it: what depends on the beginning was not checked");
        }
        if self.foreign {
            report.notes.push(
                "a version was agreed that is neither 1 nor 2: only ids and envelopes were checked from there on",
            );
        }
        if self.blind {
            report.notes.push("a line was too long to be kept: what it answered is not known");
        }
        report
    }
}
