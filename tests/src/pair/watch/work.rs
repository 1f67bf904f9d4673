//! What version 2 tells apart from the answers: that a prompt has its place, that work goes on, and that it is over.

use super::{Turn, Watch, hold, rule};
use crate::{explore::Broken, pair::sight::Sight};

impl Watch {
    /// The answer to a prompt says that it has its place.
    pub(super) fn prompt_inserted(&mut self, id: u64) -> Result<(), Broken> {
        let turn = self.turns.iter_mut().find(|turn| turn.id == Some(id) && turn.received && turn.answered.is_none());
        let first = turn.is_some_and(|turn| !core::mem::replace(&mut turn.inserted, true));
        hold(first, rule::ONE_ANSWER, || format!("{id} is no prompt that waits for its place"))
    }

    /// A state, or the user's message: of the one turn of its session that is inserted and not over.
    pub(super) fn reported(&mut self, sight: Sight) -> Result<(), Broken> {
        let of = match sight {
            Sight::Busy { session } | Sight::Idle { session, .. } => session,
            Sight::Echo { turn } => self.turn(turn).session,
            _ => 0,
        };
        let here = |turn: &Turn| turn.session == of && turn.inserted && turn.answered.is_none();
        let mut live = (1..).zip(&self.turns).filter(|(_, turn)| here(turn));
        let (Some((number, turn)), None) = (live.next(), live.next()) else {
            return hold(false, rule::INSERTED, || format!("{sight:?}, and not one prompt is inserted there"));
        };
        match sight {
            Sight::Echo { turn } => {
                hold(turn == number, rule::INSERTED, || format!("the message of {turn}, not {number}"))
            }
            Sight::Idle { says, .. } => {
                let id = turn.id.unwrap_or(0);
                let busy = self.busy.remove(&of);
                hold(busy, rule::INSERTED, || format!("turn {number} is idle, and was not at work"))?;
                self.prompt_answered(id, says)
            }
            _ => {
                self.busy.insert(of);
                Ok(())
            }
        }
    }

    /// Version 2: the client's host is told that a prompt has its place.
    pub(in super::super) fn placed(&mut self, number: usize) -> Result<(), Broken> {
        let turn = self.turn(number);
        let first = !core::mem::replace(&mut turn.placed, true);
        let so = first && turn.inserted && !turn.told;
        hold(so, rule::TOLD_ONCE, || format!("turn {number} was told as inserted, which it is not, or was told before"))
    }
}
