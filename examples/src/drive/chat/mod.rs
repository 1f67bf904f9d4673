//! A chat with an agent, for a person at a terminal.
//!
//! One task takes what the agent tells and what is typed, and never waits for one of the two: a request is remembered, and
//! its answer is an action like any other. So a turn can be stopped, steered and asked about at any time.

mod commands;
mod input;
mod screen;
mod setup;
mod turns;
mod view;

use core::time::Duration;
use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, IsTerminal as _},
};

use acp_core::{Client, ClientAction, CloseReason, Common, Payload, RequestKey, SessionKey, Violation};
use acp_tokio::{Actions, Handle};
use tokio::time::{Instant, sleep_until};

use self::{
    commands::Command,
    input::{Input, Typing},
    screen::{Look, Screen},
    setup::{Agent, Asked},
    turns::{Question, Turn},
    view::View,
};
use super::{args::Plan, exit, services::Services};
use crate::trace::Recorder;

/// How long text waits for more of it before it is shown.
const PAINT: Duration = Duration::from_millis(25);

/// Whether this is a terminal at both ends, with somebody who types and reads.
pub(super) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Who types, and where it is shown.
#[derive(Debug)]
pub(super) struct Terminal {
    typing: Typing,
    screen: Screen,
}

impl Terminal {
    /// Takes the terminal.
    ///
    /// # Errors
    ///
    /// It cannot be used for that.
    pub(super) fn open() -> Result<Self, String> {
        let (typing, printer) = input::start().map_err(|why| why.to_string())?;
        let coloured = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Ok(Self { typing, screen: Screen::new(printer, coloured) })
    }

    /// Gives it back as it was.
    pub(super) fn close(&mut self) {
        self.screen.end();
        let last = self.screen.take();
        self.typing.close(&last);
    }
}

/// How a chat ended.
#[derive(Debug)]
pub(super) struct Over {
    pub(super) code: u8,
    /// The agent is not asked to go, but killed.
    pub(super) kill: bool,
    /// The session, to be resumed.
    pub(super) session: Option<String>,
}

/// One chat.
pub(super) struct Chat<'a> {
    plan: &'a Plan,
    client: Handle<Client>,
    actions: Actions<Client>,
    terminal: &'a mut Terminal,
    services: Services,
    recorder: Recorder,
    agent: Agent,
    /// Requests that are not answered.
    asked: BTreeMap<RequestKey, Asked>,
    session: Option<SessionKey>,
    view: View,
    /// The stored sessions that were listed last.
    listed: Vec<String>,
    /// The turns that are not over, oldest first.
    turns: VecDeque<Turn>,
    /// The permissions that are asked for; the first is shown.
    questions: VecDeque<Question>,
    /// When a Stop was asked, and whether to kill the agent once that was too long ago.
    stopping: Option<(Instant, bool)>,
    noise: usize,
    over: Option<Over>,
}

