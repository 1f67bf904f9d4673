//! The agent's permission requests, on the wire and at both hosts.

use acp_core::{Delivery, Outcome};

use super::{Turn, Watch, hold, rule};
use crate::{
    explore::Broken,
    pair::sight::{Says, result},
};

/// All that is known about one permission request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in super::super) struct Ask {
    pub(in super::super) turn: usize,
    pub(in super::super) id: Option<u64>,
    /// The client has it.
    pub(super) received: bool,
    /// It cannot be delivered.
    pub(super) undelivered: bool,
    /// What the client's host chose, if it did.
    chosen: Option<Says>,
    pub(in super::super) answered: Option<Says>,
    /// The agent's host has the outcome.
    pub(in super::super) resolved: bool,
}

impl Ask {
    pub(super) fn in_words(&self) -> String {
        let facts = [(true, "asked"), (self.id.is_some(), "sent"), (self.undelivered, "undelivered")];
        let later = [(self.received, "received"), (self.resolved, "the agent's host knows")];
        let facts = facts.into_iter().chain(later).filter(|(is, _)| *is).map(|(_, fact)| fact.to_owned());
        let chosen = self.chosen.map(|says| format!("chosen: {says:?}"));
        let answered = self.answered.map(|says| format!("answered {says:?}"));
        facts.chain(chosen).chain(answered).collect::<Vec<_>>().join(", ")
    }
}

impl Watch {
    pub(in super::super) fn ask(&mut self, ask: usize) -> &mut Ask {
        self.asks.get_mut(ask.wrapping_sub(1)).expect("the hosts number their permission requests")
    }

    /// Its decision comes too late, whether or not the client's host knows.
    pub(in super::super) fn is_void(&self, ask: usize) -> bool {
        self.client_ends || self.asks.get(ask.wrapping_sub(1)).is_some_and(|ask| ask.answered.is_some())
    }

    /// The agent's host asks in this turn.
    pub(in super::super) fn asks_in(&mut self, turn: usize) {
        self.asks.push(Ask { turn, ..Ask::default() });
    }

    pub(super) fn permission_answered(&mut self, id: u64, says: Says) -> Result<(), Broken> {
        let found = self.asks.iter_mut().enumerate().find(|(_, ask)| ask.id == Some(id));
        let Some((index, ask)) = found else {
            return hold(false, rule::ONE_ANSWER, || format!("{id} is no request of the agent's, and was answered"));
        };
        let session = self.turns.get(ask.turn - 1).map_or(0, |turn| turn.session);
        let here = |turn: &&Turn| turn.session == session;
        let cancelling = self.turns.iter().filter(here).find(|turn| !turn.over).is_some_and(|turn| turn.cancels > 0);
        // A cancel that was not handed out before its turn was over never is.
        let mut here = self.turns.iter().filter(here);
        let void = self.client_ends || here.any(|turn| turn.cancel_sent || turn.asked && turn.over);
        let (number, again, chosen) = (index + 1, ask.answered.replace(says), ask.chosen);
        hold(again.is_none(), rule::ONE_ANSWER, || format!("permission {number} was answered again"))?;
        let as_chosen = says == chosen.unwrap_or(Says::Dismissed);
        hold(as_chosen, rule::DECIDED, || format!("permission {number}: {chosen:?} was chosen, and {says:?} sent"))?;
        hold(chosen.is_some() || void, rule::DECIDED, || {
            format!("permission {number} was answered {says:?}, nobody chose so, and no cancel went before")
        })?;
        hold(!cancelling || says == Says::Dismissed, rule::NO_DIALOG, || {
            format!("permission {number} was answered {says:?} behind a cancel")
        })
    }

    /// The session of a permission request.
    pub(in super::super) fn session_of(&self, ask: usize) -> usize {
        let turn = self.asks.get(ask.wrapping_sub(1)).and_then(|ask| self.turns.get(ask.turn.wrapping_sub(1)));
        turn.map_or(0, |turn| turn.session)
    }

    /// The client's host decides a permission request.
    pub(in super::super) fn chosen(&mut self, number: usize, says: Says, delivery: Delivery) -> Result<(), Broken> {
        self.ask(number).chosen = Some(says);
        hold(delivery == Delivery::Queued, rule::DECIDED, || format!("permission {number} is open, yet {delivery:?}"))
    }

    /// The agent's host has the outcome of a permission request.
    pub(in super::super) fn resolved(&mut self, number: usize, outcome: &Outcome, closing: bool) -> Result<(), Broken> {
        let ask = self.ask(number);
        let again = core::mem::replace(&mut ask.resolved, true);
        let Ask { answered, turn, undelivered, .. } = *ask;
        hold(!again, rule::RESOLVED_ONCE, || format!("permission {number} was resolved again: {outcome:?}"))?;
        let fits = match outcome {
            Outcome::Result(value) => value.get().is_ok_and(|value| Some(result(&value)) == answered),
            Outcome::Cancelled(_) => self.turn(turn).reached,
            Outcome::Undelivered => undelivered,
            Outcome::Closed => closing,
            _ => false,
        };
        hold(fits, rule::RESOLVED_ONCE, || format!("permission {number} was resolved as {outcome:?}"))
    }
}
