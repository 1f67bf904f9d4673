//! The end of an agent process, for adapters that own one: which step is due, and when to wait for it.
//!
//! An agent is asked before it is forced: its stdin is closed, which the protocol's stdio transport makes the signal
//! to stop; then SIGTERM; then SIGKILL. Each step has a grace, which is the adapter's: the machine sees no clock, no
//! process and no signal number. Exits are never refused, for a process may end at any moment.
//!
//! ```
//! use acp_core::machine::Machine as _;
//! use acp_core::machine::shutdown::{Input, Output, Shutdown, Step};
//!
//! let mut shutdown = Shutdown::default();
//! assert_eq!(shutdown.step(Input::Begin), Ok(Output { step: Some(Step::CloseStdin), wait: true }));
//! // It did not go in time ...
//! assert_eq!(shutdown.step(Input::Expired), Ok(Output { step: Some(Step::Terminate), wait: true }));
//! // ... and now it does. What it leaves behind in its group does not outlive it.
//! assert_eq!(shutdown.step(Input::Exited), Ok(Output { step: Some(Step::Kill), wait: false }));
//! assert_eq!(shutdown, Shutdown::Reaped);
//! ```

use super::Machine;

/// Where the end of a process has got to. A new one is `Running`.
#[cfg_attr(doc, doc = "\n\n", doc = include_str!("../../docs/machines/shutdown.svg"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shutdown {
    /// Nobody has asked it to end.
    #[default]
    Running,
    /// Its stdin is closed; its grace runs.
    ClosingStdin,
    /// It was sent SIGTERM; its grace runs.
    Terminating,
    /// It was sent SIGKILL, which it cannot refuse.
    Killing,
    /// It has exited. The end.
    Reaped,
}

/// What the adapter tells the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// The process is to end. Saying it again changes nothing.
    Begin,
    /// The grace of the last step passed and the process still runs.
    Expired,
    /// The process has exited, by itself or not. Always accepted.
    Exited,
}

/// What the adapter is to do to the process. In this order, each harder than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Close its stdin.
    CloseStdin,
    /// SIGTERM to its whole group.
    Terminate,
    /// SIGKILL to its whole group.
    Kill,
}

/// What one input makes due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Output {
    /// The step to take now, if any.
    pub step: Option<Step>,
    /// `true`: start the grace of `step`, and report `Expired` when it has passed. `false`: start nothing, and leave a
    /// grace that runs alone (but an exit ends it).
    pub wait: bool,
}

/// Why an input was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reject {
    /// `Expired` where no grace runs: nothing was begun, or all is over.
    NotWaiting,
}

const NOTHING: Output = Output { step: None, wait: false };

const fn now_wait(step: Step) -> Output {
    Output { step: Some(step), wait: true }
}

impl Machine for Shutdown {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;

    fn step(&mut self, input: Input) -> Result<Output, Reject> {
        let (next, output) = match (*self, input) {
            (Self::Running, Input::Begin) => (Self::ClosingStdin, now_wait(Step::CloseStdin)),
            (state, Input::Begin) => (state, NOTHING),

            (Self::ClosingStdin, Input::Expired) => (Self::Terminating, now_wait(Step::Terminate)),
            (Self::Terminating, Input::Expired) => (Self::Killing, now_wait(Step::Kill)),
            // Not even SIGKILL ends a process that hangs in the kernel, and there is nothing harder to try.
            (Self::Killing, Input::Expired) => (Self::Killing, NOTHING),
            (Self::Running | Self::Reaped, Input::Expired) => return Err(Reject::NotWaiting),

            // Nobody asked for an end, so nothing is due; what an exit of its own accord means is the owner's to say.
            (Self::Running | Self::Reaped, Input::Exited) => (Self::Reaped, NOTHING),
            // The leader is gone, which says nothing about what it started: a wrapper script ends and leaves the agent.
            (Self::ClosingStdin | Self::Terminating | Self::Killing, Input::Exited) => {
                (Self::Reaped, Output { step: Some(Step::Kill), wait: false })
            }
        };
        *self = next;
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::Input::{Begin, Exited, Expired};
    use super::Shutdown::{ClosingStdin, Killing, Reaped, Running, Terminating};
    use super::{Input, Machine as _, Output, Reject, Shutdown, Step};

    type Cell = Result<(Option<Step>, bool, Shutdown), Reject>;

    /// Every state × every input: the whole machine.
    const TABLE: [(Shutdown, Input, Cell); 15] = [
        (Running, Begin, Ok((Some(Step::CloseStdin), true, ClosingStdin))),
        (Running, Expired, Err(Reject::NotWaiting)),
        (Running, Exited, Ok((None, false, Reaped))),
        (ClosingStdin, Begin, Ok((None, false, ClosingStdin))),
        (ClosingStdin, Expired, Ok((Some(Step::Terminate), true, Terminating))),
        (ClosingStdin, Exited, Ok((Some(Step::Kill), false, Reaped))),
        (Terminating, Begin, Ok((None, false, Terminating))),
        (Terminating, Expired, Ok((Some(Step::Kill), true, Killing))),
        (Terminating, Exited, Ok((Some(Step::Kill), false, Reaped))),
        (Killing, Begin, Ok((None, false, Killing))),
        (Killing, Expired, Ok((None, false, Killing))),
        (Killing, Exited, Ok((Some(Step::Kill), false, Reaped))),
        (Reaped, Begin, Ok((None, false, Reaped))),
        (Reaped, Expired, Err(Reject::NotWaiting)),
        (Reaped, Exited, Ok((None, false, Reaped))),
    ];

    #[test]
    fn every_state_meets_every_input() {
        for state in [Running, ClosingStdin, Terminating, Killing, Reaped] {
            for input in [Begin, Expired, Exited] {
                let mut rows = TABLE.iter().filter(|row| (row.0, row.1) == (state, input));
                let &(_, _, expected) = rows.next().expect("a row for each pair");
                assert_eq!(rows.next(), None, "one row for {state:?} and {input:?}");

                let mut machine = state;
                let got = machine.step(input);
                match expected {
                    Ok((step, wait, next)) => {
                        assert_eq!(got, Ok(Output { step, wait }), "{state:?} and {input:?}");
                        assert_eq!(machine, next, "{state:?} and {input:?}");
                    }
                    Err(reject) => {
                        assert_eq!(got, Err(reject), "{state:?} and {input:?}");
                        assert_eq!(machine, state, "the law: a refused input changes nothing");
                    }
                }
            }
        }
    }

    #[test]
    fn each_step_is_harder_than_the_one_before_and_the_last_word_is_said_once() {
        let mut machine = Shutdown::default();
        let mut last = None;
        for input in [Begin, Expired, Expired] {
            let step = machine.step(input).expect("a step is due").step;
            assert!(step > last, "{step:?} after {last:?}");
            last = step;
        }
        assert_eq!(machine.step(Exited), Ok(Output { step: Some(Step::Kill), wait: false }));
        assert_eq!(machine.step(Exited), Ok(Output { step: None, wait: false }));
    }
}
