//! What is around the turns of a chat: the handshake, logging in, sessions, modes and options.

use acp_core::{
    CommandError, OptionValue, Outcome, Payload, RequestKey, Resolved, SessionPlan,
    view::{AuthMethod, ConfigOptions, Initialized, Opened, SessionList},
    wire::code,
};
use serde_json::{Value, json};

use super::{
    super::{args::Opening, exit},
    Chat, View,
    screen::Look,
    view::Setting,
};
use crate::shape::payload;

/// A request of ours that is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Initialize,
    /// To open a session; which one, if it is a stored one.
    Open(Option<String>),
    List,
    Mode(String),
    Option,
    Login(String),
}

/// What the agent says of itself.
#[derive(Debug, Default)]
pub(super) struct Agent {
    name: String,
    /// The ways to log in: what to type, or to do, and what it is.
    logins: Vec<(String, String)>,
    /// The modes of the session: id and name.
    modes: Vec<(String, String)>,
}

impl Chat<'_> {
    fn request(&mut self, asked: Asked, method: &str, params: Value) {
        let sent = self.client.with(|conn, now| conn.request(method, Some(payload(params)), None, now));
        self.sent(asked, sent);
    }

    fn sent(&mut self, asked: Asked, sent: Result<RequestKey, CommandError>) {
        match sent {
            Ok(request) => drop(self.asked.insert(request, asked)),
            Err(CommandError::Closed) => {}
            Err(why) => self.say(Look::Bad, &why.to_string()),
        }
    }

    pub(super) fn initialize(&mut self) {
        let info = json!({ "name": "drive", "title": "Drive", "version": env!("CARGO_PKG_VERSION") });
        // The shape is that of the version which is asked for. Version 2 has no files and terminals of the client's.
        let params = match self.plan.protocol {
            0..=1 => json!({
                "clientCapabilities": {
                    "fs": { "readTextFile": self.plan.fs, "writeTextFile": self.plan.fs },
                    "terminal": self.plan.terminal,
                },
                "clientInfo": info,
            }),
            _ => json!({ "capabilities": {}, "info": info }),
        };
        let sent = self.client.with(|conn, now| conn.initialize(&payload(params), now));
        self.sent(Asked::Initialize, sent);
    }

    /// Opens a session: a new one, or a stored one.
    pub(super) fn open(&mut self, stored: Option<String>) {
        if !self.turns.is_empty() {
            return self.say(Look::Bad, "a turn runs; stop it first");
        }
        let mut plan = SessionPlan::new(payload(json!({ "cwd": self.plan.cwd, "mcpServers": [] })));
        plan.stored = stored.as_deref().map(Into::into);
        plan.login = self.plan.auth.as_deref().map(Into::into);
        plan.prefer_resume = matches!(self.plan.opening, Opening::Resume(_));
        self.view = View::default();
        let sent = self.client.with(|conn, now| conn.open_session(&plan, now));
        self.sent(Asked::Open(stored), sent);
    }

    pub(super) fn resolved(&mut self, resolved: Resolved) {
        let Some(asked) = self.asked.remove(&resolved.request) else { return };
        let result = match resolved.outcome {
            Outcome::Result(result) => result,
            outcome => return self.failed(&asked, &outcome),
        };
        match asked {
            Asked::Initialize => self.initialized(&result),
            Asked::Open(stored) => {
                self.session = resolved.session;
                let id = self.session.and_then(|session| self.client.session_id(session)).unwrap_or_default();
                self.opened(&result);
                let how = if stored.is_some() { "resumed" } else { "opened" };
                self.say(Look::Dim, &format!("session {id} is {how}; /help lists what there is"));
                if let Some(mode) = self.plan.mode.clone() {
                    self.mode(&mode);
                }
            }
            Asked::List => self.show_sessions(&result),
            Asked::Mode(mode) => {
                self.say(Look::Dim, &format!("mode: {mode}"));
                self.view.mode = Some(mode);
            }
            Asked::Option => {
                if let Ok(ConfigOptions { options, .. }) = result.view() {
                    self.view.set_options(options);
                }
                self.config("");
            }
            Asked::Login(method) => {
                self.say(Look::Good, &format!("logged in with {method}"));
                if self.session.is_none() {
                    self.open(None);
                }
            }
        }
    }

    fn failed(&mut self, asked: &Asked, outcome: &Outcome) {
        // The end is told by itself.
        if *outcome == Outcome::Closed {
            return;
        }
        let what = match asked {
            Asked::Initialize => "the agent cannot be initialized",
            Asked::Open(_) => "the session cannot be opened",
            Asked::List => "the sessions cannot be listed",
            Asked::Mode(_) => "the mode cannot be set",
            Asked::Option => "the option cannot be set",
            Asked::Login(_) => "the login failed",
        };
        self.say(Look::Bad, &format!("{what}: {}", why(outcome)));
        if outcome.is_auth_required() {
            self.login("");
        }
        if *asked == Asked::Initialize {
            self.leave(exit::REFUSED);
        }
    }

    fn initialized(&mut self, result: &Payload) {
        // A version that is not spoken here ends the connection, which is told next.
        if self.client.with(|conn, _| conn.version()).is_none() {
            return;
        }
        let said: Option<Initialized<'_>> = result.view().ok();
        self.agent.logins = said.iter().flat_map(|said| said.logins).flatten().map(login).collect();
        let info = said.and_then(|said| said.info);
        let (name, version) = match info {
            Some(info) => (info.title.unwrap_or(info.name).into(), info.version),
            None => ("the agent".to_owned(), None),
        };
        self.agent.name.clone_from(&name);
        let version = version.map(|version| format!(" {version}")).unwrap_or_default();
        let place = self.plan.cwd.display();
        self.say(Look::Bold, &format!("{name}{version} in {place}"));
        self.open(match &self.plan.opening {
            Opening::New => None,
            Opening::Load(id) | Opening::Resume(id) => Some(id.clone()),
        });
    }

    fn opened(&mut self, result: &Payload) {
        let Ok(Opened { modes, options, .. }) = result.view() else { return };
        let all = modes.iter().flat_map(|modes| modes.available);
        self.agent.modes = all.map(|mode| (mode.id.into(), mode.name.map(String::from).unwrap_or_default())).collect();
        self.view.mode = modes.map(|modes| modes.current.into());
        if let Some(options) = options {
            self.view.set_options(options);
        }
    }

    fn speaks_v2(&self) -> bool {
        self.client.with(|conn, _| conn.version()) == Some(2)
    }

    pub(super) fn login(&mut self, id: &str) {
        if !id.is_empty() {
            let method = if self.speaks_v2() { "auth/login" } else { "authenticate" };
            return self.request(Asked::Login(id.to_owned()), method, json!({ "methodId": id }));
        }
        if self.agent.logins.is_empty() {
            return self.say(Look::Warn, "it names no way to log in: log in with its own program, then come back");
        }
        self.say(Look::Warn, &format!("{} has these ways to log in:", self.agent.name));
        for (how, what) in self.agent.logins.clone() {
            self.say(Look::Plain, &format!("   {how}   {what}"));
        }
    }

    pub(super) fn sessions(&mut self) {
        self.request(Asked::List, "session/list", json!({ "cwd": self.plan.cwd }));
    }

    fn show_sessions(&mut self, result: &Payload) {
        let own = self.session.and_then(|session| self.client.session_id(session));
        self.listed.clear();
        let list: Option<SessionList<'_>> = result.view().ok();
        for session in list.into_iter().flat_map(|list| list.sessions) {
            let mark = if own.as_deref() == Some(&*session.id) { " (this one)" } else { "" };
            let (n, title) = (self.listed.len() + 1, session.title.unwrap_or_default());
            self.say(Look::Plain, &format!("  {n:>3}  {}{mark}  {title}", session.id));
            self.listed.push(session.id.into());
        }
        match self.listed.is_empty() {
            true => self.say(Look::Dim, "there are none"),
            false => self.say(Look::Dim, "/resume N goes on with one"),
        }
    }

    pub(super) fn resume(&mut self, which: &str) {
        let listed = which.parse::<usize>().ok().and_then(|n| self.listed.get(n.checked_sub(1)?).cloned());
        match (listed, which) {
            (Some(id), _) => self.open(Some(id)),
            (None, "") => self.sessions(),
            (None, id) => self.open(Some(id.to_owned())),
        }
    }

    pub(super) fn mode(&mut self, id: &str) {
        let session = self.session.and_then(|session| self.client.session_id(session));
        match (id, session) {
            ("", _) if self.agent.modes.is_empty() => self.say(Look::Dim, "the session has no modes"),
            ("", _) => {
                for (id, name) in self.agent.modes.clone() {
                    let mark = if self.view.mode.as_ref() == Some(&id) { "→" } else { " " };
                    self.say(Look::Plain, &format!("  {mark} {id}  {name}"));
                }
            }
            (id, Some(session)) => {
                let params = json!({ "sessionId": session, "modeId": id });
                self.request(Asked::Mode(id.to_owned()), "session/set_mode", params);
            }
            (_, None) => self.say(Look::Bad, "no session is open"),
        }
    }

    pub(super) fn config(&mut self, rest: &str) {
        match (rest.split_once(char::is_whitespace), self.session) {
            (Some((id, value)), Some(session)) => {
                let is_switch = self.view.options.iter().any(|option| option.id == id && option.is_switch);
                let value = match value.trim() {
                    word if is_switch => OptionValue::Switch(matches!(word, "on" | "true" | "yes" | "1")),
                    word => OptionValue::Id(word),
                };
                let sent = self.client.with(|conn, now| conn.set_config_option(session, id, value, None, now));
                self.sent(Asked::Option, sent);
            }
            _ if self.view.options.is_empty() => self.say(Look::Dim, "the session has no options"),
            _ => {
                for Setting { id, now, values, .. } in self.view.options.clone() {
                    self.say(Look::Plain, &format!("  {id} = {now}   {}", values.join(" | ")));
                }
            }
        }
    }
}

/// A way to log in: what to type, or to do, and what it is.
fn login(method: AuthMethod<'_>) -> (String, String) {
    let how = match method.kind.as_deref() {
        // The agent's own program does it, in a terminal of its own.
        Some("terminal") => "run its login in a terminal, then come back".to_owned(),
        _ => format!("/login {}", method.id),
    };
    (how, format!("{} {}", method.name.unwrap_or_default(), method.description.unwrap_or_default()))
}

/// What went wrong, in words.
pub(super) fn why(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Error(error) => {
            let more = error.data.as_ref().map(Payload::to_string).filter(|_| error.code == code::INTERNAL_ERROR);
            format!("{error}{}", more.map(|more| format!(" {more}")).unwrap_or_default())
        }
        Outcome::TimedOut => "no answer in time".to_owned(),
        Outcome::Invalid { why, .. } => format!("its answer cannot be used: {why}"),
        Outcome::NotSent => "it was not sent".to_owned(),
        other => format!("{other:?}"),
    }
}
