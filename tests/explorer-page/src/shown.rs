//! Our model as one of `stateright`'s: a state is a copy of the pair, an action is a choice in words, the rules of the judge
//! hold always, and what may occur does so sometimes.

use core::{
    fmt,
    hash::{Hash, Hasher},
    sync::atomic::{AtomicU64, Ordering},
};
use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use acp_tests::{
    explore::{Broken, Model as _, fingerprint},
    pair::{Choice, Pair, World, proof::OUTCOMES, rule},
};
use stateright::{Model, Property};

/// The pair in a scope.
pub(crate) struct Page {
    pair: Pair,
    /// Whether outcomes are properties, each with a way to it: that has all choices made twice.
    shows_outcomes: bool,
    occurred: AtomicU64,
}

/// A state of the pair, shared by all that look at it.
#[derive(Clone)]
pub(crate) struct State(Arc<Reached>);

struct Reached {
    world: Box<World>,
    /// The state before, and what was chosen there: there is no copy while an action waits for a slow host.
    from: Option<(State, Choice)>,
    print: u128,
    /// The rule that is broken here, which is an end.
    broken: Option<Broken>,
    /// What some choice brings about here: bits in the order of `OUTCOMES`, asked for once.
    leads_to: OnceLock<u64>,
}

/// A choice, and what it is about in the state in which it is made.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    choice: Choice,
    words: String,
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.choice == other.choice
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.0.print == other.0.print && self.0.broken == other.0.broken
    }
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0.print, self.0.broken.as_ref().map(|broken| broken.rule)).hash(state);
    }
}

/// What the page shows of a state.
impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Broken { rule, how }) = &self.0.broken {
            writeln!(f, "broken: {rule}\n   => {how}\n")?;
        }
        write!(f, "{}", self.0.world)
    }
}

impl Page {
    /// With a way to everything that may occur.
    pub(crate) const fn to_look_at(pair: Pair) -> Self {
        Self { pair, shows_outcomes: true, occurred: AtomicU64::new(0) }
    }

    /// What occurs is counted on the way: see [`occurred`](Self::occurred).
    pub(crate) const fn to_check(pair: Pair) -> Self {
        Self { pair, shows_outcomes: false, occurred: AtomicU64::new(0) }
    }

    /// What occurred, as far as was explored.
    pub(crate) fn occurred(&self) -> BTreeSet<&'static str> {
        let bits = self.occurred.load(Ordering::Relaxed);
        (0..).zip(OUTCOMES).filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, outcome)| outcome).collect()
    }

    fn reached(&self, mut world: Box<World>, from: Option<(State, Choice)>, broken: Option<Broken>) -> State {
        let print = fingerprint(&world);
        let broken = broken.or_else(|| self.pair.check(&mut world).err());
        let seen = self.pair.outcomes(&world);
        let bits = (0..).zip(OUTCOMES).filter(|(_, outcome)| seen.contains(outcome));
        self.occurred.fetch_or(bits.map(|(bit, _)| 1_u64 << bit).sum(), Ordering::Relaxed);
        State(Arc::new(Reached { world, from, print, broken, leads_to: OnceLock::new() }))
    }

    fn after(&self, state: &State, choice: &Choice) -> State {
        let mut world = self.pair.fork(&state.0.world).unwrap_or_else(|| self.again(state));
        let broken = self.pair.apply(&mut world, choice).err();
        self.reached(world, Some((state.clone(), *choice)), broken)
    }

    /// The same, by the choices that lead there.
    fn again(&self, state: &State) -> Box<World> {
        let before = core::iter::successors(state.0.from.as_ref(), |(state, _)| state.0.from.as_ref());
        let choices: Vec<Choice> = before.map(|(_, choice)| *choice).collect();
        let mut world = self.pair.initial();
        for choice in choices.iter().rev() {
            // What is broken leads no further, so nothing is here.
            let _ = self.pair.apply(&mut world, choice);
        }
        world
    }

    fn leads_to(&self, state: &State) -> u64 {
        let look = || {
            let mut bits = 0;
            for choice in self.choices(state) {
                let after = self.after(state, &choice);
                let seen = self.pair.outcomes(&after.0.world);
                for (bit, _) in (0..).zip(OUTCOMES).filter(|(_, outcome)| seen.contains(outcome)) {
                    bits |= 1_u64 << bit;
                }
            }
            bits
        };
        *state.0.leads_to.get_or_init(look)
    }

    fn choices(&self, state: &State) -> Vec<Choice> {
        if state.0.broken.is_some() { Vec::new() } else { self.pair.choices(&state.0.world) }
    }
}

/// A condition is a function without a memory, so there is one for each place in the list.
fn keeps<const RULE: usize>(_: &Page, state: &State) -> bool {
    state.0.broken.as_ref().is_none_or(|broken| broken.rule != rule::ALL[RULE])
}

fn brings_about<const OUTCOME: usize>(page: &Page, state: &State) -> bool {
    page.leads_to(state) >> OUTCOME & 1 == 1
}

fn is_at_rest(page: &Page, state: &State) -> bool {
    page.pair.is_settled(&state.0.world)
}

macro_rules! each {
    ($condition:ident, $($place:literal)*) => { [$($condition::<$place>),*] };
}

type Condition = fn(&Page, &State) -> bool;

const KEPT: [Condition; rule::ALL.len()] = each!(keeps, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
const BROUGHT_ABOUT: [Condition; OUTCOMES.len()] =
    each!(brings_about, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25);

impl Model for Page {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![self.reached(self.pair.initial(), None, None)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        let words = |choice: &Choice| self.pair.describe(&state.0.world, choice);
        actions.extend(self.choices(state).into_iter().map(|choice| Step { words: words(&choice), choice }));
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        Some(self.after(state, &step.choice))
    }

    fn format_action(&self, step: &Step) -> String {
        step.words.clone()
    }

    /// The state that follows says it.
    fn format_step(&self, _: &State, _: Step) -> Option<String> {
        None
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let kept = KEPT.into_iter().zip(rule::ALL).map(|(condition, name)| Property::always(name, condition));
        let brought_about = BROUGHT_ABOUT.into_iter().zip(OUTCOMES);
        let brought_about = brought_about.map(|(condition, name)| Property::sometimes(name, condition));
        let at_rest = core::iter::once(Property::sometimes("nothing is owed", is_at_rest as Condition));
        kept.chain(at_rest.chain(brought_about).filter(|_| self.shows_outcomes)).collect()
    }
}
