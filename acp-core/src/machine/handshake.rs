//! Version agreement: what is admitted before it, and that it happens once.
//!
//! ```text
//!            Offer(v)              Settle(1)
//!   Idle ───────────────▶ Offered ───────────▶ Agreed(v)
//!    ▲                     │   │ │                ▲
//!    └─────────────────────┘   │ │ Settle(2…)     │ Use
//!        Withdraw              │ └──────────▶ Fresh(v) ◀──── Settle, Withdraw ────┐
//!                              │                  └──────── Offer(v…) ──────▶ Renewing
//!                              └────────────▶ Failed
//!                                 Refuse
//! ```
//!
//! "Before a Session can be created, Clients MUST initialize the connection by calling the `initialize` method"
//! (ACP v1, Initialization). An initialize that was answered with an error leaves the connection where it was, so that
//! a better one can follow. `Failed` is for an answer one cannot work with.
//!
//! From version 2 on, `initialize` may be repeated until the first other request, for the same version or a newer one:
//! the latest that succeeds is in force, and one that fails leaves the one before it (ACP v2, Initialization).

use super::Machine;

/// The first version in which `initialize` may be repeated.
const REPEATABLE: u16 = 2;

/// The state of the version agreement. See the module's diagram.
#[cfg_attr(doc, doc = "\n\n", doc = include_str!("../../docs/machines/handshake.svg"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Handshake {
    /// Nobody has offered a version.
    #[default]
    Idle,
    /// `initialize` is on its way, for this version.
    Offered(u16),
    /// Both ends speak this version, and nothing else was asked yet: `initialize` may come again.
    Fresh(u16),
    /// It has come again.
    Renewing {
        /// The version that stands meanwhile, and afterwards if this one fails.
        kept: u16,
        /// The version that is asked for now.
        asked: u16,
    },
    /// Both ends speak this version.
    Agreed(u16),
    /// The answered version cannot be spoken. Nothing leads out of here.
    Failed,
}

/// What may happen to a [`Handshake`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandshakeInput {
    /// `initialize` was sent, or received, for this version.
    Offer(u16),
    /// It was answered with a version both ends speak.
    Settle(u16),
    /// It was answered with an error, or not at all: a later one may succeed.
    Withdraw,
    /// It was answered with a version we do not speak.
    Refuse,
    /// Another request was sent, or received.
    Use,
}

/// Why an input was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandshakeReject {
    /// A second `initialize`, while one is open or after the last that may come.
    AlreadyOffered,
    /// A repeated `initialize` for a version older than the one that stands.
    Older,
    /// There is no open `initialize` that this could settle.
    NothingOffered,
    /// Requests need an agreement.
    NotAgreed,
}

/// Which requests may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Admission {
    /// Only `initialize` may.
    OnlyInitialize,
    /// Any may.
    Anything,
    /// Everything but `initialize` may.
    Ordinary,
    /// None may: `initialize` is on its way, or has failed for good.
    Nothing,
}

impl Admission {
    /// Whether ordinary traffic may pass.
    #[must_use]
    pub const fn is_ordinary(self) -> bool {
        matches!(self, Self::Anything | Self::Ordinary)
    }
}

impl Handshake {
    /// What may pass in this state.
    #[must_use]
    pub const fn admission(self) -> Admission {
        match self {
            Self::Idle => Admission::OnlyInitialize,
            Self::Fresh(_) => Admission::Anything,
            Self::Agreed(_) => Admission::Ordinary,
            Self::Offered(_) | Self::Renewing { .. } | Self::Failed => Admission::Nothing,
        }
    }

    /// The version both ends speak, once agreed.
    #[must_use]
    pub const fn version(self) -> Option<u16> {
        match self {
            Self::Fresh(version) | Self::Agreed(version) | Self::Renewing { kept: version, .. } => Some(version),
            Self::Idle | Self::Offered(_) | Self::Failed => None,
        }
    }
}

impl Machine for Handshake {
    type Input = HandshakeInput;
    type Output = ();
    type Reject = HandshakeReject;

