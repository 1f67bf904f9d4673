//! A cancel of one thing: asked for, written, and written again if the first did not get out.
//!
//! Each of the two kinds has a slot. `Stop` means "end it, within a bound"; `Steer` means "end it when you can".
//!
//! ```text
//!              Ask                 Sent
//!   Unasked ─────────▶ Pending ───────────▶ Sent        Joined: a Steer that rides on the frame of a Stop
//!      ▲                  │                   │
//!      └──────────────────┴───────────────────┘
//!                       Failed
//! ```
//!
//! Three rules, each learned from an implementation that lacked it:
//! - *cancelling* ⇔ some slot is pending, sent or joined. A failed Stop does not undo a Steer that went out.
//! - A Stop always writes a frame of its own, a Steer rides on whatever is there.
//! - Who joined a frame shares its fate: when it could not be delivered, both must ask again.
//!
//! A settled cancel does not exist: [`Cancel::settle`] consumes it.

use super::Machine;

/// How urgently a turn is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CancelKind {
    /// End it, and do not wait for ever: the owner bounds the wait and closes.
    Stop,
    /// End it when you can, to make room for another prompt: never bounded, never closes.
    Steer,
}

/// Where the frame of one kind is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Slot {
    #[default]
    Unasked,
    Pending,
    Sent,
    Joined,
}

/// The cancel of one turn or request. See the module's rules.
#[cfg_attr(doc, doc = "\n\n", doc = include_str!("../../docs/machines/cancel.svg"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cancel {
    stop: Slot,
    steer: Slot,
}

/// What may happen to a [`Cancel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CancelInput {
    /// Somebody wants it ended.
    Ask(CancelKind),
    /// The frame of this kind was handed to the transport.
    Sent(CancelKind),
    /// The transport could not deliver the frame of this kind.
    Failed(CancelKind),
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CancelOutput {
    /// The answer to [`CancelInput::Ask`].
    Asked(Asked),
    /// The frame went out.
    Sent,
    /// The frame did not go out; these have to ask again.
    Unsent(Unsent),
}

/// What an ask comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    /// Write a frame: it is the first cancel.
    First,
    /// Write a frame although another kind's is out: a Stop has its own.
    Again,
    /// Write nothing: it shares a frame that is pending or sent.
    Shared,
}

/// Who has to ask again, after a frame could not be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unsent {
    /// The Stop.
    pub stop: bool,
    /// The Steer.
    pub steer: bool,
}

/// Why an input was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CancelReject {
    /// No frame of this kind waits to be sent, or was sent.
    NoSuchFrame,
}

impl Cancel {
    /// A cancel that arrived from the peer: it is as good as sent.
    pub const RECEIVED: Self = Self { stop: Slot::Sent, steer: Slot::Unasked };

    /// Whether any cancel is pending or sent.
    #[must_use]
    pub const fn is_asked(self) -> bool {
        !matches!((self.stop, self.steer), (Slot::Unasked, Slot::Unasked))
    }

    /// Whether a frame waits to be sent, which may still be withdrawn.
    #[must_use]
    pub const fn has_unsent(self) -> bool {
        matches!(self.stop, Slot::Pending) || matches!(self.steer, Slot::Pending)
    }

    /// Ends it: whether it was asked for. Nothing is left that a late frame could touch.
    #[must_use]
    pub const fn settle(self) -> bool {
        self.is_asked()
    }

    const fn slot(&mut self, kind: CancelKind) -> &mut Slot {
        match kind {
            CancelKind::Stop => &mut self.stop,
            CancelKind::Steer => &mut self.steer,
        }
    }
}

impl Machine for Cancel {
    type Input = CancelInput;
    type Output = CancelOutput;
    type Reject = CancelReject;

