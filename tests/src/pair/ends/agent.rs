//! The agent's host: it asks, reports and ends its turns, and takes what it is told.

use acp_core::{AgentAction, Common, Delivery, Payload, Scope, TurnEnd, ticket::Fork, wire::StopReason};

use super::{AgentEnd, Seen};
use crate::{
    explore::{Broken, fingerprint},
    pair::{
        End,
        sight::number,
        watch::{Watch, hold, rule},
    },
};

impl AgentEnd {
    pub(in super::super) fn fork(&self) -> Option<Self> {
        let tickets = self.tickets.iter().map(|(turn, ticket)| (*turn, ticket.fork())).collect();
        Some(Self { end: self.end.fork()?, tickets, asks: self.asks.clone() })
    }

    pub(in super::super) fn ask(&mut self, turn: usize, params: &Payload, watch: &mut Watch) -> Result<(), Broken> {
        watch.asks_in(turn);
        let Some(ticket) = self.tickets.get(&turn) else { return Ok(()) };
        match self.end.conn.request_in(ticket, "session/request_permission", params, None, self.end.now) {
            Ok(request) => drop(self.asks.insert(request, watch.asks.len())),
            Err(why) => return hold(false, rule::ALLOWED, || format!("a permission request in turn {turn}: {why}")),
        }
        Ok(())
    }

    pub(in super::super) fn update(&mut self, turn: usize, update: &Payload, watch: &mut Watch) -> Result<(), Broken> {
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

    /// The host gives a prompt its place, while another may be worked on.
    pub(in super::super) fn insert(&mut self, turn: usize, watch: &mut Watch, seen: &mut Seen) -> Result<(), Broken> {
        let Some(ticket) = self.tickets.get(&turn) else { return Ok(()) };
        let key = ticket.turn();
        let waits = self.end.conn.is_live(key) && self.end.conn.message_id(key).is_none();
        let before = fingerprint(&self.end.conn);
        let inserted = self.end.conn.insert_prompt(key, &format!("m{turn}"), self.end.now);
        if waits && !watch.turn(turn).reached {
            seen.push(watch.inserts(turn));
            return hold(inserted == Ok(Delivery::Queued), rule::ALLOWED, || {
                format!("the insertion of turn {turn}, which waits: {inserted:?}")
            });
        }
        seen.push("insertion TooLate");
        let late = inserted == Ok(Delivery::TooLate) && before == fingerprint(&self.end.conn);
        hold(late, rule::TOO_LATE, || format!("turn {turn} has its place or is over, then inserted: {inserted:?}"))
    }

    /// Whether another prompt in the session of this one has its place, and is not over.
    fn works_on_another(&self, turn: usize, watch: &mut Watch) -> bool {
        let (conn, session) = (&self.end.conn, watch.turn(turn).session);
        self.end.turns.iter().any(|(key, number)| {
            let here = *number != turn && watch.turn(*number).session == session;
            here && conn.is_live(*key) && conn.message_id(*key).is_some()
        })
    }

    pub(in super::super) fn end_turn(
        &mut self,
        turn: usize,
        end: End,
        watch: &mut Watch,
        seen: &mut Seen,
    ) -> Result<(), Broken> {
        let Some(ticket) = self.tickets.remove(&turn) else { return Ok(()) };
        let live = self.end.conn.is_live(ticket.turn());
        let works = self.end.conn.message_id(ticket.turn()).is_some() || end == End::Turn;
        let ends_work = works && watch.second && !self.works_on_another(turn, watch);
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
            if ends_work {
                watch.work_ended(turn, end);
            }
            return watch.said(turn, end, delivery);
        }
        let late = delivery == Delivery::TooLate && before == fingerprint(&self.end.conn);
        hold(late, rule::TOO_LATE, || format!("turn {turn} was over, then ended: {delivery:?}"))
    }

    /// The judge is told which turns ended here without their host, whether or not that knows.
    pub(in super::super) fn note_forced(&self, watch: &mut Watch) {
        for (turn, number) in &self.end.turns {
            watch.note_forced(*number, self.end.conn.is_live(*turn));
        }
    }

    pub(in super::super) fn drain(&mut self, watch: &mut Watch, seen: &mut Seen) -> Result<(), Broken> {
        while self.take(watch, seen)? {}
        watch.aborts_resolved()
    }

    /// The host takes its next action. Whether there was one.
    pub(in super::super) fn take(&mut self, watch: &mut Watch, seen: &mut Seen) -> Result<bool, Broken> {
        let Some(action) = self.end.conn.poll_action() else { return Ok(false) };
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
            // It waited at a host that works on several.
            AgentAction::DropQueued { turn, .. } => {
                seen.push("DropQueued");
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
            other => hold(false, rule::CONFORMING, || format!("the agent was told {other:?}"))?,
        }
        Ok(true)
    }
}
