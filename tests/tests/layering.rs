//! The shape of the tree, kept by a test: imports run downwards only, files stay small, the core stays without std, and the
//! adapters do not know each other. `CONTRIBUTING.md` says why; the table below is the one place that says what.

#[path = "layering/on_strings.rs"]
mod on_strings;
#[path = "layering/scan.rs"]
mod scan;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use scan::{paths, shipped, tokens};

/// One layer: the modules that stand in it, the layers they may import, and the crates if not every dependency.
struct Layer {
    modules: &'static [&'static str],
    imports: &'static [usize],
    crates: Option<&'static [&'static str]>,
}

/// The layers of `acp-core`, the lowest first. A module may always import itself; `lib.rs` may import everything.
const LAYERS: &[Layer] = &[
    // Machines see small keys: no bytes, no JSON, no clock.
    Layer { modules: &["machine"], imports: &[], crates: Some(&["smallvec"]) },
    // Bytes and JSON know of no protocol state.
    Layer { modules: &["wire"], imports: &[], crates: None },
    // The vocabulary of the public interface.
    Layer {
        modules: &["config", "error", "role", "ticket", "action", "host", "time"],
        imports: &[0, 1, 2],
        crates: None,
    },
    // Tables. They do not know each other: what couples them is the connection's business.
    Layer { modules: &["session", "timers", "outbox", "tape"], imports: &[0, 1, 2], crates: None },
    Layer { modules: &["connection"], imports: &[0, 1, 2, 3, 4], crates: None },
    // What adapters share beside a connection, and beside a process.
    Layer { modules: &["desk", "process"], imports: &[0, 2, 3, 4], crates: None },
    // What reads recordings, and calls a connection as they say.
    Layer { modules: &["replay"], imports: &[0, 1, 2, 3, 4], crates: None },
    // Pages without items.
    Layer { modules: &["guide"], imports: &[], crates: Some(&[]) },
];

const PACKAGES: &[&str] = &["acp-core", "acp-tokio", "acp-async-std", "examples", "tests"];
const MAX_LINES: usize = 400;

/// A file of the core: where it is below `src`, and what is in it.
struct File {
    name: String,
    source: String,
}

/// Every broken rule in `files`, one sentence each. `dependencies` are the names of the foreign crates the core could use.
fn faults(files: &[File], dependencies: &BTreeSet<String>) -> Vec<String> {
    let read: Vec<_> = files.iter().map(|file| (file, shipped(&tokens(&file.source)))).collect();
    let mut of_tests = BTreeSet::new();
    for (file, (_, modules)) in &read {
        of_tests.extend(modules.iter().map(|name| [module_of(&file.name), vec![name.clone()]].concat()));
    }
    let mut faults = Vec::new();
    for (file, (tokens, _)) in &read {
        let home = module_of(&file.name);
        if (1..=home.len()).any(|depth| of_tests.contains(&home[..depth])) {
            continue;
        }
        let layer = home.first().map(|module| (module, layer_of(module)));
        if let Some((module, None)) = layer {
            faults.push(format!("{}: new module `{module}`: say in which layer it stands, in LAYERS", file.name));
        }
        for path in paths(tokens, &home) {
            let Some(first) = path.segments.first() else {
                if home.first().is_some_and(|module| module != "connection") {
                    let line = path.line;
                    faults
                        .push(format!("{}:{line}: imports the root of the crate: name the module instead", file.name));
                }
                continue;
            };
            let why = match (path.ours, layer) {
                (false, _) if first == "std" => Some("the core has no std: use `core` or `alloc`".to_owned()),
                (false, Some((_, Some(layer)))) if dependencies.contains(first) => foreign_fault(first, layer),
                (true, Some((module, Some(layer)))) => own_fault(module, layer, first),
                _ => None,
            };
            faults.extend(why.map(|why| format!("{}:{}: `{}`: {why}", file.name, path.line, path.segments.join("::"))));
        }
    }
    faults
}

fn foreign_fault(name: &str, layer: usize) -> Option<String> {
    let allowed = LAYERS[layer].crates?;
    (!allowed.contains(&name)).then(|| format!("layer {layer} may use core, alloc and {allowed:?} only"))
}

fn own_fault(module: &str, layer: usize, target: &str) -> Option<String> {
    match layer_of(target) {
        _ if target == module => None,
        Some(other) if LAYERS[layer].imports.contains(&other) => None,
        Some(other) => Some(format!(
            "`{module}` (layer {layer}) may not import `{target}` (layer {other}): move what both need down, or the use of it up"
        )),
        None if module == "connection" => None,
        None => Some(format!("`{target}` is not a module of LAYERS: import from the module that defines it")),
    }
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.modules.contains(&module))
}

