//! The checks of agents, and how they are run.

use std::time::Instant;

use acp_core::Side;
use acp_examples::trace::{Recorder, check::Place};

use super::{About, Done, Outcome, Setup, Weight, agent_sessions, agent_turns, agent_v2, agent_wire, lint, peer::Peer};

/// A check of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check {
    pub(super) about: About,
    pub(super) run: fn(&mut Peer<'_>) -> Outcome,
}

/// The name, the title and the place of a check.
pub(super) struct Head {
    words: [&'static str; 2],
    v1: Option<Place>,
    v2: Option<Place>,
}

/// A rule of version 1.
pub(super) const fn v1([id, title, section, link]: [&'static str; 4]) -> Head {
    Head { words: [id, title], v1: Some(Place::v1(section, link)), v2: None }
}

/// A rule of version 2.
pub(super) const fn v2([id, title, section, link]: [&'static str; 4]) -> Head {
    Head { words: [id, title], v1: None, v2: Some(Place::v2(section, link)) }
}

/// A rule of both versions, under the same heading.
pub(super) const fn both(words: [&'static str; 4]) -> Head {
    let [_, _, section, link] = words;
    each(words, [section, link])
}

/// A rule of both versions, with its place in version 1 and that in version 2.
pub(super) const fn each([id, title, section, link]: [&'static str; 4], v2: [&'static str; 2]) -> Head {
    let [other, there] = v2;
    Head { words: [id, title], v1: Some(Place::v1(section, link)), v2: Some(Place::v2(other, there)) }
}

pub(super) const fn check(
    Head { words: [id, title], v1, v2 }: Head,
    weight: Weight,
    without: &'static [&'static str],
    run: fn(&mut Peer<'_>) -> Outcome,
) -> Check {
    Check { about: About { id, weight, title, v1, v2, without }, run }
}

/// All checks of agents, in order.
fn all() -> impl Iterator<Item = Check> {
    [agent_wire::CHECKS, agent_sessions::CHECKS, agent_turns::CHECKS, agent_v2::CHECKS].into_iter().flatten().copied()
}

/// What checks there are.
pub fn list() -> Vec<About> {
    all().map(|check| check.about).collect()
}

/// Runs all checks that are wanted, and tells each when it is done.
pub fn run(setup: &Setup, mut told: impl FnMut(&Done)) -> Vec<Done> {
    let wanted = all().filter_map(|check| Some((check, setup.wants(&check.about)?)));
    wanted
        .map(|(check, place)| {
            let started = Instant::now();
            let outcome = one(setup, &check);
            let done = Done { about: check.about, place, outcome, took: started.elapsed() };
            told(&done);
            done
        })
        .collect()
}

fn one(setup: &Setup, check: &Check) -> Outcome {
    let (trace, is_kept) = setup.trace(&check.about);
    let recorder = Recorder::create(&trace, Side::Client, "conform", true).map_err(|why| why.to_string())?;
    let outcome = Peer::start(setup, recorder).and_then(|mut peer| {
        let outcome = (check.run)(&mut peer);
        let gone = peer.end();
        // What the check says comes first: it is about its rule.
        outcome.and_then(|remark| gone.map(|()| remark))
    });
    let outcome = outcome.and_then(|remark| lint(&trace, Side::Agent, &check.about).map(|()| remark));
    if !is_kept {
        let _ = std::fs::remove_file(trace);
    }
    outcome
}
