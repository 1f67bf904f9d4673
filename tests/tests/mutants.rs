//! The list of deliberate breaks (`tests/mutants/list.txt`) still fits the tree: each line it breaks stands where it says,
//! once, and each test that must fail is there. Whether they do fail is for `bash tests/mutants/run`.

use std::{fs, path::Path};

struct Mutant<'a> {
    file: &'a str,
    before: &'a str,
    after: &'a str,
    test: &'a str,
    name: &'a str,
}

fn mutants(list: &str) -> Vec<Mutant<'_>> {
    let (mut found, mut file, mut before, mut after) = (Vec::new(), "", "", "");
    for line in list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        match line.split_at(1) {
            ("-", text) => before = text.trim_start(),
            ("+", text) => after = text.trim_start(),
            ("!", text) => {
                let (test, name) = text.trim_start().split_once(' ').expect("a test program and a test");
                found.push(Mutant { file, before, after, test, name });
            }
            _ => file = line,
        }
    }
    found
}

#[test]
fn each_listed_break_has_its_line_and_its_test() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(here.join(path)).unwrap_or_else(|why| panic!("{path}: {why}"));
    let list = read("mutants/list.txt");
    let mutants = mutants(&list);
    assert!(mutants.len() >= 25, "only {} are listed", mutants.len());
    for Mutant { file, before, after, test, name } in mutants {
        let source = read(&format!("../acp-core/src/connection/{file}"));
        let times = source.lines().filter(|line| line.trim_start() == before).count();
        assert_eq!(times, 1, "{file}: a line that was changed has to be changed in the list, too: {before}");
        assert_ne!(before, after);
        let tests = read(&format!("tests/{test}.rs"));
        assert!(tests.contains(&format!("\nfn {name}()")), "{test}.rs has no test {name}");
    }
}
