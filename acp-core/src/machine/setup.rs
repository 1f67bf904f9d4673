//! How a session comes about: by which method, and what a login that the agent demands comes to.
//!
//! ```text
//!              Refused, a login is named               LoggedIn
//!   Asking(1) ──────────────────────────▶ LoggingIn ──────────▶ Asking(2)
//!      │ Answered, or Refused without          │ NotLoggedIn        │ Answered, or Refused
//!      └───────────────────────────────────────┴────────────────────┴──▶ Over
//! ```
//!
//! A login is tried once, and the session asked for once more, because agents exist that go on to demand what they were
//! given. Which login, if any, only the user can say, so none is ever picked here.

use super::Machine;

/// How to ask for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// A new one.
    New,
    /// A stored one, with its history.
    Load,
    /// A stored one, without.
    Resume,
}

/// How to ask for a session: `stored`, or a new one. `None`: a stored one is wanted, and neither way to it is offered.
#[must_use]
pub const fn way(stored: bool, load: bool, resume: bool, prefer_resume: bool) -> Option<Way> {
    match (stored, load, resume) {
        (false, _, _) => Some(Way::New),
        (true, true, false) => Some(Way::Load),
        (true, true, true) if !prefer_resume => Some(Way::Load),
        (true, _, true) => Some(Way::Resume),
        (true, false, false) => None,
    }
}

/// The state of one opening. See the module's diagram.
#[cfg_attr(doc, doc = "\n\n", doc = include_str!("../../docs/machines/setup.svg"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Setup {
    /// The session is asked for; `login`: whether one may still be tried.
    Asking {
        /// Whether a login is named, and was not tried.
        login: bool,
    },
    /// The login is under way.
    LoggingIn,
    /// It has come to its end.
    Over,
}

/// What may happen to a [`Setup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetupInput {
    /// A login is demanded first.
    Refused,
    /// The session was answered in any other way, or will not be.
    Answered,
    /// The login succeeded.
    LoggedIn,
    /// The login did not succeed.
    NotLoggedIn,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetupOutput {
    /// Log in.
    LogIn,
    /// Ask for the session again.
    AskAgain,
    /// Tell what came of it.
    Tell,
}

/// Why an input was refused: it does not belong to this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OutOfStep;

impl Machine for Setup {
    type Input = SetupInput;
    type Output = SetupOutput;
    type Reject = OutOfStep;

    fn step(&mut self, input: SetupInput) -> Result<SetupOutput, OutOfStep> {
        let (next, output) = match (*self, input) {
            (Self::Asking { login: true }, SetupInput::Refused) => (Self::LoggingIn, SetupOutput::LogIn),
            (Self::Asking { .. }, SetupInput::Refused | SetupInput::Answered)
            | (Self::LoggingIn, SetupInput::NotLoggedIn) => (Self::Over, SetupOutput::Tell),
            (Self::LoggingIn, SetupInput::LoggedIn) => (Self::Asking { login: false }, SetupOutput::AskAgain),
            (Self::Asking { .. }, SetupInput::LoggedIn | SetupInput::NotLoggedIn)
            | (Self::LoggingIn, SetupInput::Refused | SetupInput::Answered)
            | (Self::Over, _) => return Err(OutOfStep),
        };
        *self = next;
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::{Machine, OutOfStep, Setup, SetupInput as In, SetupOutput as Out, Way, way};

    #[test]
    fn every_state_answers_every_input_as_the_table_says() {
        use Setup::{Asking, LoggingIn, Over};
        let (first, second) = (Asking { login: true }, Asking { login: false });
        let table = [
            (first, In::Refused, Ok((LoggingIn, Out::LogIn))),
            (first, In::Answered, Ok((Over, Out::Tell))),
            (first, In::LoggedIn, Err(OutOfStep)),
            (first, In::NotLoggedIn, Err(OutOfStep)),
            (second, In::Refused, Ok((Over, Out::Tell))),
            (second, In::Answered, Ok((Over, Out::Tell))),
            (second, In::LoggedIn, Err(OutOfStep)),
            (second, In::NotLoggedIn, Err(OutOfStep)),
            (LoggingIn, In::Refused, Err(OutOfStep)),
            (LoggingIn, In::Answered, Err(OutOfStep)),
            (LoggingIn, In::LoggedIn, Ok((second, Out::AskAgain))),
            (LoggingIn, In::NotLoggedIn, Ok((Over, Out::Tell))),
            (Over, In::Refused, Err(OutOfStep)),
            (Over, In::Answered, Err(OutOfStep)),
            (Over, In::LoggedIn, Err(OutOfStep)),
            (Over, In::NotLoggedIn, Err(OutOfStep)),
        ];
        for (from, input, expected) in table {
            let mut machine = from;
            let output = machine.step(input);
            assert_eq!(output.map(|output| (machine, output)), expected, "{from:?} × {input:?}");
            if output.is_err() {
                assert_eq!(machine, from, "a refused input changed the state");
            }
        }
    }

    #[test]
    fn a_stored_session_is_loaded_unless_resuming_is_preferred_or_all_there_is() {
        for prefer in [false, true] {
            for (load, resume) in [(false, false), (false, true), (true, false), (true, true)] {
                assert_eq!(way(false, load, resume, prefer), Some(Way::New), "a new one needs no offer");
                let expected = match (load, resume) {
                    (false, false) => None,
                    (true, true) if prefer => Some(Way::Resume),
                    (true, _) => Some(Way::Load),
                    (false, true) => Some(Way::Resume),
                };
                assert_eq!(way(true, load, resume, prefer), expected, "{load} {resume} {prefer}");
            }
        }
    }
}
