//! The client's host: it prompts, cancels and decides, and takes what it is told.

use acp_core::{
    CancelKind, Cancellation, ClientAction, Decision, Delivery, IncomingKey, Origin, Payload, PermissionTicket,
    TurnKey, ticket::Fork,
};

use super::{ClientEnd, Seen};
use crate::{
    explore::{Broken, fingerprint},
    pair::{
        sight::{Says, number},
        watch::{Watch, hold, rule},
    },
};

impl ClientEnd {
    pub(in super::super) fn fork(&self) -> Option<Self> {
        let dialogs = self.dialogs.iter().map(|(ask, ticket)| (*ask, ticket.fork())).collect();
        Some(Self { end: self.end.fork()?, dialogs, late: self.late.clone() })
    }

    pub(in super::super) fn prompt(
        &mut self,
        session: usize,
        content: &Payload,
        watch: &mut Watch,
    ) -> Result<(), Broken> {
        watch.prompts(session);
        match self.end.conn.prompt(self.end.sessions[session - 1], content, None, self.end.now) {
            Ok(turn) => drop(self.end.turns.insert(turn, watch.turns.len())),
            Err(why) => return hold(false, rule::ALLOWED, || format!("a prompt: {why}")),
        }
        Ok(())
    }

    pub(in super::super) fn cancel(
        &mut self,
        turn: usize,
        kind: CancelKind,
        watch: &mut Watch,
        seen: &mut Seen,
    ) -> Result<(), Broken> {
        let key = self.end.turns.iter().find(|(_, number)| **number == turn).map(|(key, _)| *key);
        let Some(key) = key else { return Ok(()) };
        if watch.turn(turn).over {
            // A slow host does not know yet.
            return self.late_cancel(key, kind, seen);
        }
        watch.cancels(turn, kind);
        seen.push(match self.end.conn.cancel_turn(key, kind, self.end.now) {
            Ok(Cancellation::Requested) => "Cancellation::Requested",
            Ok(Cancellation::AlreadyRequested) => "Cancellation::AlreadyRequested",
            other => return hold(false, rule::ALLOWED, || format!("a cancel of turn {turn}, which runs: {other:?}")),
        });
        Ok(())
    }

    pub(in super::super) fn decide(&mut self, ask: usize, select: bool, watch: &mut Watch) -> Result<(), Broken> {
        let Some(ticket) = self.dialogs.remove(&ask) else { return Ok(()) };
        let (decision, says) = if select { (yes(), Says::Selected) } else { (Decision::Cancelled, Says::Dismissed) };
        if self.end.waits && watch.is_void(ask) {
            // Its revocation waits for a host that is slow.
            self.late.insert(ticket.key());
            return self.too_late(ticket, &decision, ask);
        }
        let delivery = self.end.conn.decide(ticket, &decision, self.end.now);
        watch.chosen(ask, says, delivery)
    }

    fn too_late(&mut self, ticket: PermissionTicket, decision: &Decision, ask: usize) -> Result<(), Broken> {
        let before = fingerprint(&self.end.conn);
        let delivery = self.end.conn.decide(ticket, decision, self.end.now);
        let late = delivery == Delivery::TooLate && before == fingerprint(&self.end.conn);
        hold(late, rule::TOO_LATE, || format!("permission {ask} was revoked, then decided: {delivery:?}"))
    }

    /// A cancel of a turn that is over sends nothing and changes nothing.
    pub(in super::super) fn late_cancels(&mut self, watch: &Watch, seen: &mut Seen) -> Result<(), Broken> {
        let over: Vec<_> = self.end.turns.keys().zip(&watch.turns).filter(|(_, turn)| turn.told).collect();
        for key in over.into_iter().map(|(key, _)| *key).collect::<Vec<_>>() {
            for kind in [CancelKind::Stop, CancelKind::Steer] {
                self.late_cancel(key, kind, seen)?;
            }
        }
        Ok(())
    }

