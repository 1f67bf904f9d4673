//! The `rust-version` of a manifest is a promise. Clippy looks at what a crate calls (`incompatible_msrv`), but nobody looks
//! at the language it is written in, and no old compiler is at hand to ask. Since the oldest version that is promised, only
//! one thing has come to the language that slips in unseen: chains of `let`, with Rust 1.88.

#[path = "layering/scan.rs"]
#[expect(dead_code, reason = "only the tokens are of use here")]
mod scan;

use std::{
    fs,
    path::{Path, PathBuf},
};

use scan::{Token, tokens};

/// The version from which chains of `let` are a part of the language.
const LET_CHAINS: u32 = 88;

/// The lines in which `source` has a condition of `let` and something else.
fn let_chains(source: &str) -> Vec<usize> {
    let tokens = tokens(source);
    let text = |at: usize| tokens.get(at).map_or("", |token: &Token| token.text.as_str());
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if text(at) == "&" && text(at + 1) == "&" && text(at + 2) == "let" {
            found.push(token.line);
        }
        // `if let P = E && …`: behind the `=`, outside of brackets, before the block.
        if matches!(text(at), "if" | "while") && text(at + 1) == "let" {
            let (mut depth, mut behind) = (0, false);
            for (next, word) in tokens.iter().enumerate().skip(at + 2) {
                match word.text.as_str() {
                    "(" | "[" => depth += 1,
                    ")" | "]" => depth -= 1,
                    "{" if depth == 0 && behind => break,
                    "{" => depth += 1,
                    "}" => depth -= 1,
                    "=" if depth == 0 => behind = true,
                    "&" if depth == 0 && behind && text(next + 1) == "&" && text(next - 1) != "=" => {
                        found.push(word.line);
                        break;
                    }
                    _ => {}
                }
            }
        }
    }
    found.dedup();
    found
}

#[test]
fn a_chain_of_let_is_seen() {
    assert_eq!(let_chains("if a && let Some(b) = c {}"), [1]);
    assert_eq!(let_chains("if let Some(a) = b\n&& c {}"), [2]);
    assert_eq!(let_chains("while let S { a } = f(&b && c) && d {}"), [1]);
    let fine = "if let S { a: (b, c) } = f(d && e) { if g && h {} } else if let Some(&&x) = &&y { x && z } // && let";
    assert_eq!(let_chains(fine), [] as [usize; 0]);
}

fn minor(manifest: &str) -> Option<u32> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"1."))?;
    line.split(['"', '.']).next()?.parse().ok()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display())) {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn a_crate_is_written_in_the_language_of_its_rust_version() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = |folder: &str| fs::read_to_string(root.join(folder).join("Cargo.toml")).expect("a manifest");
    let shared = minor(&manifest(".")).expect("the workspace promises a version");
    let mut found = Vec::new();
    let mut older = 0;
    for package in ["acp-core", "acp-tokio", "acp-async-std", "examples", "tests", "tests/no-std-smoke"] {
        let promised = minor(&manifest(package)).unwrap_or(shared);
        if promised >= LET_CHAINS {
            continue;
        }
        older += 1;
        let mut files = Vec::new();
        sources(&root.join(package), &mut files);
        for file in files {
            let source = fs::read_to_string(&file).expect("a source file");
            found.extend(let_chains(&source).iter().map(|line| {
                format!(
                    "{}:{line}: a chain of `let` needs 1.{LET_CHAINS}, and 1.{promised} is promised",
                    file.display()
                )
            }));
        }
    }
    assert!(older > 0, "no crate promises less than 1.{LET_CHAINS}: this test can go");
    assert!(found.is_empty(), "{}", found.join("\n"));
}
