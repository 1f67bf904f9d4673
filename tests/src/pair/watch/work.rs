//! What version 2 tells apart from the answers: that a prompt has its place, that work goes on, and that it is over.

use std::collections::VecDeque;

use super::{Turn, Watch, hold, rule};
use crate::{
    explore::Broken,
    pair::{
        End,
        sight::{Says, Sight},
    },
};

impl Turn {
    /// Its prompt has its place in this session, and its work was not told as over.
    fn is_worked_on(&self, session: usize) -> bool {
        self.session == session && self.inserted && self.answered.is_none()
    }
}

impl Watch {
    /// The answer to a prompt says that it has its place.
    pub(super) fn prompt_inserted(&mut self, id: u64) -> Result<(), Broken> {
        let turn = self.turns.iter_mut().find(|turn| turn.id == Some(id) && turn.received && turn.answered.is_none());
        let first = turn.is_some_and(|turn| !core::mem::replace(&mut turn.inserted, true));
        hold(first, rule::ONE_ANSWER, || format!("{id} is no prompt that waits for its place"))
    }

    /// The agent's host gives a prompt its place. Answers by what name that goes.
    pub(in super::super) fn inserts(&self, number: usize) -> &'static str {
        let session = self.turns.get(number - 1).map_or(0, |turn| turn.session);
        let others = self.turns.iter().any(|turn| turn.is_worked_on(session));
        if others { "insertion into running work" } else { "insertion" }
    }

    /// The agent's host said so of the last of the prompts that it worked on.
    pub(in super::super) fn work_ended(&mut self, number: usize, end: End) {
        let Turn { session, reached, .. } = *self.turn(number);
        if !reached {
            self.due.entry(session).or_default().push_back(end);
        }
    }

    /// Whether what is of this turn may be told to the client's host as something of that one. In version 2 work is that of
    /// the session: which prompt it is about is not said, and is taken to be the oldest that is not over.
    pub(in super::super) fn may_tell_in(&self, told: usize, of: usize) -> bool {
        let [told_turn, of_turn] = [told, of].map(|number| self.turns.get(number.wrapping_sub(1)));
        let joint = |(told, of): (&Turn, &Turn)| self.second && told.session == of.session && of.inserted;
        told == of || told_turn.zip(of_turn).is_some_and(joint)
    }

    /// A state, or the user's message: of prompts that are inserted and not over.
    pub(super) fn reported(&mut self, sight: Sight) -> Result<(), Broken> {
        let of = match sight {
            Sight::Busy { session } | Sight::Idle { session, .. } => session,
            Sight::Echo { turn } => self.turn(turn).session,
            _ => 0,
        };
        let work = self.turns.iter().any(|turn| turn.is_worked_on(of));
        hold(work, rule::INSERTED, || format!("{sight:?}, and no prompt is inserted there"))?;
        match sight {
            Sight::Echo { turn } => {
                let inserted = self.turn(turn).is_worked_on(of);
                hold(inserted, rule::INSERTED, || format!("the message of {turn}, which is not inserted"))
            }
            Sight::Idle { says, .. } => {
                let busy = self.busy.remove(&of);
                hold(busy, rule::INSERTED, || format!("session {of} is idle, and was not at work"))?;
                self.work_over(of, says)
            }
            _ => {
                self.busy.insert(of);
                Ok(())
            }
        }
    }

    /// The work of a session is over: that of all prompts that have their place; or, if it was cancelled, of those that the
    /// cancel found there, while what came behind it goes on.
    fn work_over(&mut self, session: usize, says: Says) -> Result<(), Broken> {
        let cancelled = says == Says::Cancelled;
        let due = self.due.get_mut(&session).filter(|_| !cancelled).and_then(VecDeque::pop_front);
        self.due.retain(|_, due| !due.is_empty());
        let over = |turn: &Turn| turn.is_worked_on(session) && (turn.cut || !cancelled);
        let numbers: Vec<usize> = (1..).zip(&self.turns).filter(|(_, turn)| over(turn)).map(|(at, _)| at).collect();
        let reached = |number: &&usize| self.turns[*number - 1].reached;
        let unasked = cancelled && !numbers.iter().any(|number| reached(&number));
        hold(!unasked, rule::NEVER_UNASKED, || format!("session {session} was told as cancelled, and no work was"))?;
        let missed = numbers.iter().find(reached).filter(|_| !cancelled);
        hold(missed.is_none(), rule::CANCELLED, || {
            format!("turn {missed:?} was cancelled before it ended, and its work was told as {says:?}")
        })?;
        hold(cancelled || due.map(End::as_said) == Some(says), rule::ITS_OWN_TURN, || {
            format!("the host of session {session} said {due:?} of its work, and that was told as {says:?}")
        })?;
        for number in numbers {
            let turn = self.turn(number);
            turn.answered = Some(says);
            let Turn { said, forced, call_open, reached, .. } = *turn;
            hold(said.is_some() || forced, rule::ITS_OWN_TURN, || {
                format!("the work of turn {number} goes on, and was told as over")
            })?;
            let left = call_open && (reached || said != Some(End::Turn));
            hold(!left, rule::LAST_WORD, || format!("turn {number} was cancelled or failed without it"))?;
        }
        Ok(())
    }

    /// Version 2: the client's host is told that a prompt has its place.
    pub(in super::super) fn placed(&mut self, number: usize) -> Result<(), Broken> {
        let turn = self.turn(number);
        let first = !core::mem::replace(&mut turn.placed, true);
        let so = first && turn.inserted && !turn.told;
        hold(so, rule::TOLD_ONCE, || format!("turn {number} was told as inserted, which it is not, or was told before"))
    }
}
