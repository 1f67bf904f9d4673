//! The README shows the two smallest programs as they are: copied by hand, compared here.

const README: &str = include_str!("../../README.md");

fn shown(source: &str) -> bool {
    README.contains(&format!("```rust,no_run\n{}\n```", source.trim_end()))
}

#[test]
fn the_readme_shows_the_smallest_agent_as_it_is() {
    assert!(shown(include_str!("../src/bin/agent_small.rs")), "copy examples/src/bin/agent_small.rs into the README");
}

#[test]
fn the_readme_shows_the_smallest_client_as_it_is() {
    assert!(shown(include_str!("../src/bin/client_small.rs")), "copy examples/src/bin/client_small.rs into the README");
}
