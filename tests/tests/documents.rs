//! The documents: links that stay in the tree lead somewhere, and programs are compiled as they stand there.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Every file of the tree with one of these endings, build output apart.
fn files(ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the tree")];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && !path.is_symlink() {
                if name != "target" && !name.starts_with('.') {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|of| of == ending) {
                let text = fs::read_to_string(&path).expect("text");
                found.push((path, text));
            }
        }
    }
    found
}

/// What `[…](…)` leads to, code apart.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (index, part) in text.split("```").enumerate() {
        if index % 2 == 0 {
            found.extend(part.split("](").skip(1).filter_map(|rest| rest.split(')').next()));
        }
    }
    found
}

#[test]
fn links_that_stay_in_the_tree_lead_somewhere() {
    let documents = files("md");
    assert!(documents.len() > 10, "the documents were not found");
    let mut dead = Vec::new();
    for (path, text) in &documents {
        for link in links(text) {
            let target = link.split('#').next().unwrap_or_default();
            // The paths of Rust are the business of rustdoc, which checks them.
            let elsewhere = target.is_empty() || target.contains(':') || target == "crate";
            if !elsewhere && !path.with_file_name(target).exists() {
                dead.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

#[test]
fn every_program_in_a_document_is_compiled() {
    let mut compiled = Vec::new();
    for (path, source) in files("rs") {
        for include in source.split("include_str!(\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            compiled.extend(path.with_file_name(include).canonicalize());
        }
    }
    for (path, text) in files("md") {
        let shows = text.contains("```rust");
        assert!(
            !shows || compiled.contains(&path),
            "{}: nobody compiles its programs: include it in tests/src/documents.rs",
            path.display()
        );
        // Programs of another library are not compiled here: nothing else may be passed over.
        let passed_over = text.matches("```rust,ignore").count();
        let allowed = if path.ends_with("docs/guide/migration.md") { 2 } else { 0 };
        assert_eq!(passed_over, allowed, "{}", path.display());
    }
}