    fn step(&mut self, input: HandshakeInput) -> Result<(), HandshakeReject> {
        *self = match (*self, input) {
            (Self::Idle, HandshakeInput::Offer(version)) => Self::Offered(version),
            (Self::Fresh(kept), HandshakeInput::Offer(asked)) if asked < kept => return Err(HandshakeReject::Older),
            (Self::Fresh(kept), HandshakeInput::Offer(asked)) => Self::Renewing { kept, asked },
            (Self::Offered(_) | Self::Renewing { .. } | Self::Agreed(_) | Self::Failed, HandshakeInput::Offer(_)) => {
                return Err(HandshakeReject::AlreadyOffered);
            }
            (Self::Offered(_) | Self::Renewing { .. }, HandshakeInput::Settle(version)) if version >= REPEATABLE => {
                Self::Fresh(version)
            }
            (Self::Offered(_) | Self::Renewing { .. }, HandshakeInput::Settle(version)) => Self::Agreed(version),
            (Self::Offered(_), HandshakeInput::Withdraw) => Self::Idle,
            (Self::Renewing { kept, .. }, HandshakeInput::Withdraw) => Self::Fresh(kept),
            (Self::Offered(_) | Self::Renewing { .. }, HandshakeInput::Refuse) => Self::Failed,
            (
                Self::Idle | Self::Fresh(_) | Self::Agreed(_) | Self::Failed,
                HandshakeInput::Settle(_) | HandshakeInput::Withdraw | HandshakeInput::Refuse,
            ) => return Err(HandshakeReject::NothingOffered),
            (Self::Fresh(version) | Self::Agreed(version), HandshakeInput::Use) => Self::Agreed(version),
            (Self::Idle | Self::Offered(_) | Self::Renewing { .. } | Self::Failed, HandshakeInput::Use) => {
                return Err(HandshakeReject::NotAgreed);
            }
        };
        Ok(())
    }
}

/// The version an agent answers with; `None` if it has to refuse.
///
/// One that speaks version 1 only answers with the requested version if it speaks that, else with the newest it does:
/// "Otherwise, the Agent MUST respond with the latest version it supports" (ACP v1, Initialization). One that speaks a
/// later version answers with the newest that is not newer than the requested one, and refuses with -32022 if there is
/// none (ACP v2, Initialization).
#[must_use]
pub fn agree(requested: u16, spoken: &[u16]) -> Option<u16> {
    let newest = spoken.iter().copied().max()?;
    if newest < REPEATABLE {
        return Some(if spoken.contains(&requested) { requested } else { newest });
    }
    spoken.iter().copied().filter(|version| *version <= requested).max()
}

#[cfg(test)]
mod tests {
    use super::{Admission, Handshake, HandshakeInput as In, HandshakeReject as No, Machine, agree};

    #[test]
    fn a_version_is_spoken_once_it_is_agreed() {
        use Handshake::{Agreed, Failed, Fresh, Idle, Offered};
        for (state, version) in
            [(Idle, None), (Offered(1), None), (Fresh(2), Some(2)), (Agreed(1), Some(1)), (Failed, None)]
        {
            assert_eq!(state.version(), version, "{state:?}");
        }
    }

