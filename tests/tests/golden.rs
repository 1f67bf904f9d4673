//! Golden transcripts: the published examples of the protocol in words of our own, and the faults of the field. What comes
//! in and what the host does is written; what comes out of it is made, read, and then kept. `golden/README.md` has the format.
//!
//! ```sh
//! UPDATE=1 cargo test -p acp-tests --test golden && git diff tests/golden
//! ```

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use acp_core::replay::rerun;
use acp_tests::{
    golden::{play, scenes},
    taped::check,
};

/// The files of this ending, by name.
fn files(folder: &str, ending: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(folder);
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the golden transcripts")
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|is| is == ending))
        .map(|path| (path.clone(), fs::read_to_string(path).expect("UTF-8")))
        .collect();
    files.sort();
    files
}

/// Compares what stands with what comes, or writes it down.
fn compare(path: &Path, stands: &str, comes: &str) {
    if env::var_os("UPDATE").is_some() {
        fs::write(path, comes).expect("written");
        return;
    }
    for (line, (stands, comes)) in stands.lines().zip(comes.lines()).enumerate() {
        assert_eq!(stands, comes, "{}, line {}", path.display(), line + 1);
    }
    assert_eq!(stands.len(), comes.len(), "{}: one of them goes on", path.display());
}

#[test]
fn every_published_example_comes_out_as_it_stands() {
    let mut count = 0;
    for (path, stands) in files("pages", "txt") {
        compare(&path, &stands, &play(&stands));
        count += scenes(&stands);
    }
    assert!(count >= 60, "only {count} scenes");
}

#[test]
fn every_fault_of_the_field_comes_out_as_it_stands() {
    let mut count = 0;
    for (path, stands) in files("field", "txt") {
        compare(&path, &stands, &play(&stands));
        count += scenes(&stands);
    }
    assert!(count >= 170, "only {count} scenes");
}

#[test]
fn a_recording_of_this_format_can_be_replayed_for_ever() {
    let recordings = files("recordings", "jsonl");
    for (path, stands) in &recordings {
        let again = rerun(stands).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        compare(path, stands, &again);
        check(&again);
    }
    assert_eq!(recordings.len(), 2, "one of each end");
}

/// What cannot be a scene is held by a test, whose name stands in the table.
#[test]
fn the_tests_that_the_table_names_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let mut sources = String::new();
    let mut folders = vec![root.join("tests/src"), root.join("tests/tests"), root.join("acp-core/src")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                sources += &fs::read_to_string(path).expect("UTF-8");
            }
        }
    }
    let table = fs::read_to_string(root.join("tests/golden/README.md")).expect("UTF-8");
    let (_, table) = table.split_once("## What is no scene").expect("the table");
    let names = table.split('`').skip(1).step_by(2);
    let is_there = |name: &str| ['(', '<'].iter().any(|next| sources.contains(&format!("fn {name}{next}")));
    let missing: Vec<_> = names.filter(|name| !is_there(name)).collect();
    assert_eq!(missing, [""; 0]);
}
