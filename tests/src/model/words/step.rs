//! The steps of a run, and how a report tells them.

use core::fmt::{self, Display};

use super::{Break, CancelKind, Choice, Ending, Kind, Leg, Pause, Plan, Report, Side, Stray, Want};

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The client's host prompts in this session.
    Prompt(usize),
    /// The client's host prompts in place of what runs.
    Steer(usize),
    /// The client's host cancels this prompt.
    Cancel(usize, CancelKind),
    /// The client's host asks for something else.
    Errand(Want, Plan),
    /// The client's host takes this errand back.
    Retract(usize),
    /// The client's host decides this permission request.
    Decide(usize, Choice),
    /// The client's host begins to save its decision.
    Commit(usize),
    /// The client's host answers this request, well or not.
    Serve(usize, bool),
    /// The agent's host reports something in this turn.
    Report(usize, Report),
    /// The agent's host says something in this session, apart from any turn.
    Tell(usize),
    /// The agent's host asks for something in this turn.
    Ask(usize, Kind),
    /// The agent's host gives this prompt its place.
    Insert(usize),
    /// The agent's host takes this request back.
    Withdraw(usize),
    /// The agent's host ends this turn.
    End(usize, Ending),
    /// The agent's host answers an errand, well or not.
    Settle(usize, Leg, bool),
    /// The agent's host demands a login from here on, or no longer.
    Lock(bool),
    /// This host takes up to so many actions.
    Take(Side, u8),
    /// Up to so many frames of this end are written.
    HandOut(Side, u8),
    /// A frame that this end wrote is given up by its transport: so many were written after it.
    Lose(Side, u8),
    /// Something that nobody here would say is on its way to this end.
    Stray(Side, Stray),
    /// This end reads so many messages, and so many 256ths of the next one, in pieces of so many bytes (0: in one). One
    /// 256th is one byte.
    Deliver(Side, u8, u8, u8),
    /// Time passes.
    Wait(Pause),
    /// This end is told that time has passed.
    Fire(Side),
    /// This end's connection ends.
    Break(Side, Break),
}

impl Step {
    /// The end whose connection it is a call of.
    #[must_use]
    pub const fn side(self) -> Option<Side> {
        match self {
            Self::Prompt(_)
            | Self::Steer(_)
            | Self::Cancel(..)
            | Self::Errand(..)
            | Self::Retract(_)
            | Self::Decide(..)
            | Self::Commit(_)
            | Self::Serve(..) => Some(Side::Client),
            Self::Report(..)
            | Self::Tell(_)
            | Self::Ask(..)
            | Self::Insert(_)
            | Self::Withdraw(_)
            | Self::End(..)
            | Self::Settle(..)
            | Self::Lock(_) => Some(Side::Agent),
            Self::Take(side, _)
            | Self::HandOut(side, _)
            | Self::Lose(side, _)
            | Self::Deliver(side, ..)
            | Self::Fire(side)
            | Self::Break(side, _) => Some(side),
            Self::Stray(..) | Self::Wait(_) => None,
        }
    }

    /// Whether the call says what time it is.
    #[must_use]
    pub const fn is_timed(self) -> bool {
        !matches!(self, Self::Take(..) | Self::HandOut(..) | Self::Lock(_))
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Prompt(session) => write!(f, "the client prompts in session {session}"),
            Self::Steer(session) => write!(f, "the client steers session {session}"),
            Self::Cancel(prompt, kind) => write!(f, "the client cancels prompt {prompt} ({kind:?})"),
            Self::Errand(want, plan) => write!(f, "the client asks for {want:?} ({plan:?})"),
            Self::Retract(errand) => write!(f, "the client takes back errand {errand}"),
            Self::Decide(ask, choice) => write!(f, "the client decides permission {ask}: {choice:?}"),
            Self::Commit(ask) => write!(f, "the client begins to save its decision of permission {ask}"),
            Self::Serve(ask, true) => write!(f, "the client answers request {ask}"),
            Self::Serve(ask, false) => write!(f, "the client answers request {ask} with an error"),
            Self::Report(prompt, report) => write!(f, "the agent reports in turn {prompt}: {report:?}"),
            Self::Tell(session) => write!(f, "the agent says something in session {session}"),
            Self::Ask(prompt, kind) => write!(f, "the agent asks in turn {prompt}: {kind:?}"),
            Self::Insert(prompt) => write!(f, "the agent inserts prompt {prompt}"),
            Self::Withdraw(ask) => write!(f, "the agent takes back request {ask}"),
            Self::End(prompt, ending) => write!(f, "the agent's host ends turn {prompt}: {ending:?}"),
            Self::Settle(errand, leg, true) => write!(f, "the agent's host grants errand {errand} ({leg:?})"),
            Self::Settle(errand, leg, false) => write!(f, "the agent's host refuses errand {errand} ({leg:?})"),
            Self::Lock(true) => f.write_str("the agent demands a login"),
            Self::Lock(false) => f.write_str("the agent demands no login"),
            Self::Take(side, count) => write!(f, "the {side}'s host takes up to {count} actions"),
            Self::HandOut(side, count) => write!(f, "the {side} writes up to {count} frames"),
            Self::Lose(side, 0) => write!(f, "the last frame of the {side} is lost"),
            Self::Lose(side, back) => write!(f, "the frame of the {side} before its last {back} is lost"),
            Self::Stray(side, stray) => write!(f, "on its way to the {side}: {stray:?}"),
            Self::Deliver(side, whole, part, piece) => {
                write!(f, "the {side} reads up to {whole} messages")?;
                match part {
                    0 => {}
                    1 => f.write_str(", and one byte")?,
                    part => write!(f, ", and {part}/256 of the next")?,
                }
                if piece == 0 { Ok(()) } else { write!(f, ", {piece} bytes at a time") }
            }
            Self::Wait(Pause::For(time)) => write!(f, "{time} ms pass"),
            Self::Wait(Pause::Until(side)) => write!(f, "time passes until the next deadline of the {side}"),
            Self::Fire(side) => write!(f, "the {side} looks at the clock"),
            Self::Break(side, Break::Close) => write!(f, "the {side}'s host closes"),
            Self::Break(side, Break::Eof) => write!(f, "the stream to the {side} ends"),
            Self::Break(side, Break::Lost) => write!(f, "the {side} loses the stream"),
        }
    }
}
