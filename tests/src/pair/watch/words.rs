//! What the judge knows, in words.

use core::fmt;

use super::{Turn, Watch};

impl Watch {
    pub(in super::super) fn write_words(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, turn) in (1..).zip(&self.turns) {
            writeln!(f, "turn {number} in session {}: {}", turn.session, turn.in_words())?;
        }
        for (number, ask) in (1..).zip(&self.asks) {
            writeln!(f, "permission {number} of turn {}: {}", ask.turn, ask.in_words())?;
        }
        Ok(())
    }
}

impl Turn {
    fn in_words(&self) -> String {
        let facts = [
            (true, "prompted"),
            (self.id.is_some(), "sent"),
            (self.undelivered, "undelivered"),
            (self.received, "received"),
            (self.inserted, "inserted"),
            (self.asked, "cancelled by the client"),
            (self.covered, "a cancel is sent"),
            (self.reached, "a cancel came in time"),
            (self.aborted, "aborted"),
            (self.call_open, "its tool call is open"),
            (self.forced, "ended without its host"),
        ];
        let facts = facts.into_iter().filter(|(is, _)| *is).map(|(_, fact)| fact.to_owned());
        let said = self.said.map(|said| format!("its host said {said:?}"));
        let answered = self.answered.map(|says| format!("answered {says:?}"));
        let told = self.told.then(|| "the client's host knows".to_owned());
        facts.chain(said).chain(answered).chain(told).collect::<Vec<_>>().join(", ")
    }
}