    fn step(&mut self, input: CancelInput) -> Result<CancelOutput, CancelReject> {
        match input {
            CancelInput::Ask(CancelKind::Stop) => Ok(CancelOutput::Asked(match (self.stop, self.steer) {
                (Slot::Unasked, Slot::Unasked) => {
                    self.stop = Slot::Pending;
                    Asked::First
                }
                (Slot::Unasked, Slot::Pending | Slot::Sent | Slot::Joined) => {
                    self.stop = Slot::Pending;
                    Asked::Again
                }
                (Slot::Pending | Slot::Sent | Slot::Joined, _) => Asked::Shared,
            })),
            CancelInput::Ask(CancelKind::Steer) => Ok(CancelOutput::Asked(match (self.stop, self.steer) {
                (Slot::Unasked, Slot::Unasked) => {
                    self.steer = Slot::Pending;
                    Asked::First
                }
                (_, Slot::Pending | Slot::Sent | Slot::Joined) => Asked::Shared,
                (Slot::Pending | Slot::Sent | Slot::Joined, Slot::Unasked) => {
                    self.steer = Slot::Joined;
                    Asked::Shared
                }
            })),
            CancelInput::Sent(kind) => match self.slot(kind) {
                slot @ Slot::Pending => {
                    *slot = Slot::Sent;
                    Ok(CancelOutput::Sent)
                }
                Slot::Unasked | Slot::Sent | Slot::Joined => Err(CancelReject::NoSuchFrame),
            },
            CancelInput::Failed(kind) => match self.slot(kind) {
                slot @ (Slot::Pending | Slot::Sent) => {
                    *slot = Slot::Unasked;
                    let joined = kind == CancelKind::Stop && self.steer == Slot::Joined;
                    if joined {
                        self.steer = Slot::Unasked;
                    }
                    Ok(CancelOutput::Unsent(Unsent {
                        stop: kind == CancelKind::Stop,
                        steer: kind == CancelKind::Steer || joined,
                    }))
                }
                Slot::Unasked | Slot::Joined => Err(CancelReject::NoSuchFrame),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Asked, Cancel, CancelInput as In, CancelKind, CancelOutput as Out, CancelReject, Machine, Slot, Unsent,
    };
    use CancelKind::{Steer, Stop};
    use Slot::{Joined, Pending, Sent, Unasked};

    const SLOTS: [Slot; 4] = [Unasked, Pending, Sent, Joined];
    const KINDS: [CancelKind; 2] = [Stop, Steer];

    fn after(stop: Slot, steer: Slot, input: In) -> (Cancel, Result<Out, CancelReject>) {
        let mut cancel = Cancel { stop, steer };
        let output = cancel.step(input);
        (cancel, output)
    }

    #[test]
    fn every_state_answers_every_ask() {
        for stop in SLOTS {
            for steer in SLOTS {
                let (stopped, output) = after(stop, steer, In::Ask(Stop));
                let expected = match (stop, steer) {
                    (Unasked, Unasked) => Asked::First,
                    (Unasked, _) => Asked::Again,
                    _ => Asked::Shared,
                };
                assert_eq!(output, Ok(Out::Asked(expected)), "{stop:?} {steer:?}");
                assert_eq!(stopped.stop, if stop == Unasked { Pending } else { stop });
                assert_eq!(stopped.steer, steer, "a Stop leaves the Steer alone");

                let (steered, output) = after(stop, steer, In::Ask(Steer));
                let expected = if (stop, steer) == (Unasked, Unasked) { Asked::First } else { Asked::Shared };
                assert_eq!(output, Ok(Out::Asked(expected)), "{stop:?} {steer:?}");
                assert_eq!(steered.stop, stop, "a Steer leaves the Stop alone");
                let slot = match (stop, steer) {
                    (Unasked, Unasked) => Pending,
                    (_, Unasked) => Joined,
                    (_, asked) => asked,
                };
                assert_eq!(steered.steer, slot);
                assert!(steered.is_asked() && stopped.is_asked());
            }
        }
    }

    #[test]
    fn every_state_answers_every_report_of_the_transport() {
        for stop in SLOTS {
            for steer in SLOTS {
                for kind in KINDS {
                    let own = if kind == Stop { stop } else { steer };
                    let (next, output) = after(stop, steer, In::Sent(kind));
                    if own == Pending {
                        assert_eq!(output, Ok(Out::Sent));
                        assert_eq!(if kind == Stop { next.stop } else { next.steer }, Sent);
                    } else {
                        assert_eq!(output, Err(CancelReject::NoSuchFrame));
                        assert_eq!(next, Cancel { stop, steer }, "a refused input changed the state");
                    }

                    let (next, output) = after(stop, steer, In::Failed(kind));
                    if matches!(own, Pending | Sent) {
                        let joined = kind == Stop && steer == Joined;
                        assert_eq!(
                            output,
                            Ok(Out::Unsent(Unsent { stop: kind == Stop, steer: kind == Steer || joined }))
                        );
                        let other = if kind == Stop { next.steer } else { next.stop };
                        let untouched = if kind == Stop { steer } else { stop };
                        assert_eq!(other, if joined { Unasked } else { untouched });
                    } else {
                        assert_eq!(output, Err(CancelReject::NoSuchFrame));
                        assert_eq!(next, Cancel { stop, steer }, "a refused input changed the state");
                    }
                }
            }
        }
    }

    #[test]
    fn a_steer_that_went_out_outlives_a_stop_that_failed() {
        let mut cancel = Cancel::default();
        for input in [In::Ask(Steer), In::Sent(Steer), In::Ask(Stop), In::Failed(Stop)] {
            assert!(cancel.step(input).is_ok());
        }
        assert!(cancel.settle());
    }

    #[test]
    fn a_steer_that_joined_a_stop_shares_its_fate() {
        let mut cancel = Cancel::default();
        for input in [In::Ask(Stop), In::Ask(Steer)] {
            assert!(cancel.step(input).is_ok());
        }
        assert_eq!(cancel.step(In::Failed(Stop)), Ok(Out::Unsent(Unsent { stop: true, steer: true })));
        assert!(!cancel.is_asked());
    }
}
