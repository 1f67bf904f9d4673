//! Random runs of both ends against the reference model (`acp_tests::model`): over bytes, cut anywhere, with slow hosts,
//! slow peers and late timers. What fails shrinks to a short run, which is printed step by step.

use acp_tests::model::{Model, Twin, settings, words::Step};
use proptest::{prelude::*, sample::select};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

struct Books;

impl ReferenceStateMachine for Books {
    type State = Model;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Model> {
        select(settings()).prop_map(Model::new).boxed()
    }

    fn transitions(model: &Model) -> BoxedStrategy<Step> {
        select(model.choices()).boxed()
    }

    fn preconditions(model: &Model, step: &Step) -> bool {
        model.allows(*step)
    }

    fn apply(mut model: Model, step: &Step) -> Model {
        model.apply(*step);
        model
    }
}

struct Ends;

impl StateMachineTest for Ends {
    type SystemUnderTest = Twin;
    type Reference = Books;

    fn init_test(model: &Model) -> Twin {
        Twin::new(model.setting())
    }

    fn apply(mut twin: Twin, model: &Model, step: Step) -> Twin {
        twin.follow(step, model);
        twin
    }

    fn teardown(mut twin: Twin, model: Model) {
        twin.wind_up(model);
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn whatever_happens_both_ends_do_what_the_books_say(sequential 1..90 => Ends);
}
