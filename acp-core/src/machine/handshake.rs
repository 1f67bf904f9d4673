//! Version agreement: what is admitted before it, and that it happens once.
//!
//! ```text
//!            Offer(v)              Settle(v)
//!   Idle ───────────────▶ Offered ───────────▶ Agreed(v)
//!    ▲                     │    │
//!    └─────────────────────┘    └────────────▶ Failed
//!        Withdraw                   Refuse
//! ```
//!
//! "Before a Session can be created, Clients MUST initialize the connection by calling the `initialize` method"
//! (ACP v1, Initialization). An initialize that was answered with an error leaves the connection where it was, so that
//! a better one can follow. `Failed` is for an answer one cannot work with.

use super::Machine;

/// The state of the version agreement. See the module's diagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Handshake {
    /// Nobody has offered a version.
    #[default]
    Idle,
    /// `initialize` is on its way, for this version.
    Offered(u16),
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
}

/// Why an input was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandshakeReject {
    /// A second `initialize`, while one is open or after one succeeded.
    AlreadyOffered,
    /// There is no open `initialize` that this could settle.
    NothingOffered,
}

/// Whether ordinary traffic may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Admission {
    /// Only `initialize` may.
    OnlyInitialize,
    /// Everything but `initialize` may.
    Ordinary,
    /// Nothing may.
    Nothing,
}

impl Handshake {
    /// What may pass in this state.
    #[must_use]
    pub const fn admission(self) -> Admission {
        match self {
            Self::Idle | Self::Offered(_) => Admission::OnlyInitialize,
            Self::Agreed(_) => Admission::Ordinary,
            Self::Failed => Admission::Nothing,
        }
    }

    /// The version both ends speak, once agreed.
    #[must_use]
    pub const fn version(self) -> Option<u16> {
        match self {
            Self::Agreed(version) => Some(version),
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
            (Self::Offered(_) | Self::Agreed(_) | Self::Failed, HandshakeInput::Offer(_)) => {
                return Err(HandshakeReject::AlreadyOffered);
            }
            (Self::Offered(_), HandshakeInput::Settle(version)) => Self::Agreed(version),
            (Self::Offered(_), HandshakeInput::Withdraw) => Self::Idle,
            (Self::Offered(_), HandshakeInput::Refuse) => Self::Failed,
            (
                Self::Idle | Self::Agreed(_) | Self::Failed,
                HandshakeInput::Settle(_) | HandshakeInput::Withdraw | HandshakeInput::Refuse,
            ) => return Err(HandshakeReject::NothingOffered),
        };
        Ok(())
    }
}

/// The version an agent answers with: the requested one if it is `spoken`, else the newest it speaks.
///
/// "If the Agent supports the requested version, it MUST respond with the same version. Otherwise, the Agent MUST
/// respond with the latest version it supports" (ACP v1, Initialization). `None` only if nothing is spoken.
#[must_use]
pub fn agree(requested: u16, spoken: &[u16]) -> Option<u16> {
    if spoken.contains(&requested) { Some(requested) } else { spoken.iter().copied().max() }
}

#[cfg(test)]
mod tests {
    use super::{Handshake, HandshakeInput as In, HandshakeReject as No, Machine, agree};

    #[test]
    fn every_state_answers_every_input_as_the_table_says() {
        use Handshake::{Agreed, Failed, Idle, Offered};
        let table = [
            (Idle, In::Offer(2), Ok(Offered(2))),
            (Idle, In::Settle(1), Err(No::NothingOffered)),
            (Idle, In::Withdraw, Err(No::NothingOffered)),
            (Idle, In::Refuse, Err(No::NothingOffered)),
            (Offered(2), In::Offer(2), Err(No::AlreadyOffered)),
            (Offered(2), In::Settle(1), Ok(Agreed(1))),
            (Offered(2), In::Withdraw, Ok(Idle)),
            (Offered(2), In::Refuse, Ok(Failed)),
            (Agreed(1), In::Offer(2), Err(No::AlreadyOffered)),
            (Agreed(1), In::Settle(2), Err(No::NothingOffered)),
            (Agreed(1), In::Withdraw, Err(No::NothingOffered)),
            (Agreed(1), In::Refuse, Err(No::NothingOffered)),
            (Failed, In::Offer(2), Err(No::AlreadyOffered)),
            (Failed, In::Settle(1), Err(No::NothingOffered)),
            (Failed, In::Withdraw, Err(No::NothingOffered)),
            (Failed, In::Refuse, Err(No::NothingOffered)),
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
    fn an_agent_answers_the_asked_version_or_its_newest() {
        assert_eq!(agree(1, &[1]), Some(1));
        assert_eq!(agree(65_535, &[1]), Some(1));
        assert_eq!(agree(1, &[2]), Some(2));
        assert_eq!(agree(1, &[1, 2]), Some(1));
        assert_eq!(agree(9, &[1, 2]), Some(2));
        assert_eq!(agree(1, &[]), None);
    }
}
