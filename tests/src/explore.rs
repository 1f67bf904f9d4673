//! A breadth-first explorer: every state that some order of choices reaches, each looked at once.
//!
//! A model may copy its states ([`Model::fork`]); those of one that cannot, and those for which there is no room, are made
//! again by replaying the choices that lead there. Breadth first, so that a counterexample is a shortest one; in batches,
//! each on all processors, whose results are taken in order, so that a report is the same every time.

mod model;
mod print;
mod stuck;
mod workers;

use core::{cell::OnceCell, hash::BuildHasherDefault};
use std::collections::{HashMap, VecDeque};

use self::{print::Print, stuck::first_stuck, workers::in_order};

pub use self::{
    model::{Broken, Counterexample, Model, NOBODY_IS_STUCK, Report},
    print::fingerprint,
};

struct Node<C> {
    from: u32,
    by: Option<C>,
    print: u128,
}

/// A state with all that can happen in it, up to what breaks a rule.
struct Expanded<M: Model> {
    settled: bool,
    edges: Vec<(M::Choice, Followed<M::State>)>,
}

type Followed<S> = Result<Reached<S>, Broken>;

/// Where a choice leads.
struct Reached<S> {
    print: u128,
    outcomes: Vec<&'static str>,
    /// If it looked new: a copy to go on from, where there can be one.
    fresh: Option<S>,
}

struct Explorer<'a, M: Model> {
    model: &'a M,
    nodes: Vec<Node<M::Choice>>,
    known: HashMap<u128, u32, BuildHasherDefault<Print>>,
}

/// States that may wait as they are; those beyond are replayed.
const HELD: usize = 200_000;
/// States that are expanded before the new ones are counted.
const BATCH: usize = 8192;

/// Explores all that `model` can do, on every processor there is.
///
/// # Errors
///
/// A rule is broken: one of the shortest ways to it.
///
/// # Panics
///
/// A replay ends elsewhere, or there are more than `limit` states.
pub fn explore<M: Model>(model: &M, limit: usize) -> Result<Report, Box<Counterexample>> {
    let initial = model.initial();
    let print = fingerprint(&initial);
    let nodes = vec![Node { from: 0, by: None, print }];
    let mut explorer = Explorer { model, nodes, known: HashMap::from_iter([(print, 0)]) };
    let (mut report, mut settled, mut edges) = (Report::default(), Vec::new(), Vec::new());
    model.check(&mut model.initial()).map_err(|broken| explorer.counterexample(0, None, broken))?;
    // Held are the first of those that wait.
    let (mut held, mut next_depth, mut depth) = (VecDeque::from([initial]), 1, 0);
    while settled.len() < explorer.nodes.len() {
        if settled.len() == next_depth {
            (depth, next_depth) = (depth + 1, explorer.nodes.len());
        }
        let first = settled.len();
        let last = next_depth.min(first + BATCH);
        let batch: Vec<_> = (first..last).map(|at| (at, held.pop_front())).collect();
        let batch = in_order(batch, |(at, held)| (at, explorer.expand(at, held)));
        for (at, expanded) in batch {
            let from = u32::try_from(at).expect("32 bits");
            settled.push(expanded.settled);
            for (by, to) in expanded.edges {
                let Reached { print, outcomes, fresh } =
                    to.map_err(|broken| explorer.counterexample(at, Some(&by), broken))?;
                let next = explorer.nodes.len();
                let place = *explorer.known.entry(print).or_insert(u32::try_from(next).expect("32 bits"));
                edges.push((place, from));
                report.outcomes.extend(outcomes);
                if place as usize == next {
                    assert!(next < limit, "more than {limit} states: explore less, or allow more");
                    explorer.nodes.push(Node { from, by: Some(by), print });
                    report.depth = depth + 1;
                    // In order, without a gap.
                    let gap = next != last + held.len();
                    held.extend(fresh.filter(|_| !gap && held.len() < HELD));
                }
            }
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
    fn expand(&self, at: usize, held: Option<M::State>) -> Expanded<M> {
        let path = OnceCell::new();
        let replay = || self.replay(path.get_or_init(|| self.path(at)));
        // Now and then a state that is held is replayed all the same, to see that it comes to the same.
        let state = held.filter(|_| at % 1024 != 1).unwrap_or_else(|| {
            let state = replay();
            assert_eq!(fingerprint(&state), self.nodes[at].print, "a replay gave another state: {:?}", path.get());
            state
        });
        let mut expanded = Expanded { settled: self.model.is_settled(&state), edges: Vec::new() };
        let choices = self.model.choices(&state);
        let (count, mut state) = (choices.len(), Some(state));
        for (index, by) in choices.into_iter().enumerate() {
            let forked = state.as_ref().filter(|_| index + 1 < count).and_then(|state| self.model.fork(state));
            let to = self.follow(forked.or_else(|| state.take()).unwrap_or_else(replay), &by);
            let kept = to.is_ok();
            expanded.edges.push((by, to));
            if !kept {
                break;
            }
        }
        expanded
    }

    /// Where a choice leads. What looks new is checked.
    fn follow(&self, mut state: M::State, by: &M::Choice) -> Followed<M::State> {
        self.model.apply(&mut state, by)?;
        let print = fingerprint(&state);
        let is_new = !self.known.contains_key(&print);
        let spends = self.model.check_spends();
        let copy = if is_new && spends { self.model.fork(&state) } else { None };
        if is_new {
            self.model.check(&mut state)?;
        }
        let outcomes = self.model.outcomes(&state).to_vec();
        Ok(Reached { print, outcomes, fresh: if is_new && !spends { Some(state) } else { copy } })
    }

    fn path(&self, mut at: usize) -> Vec<M::Choice> {
        let mut path = Vec::new();
        while let Node { from, by: Some(choice), .. } = &self.nodes[at] {
            path.push(choice.clone());
            at = *from as usize;
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
