//! The sessions of a connection: how they open, what is replayed, which modes they have, and how they close.

use std::collections::{BTreeMap, VecDeque};

use acp_core::wire::{Id, Method};
use serde_json::Value;

use super::{
    Observer, r,
    tools::{Key, Thing},
    turns::Turn,
    work::Work,
};

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The agent spoke of it before it answered what opens it.
    Early,
    Opening,
    Open,
    Closed,
}

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) state: State,
    /// Where it got there.
    pub(super) line: usize,
    /// It is being resumed, not loaded, and without its history.
    pub(super) resuming: bool,
    /// It was loaded, and nothing was asked in it since.
    pub(super) loaded: bool,
    /// The turns that are not answered, oldest first.
    pub(super) turns: VecDeque<Turn>,
    /// Permission requests that outlived their turn, which was cancelled, and where.
    pub(super) void: Vec<(Id, usize)>,
    /// The answer to the last turn: its line, and whether it was cancelled.
    pub(super) last: Option<(usize, bool)>,
    /// Where it was told off for output outside of a turn: once is enough.
    pub(super) told: bool,
    /// Its tool calls, and the terminals of version 2.
    pub(super) things: BTreeMap<Key, Thing>,
    /// The tool calls of its past are all known: it was opened here.
    pub(super) is_new: bool,
    /// What it works on, in version 2.
    pub(super) work: Work,
    /// It is being resumed in version 2.
    resume: Option<Resume>,
    modes: Option<Vec<String>>,
}

/// What a resume in version 2 has to bring, in order.
#[derive(Clone, Copy, Debug)]
struct Resume {
    line: usize,
    /// The history is asked for.
    replay: bool,
    /// It was told to its end, in this line.
    complete: Option<usize>,
    /// The state was told behind it.
    state: bool,
}

impl Session {
    fn new(state: State, line: usize) -> Self {
        Self {
            state,
            line,
            resuming: false,
            loaded: false,
            turns: VecDeque::new(),
            void: Vec::new(),
            last: None,
            told: false,
            things: BTreeMap::new(),
            is_new: false,
            work: Work::default(),
            resume: None,
            modes: None,
        }
    }

    /// One that the agent speaks of before it has named it.
    pub(super) fn early(line: usize) -> Self {
        Self::new(State::Early, line)
    }
}

impl Observer {
    /// The session of this id, which is there from now on.
    pub(super) fn session(&mut self, id: &str) -> &mut Session {
        let line = self.line;
        self.sessions.entry(id.to_owned()).or_insert_with(|| Session::new(State::Open, line))
    }

    /// A session is to be loaded or resumed, in version 2 with its history or without.
    pub(super) fn opening(&mut self, id: &str, method: Method, replay: bool) {
        let (line, is_v2) = (self.line, self.is_v2());
        let session = self.session(id);
        session.resuming =
            method == Method::SessionResume && !replay && session.turns.is_empty() && session.work.is_at_rest();
        session.resume = is_v2.then_some(Resume { line, replay, complete: None, state: false });
        // One that is open already stays so, whatever is answered.
        if session.state != State::Open || session.line == line {
            (session.state, session.line) = (State::Opening, line);
        }
    }

    /// What opens a session was answered with a result.
    pub(super) fn opened(&mut self, method: Method, asked: Option<&str>, result: &Value) {
        let named = result["sessionId"].as_str();
        let by_name = matches!(method, Method::SessionLoad | Method::SessionResume);
        let Some(id) = (if by_name { asked } else { named }) else {
            return self.found(r::BAD_RESULT, format!("the answer to `{}` names no session", method.name()), None);
        };
        let (line, is_v2) = (self.line, self.is_v2());
        let session = self.session(id);
        let resume = session.resume.take();
        (session.state, session.line, session.resuming) = (State::Open, line, false);
        session.loaded = method == Method::SessionLoad;
        session.is_new = method == Method::SessionNew;
        let modes = result["modes"]["availableModes"].as_array();
        session.modes =
            modes.map(|modes| modes.iter().filter_map(|mode| mode["id"].as_str().map(str::to_owned)).collect());
        if is_v2 && !result["modes"].is_null() {
            self.found(r::OTHER_VERSION, "`modes` of a session: version 2 has none", None);
        }
        match resume {
            Some(Resume { line, replay: true, complete: None, .. }) => {
                self.found(r::RESUME_ORDER, "the answer comes before `replay_complete`", Some(line));
            }
            Some(Resume { line, state: false, .. }) => {
                self.found(r::RESUME_ORDER, "the answer comes before the state of the session", Some(line));
            }
            _ => {}
        }
    }

    /// What opens a session was answered with an error.
    pub(super) fn not_opened(&mut self, asked: Option<&str>) {
        let line = self.line;
        let mut session = asked.and_then(|id| self.sessions.get_mut(id));
        let complete = session.as_mut().and_then(|session| session.resume.take()?.complete);
        if let Some(session) = session.filter(|session| session.state == State::Opening) {
            (session.state, session.line) = (State::Closed, line);
        }
        if complete.is_some() {
            self.found(r::RESUME_ORDER, "an error after `replay_complete`", complete);
        }
    }

    /// Version 2: the history is told to its end.
    pub(super) fn replayed(&mut self, id: &str) {
        let (line, whole) = (self.line, self.whole);
        match &mut self.session(id).resume {
            Some(Resume { replay: true, complete: complete @ None, state, .. }) => {
                (*complete, *state) = (Some(line), false);
            }
            Some(Resume { replay: true, complete: first, .. }) => {
                let first = *first;
                self.found(r::RESUME_ORDER, "`replay_complete` again", first);
            }
            Some(Resume { replay: false, .. }) | None if whole => {
                self.found(r::RESUME_ORDER, "`replay_complete`, and no history was asked for", None);
            }
            _ => {}
        }
    }

    /// Version 2: what the session is at was told.
    pub(super) fn state_told(&mut self, id: &str) {
        if let Some(resume) = &mut self.session(id).resume {
            resume.state = true;
        }
    }

    /// The client closes a session, which ends its turns.
    pub(super) fn closing(&mut self, id: &str) {
        self.cancelled(id);
    }

    pub(super) fn closed(&mut self, id: &str) {
        self.closed_at_work(id);
        let line = self.line;
        let session = self.session(id);
        (session.state, session.line) = (State::Closed, line);
    }

    pub(super) fn mode_set(&mut self, id: &str, mode: &Value) {
        let Some(mode) = mode.as_str() else { return };
        let known = self.session(id).modes.as_ref().is_none_or(|modes| modes.iter().any(|known| known == mode));
        if !known {
            self.found(r::UNKNOWN_MODE, format!("mode {mode:?} was not offered"), None);
        }
    }
}
