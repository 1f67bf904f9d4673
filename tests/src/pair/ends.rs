//! The two ends with their hosts: a real connection each, and what its host holds. Hosts take every action at once.

use std::collections::BTreeMap;

use acp_core::{
    Agent, AgentAction, CancelKind, Cancellation, Cause, Client, ClientAction, Common, Config, Connection, Decision,
    Delivery, IncomingKey, Origin, Overlap, Payload, PermissionTicket, RequestKey, Role, Scope, SessionKey, Timestamp,
    TurnEnd, TurnKey, TurnTicket, ticket::Fork, wire::StopReason,
};

use super::{
    End,
    sight::{Says, number},
    watch::{Watch, hold, rule},
};
use crate::explore::{Broken, fingerprint};

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
}

#[derive(Debug, Hash)]
pub(super) struct ClientEnd {
    pub(super) end: Half<Client>,
    /// The dialogs, by the number of the request.
    pub(super) dialogs: BTreeMap<usize, PermissionTicket>,
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
        }
    }

    fn fork(&self) -> Option<Self> {
        let Self { conn, now, closed, sessions, turns, cut, expired } = self;
        Some(Self {
            conn: conn.fork()?,
            now: *now,
            closed: *closed,
            sessions: sessions.clone(),
            turns: turns.clone(),
            cut: *cut,
            expired: *expired,
        })
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
        hold(told == closed, rule::CLOSED_LAST, || {
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
pub(super) fn open(overlap: Overlap, sessions: usize, version: u16) -> (ClientEnd, AgentEnd) {
    let mut config = Config::client();
    (config.overlap, config.versions) = (overlap, [1, version].into_iter().collect());
    let mut client = Half::<Client>::new(config);
    let mut config = Config::agent();
    config.versions = [1, version].into_iter().collect();
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
        ClientEnd { end: client, dialogs: BTreeMap::new() },
        AgentEnd { end: agent, tickets: BTreeMap::new(), asks: BTreeMap::new() },
    )
}

impl ClientEnd {
    pub(super) fn fork(&self) -> Option<Self> {
        let dialogs = self.dialogs.iter().map(|(ask, ticket)| (*ask, ticket.fork())).collect();
        Some(Self { end: self.end.fork()?, dialogs })
    }

    pub(super) fn prompt(&mut self, session: usize, content: &Payload, watch: &mut Watch) -> Result<(), Broken> {
        watch.prompts(session);
        match self.end.conn.prompt(self.end.sessions[session - 1], content, None, self.end.now) {
            Ok(turn) => drop(self.end.turns.insert(turn, watch.turns.len())),
            Err(why) => return hold(false, rule::ALLOWED, || format!("a prompt: {why}")),
        }
        Ok(())
    }

    pub(super) fn cancel(
        &mut self,
        turn: usize,
        kind: CancelKind,
        watch: &mut Watch,
        seen: &mut Seen,
    ) -> Result<(), Broken> {
        watch.cancels(turn, kind);
        let key = self.end.turns.iter().find(|(_, number)| **number == turn).map(|(key, _)| *key);
        let Some(key) = key else { return Ok(()) };
        seen.push(match self.end.conn.cancel_turn(key, kind, self.end.now) {
            Ok(Cancellation::Requested) => "Cancellation::Requested",
            Ok(Cancellation::AlreadyRequested) => "Cancellation::AlreadyRequested",
            other => return hold(false, rule::ALLOWED, || format!("a cancel of turn {turn}, which runs: {other:?}")),
        });
        Ok(())
    }

    pub(super) fn decide(&mut self, ask: usize, select: bool, watch: &mut Watch) -> Result<(), Broken> {
        let Some(ticket) = self.dialogs.remove(&ask) else { return Ok(()) };
        let (decision, says) = if select { (yes(), Says::Selected) } else { (Decision::Cancelled, Says::Dismissed) };
        let delivery = self.end.conn.decide(ticket, &decision, self.end.now);
        watch.chosen(ask, says, delivery)
    }

    /// A cancel of a turn that is over sends nothing and changes nothing.
    pub(super) fn late_cancels(&mut self, watch: &Watch, seen: &mut Seen) -> Result<(), Broken> {
        for (turn, _) in self.end.turns.keys().zip(&watch.turns).filter(|(_, turn)| turn.told) {
            let before = fingerprint(&self.end.conn);
            for kind in [CancelKind::Stop, CancelKind::Steer] {
                let cancelled = self.end.conn.cancel_turn(*turn, kind, self.end.now);
                let moot = cancelled == Ok(Cancellation::Moot) && before == fingerprint(&self.end.conn);
                hold(moot, rule::TOO_LATE, || format!("a {kind:?} of {turn:?}, which is over: {cancelled:?}"))?;
                seen.push("Cancellation::Moot");
            }
        }
        Ok(())
    }

    pub(super) fn drain(&mut self, watch: &mut Watch, seen: &mut Seen) -> Result<(), Broken> {
        while let Some(action) = self.end.conn.poll_action() {
            self.end.still_open("client", &action)?;
            match action {
                ClientAction::PermissionRequested { ticket, turn, offer, .. } => {
                    let ask = offer.tool_call.as_deref().and_then(|call| call.parse().ok()).unwrap_or(0);
                    let number = turn.map_or(0, |turn| self.end.number(turn));
                    let of = watch.ask(ask).turn;
                    hold(number == of, rule::ITS_OWN_TURN, || {
                        format!("permission {ask} of turn {of} was told as one of turn {number}")
                    })?;
                    let again = self.dialogs.insert(ask, ticket);
                    hold(again.is_none(), rule::TOLD_ONCE, || format!("permission {ask} was told again"))?;
                }
                ClientAction::PermissionRevoked(key) => self.revoked(key, seen)?,
                ClientAction::CancelUndelivered { turn, stop, steer } => {
                    seen.push("CancelUndelivered");
                    watch.cancel_undelivered(self.end.number(turn), [stop, steer])?;
                }
                ClientAction::ToolCallsLeftOpen { turn, calls, .. } => {
                    seen.push("ToolCallsLeftOpen");
                    let own = self.end.number(turn);
                    hold(calls.iter().all(|call| call.parse() == Ok(own)), rule::ITS_OWN_TURN, || {
                        format!("turn {own} left {calls:?} open")
                    })?;
                }
                ClientAction::TurnEnded { turn, settlement, .. } => {
                    let closing = !self.end.is_open();
                    seen.push(watch.told(self.end.number(turn), &settlement, closing)?);
                }
                ClientAction::PromptInserted { turn, .. } => {
                    seen.push("PromptInserted");
                    watch.placed(self.end.number(turn))?;
                }
                ClientAction::Update { origin, params, .. } => {
                    let update =
                        params.get::<serde_json::Value>().map_or_else(|_| "".into(), |it| it["update"].clone());
                    if update["toolCallId"].is_null() {
                        // A state, or a message, may be told between two turns.
                        continue;
                    }
                    let of = number(&update["toolCallId"]);
                    let own = matches!(origin, Origin::Turn(turn) if self.end.number(turn) == of);
                    hold(own, rule::ITS_OWN_TURN, || format!("an update of turn {of} was told as {origin:?}"))?;
                }
                ClientAction::Common(common) => self.end.common(common, "client")?,
                other => return hold(false, rule::CONFORMING, || format!("the client was told {other:?}")),
            }
        }
        watch.failures_told()?;
        let void = |ask: &&usize| watch.cancelling(watch.session_of(**ask)) || !self.end.is_open();
        let open = self.dialogs.keys().find(void);
        hold(open.is_none(), rule::NO_DIALOG, || format!("permission {open:?} is open"))
    }

    /// The dialog goes. The click that was under way comes too late.
    fn revoked(&mut self, key: IncomingKey, seen: &mut Seen) -> Result<(), Broken> {
        seen.push("PermissionRevoked");
        let ask = self.dialogs.iter().find(|(_, ticket)| ticket.key() == key).map(|(ask, _)| *ask);
        let Some(ticket) = ask.and_then(|ask| self.dialogs.remove(&ask)) else {
            return hold(false, rule::TOLD_ONCE, || format!("{key:?} was revoked, and is not open"));
        };
        let before = fingerprint(&self.end.conn);
        let delivery = self.end.conn.decide(ticket, &yes(), self.end.now);
        seen.push("Delivery::TooLate");
        let late = delivery == Delivery::TooLate && before == fingerprint(&self.end.conn);
        hold(late, rule::TOO_LATE, || format!("permission {ask:?} was revoked, then decided: {delivery:?}"))
    }
}

impl AgentEnd {
    pub(super) fn fork(&self) -> Option<Self> {
        let tickets = self.tickets.iter().map(|(turn, ticket)| (*turn, ticket.fork())).collect();
        Some(Self { end: self.end.fork()?, tickets, asks: self.asks.clone() })
    }

    pub(super) fn ask(&mut self, turn: usize, params: &Payload, watch: &mut Watch) -> Result<(), Broken> {
        watch.asks_in(turn);
        let Some(ticket) = self.tickets.get(&turn) else { return Ok(()) };
        match self.end.conn.request_in(ticket, "session/request_permission", params, None, self.end.now) {
            Ok(request) => drop(self.asks.insert(request, watch.asks.len())),
            Err(why) => return hold(false, rule::ALLOWED, || format!("a permission request in turn {turn}: {why}")),
        }
        Ok(())
    }

    pub(super) fn update(&mut self, turn: usize, update: &Payload, watch: &mut Watch) -> Result<(), Broken> {
        let Some(ticket) = self.tickets.get(&turn) else { return Ok(()) };
        let scope = Scope::from(ticket);
        let conn = &self.end.conn;
        let inserted = conn.version() == Some(1) || conn.message_id(ticket.turn()).is_some();
        // A prompt that was cancelled before it was inserted never is.
        let void = watch.turn(turn).reached && !inserted;
        let expected = if conn.is_live(ticket.turn()) && !void { Delivery::Queued } else { Delivery::TooLate };
        let updated = self.end.conn.update(scope, update, self.end.now);
        hold(updated == Ok(expected), rule::ALLOWED, || format!("an update in turn {turn}: {updated:?}"))
    }

    pub(super) fn end_turn(&mut self, turn: usize, end: End, watch: &mut Watch, seen: &mut Seen) -> Result<(), Broken> {
        let Some(ticket) = self.tickets.remove(&turn) else { return Ok(()) };
        let live = self.end.conn.is_live(ticket.turn());
        let before = fingerprint(&self.end.conn);
        let said = match end {
            End::Turn => TurnEnd::Stop(StopReason::EndTurn),
            End::Cancelled => TurnEnd::Stop(StopReason::Cancelled),
            End::Error => TurnEnd::Error(acp_core::ErrorObject::new(-32000, "the model is gone")),
        };
        let delivery = self.end.conn.end_turn(ticket, &said, self.end.now);
        match delivery {
            Delivery::AsCancelled => seen.push("Delivery::AsCancelled"),
            Delivery::AsWithdrawn => seen.push("Delivery::AsWithdrawn"),
            Delivery::TooLate => seen.push("Delivery::TooLate"),
            _ => {}
        }
        if live {
            return watch.said(turn, end, delivery);
        }
        let late = delivery == Delivery::TooLate && before == fingerprint(&self.end.conn);
        hold(late, rule::TOO_LATE, || format!("turn {turn} was over, then ended: {delivery:?}"))
    }

    pub(super) fn drain(&mut self, watch: &mut Watch, seen: &mut Seen) -> Result<(), Broken> {
        while let Some(action) = self.end.conn.poll_action() {
            self.end.still_open("agent", &action)?;
            match action {
                AgentAction::Prompt { ticket, params } => {
                    let content = params.get::<serde_json::Value>();
                    let turn = content.map_or(0, |params| number(&params["prompt"][0]["text"]));
                    self.end.turns.insert(ticket.turn(), turn);
                    let again = self.tickets.insert(turn, ticket);
                    hold(again.is_none(), rule::TOLD_ONCE, || format!("turn {turn} was told again"))?;
                }
                AgentAction::AbortTurn { turn, again, .. } => {
                    seen.push(if again { "AbortTurn again" } else { "AbortTurn" });
                    watch.aborted(self.end.number(turn), again)?;
                }
                // Neither its deadline nor the end of the connection waits for a host that has not ended its turn.
                AgentAction::TurnForced { turn, .. } => {
                    seen.push("TurnForced");
                    watch.forced(self.end.number(turn))?;
                }
                AgentAction::IdleCancel { .. } => seen.push("IdleCancel"),
                AgentAction::ToolCallsClosed { .. } => seen.push("ToolCallsClosed"),
                AgentAction::Common(Common::Resolved(resolved)) => {
                    let ask = self.asks.remove(&resolved.request);
                    hold(ask.is_some(), rule::RESOLVED_ONCE, || format!("{resolved:?} again"))?;
                    watch.resolved(ask.unwrap_or(0), &resolved.outcome, !self.end.is_open())?;
                }
                AgentAction::Common(common) => self.end.common(common, "agent")?,
                other => return hold(false, rule::CONFORMING, || format!("the agent was told {other:?}")),
            }
        }
        watch.aborts_resolved()
    }
}

fn yes() -> Decision {
    Decision::Select("yes".into())
}
