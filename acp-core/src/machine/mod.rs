//! Layer 0: pure state machines.

pub mod shutdown;

/// A pure state machine. The law: when `step` returns `Err`, `self` is unchanged.
pub trait Machine {
    /// What happened or is wanted.
    type Input;
    /// What is due because of it.
    type Output;
    /// Why an input has no place in this state.
    type Reject;

    /// Takes one input. An `Err` leaves the machine as it was.
    fn step(&mut self, input: Self::Input) -> Result<Self::Output, Self::Reject>;
}
