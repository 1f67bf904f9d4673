//! A breadth-first explorer: every state that some order of choices reaches, each looked at once.
//!
//! A model may copy its states ([`Model::fork`]); those of one that cannot, and those for which there is no room, are made
//! again by replaying the choices that lead there. Breadth first, so that a counterexample is a shortest one; in batches,
//! each on all processors, whose results are taken in order, so that a report is the same every time.

mod model;
mod print;
mod stuck;

use core::{cell::OnceCell, hash::BuildHasherDefault};
use std::{
    collections::{HashMap, VecDeque},
    panic::resume_unwind,
    sync::Mutex,
    thread,
};

use self::{print::Print, stuck::first_stuck};

pub use self::{
    model::{Broken, Counterexample, Model, NOBODY_IS_STUCK, Report},
    print::fingerprint,
};

struct Node<C> {
    from: u32,
    by: Option<C>,
    print: u128,
}

/// What a choice led to.
struct Edge<M: Model> {
    by: M::Choice,
    print: u128,
    outcomes: Vec<&'static str>,
    /// If the state looked new: a copy to go on from, and what `check` said of it.
    fresh: Option<Fresh<M::State>>,
}

type Fresh<S> = (Option<S>, Result<(), Broken>);

/// A state with all that can happen in it.
struct Expanded<M: Model> {
    settled: bool,
    edges: Vec<Edge<M>>,
    /// The choice that broke a rule, after these edges.
    broken: Option<(M::Choice, Broken)>,
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
pub fn explore<M>(model: &M, limit: usize) -> Result<Report, Box<Counterexample>>
where
    M: Model + Sync,
    M::State: Send,
    M::Choice: Send + Sync,
{
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
        for (at, expanded) in (first..).zip(explorer.expand_all(batch)) {
            settled.push(expanded.settled);
            for Edge { by, print, outcomes, fresh } in expanded.edges {
                let place =
                    *explorer.known.entry(print).or_insert(u32::try_from(explorer.nodes.len()).expect("32 bits"));
                edges.push((place, u32::try_from(at).expect("32 bits")));
                report.outcomes.extend(outcomes);
                if place as usize == explorer.nodes.len() {
                    assert!(explorer.nodes.len() < limit, "more than {limit} states: explore less, or allow more");
                    let (state, checked) = fresh.expect("what is new looked new");
                    checked.map_err(|broken| explorer.counterexample(at, Some(&by), broken))?;
                    explorer.nodes.push(Node { from: u32::try_from(at).expect("32 bits"), by: Some(by), print });
                    report.depth = depth + 1;
                    // In order, without a gap.
                    let gap = explorer.nodes.len() - 1 != last + held.len();
                    held.extend(state.filter(|_| !gap && held.len() < HELD));
                }
            }
            if let Some((by, broken)) = expanded.broken {
                return Err(explorer.counterexample(at, Some(&by), broken));
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

impl<M> Explorer<'_, M>
where
    M: Model + Sync,
    M::State: Send,
    M::Choice: Send + Sync,
{
    /// Expands these states, in order, in pieces that are taken by whoever is free.
    fn expand_all(&self, batch: Vec<(usize, Option<M::State>)>) -> Vec<Expanded<M>> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        if batch.len() < 64 {
            return batch.into_iter().map(|(at, state)| self.expand(at, state)).collect();
        }
        let (pieces, mut batch) = (Mutex::new(VecDeque::new()), batch.into_iter());
        while batch.len() > 0 {
            pieces.lock().expect("nobody panicked").push_back(batch.by_ref().take(64).collect::<Vec<_>>());
        }
        let work = || {
            let mut done = Vec::new();
            while let Some(piece) = { pieces.lock().expect("nobody panicked").pop_front() } {
                let first = piece.first().map_or(0, |(at, _)| *at);
                done.push((first, piece.into_iter().map(|(at, state)| self.expand(at, state)).collect::<Vec<_>>()));
            }
            done
        };
        let mut done: Vec<_> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let done = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|why| resume_unwind(why)));
            done.flatten().collect()
        });
        done.sort_unstable_by_key(|(first, _)| *first);
        done.into_iter().flat_map(|(_, expanded)| expanded).collect()
    }

    fn expand(&self, at: usize, held: Option<M::State>) -> Expanded<M> {
        let path = OnceCell::new();
        let replay = || self.replay(path.get_or_init(|| self.path(at)));
        // Now and then a state that is held is replayed all the same, to see that it comes to the same.
        let held = held.filter(|_| at % 1024 != 1);
        let state = held.unwrap_or_else(|| {
            let state = replay();
            assert_eq!(fingerprint(&state), self.nodes[at].print, "a replay gave another state: {:?}", path.get());
            state
        });
        let mut expanded = Expanded { settled: self.model.is_settled(&state), edges: Vec::new(), broken: None };
        let choices = self.model.choices(&state);
        let (count, mut state) = (choices.len(), Some(state));
        for (index, by) in choices.into_iter().enumerate() {
            let forked = state.as_ref().filter(|_| index + 1 < count).and_then(|state| self.model.fork(state));
            let mut next = forked.or_else(|| state.take()).unwrap_or_else(replay);
            if let Err(broken) = self.model.apply(&mut next, &by) {
                expanded.broken = Some((by, broken));
                break;
            }
            let print = fingerprint(&next);
            let mut fresh = None;
            if !self.known.contains_key(&print) {
                let copy = if self.model.check_spends() { self.model.fork(&next) } else { None };
                fresh = Some((copy, self.model.check(&mut next)));
            }
            let outcomes = self.model.outcomes(&next).to_vec();
            if let Some((copy, _)) = fresh.as_mut().filter(|_| !self.model.check_spends()) {
                *copy = Some(next);
            }
            expanded.edges.push(Edge { by, print, outcomes, fresh });
        }
        expanded
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