    fn late_cancel(&mut self, turn: TurnKey, kind: CancelKind, seen: &mut Seen) -> Result<(), Broken> {
        let before = fingerprint(&self.end.conn);
        let cancelled = self.end.conn.cancel_turn(turn, kind, self.end.now);
        seen.push("Cancellation::Moot");
        let moot = cancelled == Ok(Cancellation::Moot) && before == fingerprint(&self.end.conn);
        hold(moot, rule::TOO_LATE, || format!("a {kind:?} of {turn:?}, which is over: {cancelled:?}"))
    }

    /// The judge is told which turns are over here, whether or not the host knows.
    pub(in super::super) fn note_over(&self, watch: &mut Watch) {
        for (turn, number) in &self.end.turns {
            watch.turn(*number).over = !self.end.conn.is_live(*turn);
        }
    }

    pub(in super::super) fn drain(&mut self, watch: &mut Watch, seen: &mut Seen) -> Result<(), Broken> {
        while self.take(watch, seen)? {}
        self.taken(watch)
    }

    /// The host takes its next action. Whether there was one.
    pub(in super::super) fn take(&mut self, watch: &mut Watch, seen: &mut Seen) -> Result<bool, Broken> {
        let Some(action) = self.end.conn.poll_action() else { return Ok(false) };
        self.end.still_open("client", &action)?;
        match action {
            ClientAction::PermissionRequested { ticket, turn, offer, .. } => {
                let ask = offer.tool_call.as_deref().and_then(|call| call.parse().ok()).unwrap_or(0);
                let number = turn.map_or(0, |turn| self.end.number(turn));
                let of = watch.ask(ask).turn;
                hold(watch.may_tell_in(number, of), rule::ITS_OWN_TURN, || {
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
                let of = |call: &str| call.parse().is_ok_and(|of| watch.may_tell_in(own, of));
                hold(calls.iter().all(|call| of(call)), rule::ITS_OWN_TURN, || {
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
                let update = params.get::<serde_json::Value>().map_or_else(|_| "".into(), |it| it["update"].clone());
                if update["toolCallId"].is_null() {
                    // A state, or a message, may be told between two turns.
                    return Ok(true);
                }
                let of = number(&update["toolCallId"]);
                let own = matches!(origin, Origin::Turn(turn) if watch.may_tell_in(self.end.number(turn), of));
                hold(own, rule::ITS_OWN_TURN, || format!("an update of turn {of} was told as {origin:?}"))?;
            }
            ClientAction::Common(common) => self.end.common(common, "client")?,
            other => hold(false, rule::CONFORMING, || format!("the client was told {other:?}"))?,
        }
        Ok(true)
    }

    /// What holds when the host has taken all that it is told.
    pub(in super::super) fn taken(&self, watch: &Watch) -> Result<(), Broken> {
        watch.failures_told()?;
        let void = |ask: &&usize| watch.cancelling(watch.session_of(**ask)) || !self.end.is_open();
        let open = self.dialogs.keys().find(void);
        hold(open.is_none(), rule::NO_DIALOG, || format!("permission {open:?} is open"))
    }

    /// The dialog goes. The click that was under way comes too late.
    fn revoked(&mut self, key: IncomingKey, seen: &mut Seen) -> Result<(), Broken> {
        seen.push("PermissionRevoked");
        let ask = self.dialogs.iter().find(|(_, ticket)| ticket.key() == key).map(|(ask, _)| *ask);
        let Some((ask, ticket)) = ask.and_then(|ask| self.dialogs.remove_entry(&ask)) else {
            return hold(self.late.remove(&key), rule::TOLD_ONCE, || format!("{key:?} was revoked, and is not open"));
        };
        seen.push("Delivery::TooLate");
        self.too_late(ticket, &yes(), ask)
    }
}

fn yes() -> Decision {
    Decision::Select("yes".into())
}
