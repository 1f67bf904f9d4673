//! The README, and that of the tokio adapter, show the two smallest programs as they are, copied by hand and compared here;
//! and the README names all programs.

const README: &str = include_str!("../../README.md");
const OF_TOKIO: &str = include_str!("../../acp-tokio/README.md");

fn shown(source: &str) -> bool {
    [README, OF_TOKIO].iter().all(|readme| readme.contains(&format!("```rust,no_run\n{}\n```", source.trim_end())))
}

#[test]
fn the_readmes_show_the_smallest_agent_as_it_is() {
    assert!(
        shown(include_str!("../src/bin/agent_small.rs")),
        "copy examples/src/bin/agent_small.rs into README.md and acp-tokio/README.md"
    );
}

#[test]
fn the_readmes_show_the_smallest_client_as_it_is() {
    assert!(
        shown(include_str!("../src/bin/client_small.rs")),
        "copy examples/src/bin/client_small.rs into README.md and acp-tokio/README.md"
    );
}

#[test]
fn the_readme_has_a_line_for_each_program() {
    let programs = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin")).expect("a folder");
    let mut names: Vec<_> = programs
        .map(|program| program.expect("a program").path().file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut listed: Vec<_> = README
        .split("## Programs in `examples/`")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .expect("the table")
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .map(|(name, _)| name.to_owned())
        .collect();
    listed.sort();
    assert_eq!(names, listed);
}
