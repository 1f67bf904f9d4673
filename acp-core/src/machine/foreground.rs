//! What a session is at, as version 2 of the protocol reports it: in snapshots, apart from any prompt.
//!
//! ```text
//!            running, requires action, unknown            idle
//!   Idle ──────────────────────────────────────▶ Busy ──────────▶ Idle
//!          Began                                  │  ▲  Completed
//!                                                 └──┘ Changed
//! ```
//!
//! A snapshot that says what is known already is no event: an agent repeats itself when something beside the state
//! changed, and an idle that comes twice completes nothing (ACP v2, Prompt Lifecycle). A state nobody has heard of is
//! busy: it must not be taken for idle.

use core::convert::Infallible;

use super::Machine;

/// The state of a session's foreground.
#[cfg_attr(doc, doc = "\n\n", doc = include_str!("../../docs/machines/foreground.svg"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Foreground {
    /// No foreground work. What a session begins with, and what version 1 says by no turn.
    #[default]
    Idle,
    /// Work goes on.
    Running,
    /// All of the work waits for the user.
    RequiresAction,
    /// The agent cannot tell, or says something that the protocol does not name: never to be taken for idle.
    Unknown,
}

/// What a snapshot comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ForegroundOutput {
    /// Work began.
    Began,
    /// Work goes on in another state.
    Changed,
    /// Work ended: everything that was inserted before is done.
    Completed,
    /// It was so already.
    Same,
}

impl Foreground {
    /// Whether there is no foreground work.
    #[must_use]
    pub const fn is_idle(self) -> bool {
        matches!(self, Self::Idle)
    }
}

impl Machine for Foreground {
    /// The state that is reported.
    type Input = Self;
    type Output = ForegroundOutput;
    type Reject = Infallible;

    fn step(&mut self, reported: Self) -> Result<ForegroundOutput, Infallible> {
        let before = core::mem::replace(self, reported);
        Ok(match (before.is_idle(), reported.is_idle()) {
            _ if before == reported => ForegroundOutput::Same,
            (true, _) => ForegroundOutput::Began,
            (false, true) => ForegroundOutput::Completed,
            (false, false) => ForegroundOutput::Changed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Foreground, ForegroundOutput as Out, Machine};

    #[test]
    fn every_state_answers_every_snapshot() {
        use Foreground::{Idle, RequiresAction, Running, Unknown};
        let all = [Idle, Running, RequiresAction, Unknown];
        for before in all {
            for reported in all {
                let mut state = before;
                let Ok(output) = state.step(reported);
                let expected = match (before, reported) {
                    (one, other) if one == other => Out::Same,
                    (Idle, _) => Out::Began,
                    (_, Idle) => Out::Completed,
                    _ => Out::Changed,
                };
                assert_eq!((state, output), (reported, expected), "{before:?} × {reported:?}");
            }
        }
    }
}
