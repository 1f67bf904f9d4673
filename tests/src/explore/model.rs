//! What an explorer is given, and what it finds.

use core::{
    fmt::{self, Debug, Display},
    hash::Hash,
};
use std::collections::BTreeSet;

/// What is explored.
pub trait Model: Sync {
    /// Where it can be: what hashes alike has the same future.
    type State: Hash + Send;
    /// What can happen next.
    type Choice: Clone + Debug + Display + Send + Sync;

    /// Where it begins.
    fn initial(&self) -> Self::State;

    /// A copy, if that is cheaper than to make it again.
    fn fork(&self, _: &Self::State) -> Option<Self::State> {
        None
    }

    /// What can happen in this state.
    fn choices(&self, state: &Self::State) -> Vec<Self::Choice>;

    /// Lets it happen, unless that breaks a rule.
    fn apply(&self, state: &mut Self::State, choice: &Self::Choice) -> Result<(), Broken>;

    /// What must hold in every state. Looked at once for each.
    fn check(&self, state: &mut Self::State) -> Result<(), Broken>;

    /// Whether `check` leaves a state that is good for nothing else.
    fn check_spends(&self) -> bool {
        true
    }

    /// Whether nothing is owed to anybody.
    fn is_settled(&self, state: &Self::State) -> bool;

    /// What the last choice brought about, by name, for the list of what occurred at all.
    fn outcomes<'a>(&self, state: &'a Self::State) -> &'a [&'static str];

    /// What a choice is about, in a counterexample: said before it is applied.
    fn describe(&self, state: &Self::State, choice: &Self::Choice) -> String;
}

/// A rule, and how it was broken.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    /// The rule, in the words of its constant.
    pub rule: &'static str,
    /// What happened instead.
    pub how: String,
}

/// The explorer's own rule: from every state that is reached, a settled one can be.
pub const NOBODY_IS_STUCK: &str = "nobody is stuck";

/// What there was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// States that differ.
    pub states: usize,
    /// Choices that were made in them.
    pub edges: usize,
    /// Choices on the longest of the shortest ways to a state.
    pub depth: usize,
    /// States in which nothing is owed.
    pub settled: usize,
    /// What occurred at least once.
    pub outcomes: BTreeSet<&'static str>,
}

/// A shortest way to break a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// What was broken.
    pub broken: Broken,
    /// The choices that lead there, in words.
    pub steps: Vec<String>,
}

impl Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "broken: {}", self.broken.rule)?;
        for (index, step) in self.steps.iter().enumerate() {
            writeln!(f, "{:4}. {step}", index + 1)?;
        }
        write!(f, "   => {}", self.broken.how)
    }
}