    #[test]
    fn every_state_answers_every_input_as_the_table_says() {
        use Handshake::{Agreed, Failed, Fresh, Idle, Offered, Renewing};
        let renewing = Renewing { kept: 2, asked: 3 };
        let table = [
            (Idle, In::Offer(2), Ok(Offered(2))),
            (Idle, In::Settle(1), Err(No::NothingOffered)),
            (Idle, In::Withdraw, Err(No::NothingOffered)),
            (Idle, In::Refuse, Err(No::NothingOffered)),
            (Idle, In::Use, Err(No::NotAgreed)),
            (Offered(2), In::Offer(2), Err(No::AlreadyOffered)),
            (Offered(2), In::Settle(1), Ok(Agreed(1))),
            (Offered(2), In::Settle(2), Ok(Fresh(2))),
            (Offered(2), In::Withdraw, Ok(Idle)),
            (Offered(2), In::Refuse, Ok(Failed)),
            (Offered(2), In::Use, Err(No::NotAgreed)),
            (Fresh(2), In::Offer(1), Err(No::Older)),
            (Fresh(2), In::Offer(2), Ok(Renewing { kept: 2, asked: 2 })),
            (Fresh(2), In::Offer(3), Ok(renewing)),
            (Fresh(2), In::Settle(2), Err(No::NothingOffered)),
            (Fresh(2), In::Withdraw, Err(No::NothingOffered)),
            (Fresh(2), In::Refuse, Err(No::NothingOffered)),
            (Fresh(2), In::Use, Ok(Agreed(2))),
            (renewing, In::Offer(3), Err(No::AlreadyOffered)),
            (renewing, In::Settle(3), Ok(Fresh(3))),
            (renewing, In::Settle(1), Ok(Agreed(1))),
            (renewing, In::Withdraw, Ok(Fresh(2))),
            (renewing, In::Refuse, Ok(Failed)),
            (renewing, In::Use, Err(No::NotAgreed)),
            (Agreed(1), In::Offer(2), Err(No::AlreadyOffered)),
            (Agreed(1), In::Settle(2), Err(No::NothingOffered)),
            (Agreed(1), In::Withdraw, Err(No::NothingOffered)),
            (Agreed(1), In::Refuse, Err(No::NothingOffered)),
            (Agreed(1), In::Use, Ok(Agreed(1))),
            (Failed, In::Offer(2), Err(No::AlreadyOffered)),
            (Failed, In::Settle(1), Err(No::NothingOffered)),
            (Failed, In::Withdraw, Err(No::NothingOffered)),
            (Failed, In::Refuse, Err(No::NothingOffered)),
            (Failed, In::Use, Err(No::NotAgreed)),
        ];
        for (from, input, expected) in table {
            let mut machine = from;
            match (machine.step(input), expected) {
                (Ok(()), Ok(next)) => assert_eq!(machine, next, "{from:?} × {input:?}"),
                (Err(why), Err(wanted)) => {
                    assert_eq!(why, wanted, "{from:?} × {input:?}");
                    assert_eq!(machine, from, "a refused input changed the state");
                }
                (got, wanted) => panic!("{from:?} × {input:?}: {got:?}, wanted {wanted:?}"),
            }
        }
    }

    #[test]
    fn each_state_admits_what_it_says() {
        use Handshake::{Agreed, Failed, Fresh, Idle, Offered, Renewing};
        for (state, admission, version) in [
            (Idle, Admission::OnlyInitialize, None),
            (Offered(2), Admission::Nothing, None),
            (Fresh(2), Admission::Anything, Some(2)),
            (Renewing { kept: 2, asked: 3 }, Admission::Nothing, Some(2)),
            (Agreed(1), Admission::Ordinary, Some(1)),
            (Failed, Admission::Nothing, None),
        ] {
            assert_eq!((state.admission(), state.version()), (admission, version), "{state:?}");
        }
    }

    #[test]
    fn an_agent_of_version_1_answers_the_asked_version_or_its_own() {
        assert_eq!(agree(1, &[1]), Some(1));
        assert_eq!(agree(0, &[1]), Some(1));
        assert_eq!(agree(65_535, &[1]), Some(1));
        assert_eq!(agree(1, &[]), None);
    }

    #[test]
    fn an_agent_of_version_2_answers_the_newest_that_is_not_too_new_or_refuses() {
        assert_eq!(agree(1, &[1, 2]), Some(1));
        assert_eq!(agree(2, &[1, 2]), Some(2));
        assert_eq!(agree(9, &[1, 2]), Some(2));
        assert_eq!(agree(0, &[1, 2]), None);
        assert_eq!(agree(1, &[2]), None);
        assert_eq!(agree(3, &[2]), Some(2));
    }
}
