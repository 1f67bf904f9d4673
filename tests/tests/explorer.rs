//! The explorer itself, on models small enough to know the answer.

use core::{
    fmt::{self, Display},
    sync::atomic::{AtomicU8, Ordering},
};

use acp_tests::explore::{Broken, Model, NOBODY_IS_STUCK, explore};

/// A walk over a number: by 1 or by 2, up to 6, where it is settled.
#[derive(Default)]
struct Walk {
    forbidden: Option<u8>,
    /// From here nothing leads on.
    pit: Option<u8>,
    /// Its states can be copied.
    forks: bool,
    /// Each walk begins somewhere else.
    restless: Option<AtomicU8>,
}

#[derive(Clone, Debug)]
struct By(u8);

impl Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by {}", self.0)
    }
}

impl Model for Walk {
    type State = u8;
    type Choice = By;

    fn initial(&self) -> u8 {
        self.restless.as_ref().map_or(0, |begun| begun.fetch_add(1, Ordering::Relaxed))
    }

    fn fork(&self, at: &u8) -> Option<u8> {
        self.forks.then_some(*at)
    }

    fn choices(&self, at: &u8) -> Vec<By> {
        if Some(*at) == self.pit { vec![] } else { (1..=2).filter(|by| at + by <= 6).map(By).collect() }
    }

    fn apply(&self, at: &mut u8, by: &By) -> Result<(), Broken> {
        *at += by.0;
        Ok(())
    }

    fn check(&self, at: &mut u8) -> Result<(), Broken> {
        if Some(*at) == self.forbidden { Err(Broken { rule: "not there", how: at.to_string() }) } else { Ok(()) }
    }

    fn is_settled(&self, at: &u8) -> bool {
        *at == 6
    }

    fn outcomes<'a>(&self, at: &'a u8) -> &'a [&'static str] {
        if *at == 5 { &["five"] } else { &[] }
    }

    fn describe(&self, at: &u8, by: &By) -> String {
        format!("{at} {by}")
    }
}

#[test]
fn every_state_and_every_choice_is_counted_once() {
    for forks in [false, true] {
        let report = explore(&Walk { forks, ..Walk::default() }, 7).expect("no rule is broken");
        assert_eq!((report.states, report.edges, report.depth, report.settled), (7, 11, 3, 1));
        assert!(report.outcomes.contains("five"));
    }
}

#[test]
fn the_way_to_a_broken_rule_is_a_shortest_one() {
    let found = explore(&Walk { forbidden: Some(5), ..Walk::default() }, 7).expect_err("five is forbidden");
    assert_eq!(found.broken.rule, "not there");
    assert_eq!(found.steps.len(), 3, "{found}");
    assert!(found.to_string().starts_with("broken: not there\n   1. 0 by "), "{found}");
}

#[test]
fn who_cannot_get_out_is_stuck() {
    let found = explore(&Walk { pit: Some(4), ..Walk::default() }, 7).expect_err("nothing leads out of four");
    assert_eq!((found.broken.rule, found.steps.len()), (NOBODY_IS_STUCK, 2), "{found}");
}

#[test]
#[should_panic(expected = "a replay gave another state")]
fn a_model_that_is_not_deterministic_is_found() {
    let _ = explore(&Walk { restless: Some(AtomicU8::new(0)), ..Walk::default() }, 7);
}

#[test]
#[should_panic(expected = "more than 3 states")]
fn a_limit_is_no_answer() {
    let _ = explore(&Walk::default(), 3);
}
