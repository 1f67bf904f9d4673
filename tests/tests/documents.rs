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

/// The definitions of a page, `[label]: target`, and the labels that it uses, `[…][label]`.
fn labels(text: &str) -> (Vec<(&str, &str)>, Vec<&str>) {
    let prose: Vec<_> = text.split("```").step_by(2).collect();
    let lines = prose.iter().flat_map(|part| part.lines());
    let defined = lines.filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
    let defined = defined.filter(|(label, _)| !label.contains(']'));
    let used = prose.iter().flat_map(|part| part.split("][").skip(1)).filter_map(|rest| rest.split(']').next());
    (defined.collect(), used.collect())
}

/// Rustdoc makes links to items of the same labels, and says which it does not find.
#[test]
fn the_links_of_the_guide_lead_to_the_files_of_what_they_name() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../acp-core/docs");
    let all = fs::read_to_string(docs.join("links.md")).expect("the links of the guide");
    let all: Vec<_> = labels(&all).0.into_iter().map(|(label, _)| label).collect();
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    for page in fs::read_dir(docs.join("guide")).expect("the guide") {
        let page = page.expect("a page").path();
        let text = fs::read_to_string(&page).expect("text");
        let (defined, used) = labels(&text);
        let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let known = |label: &str| defined.iter().any(|(it, _)| *it == label) && all.contains(&label);
        wrong.extend(used.iter().filter(|label| !known(label)).map(|label| format!("{name}: {label} is not defined")));
        for (label, target) in defined {
            let last = label.rsplit("::").next().unwrap_or_default();
            let target = page.with_file_name(target);
            // A page and a folder are what they are called.
            let is_there = match target.extension() {
                Some(_) if target.ends_with(format!("{last}/mod.rs")) => target.exists(),
                Some(ending) if ending == "rs" => label == "crate" || is_named(&target, last),
                _ => target.exists() && target.file_stem().is_some_and(|stem| stem == last),
            };
            if !is_there || !used.contains(&label) {
                wrong.push(format!("{name}: {label}, {}", target.display()));
            }
            seen.push(label.to_owned());
        }
    }
    wrong.extend(
        all.iter()
            .filter(|label| !seen.iter().any(|it| it == *label))
            .map(|label| format!("{label}: no page needs it")),
    );
    assert!(wrong.is_empty(), "wrong links:\n{}", wrong.join("\n"));
}

/// Whether a file defines something of this name.
fn is_named(path: &Path, name: &str) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    let starts = |line: &str| {
        let line = line.trim_start();
        let item = line.strip_prefix("pub ").unwrap_or(line);
        let item = item.strip_prefix("const ").unwrap_or(item);
        let words = ["fn ", "struct ", "enum ", "trait "];
        let item = words.iter().find_map(|word| item.strip_prefix(word)).unwrap_or(item);
        item.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    text.lines().any(starts)
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