/// `wire/id.rs` is `[wire, id]`, `wire/mod.rs` is `[wire]`, `lib.rs` is the root.
fn module_of(name: &str) -> Vec<String> {
    let mut segments: Vec<String> = name.trim_end_matches(".rs").split('/').map(Into::into).collect();
    if matches!(segments.last().map(String::as_str), Some("mod" | "lib")) {
        segments.pop();
    }
    segments
}

/// The names that a manifest's dependency tables bind, as they are written in a path.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let (mut names, mut inside) = (BTreeSet::new(), false);
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            inside = table.ends_with("dependencies");
            if let Some((_, name)) = table.split_once("dependencies.") {
                names.insert(name.replace('-', "_"));
            }
        } else if inside && !line.starts_with('#') && line.contains('=') {
            let name = line.split(['=', '.']).next().unwrap_or_default().trim();
            names.insert(name.replace('-', "_"));
        }
    }
    names
}

/// The fault of a file that has grown too long for one head.
fn length_fault(name: &str, source: &str) -> Option<String> {
    let lines = source.lines().count();
    (lines > MAX_LINES).then(|| {
        format!("{name}: {lines} lines, {MAX_LINES} allowed: split it by what its parts are for, tests into a file of their own")
    })
}

/// The faults of an adapter's file (source or manifest) that names the `other` adapter.
fn adapter_faults(name: &str, text: &str, other: &str) -> Vec<String> {
    let other = other.replace('-', "_");
    let lines: BTreeSet<usize> = if name.ends_with(".toml") {
        if dependencies(text).contains(&other) { BTreeSet::from([1]) } else { BTreeSet::new() }
    } else {
        tokens(text).iter().filter(|token| token.text == other).map(|token| token.line).collect()
    };
    let why = format!(
        "names `{other}`: adapters do not know each other, what both need lives in acp-core or in a file of both"
    );
    lines.iter().map(|line| format!("{name}:{line}: {why}")).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The Rust files below `folder`, by their path from there, in order. Build output is not ours.
fn files_below(folder: &Path) -> Vec<File> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap_or_else(|why| panic!("{}: {why}", next.display())) {
            let path = entry.expect("an entry of a folder").path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "target") {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let name = path.strip_prefix(folder).expect("below the folder").to_string_lossy().replace('\\', "/");
                found.push(File { name, source: read(&path) });
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{} broken rule(s):\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn imports_of_the_core_run_downwards_and_it_has_no_std() {
    let core = root().join("acp-core");
    let files = files_below(&core.join("src"));
    assert!(files.iter().any(|file| file.name == "lib.rs"), "the core's sources were not found");
    assert_none(&faults(&files, &dependencies(&read(&core.join("Cargo.toml")))));
}

/// The order of a `serde_json` map depends on a feature of it, which any other crate of a build may turn on.
#[test]
fn the_core_writes_no_json_by_way_of_a_map() {
    let files = files_below(&root().join("acp-core/src"));
    let files = files.iter().filter(|file| !file.name.contains("/tests"));
    let faults: Vec<_> = files.flat_map(map_faults).collect();
    assert_none(&faults);
}

fn map_faults(file: &File) -> Vec<String> {
    let (shipped, _) = shipped(&tokens(&file.source));
    let named = shipped.windows(2).filter(|two| matches!(two, [name, next] if name.text == "json" && next.text == "!"));
    let why = "`json!` makes a map: write the text, as `wire/own.rs` does";
    named.map(|two| format!("{}:{}: {why}", file.name, two[0].line)).collect()
}

#[test]
fn no_file_is_longer_than_one_can_hold_in_the_head() {
    let mut found = Vec::new();
    for package in PACKAGES {
        let files = files_below(&root().join(package));
        assert!(!files.is_empty(), "{package} has no Rust file: is PACKAGES up to date?");
        found.extend(files.iter().filter_map(|file| length_fault(&format!("{package}/{}", file.name), &file.source)));
    }
    assert_none(&found);
}

#[test]
fn the_adapters_do_not_know_each_other() {
    let mut found = Vec::new();
    for (adapter, other) in [("acp-tokio", "acp-async-std"), ("acp-async-std", "acp-tokio")] {
        let folder = root().join(adapter);
        found.extend(adapter_faults(&format!("{adapter}/Cargo.toml"), &read(&folder.join("Cargo.toml")), other));
        for file in files_below(&folder) {
            found.extend(adapter_faults(&format!("{adapter}/{}", file.name), &file.source, other));
        }
    }
    assert_none(&found);
}

#[test]
fn what_both_adapters_need_is_one_text() {
    let (mine, others) = (root().join("acp-tokio/src"), root().join("acp-async-std/src"));
    let mut both = 0;
    for file in files_below(&mine) {
        if file.source.contains("\n//! Both adapters have this file") {
            assert_eq!(file.source, read(&others.join(&file.name)), "{} is not the same in both", file.name);
            both += 1;
        }
    }
    assert_eq!(both, 7);
}
