//! The targets of the fuzzer on the inputs that are kept (`fuzz/corpus`), and on random ones.

use std::{fs, path::Path};

use acp_tests::{
    fuzz::{LINES, TARGETS},
    schema::may_emit,
};
use proptest::prelude::*;

#[test]
fn the_inputs_that_are_kept_break_no_rule() {
    may_emit("its hosts say anything");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, target) in TARGETS {
        let inputs = fs::read_dir(corpus.join(name)).unwrap_or_else(|why| panic!("{name}: {why}"));
        let mut count = 0;
        for input in inputs {
            let path = input.expect("an entry").path();
            println!("{}", path.display());
            target(&fs::read(&path).expect("a file"));
            count += 1;
        }
        assert!(count > 0, "{name} has no inputs");
    }
}

/// Bytes, or a line of a peer's with bytes around it.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..300);
    prop_oneof![
        3 => bytes(),
        1 => (prop::collection::vec(any::<u8>(), 0..8), prop::sample::select(LINES), bytes())
            .prop_map(|(before, line, after)| [&before[..], line.as_bytes(), &after[..]].concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn random_inputs_break_no_rule(input in input()) {
        may_emit("its hosts say anything");
        for (_, target) in TARGETS {
            target(&input);
        }
    }
}
