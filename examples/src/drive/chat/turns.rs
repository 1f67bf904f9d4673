//! The turns of a chat: prompts, steering, stopping, permissions, and how a turn ends.

use core::time::Duration;
use std::sync::PoisonError;

use acp_core::{
    CommandError, Decision, IncomingKey, Offer, Outcome, Payload, PermissionTicket, Settlement, TurnKey,
    view::Permission,
    wire::{PermissionOptionKind, StopReason},
};
use serde_json::json;
use tokio::time::Instant;

use super::{super::exit, Chat, Over, screen::Look};
use crate::shape::{payload, text_block};

/// How long an agent may take to stop before a second Ctrl-C kills it.
const BOUND: Duration = Duration::from_secs(3);

/// A turn that is not over.
#[derive(Debug)]
pub(super) struct Turn {
    key: TurnKey,
    started: Instant,
    /// It was cut short for another.
    steered: bool,
}

/// A permission that is asked for.
#[derive(Debug)]
pub(super) struct Question {
    ticket: PermissionTicket,
    title: String,
    /// Key, option, and what it is called.
    options: Vec<(char, Box<str>, String)>,
}

impl Chat<'_> {
    /// Says something to the agent: the next prompt, or in place of what it is doing.
    pub(super) fn prompt(&mut self, text: &str) {
        let Some(session) = self.session else {
            return self.say(Look::Bad, "no session is open yet; /new opens one");
        };
        let content = payload(json!([text_block(text)]));
        let steers = !self.turns.is_empty();
        let sent = if steers { self.client.steer(session, &content) } else { self.client.prompt(session, &content) };
        match sent {
            Ok(turn) => {
                let key = turn.detach();
                if steers {
                    self.say(Look::Dim, "↪ it is cut short for that");
                }
                for turn in &mut self.turns {
                    turn.steered = true;
                }
                self.turns.push_back(Turn { key, started: Instant::now(), steered: false });
            }
            Err(why) => self.say(Look::Bad, &format!("not sent: {why}")),
        }
    }

    /// Ctrl-C: stops the turn; once more, and the agent is killed if that takes too long.
    pub(super) fn interrupt(&mut self) {
        match self.stopping {
            None if self.turns.is_empty() => self.say(Look::Dim, "nothing runs; /quit or Ctrl-D leaves"),
            None => self.stop(),
            Some((since, _)) => {
                self.stopping = Some((since, true));
                if since.elapsed() < BOUND {
                    self.say(Look::Warn, &format!("it is killed unless it stops within {} s", BOUND.as_secs()));
                }
            }
        }
    }

    pub(super) fn stop(&mut self) {
        let Some(session) = self.session else { return };
        if self.turns.is_empty() {
            return self.say(Look::Dim, "nothing runs");
        }
        let asked = self.client.with(|conn, now| conn.stop_session(session, now));
        match asked {
            Ok(_) => {
                self.stopping.get_or_insert((Instant::now(), false));
                self.say(Look::Warn, "stopping… (Ctrl-C again kills an agent that does not)");
            }
            Err(CommandError::Closed) => {}
            Err(why) => self.say(Look::Bad, &format!("it cannot be stopped: {why}")),
        }
    }

    /// When the agent is to be killed, if it is.
    pub(super) fn kill_at(&self) -> Option<Instant> {
        self.stopping.filter(|(_, kill)| *kill).map(|(since, _)| since + BOUND)
    }

    pub(super) fn kill(&mut self) {
        self.say(Look::Bad, "it did not stop: it is killed");
        self.leave(exit::GONE);
        if let Some(Over { kill, .. }) = &mut self.over {
            *kill = true;
        }
    }

    pub(super) fn ended(&mut self, key: TurnKey, settlement: &Settlement, outcome: &Outcome) {
        let Some(at) = self.turns.iter().position(|turn| turn.key == key) else { return };
        let Some(turn) = self.turns.remove(at) else { return };
        let took = turn.started.elapsed().as_secs_f64();
        if self.turns.is_empty() {
            self.stopping = None;
        }
        let usage = self.view.usage().map(|usage| format!(", {usage}")).unwrap_or_default();
        let (look, what) = match settlement {
            Settlement::Ended(StopReason::EndTurn) | Settlement::EndedAlthoughCancelled(StopReason::EndTurn) => {
                (Look::Dim, "done".to_owned())
            }
            Settlement::Cancelled if turn.steered => (Look::Dim, "cut short".to_owned()),
            Settlement::Cancelled => (Look::Warn, "stopped".to_owned()),
            Settlement::CancelledUnasked => (Look::Warn, "the agent stopped by itself".to_owned()),
            Settlement::Ended(reason) | Settlement::EndedAlthoughCancelled(reason) => (
                Look::Warn,
                match reason {
                    StopReason::MaxTokens => "its limit of tokens is reached".to_owned(),
                    StopReason::MaxTurnRequests => "its limit of requests in a turn is reached".to_owned(),
                    StopReason::Refusal => "the agent refuses to go on".to_owned(),
                    other => other.to_string(),
                },
            ),
            // Why is told by itself.
            Settlement::Closed => return,
            _ => (Look::Bad, super::setup::why(outcome)),
        };
        self.say(look, &format!("— {what}, {took:.1} s{usage}"));
        if outcome.is_auth_required() {
            self.login("");
        }
    }

    /// The agent asks for permission.
    pub(super) fn ask(&mut self, ticket: PermissionTicket, offer: &Offer, params: &Payload) {
        let asked: Option<Permission<'_>> = params.view().ok();
        let title = asked.as_ref().and_then(Permission::title).or(offer.tool_call.as_deref());
        let title = title.unwrap_or("something").to_owned();
        let mut options: Vec<(char, Box<str>, String)> = Vec::new();
        for option in &offer.options {
            let wanted = match option.kind {
                PermissionOptionKind::AllowOnce => 'y',
                PermissionOptionKind::AllowAlways => 'a',
                PermissionOptionKind::RejectOnce => 'n',
                PermissionOptionKind::RejectAlways => 'x',
                _ => '1',
            };
            let is_free = |key: &char| options.iter().all(|(taken, ..)| taken != key);
            let Some(key) = core::iter::once(wanted).chain('1'..='9').chain('b'..='m').find(is_free) else { break };
            options.push((key, option.id.clone(), option.name.to_string()));
        }
        self.questions.push_back(Question { ticket, title, options });
        if self.questions.len() == 1 {
            self.show_question();
        }
    }

    fn show_question(&mut self) {
        let lines = self.questions.front().map(|question| {
            let keys = question.options.iter().map(|(key, _, name)| format!("   {key}  {name}"));
            (format!("? {}", question.title.trim_end_matches('?')), keys.collect::<Vec<_>>())
        });
        let keys = self.questions.front().map(|question| question.options.iter().map(|(key, ..)| *key).collect());
        *self.terminal.typing.menu.lock().unwrap_or_else(PoisonError::into_inner) = keys.unwrap_or_default();
        if let Some((title, keys)) = lines {
            self.say(Look::Warn, &title);
            for key in keys {
                self.say(Look::Plain, &key);
            }
        }
    }

    /// A key of the menu was pressed.
    pub(super) fn decide(&mut self, key: char) {
        let Some(question) = self.questions.pop_front() else { return };
        let Some((_, id, name)) = question.options.iter().find(|(known, ..)| *known == key).cloned() else {
            return self.questions.push_front(question);
        };
        self.client.decide(question.ticket, &Decision::Select(id));
        self.say(Look::Dim, &format!("→ {name}"));
        self.show_question();
    }

    /// It was answered `cancelled`: nobody is to decide any more.
    pub(super) fn revoked(&mut self, request: IncomingKey) {
        let before = self.questions.len();
        self.questions.retain(|question| question.ticket.key() != request);
        if self.questions.len() < before {
            self.say(Look::Dim, "→ cancelled");
            self.show_question();
        }
    }
}
