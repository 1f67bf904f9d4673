//! The sessions of a connection: how they open, what is replayed, which modes they have, and how they close.

use std::collections::{BTreeSet, VecDeque};

use acp_core::wire::{Id, Method};
use serde_json::Value;

use super::{Observer, r, turns::Turn};

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
    /// It is being resumed, not loaded.
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
    pub(super) tool_calls: BTreeSet<String>,
    /// The tool calls of its past are all known: it was opened here.
    pub(super) is_new: bool,
    modes: Option<Vec<String>>,
}

impl Session {
    const fn new(state: State, line: usize) -> Self {
        Self {
            state,
            line,
            resuming: false,
            loaded: false,
            turns: VecDeque::new(),
            void: Vec::new(),
            last: None,
            told: false,
            tool_calls: BTreeSet::new(),
            is_new: false,
            modes: None,
        }
    }

    /// One that the agent speaks of before it has named it.
    pub(super) const fn early(line: usize) -> Self {
        Self::new(State::Early, line)
    }
}

impl Observer {
    /// The session of this id, which is there from now on.
    pub(super) fn session(&mut self, id: &str) -> &mut Session {
        let line = self.line;
        self.sessions.entry(id.to_owned()).or_insert_with(|| Session::new(State::Open, line))
    }

    /// A session is to be loaded or resumed.
    pub(super) fn opening(&mut self, id: &str, method: Method) {
        let line = self.line;
        let session = self.session(id);
        session.resuming = method == Method::SessionResume && session.turns.is_empty();
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
        let line = self.line;
        let session = self.session(id);
        (session.state, session.line, session.resuming) = (State::Open, line, false);
        session.loaded = method == Method::SessionLoad;
        session.is_new = method == Method::SessionNew;
        let modes = result["modes"]["availableModes"].as_array();
        session.modes =
            modes.map(|modes| modes.iter().filter_map(|mode| mode["id"].as_str().map(str::to_owned)).collect());
    }

    /// What opens a session was answered with an error.
    pub(super) fn not_opened(&mut self, asked: Option<&str>) {
        let line = self.line;
        let session = asked.and_then(|id| self.sessions.get_mut(id));
        if let Some(session) = session.filter(|session| session.state == State::Opening) {
            (session.state, session.line) = (State::Closed, line);
        }
    }

    /// The client closes a session, which ends its turns.
    pub(super) fn closing(&mut self, id: &str) {
        self.cancelled(id);
    }

    pub(super) fn closed(&mut self, id: &str) {
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
