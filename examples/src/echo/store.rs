//! What this process keeps of its sessions: where they work, their mode, and what was said, for `session/load`.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};

use super::dialect::Dialect;

/// Sessions kept; another is refused until one is deleted.
const SESSIONS: usize = 16_384;
/// Messages kept of a session; the oldest goes first.
const MESSAGES: usize = 200;
/// Bytes kept of a message.
const MESSAGE: usize = 16 << 10;

/// How the agent speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// As it was told.
    #[default]
    Plain,
    /// In capitals.
    Loud,
}

impl Mode {
    const ALL: [Self; 2] = [Self::Plain, Self::Loud];

    const fn id(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Loud => "loud",
        }
    }

    pub(super) fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.id() == id)
    }
}

/// Every session of this process, open or closed.
#[derive(Debug, Default)]
pub(super) struct Store(Mutex<Sessions>);

#[derive(Debug, Default)]
struct Sessions {
    last: u64,
    by_id: BTreeMap<String, Session>,
}

#[derive(Debug, Default)]
struct Session {
    cwd: String,
    mode: Mode,
    messages: std::collections::VecDeque<Message>,
    /// How many messages there ever were.
    last: u64,
}

/// Something that was said.
#[derive(Debug)]
struct Message {
    id: String,
    /// The kind of chunk it is replayed as.
    who: &'static str,
    text: String,
}

/// Who said it.
pub(super) const USER: &str = "user_message_chunk";
/// Who said it.
pub(super) const AGENT: &str = "agent_message_chunk";

impl Store {
    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new session's id, unlike any other; `None`: too many are kept.
    pub(super) fn create(&self, cwd: String) -> Option<String> {
        let mut sessions = self.lock();
        if sessions.by_id.len() >= SESSIONS {
            return None;
        }
        sessions.last += 1;
        let id = format!("echo-{}-{}", std::process::id(), sessions.last);
        sessions.by_id.insert(id.clone(), Session { cwd, ..Session::default() });
        Some(id)
    }

    pub(super) fn delete(&self, id: &str) {
        self.lock().by_id.remove(id);
    }

    pub(super) fn list(&self, cwd: Option<&str>) -> Vec<Value> {
        let sessions = self.lock();
        let fits = |session: &Session| cwd.is_none_or(|cwd| session.cwd == cwd);
        let listed = sessions.by_id.iter().filter(|(_, session)| fits(session));
        listed.map(|(id, session)| json!({ "sessionId": id, "cwd": session.cwd })).collect()
    }

    pub(super) fn mode(&self, id: &str) -> Option<Mode> {
        self.lock().by_id.get(id).map(|session| session.mode)
    }

    /// Whether there is such a session.
    pub(super) fn set_mode(&self, id: &str, mode: Mode) -> bool {
        self.lock().by_id.get_mut(id).map(|session| session.mode = mode).is_some()
    }

    /// The modes of a session, as the protocol shows them.
    pub(super) fn modes(&self, id: &str) -> Value {
        let current = self.mode(id).unwrap_or_default();
        json!({
            "currentModeId": current.id(),
            "availableModes": [
                { "id": Mode::Plain.id(), "name": "Plain", "description": "Says everything as it was told." },
                { "id": Mode::Loud.id(), "name": "Loud", "description": "Echoes in capitals." },
            ],
        })
    }

    /// Keeps what was said, and gives the id of its message. Pieces of one message are put together again.
    pub(super) fn record(&self, id: &str, who: &'static str, text: &str) -> String {
        let mut sessions = self.lock();
        let Some(session) = sessions.by_id.get_mut(id) else { return format!("{id}-gone") };
        match session.messages.back_mut() {
            Some(last) if last.who == who && who == AGENT => {
                add(&mut last.text, text);
                last.id.clone()
            }
            _ => {
                session.last += 1;
                let mut message = Message { id: format!("message-{}", session.last), who, text: String::new() };
                add(&mut message.text, text);
                let id = message.id.clone();
                session.messages.push_back(message);
                if session.messages.len() > MESSAGES {
                    session.messages.pop_front();
                }
                id
            }
        }
    }

    /// What was said, as the updates that say it again.
    pub(super) fn history(&self, id: &str, dialect: Dialect) -> Vec<Value> {
        let sessions = self.lock();
        let messages = sessions.by_id.get(id).into_iter().flat_map(|session| &session.messages);
        messages.map(|Message { id, who, text }| dialect.chunk(who, id, text)).collect()
    }
}

/// Adds as much of `text` as is kept of a message.
fn add(message: &mut String, text: &str) {
    let room = MESSAGE.saturating_sub(message.len());
    let fits = text.char_indices().map(|(at, char)| at + char.len_utf8()).take_while(|end| *end <= room).last();
    message.push_str(text.get(..fits.unwrap_or(0)).unwrap_or_default());
}
