//! A breadth-first explorer: every state that some order of choices reaches, each looked at once.
//!
//! States need not be `Clone`, since tickets are not: they are made again by replaying the choices that lead there. That
//! costs time, and finds a replay that ends elsewhere. Breadth first, so that a counterexample is a shortest one.

use core::fmt::{self, Debug, Display};
use core::hash::{Hash, Hasher};
use std::collections::{BTreeSet, HashMap};
use std::hash::DefaultHasher;

/// What is explored.
pub trait Model {
    /// Where it can be: what hashes alike has the same future.
    type State: Hash;
    /// What can happen next.
    type Choice: Clone + Debug + Display;

    /// Where it begins.
    fn initial(&self) -> Self::State;

    /// What can happen in this state.
    fn choices(&self, state: &Self::State) -> Vec<Self::Choice>;

    /// Lets it happen, unless that breaks a rule.
    fn apply(&self, state: &mut Self::State, choice: &Self::Choice) -> Result<(), Broken>;

    /// What must hold in every state. Looked at once for each, which is not used again afterwards.
    fn check(&self, state: &mut Self::State) -> Result<(), Broken>;

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

struct Node<C> {
    from: usize,
    by: Option<C>,
    print: u128,
}

struct Explorer<'a, M: Model> {
    model: &'a M,
    nodes: Vec<Node<M::Choice>>,
}

/// Explores all that `model` can do.
///
/// # Errors
///
/// A rule is broken: one of the shortest ways to it.
///
/// # Panics
///
/// A replay ends elsewhere, or there are more than `limit` states.
pub fn explore<M: Model>(model: &M, limit: usize) -> Result<Report, Box<Counterexample>> {
    let mut initial = model.initial();
    let print = fingerprint(&initial);
    let mut explorer = Explorer { model, nodes: vec![Node { from: 0, by: None, print }] };
    let mut known = HashMap::from([(print, 0)]);
    let (mut report, mut settled, mut edges) = (Report::default(), Vec::new(), Vec::new());
    model.check(&mut initial).map_err(|broken| explorer.counterexample(0, None, broken))?;
    while let Some(Node { print, .. }) = explorer.nodes.get(settled.len()) {
        let (at, print, path) = (settled.len(), *print, explorer.path(settled.len()));
        let state = explorer.replay(&path);
        assert_eq!(fingerprint(&state), print, "a replay gave another state: {path:?}");
        settled.push(model.is_settled(&state));
        let (choices, mut replayed) = (model.choices(&state), Some(state));
        for choice in choices {
            let mut next = replayed.take().unwrap_or_else(|| explorer.replay(&path));
            let broken = |broken| explorer.counterexample(at, Some(&choice), broken);
            model.apply(&mut next, &choice).map_err(broken)?;
            let print = fingerprint(&next);
            let place = *known.entry(print).or_insert(explorer.nodes.len());
            edges.push((place, at));
            if place == explorer.nodes.len() {
                assert!(place < limit, "more than {limit} states: explore less, or allow more");
                model.check(&mut next).map_err(broken)?;
                report.depth = path.len() + 1;
                explorer.nodes.push(Node { from: at, by: Some(choice), print });
            }
            report.outcomes.extend(model.outcomes(&next));
        }
    }
    (report.states, report.edges) = (explorer.nodes.len(), edges.len());
    report.settled = settled.iter().filter(|settled| **settled).count();
    if let Some(stuck) = first_stuck(&settled, edges) {
        let how = "from here on something stays owed".into();
        return Err(explorer.counterexample(stuck, None, Broken { rule: NOBODY_IS_STUCK, how }));
    }
    Ok(report)
}

impl<M: Model> Explorer<'_, M> {
    fn path(&self, mut at: usize) -> Vec<M::Choice> {
        let mut path = Vec::new();
        while let Node { from, by: Some(choice), .. } = &self.nodes[at] {
            path.push(choice.clone());
            at = *from;
        }
        path.reverse();
        path
    }

    fn replay(&self, path: &[M::Choice]) -> M::State {
        let mut state = self.model.initial();
        for choice in path {
            let again = self.model.apply(&mut state, choice);
            assert_eq!(again, Ok(()), "a replay broke a rule: {path:?}");
        }
        state
    }

    fn counterexample(&self, at: usize, last: Option<&M::Choice>, broken: Broken) -> Box<Counterexample> {
        let (mut state, mut steps) = (self.model.initial(), Vec::new());
        for choice in self.path(at).iter().chain(last) {
            steps.push(self.model.describe(&state, choice));
            let _ = self.model.apply(&mut state, choice);
        }
        Box::new(Counterexample { broken, steps })
    }
}

/// The first state from which no settled one can be reached, walking backwards from those that are.
fn first_stuck(settled: &[bool], mut edges: Vec<(usize, usize)>) -> Option<usize> {
    edges.sort_unstable();
    let mut reaches = settled.to_vec();
    let mut waiting: Vec<usize> = (0..settled.len()).filter(|at| settled[*at]).collect();
    while let Some(at) = waiting.pop() {
        let first = edges.partition_point(|(to, _)| *to < at);
        for (_, from) in edges[first..].iter().take_while(|(to, _)| *to == at) {
            if !core::mem::replace(&mut reaches[*from], true) {
                waiting.push(*from);
            }
        }
    }
    reaches.into_iter().position(|reaches| !reaches)
}

/// Two hashes side by side: 128 bits, so that two states are not taken for one.
fn fingerprint(state: &impl Hash) -> u128 {
    let half = |beginning: u8| {
        let mut hasher = DefaultHasher::new();
        beginning.hash(&mut hasher);
        state.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}
