//! An agent and a client on a bare [`Connection`]: what the embeddings put into their loops. They decide what is said and
//! when; they see no bytes, no clock and no runtime, so that an embedding is the loop and nothing else.

use core::time::Duration;

use acp_core::{
    Agent, AgentAction, CancelKind, Client, ClientAction, CommandError, Common, Config, ConfigError, Connection,
    Origin, Outcome, Resolved, Role, SessionKey, Settlement, Timestamp, TurnEnd, TurnKey, TurnTicket, wire::StopReason,
};
use serde_json::{Value, json};

use crate::shape::{chunk, payload, permission, text_block};

/// What the agent says to every prompt, a word at a time.
pub const WORDS: [&str; 5] = ["One ", "word ", "at ", "a ", "time."];

/// What a host is: it acts on what it is told, and may do something by itself when the time has come.
pub trait Host<R: Role> {
    /// Acts on one action.
    ///
    /// # Errors
    ///
    /// A command was refused.
    fn act(&mut self, conn: &mut Connection<R>, action: R::Action, now: Timestamp) -> Result<(), CommandError>;

    /// Does what is due, and says when there is more to do. By default there never is.
    ///
    /// # Errors
    ///
    /// A command was refused.
    fn tick(&mut self, _: &mut Connection<R>, _: Timestamp) -> Result<Option<Timestamp>, CommandError> {
        Ok(None)
    }
}

/// One end: a connection and its host.
#[derive(Debug)]
pub struct End<R: Role, H> {
    /// The connection.
    pub conn: Connection<R>,
    /// Its host.
    pub host: H,
}

impl<R: Role, H: Host<R>> End<R, H> {
    /// Does everything that can be done now, and says when to come back if nothing happens before. Frames may wait to be
    /// written afterwards.
    ///
    /// # Errors
    ///
    /// The host gave up.
    pub fn step(&mut self, now: Timestamp) -> Result<Option<Timestamp>, CommandError> {
        self.conn.handle_timeout(now);
        loop {
            // An action may give the host something to do, and what it does may give an action.
            let due = self.host.tick(&mut self.conn, now)?;
            let Some(action) = self.conn.poll_action() else {
                let deadline = self.conn.poll_timeout().map(|deadline| deadline.at);
                return Ok(due.into_iter().chain(deadline).min());
            };
            self.host.act(&mut self.conn, action, now)?;
        }
    }
}

/// Whether nothing is open, held, armed or waiting to be written. Sessions may be there.
#[must_use]
pub fn is_idle<R: Role>(conn: &Connection<R>) -> bool {
    let open = conn.unresolved() + conn.unanswered().count();
    let bytes = conn.queued_bytes() + conn.held_bytes();
    open + bytes == 0 && conn.poll_timeout().is_none()
}

/// What an agent says to everything but prompts, which come back with their cancels: it opens what it is asked to open,
/// and declines the rest.
///
/// # Errors
///
/// A command was refused.
pub fn welcome(
    agent: &mut Connection<Agent>,
    action: AgentAction,
    now: Timestamp,
) -> Result<Option<AgentAction>, CommandError> {
    match action {
        AgentAction::Initialize { ticket, .. } => {
            let about = json!({ "agentInfo": { "name": "talker", "version": "1.0.0" } });
            agent.accept_initialize(ticket, &payload(about), now).map_err(|refused| refused.why)?;
        }
        AgentAction::SessionRequested { ticket, .. } => {
            // Nothing here closes a session, so the numbers are not used again.
            let opened = json!({ "sessionId": format!("session-{}", agent.sessions() + 1) });
            agent.accept_session(ticket, &payload(opened), now).map_err(|refused| refused.why)?;
        }
        AgentAction::Prompt { .. } | AgentAction::AbortTurn { .. } => return Ok(Some(action)),
        other => drop(agent.decline(other, now)),
    }
    Ok(None)
}

/// An agent that says its [`WORDS`] to every prompt, with a pause after each, and stops when it is cancelled.
#[derive(Debug)]
pub struct Talker {
    pause: Duration,
    talks: Vec<Talk>,
}

/// A turn that runs.
#[derive(Debug)]
struct Talk {
    ticket: TurnTicket,
    said: usize,
    /// When the next word is due.
    next: Timestamp,
    aborted: bool,
}

impl Talker {
    /// An agent that nobody has spoken to yet.
    ///
    /// # Errors
    ///
    /// None: the configuration is the default.
    pub fn begin(pause: Duration) -> Result<End<Agent, Self>, ConfigError> {
        let conn = Connection::new(Config::agent())?;
        Ok(End { conn, host: Self { pause, talks: Vec::new() } })
    }
}

impl Host<Agent> for Talker {
    fn act(&mut self, agent: &mut Connection<Agent>, action: AgentAction, now: Timestamp) -> Result<(), CommandError> {
        match welcome(agent, action, now)? {
            Some(AgentAction::Prompt { ticket, .. }) => {
                self.talks.push(Talk { ticket, said: 0, next: now, aborted: false });
            }
            Some(AgentAction::AbortTurn { turn, .. }) => {
                let aborted = self.talks.iter_mut().filter(|talk| talk.ticket.turn() == turn);
                aborted.for_each(|talk| talk.aborted = true);
            }
            _ => {}
        }
        Ok(())
    }

