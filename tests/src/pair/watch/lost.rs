//! What a transport gives up, and what comes of that.

use super::{Watch, hold, rule};
use crate::{
    explore::Broken,
    pair::{Side, sight::Sight},
};

impl Watch {
    /// A frame cannot be delivered, and the end that sent it is about to be told.
    pub(in super::super) fn failed(&mut self, sight: Sight, turn: usize) {
        match sight {
            Sight::Prompt { turn, .. } => self.turn(turn).undelivered = true,
            Sight::Ask { ask, .. } => self.ask(ask).undelivered = true,
            Sight::Cancel { .. } if turn > 0 => {
                let turn = self.turn(turn);
                turn.cancels = turn.cancels.saturating_sub(1);
                turn.unsent += u8::from(!turn.over);
            }
            _ => {}
        }
    }

    /// The client's host is told that a cancel of a turn came to nothing.
    pub(in super::super) fn cancel_undelivered(&mut self, number: usize, unsent: [bool; 2]) -> Result<(), Broken> {
        let turn = self.turn(number);
        let known = turn.unsent > 0 && !turn.told && unsent.contains(&true);
        turn.unsent = turn.unsent.saturating_sub(1);
        for (asked, unsent) in turn.kinds.iter_mut().zip(unsent) {
            *asked &= !unsent;
        }
        turn.asked = turn.kinds.contains(&true);
        hold(known, rule::TOLD_UNSENT, || format!("turn {number} was told so, {unsent:?}, and no cancel of it failed"))
    }

    /// The client's host has taken all that it is told.
    pub(in super::super) fn failures_told(&self) -> Result<(), Broken> {
        let untold = self.turns.iter().position(|turn| turn.unsent > 0 && !turn.told);
        hold(untold.is_none(), rule::TOLD_UNSENT, || format!("turn {:?} is not told so", untold.map(|index| index + 1)))
    }

    /// The connection of this end comes to its end.
    pub(in super::super) fn ends(&mut self, side: Side) {
        match side {
            Side::Client => self.client_ends = true,
            Side::Agent => self.cancel_reaches(None),
        }
    }
}
