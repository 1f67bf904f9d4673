//! The two ends with their hosts: a real connection each, and what its host holds.

mod agent;
mod client;

use std::collections::{BTreeMap, BTreeSet};

use acp_core::{
    Agent, AgentAction, Cause, Client, ClientAction, Common, Config, Connection, IncomingKey, Overlap, Payload,
    PermissionTicket, RequestKey, Role, SessionKey, Timestamp, TurnKey, TurnTicket,
};

use super::watch::{hold, rule};
use crate::explore::Broken;

/// What occurred, by name.
pub(super) type Seen = Vec<&'static str>;

/// A connection and its time, which stands still but for the deadline of the end.
#[derive(Debug, Hash)]
pub(super) struct Half<R: Role> {
    pub(super) conn: Connection<R>,
    pub(super) now: Timestamp,
    /// Its host was told `Closed`.
    pub(super) closed: bool,
    pub(super) sessions: Vec<SessionKey>,
    /// The numbers of the turns.
    turns: BTreeMap<TurnKey, usize>,
    /// It ended without time to answer.
    pub(super) cut: bool,
    /// How often its time to drain was over.
    pub(super) expired: usize,
    /// An action waits for its host, which is slow.
    pub(super) waits: bool,
}

#[derive(Debug, Hash)]
pub(super) struct ClientEnd {
    pub(super) end: Half<Client>,
    /// The dialogs, by the number of the request.
    pub(super) dialogs: BTreeMap<usize, PermissionTicket>,
    /// Permission requests that its host decided too late, and is about to be told so.
    late: BTreeSet<IncomingKey>,
}

#[derive(Debug, Hash)]
pub(super) struct AgentEnd {
    pub(super) end: Half<Agent>,
    /// The turns that its host has not ended, by their numbers.
    pub(super) tickets: BTreeMap<usize, TurnTicket>,
    /// The permission requests that are not resolved, with their numbers.
    asks: BTreeMap<RequestKey, usize>,
}

pub(super) fn payload(value: serde_json::Value) -> Payload {
    Payload::try_from(value).expect("JSON is a payload")
}

impl<R: Role> Half<R> {
    fn new(config: Config) -> Self {
        let conn = Connection::new(config).expect("the defaults can be used");
        Self {
            conn,
            now: Timestamp::ZERO,
            closed: false,
            sessions: Vec::new(),
            turns: BTreeMap::new(),
            cut: false,
            expired: 0,
            waits: false,
        }
    }

    fn fork(&self) -> Option<Self> {
        let Self { conn, now, closed, sessions, turns, cut, expired, waits } = self;
        Some(Self {
            conn: conn.fork()?,
            now: *now,
            closed: *closed,
            sessions: sessions.clone(),
            turns: turns.clone(),
            cut: *cut,
            expired: *expired,
            waits: *waits,
        })
    }

    /// Whether an action waits: then there is no copy.
    pub(super) fn looks(&mut self) -> bool {
        self.waits = self.conn.fork().is_none();
        self.waits
    }

    /// Whether new work can be begun here.
    pub(super) fn is_open(&self) -> bool {
        self.conn.close_reason().is_none()
    }

    /// Whether a turn is not over: in version 2 its prompt may be answered already.
    pub(super) fn works(&self) -> bool {
        self.turns.keys().any(|turn| self.conn.is_live(*turn))
    }

    /// Whether nothing waits for anything here.
    pub(super) fn is_idle(&self) -> bool {
        self.conn.queued_bytes() == 0 && self.conn.unresolved() == 0 && self.conn.unanswered().next().is_none()
    }

    pub(super) fn nothing_left(&self, who: &str) -> Result<(), Broken> {
        let (unresolved, unanswered) = (self.conn.unresolved(), self.conn.unanswered().count());
        hold(self.is_idle(), rule::NOTHING_LEFT, || {
            format!("the {who} has {unresolved} requests unresolved, {unanswered} unanswered")
        })?;
        let deadline = self.conn.poll_timeout();
        hold(deadline.is_none(), rule::NOTHING_LEFT, || format!("the {who} still waits until {deadline:?}"))?;
        hold(!self.works(), rule::NOTHING_LEFT, || format!("the {who} still has a turn"))
    }