    fn tick(&mut self, agent: &mut Connection<Agent>, now: Timestamp) -> Result<Option<Timestamp>, CommandError> {
        let mut going = Vec::new();
        for mut talk in self.talks.drain(..) {
            while !talk.aborted && talk.next <= now && talk.said < WORDS.len() {
                agent.update(&talk.ticket, &payload(chunk("agent_message_chunk", WORDS[talk.said])), now)?;
                talk.said += 1;
                talk.next = now + self.pause;
            }
            match talk.aborted || (talk.next <= now && talk.said == WORDS.len()) {
                // A cancelled turn is answered `cancelled`, whatever is said here.
                true => drop(agent.end_turn(talk.ticket, &TurnEnd::Stop(StopReason::EndTurn), now)),
                false => going.push(talk),
            }
        }
        self.talks = going;
        Ok(self.talks.iter().map(|talk| talk.next).min())
    }
}

/// A client that opens a session, prompts once, listens, and closes. If it has heard enough, it cancels.
#[derive(Debug)]
pub struct Asker {
    enough: Option<usize>,
    /// What it heard, in pieces.
    pub heard: Vec<String>,
    /// How its turn ended.
    pub settlement: Option<Settlement>,
}

impl Asker {
    /// A client that has sent `initialize`. It cancels after `enough` pieces of the answer, if that is given.
    ///
    /// # Errors
    ///
    /// None: a fresh connection takes `initialize`.
    pub fn begin(enough: Option<usize>) -> Result<End<Client, Self>, Box<dyn core::error::Error + Send + Sync>> {
        let mut conn = Connection::new(Config::client())?;
        conn.initialize(&payload(json!({})), Timestamp::ZERO)?;
        Ok(End { conn, host: Self { enough, heard: Vec::new(), settlement: None } })
    }

    /// What it heard, and how that ended.
    #[must_use]
    pub fn story(&self) -> String {
        let end = self.settlement.as_ref().map_or_else(|| "no end".to_owned(), |settlement| format!("{settlement:?}"));
        format!("{}\n{end}", self.heard.concat())
    }

    fn resolved(client: &mut Connection<Client>, resolved: Resolved, now: Timestamp) -> Result<(), CommandError> {
        match (resolved.session, resolved.outcome) {
            // The session is open.
            (Some(session), Outcome::Result(_)) => {
                client.prompt(session, &payload(json!([text_block("Hello!")])), None, now)?;
            }
            // The version is agreed.
            (None, Outcome::Result(_)) => {
                let place = json!({ "cwd": "/", "mcpServers": [] });
                client.request("session/new", Some(payload(place)), None, now)?;
            }
            _ => client.close(now),
        }
        Ok(())
    }
}

impl Host<Client> for Asker {
    fn act(
        &mut self,
        client: &mut Connection<Client>,
        action: ClientAction,
        now: Timestamp,
    ) -> Result<(), CommandError> {
        match action {
            ClientAction::Common(Common::Resolved(resolved)) => Self::resolved(client, resolved, now)?,
            ClientAction::Update { origin: Origin::Turn(turn), params, .. } => {
                let update: Value = params.get().unwrap_or_default();
                self.heard.extend(update["update"]["content"]["text"].as_str().map(str::to_owned));
                if Some(self.heard.len()) == self.enough {
                    client.cancel_turn(turn, CancelKind::Stop, now)?;
                }
            }
            ClientAction::TurnEnded { settlement, .. } => {
                self.settlement = Some(settlement);
                client.close(now);
            }
            // A permission, for one: nobody is here to ask.
            other => drop(client.decline(other, now)),
        }
        Ok(())
    }
}

/// An agent that streams three words, asks for permission, and waits.
#[derive(Debug, Default)]
pub struct Asking {
    turn: Option<TurnTicket>,
}

impl Host<Agent> for Asking {
    fn act(&mut self, agent: &mut Connection<Agent>, action: AgentAction, now: Timestamp) -> Result<(), CommandError> {
        match welcome(agent, action, now)? {
            Some(AgentAction::Prompt { ticket, .. }) => {
                for word in ["Three ", "words ", "only."] {
                    agent.update(&ticket, &payload(chunk("agent_message_chunk", word)), now)?;
                }
                agent.request_in(&ticket, "session/request_permission", &permission(), None, now)?;
                self.turn = Some(ticket);
            }
            Some(AgentAction::AbortTurn { .. }) => {
                if let Some(turn) = self.turn.take() {
                    agent.end_turn(turn, &TurnEnd::Stop(StopReason::EndTurn), now);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// A client that waits, and decides nothing: it keeps what its owner needs for the next step.
#[derive(Debug, Default)]
pub struct Waiting {
    /// The session that was opened.
    pub session: Option<SessionKey>,
    /// The turn in which permission was asked for.
    pub asked: Option<TurnKey>,
    /// How the turn ended.
    pub settlement: Option<Settlement>,
}

impl Host<Client> for Waiting {
    fn act(
        &mut self,
        client: &mut Connection<Client>,
        action: ClientAction,
        now: Timestamp,
    ) -> Result<(), CommandError> {
        match action {
            ClientAction::Common(Common::Resolved(resolved)) => self.session = resolved.session,
            // The ticket may go: the cancel answers what is open.
            ClientAction::PermissionRequested { turn, .. } => self.asked = turn,
            ClientAction::TurnEnded { settlement, .. } => self.settlement = Some(settlement),
            other => drop(client.decline(other, now)),
        }
        Ok(())
    }
}