impl<'a> Chat<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        client: Handle<Client>,
        actions: Actions<Client>,
        terminal: &'a mut Terminal,
        recorder: Recorder,
    ) -> Self {
        Self {
            plan,
            services: Services::new(client.clone(), plan.cwd.clone()),
            client,
            actions,
            terminal,
            recorder,
            agent: Agent::default(),
            asked: BTreeMap::new(),
            session: None,
            view: View::default(),
            listed: Vec::new(),
            turns: VecDeque::new(),
            questions: VecDeque::new(),
            stopping: None,
            noise: 0,
            over: None,
        }
    }

    /// Talks until one of the two has had enough.
    pub(super) async fn run(mut self) -> Over {
        self.initialize();
        let mut paint: Option<Instant> = None;
        loop {
            if let Some(over) = self.over.take() {
                self.terminal.close();
                return over;
            }
            if paint.is_none() && self.terminal.screen.is_due() {
                paint = Some(Instant::now() + PAINT);
            }
            let kill = self.kill_at();
            tokio::select! {
                input = self.terminal.typing.next() => self.typed(input),
                () = until(paint) => {
                    paint = None;
                    self.terminal.screen.flush();
                }
                () = until(kill) => self.kill(),
                action = self.actions.next() => match action {
                    Some(action) => self.told(action),
                    None => self.leave(exit::GONE),
                },
            }
        }
    }

    fn say(&mut self, look: Look, text: &str) {
        self.terminal.screen.line(look, text);
    }

    fn leave(&mut self, code: u8) {
        let session = self.session.and_then(|session| self.client.session_id(session));
        self.over.get_or_insert(Over { code, kill: false, session });
    }

    fn typed(&mut self, input: Input) {
        match input {
            Input::Line(line) => {
                self.terminal.screen.was_broken();
                self.line(&line);
            }
            Input::Key(key) => self.decide(key),
            Input::Interrupt => {
                self.terminal.screen.was_broken();
                self.interrupt();
            }
            Input::End => self.leave(0),
        }
        if self.over.is_none() {
            self.terminal.typing.go_on();
        }
    }

    fn line(&mut self, line: &str) {
        let known = |name: &str| self.view.commands.iter().any(|(known, _)| known == name);
        match commands::read(line, known) {
            Command::Nothing => {}
            Command::Say(text) => self.prompt(text),
            Command::Unknown(name) => self.say(Look::Bad, &format!("there is no /{name}; /help lists what there is")),
            Command::Ours(name, rest) => match name {
                "cancel" => self.stop(),
                "config" => self.config(rest),
                "login" => self.login(rest),
                "mode" => self.mode(rest),
                "new" => self.open(None),
                "quit" => self.leave(0),
                "resume" => self.resume(rest),
                "sessions" => self.sessions(),
                "trace" => self.trace(rest),
                _ => self.help(),
            },
        }
    }

    fn told(&mut self, action: ClientAction) {
        match action {
            ClientAction::Update { params, .. } => {
                self.view.update(&mut self.terminal.screen, &params, !self.turns.is_empty());
            }
            ClientAction::PermissionRequested { ticket, offer, params, .. } => self.ask(ticket, &offer, &params),
            ClientAction::PermissionRevoked(request) => self.revoked(request),
            ClientAction::ToolCallsLeftOpen { calls, .. } => self.view.left_open(&mut self.terminal.screen, &calls),
            ClientAction::TurnEnded { turn, settlement, outcome, .. } => self.ended(turn, &settlement, &outcome),
            ClientAction::Common(Common::Resolved(resolved)) => self.resolved(resolved),
            ClientAction::Common(Common::Request { ticket, method, params, .. }) => {
                self.services.serve(ticket, &method, params.unwrap_or(Payload::EMPTY));
            }
            ClientAction::Common(Common::CancelRequested(request)) => self.services.cancel(request),
            ClientAction::Common(Common::Violation(what)) => self.violation(&what),
            ClientAction::Common(Common::Closed(reason)) => self.closed(&reason),
            other => drop(self.client.decline(other)),
        }
    }

    fn violation(&mut self, what: &Violation) {
        let is_noise = matches!(what, Violation::NotJson { .. });
        self.noise += usize::from(is_noise);
        match (is_noise, self.noise) {
            (true, 1) => self.say(Look::Warn, "the agent prints what is no message; more of that is not told again"),
            (true, _) => {}
            (false, _) => self.say(Look::Warn, &format!("against the protocol: {what:?}")),
        }
    }

    fn closed(&mut self, reason: &CloseReason) {
        if !matches!(reason, CloseReason::Local) {
            self.say(Look::Bad, &format!("the connection is over: {reason}"));
        }
        self.leave(exit::GONE);
    }

    fn trace(&mut self, file: &str) {
        if file.is_empty() {
            return self.say(Look::Dim, "/trace FILE writes down what passes from now on; `trace FILE` shows it");
        }
        match super::start_trace(&self.recorder, file.as_ref(), true) {
            Ok(()) => self.say(Look::Dim, &format!("what passes is written to {file}")),
            Err(why) => self.say(Look::Bad, &why.to_string()),
        }
    }

    fn help(&mut self) {
        for (name, what) in commands::NAMES {
            self.say(Look::Plain, &format!("  /{name:<10} {what}"));
        }
        self.say(
            Look::Plain,
            "  a line while it works steers: the turn is cut short for it. Ctrl-C stops; Ctrl-D leaves.",
        );
        for (name, what) in self.view.commands.clone() {
            self.say(Look::Dim, &format!("  /{name:<10} {what} (the agent's)"));
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => core::future::pending().await,
    }
}