    fn number(&self, turn: TurnKey) -> usize {
        self.turns.get(&turn).copied().unwrap_or(0)
    }

    /// An end that has begun comes, whatever the host and the peer do: it has a deadline, or its second one.
    pub(super) fn is_bounded(&self, who: &str) -> Result<(), Broken> {
        let (told, closed, expired) = (self.closed, self.conn.is_closed(), self.expired);
        hold(self.waits || told == closed, rule::CLOSED_LAST, || {
            format!("the {who} is closed: {closed}, and that was told: {told}")
        })?;
        let deadline = self.conn.poll_timeout();
        let drains = deadline.is_some_and(|deadline| deadline.cause == Cause::Drain) && expired < 2;
        let owes = self.conn.queued_bytes() > 0 || self.conn.unanswered().next().is_some() || self.works();
        hold(self.is_open() || closed || owes, rule::BOUNDED, || format!("the {who} owes nothing, and does not end"))?;
        hold(self.is_open() || closed || drains, rule::BOUNDED, || {
            format!("the {who} drains until {deadline:?}, after {expired} deadlines")
        })
    }

    fn common(&mut self, common: Common, who: &str) -> Result<(), Broken> {
        match common {
            Common::Closed(_) => self.closed = true,
            other => return hold(false, rule::CONFORMING, || format!("the {who} was told {other:?}")),
        }
        Ok(())
    }

    fn still_open(&self, who: &str, action: &R::Action) -> Result<(), Broken> {
        hold(!self.closed, rule::CLOSED_LAST, || format!("the {who} is closed, and was told {action:?}"))
    }
}

/// A connection that is initialized, with these sessions: where the exploration begins.
/// `overlaps`: of the client, and of the agent.
pub(super) fn open(overlaps: [Overlap; 2], sessions: usize, version: u16) -> (ClientEnd, AgentEnd) {
    let mut config = Config::client();
    (config.overlap, config.versions) = (overlaps[0], [1, version].into_iter().collect());
    let mut client = Half::<Client>::new(config);
    let mut config = Config::agent();
    (config.overlap, config.versions) = (overlaps[1], [1, version].into_iter().collect());
    let mut agent = Half::<Agent>::new(config);
    let now = Timestamp::ZERO;
    let info = serde_json::json!({ "name": "pair", "version": "1" });
    let offer = payload(serde_json::json!({ "info": info, "capabilities": { "session": {} } }));
    client.conn.initialize(&offer, now).expect("the first command");
    let mut opening = true;
    while client.sessions.len() < sessions {
        while let Some(frame) = client.conn.poll_transmit() {
            agent.conn.handle_input(&frame.into_line(), now);
        }
        match agent.conn.poll_action() {
            Some(AgentAction::Initialize { ticket, .. }) => {
                agent.conn.accept_initialize(ticket, &offer, now).expect("an object");
            }
            Some(AgentAction::SessionRequested { ticket, .. }) => {
                let name = (agent.sessions.len() + 1).to_string();
                let result = payload(serde_json::json!({ "sessionId": name }));
                agent.sessions.extend(agent.conn.accept_session(ticket, &result, now).ok().map(|(session, _)| session));
            }
            other => panic!("the opening of the connection told the agent {other:?}"),
        }
        while let Some(frame) = agent.conn.poll_transmit() {
            client.conn.handle_input(&frame.into_line(), now);
        }
        let Some(ClientAction::Common(Common::Resolved(resolved))) = client.conn.poll_action() else {
            panic!("the opening of the connection failed");
        };
        client.sessions.extend(resolved.session);
        if core::mem::take(&mut opening) || client.sessions.len() < sessions {
            let params = payload(serde_json::json!({ "cwd": "/", "mcpServers": [] }));
            client.conn.request("session/new", Some(params), None, now).expect("it is initialized");
        }
    }
    (
        ClientEnd { end: client, dialogs: BTreeMap::new(), late: BTreeSet::new() },
        AgentEnd { end: agent, tickets: BTreeMap::new(), asks: BTreeMap::new() },
    )
}
