//! An outcome in words, and as a `Result` for those who want the result or the reason why there is none.

use core::fmt;

use thiserror::Error;

use super::Outcome;
use crate::wire::Payload;

/// A request of ours had no result. It says why, as a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NoResult(pub Outcome);

impl Outcome {
    /// The result, for `?`.
    ///
    /// # Errors
    ///
    /// Every other outcome, as it is.
    pub fn into_result(self) -> Result<Payload, NoResult> {
        match self {
            Self::Result(result) => Ok(result),
            other => Err(NoResult(other)),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result(_) => f.write_str("the peer answered with a result"),
            Self::Error(error) => write!(f, "the peer answered with an error: {error}"),
            Self::Invalid { why, .. } => write!(f, "the peer's answer cannot be read: {why}"),
            Self::TooLong { size, limit } => {
                write!(f, "the peer's answer has {size} bytes, and a line may have {limit}")
            }
            Self::Cancelled(_) => f.write_str("the turn it belonged to was cancelled"),
            Self::TimedOut => f.write_str("the peer did not answer in time"),
            Self::Undelivered => f.write_str("the transport could not deliver the request"),
            Self::NotSent => f.write_str("the request was never sent"),
            Self::Closed => f.write_str("the connection ended before the peer answered"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::{NoResult, Outcome};
    use crate::wire::{ErrorObject, Payload};

    #[test]
    fn whatever_is_no_result_is_an_error_that_says_why() {
        assert_eq!(Outcome::Result(Payload::NULL).into_result(), Ok(Payload::NULL));
        let refused = Outcome::Error(ErrorObject::new(-32000, "log in first"));
        for (outcome, said) in [
            (refused, "the peer answered with an error: log in first (-32000)"),
            (Outcome::Closed, "the connection ended before the peer answered"),
            (Outcome::TimedOut, "the peer did not answer in time"),
        ] {
            let why = outcome.clone().into_result().unwrap_err();
            assert_eq!(why.to_string(), said);
            assert_eq!(why, NoResult(outcome));
        }
    }
}
