//! The scanner and the rules on small strings: each rule is seen to fail here, so that its silence on the tree means something.

use std::collections::BTreeSet;

use crate::scan::{paths, shipped, tokens};
use crate::{File, adapter_faults, dependencies, faults, length_fault, map_faults};

/// The faults of one file of the core.
fn of(name: &str, source: &str) -> Vec<String> {
    let dependencies = BTreeSet::from(["bytes".into(), "serde_json".into(), "smallvec".into()]);
    faults(&[File { name: name.into(), source: source.into() }], &dependencies)
}

#[track_caller]
fn refused(name: &str, source: &str, expected: &str) {
    let found = of(name, source);
    assert!(found.len() == 1 && found[0].contains(expected), "expected one fault with {expected:?}, found {found:#?}");
}

#[track_caller]
fn accepted(name: &str, source: &str) {
    assert_eq!(of(name, source), Vec::<String>::new());
}

/// The paths of `source` as the module `home`, ours with a leading `crate`.
fn named(source: &str, home: &[&str]) -> Vec<String> {
    let home: Vec<String> = home.iter().map(|name| (*name).into()).collect();
    let prefix = |ours| if ours { "crate::" } else { "" };
    let found = paths(&shipped(&tokens(source)).0, &home);
    found.iter().map(|path| format!("{}{}", prefix(path.ours), path.segments.join("::"))).collect()
}

#[test]
fn a_plain_use_is_read() {
    assert_eq!(named("use crate::wire::id::Id;", &[]), ["crate::wire::id::Id"]);
    assert_eq!(named("pub(crate) use crate::wire as w;", &[]), ["crate::wire"]);
    assert_eq!(named("use crate::wire::*;", &[]), ["crate::wire::*"]);
}

#[test]
fn a_grouped_use_is_read_over_many_lines() {
    let source =
        "use crate::{\n    wire::{self, id::Id},\n    // a comment\n    machine::turn as t,\n};\nuse core::mem;";
    assert_eq!(named(source, &[]), ["crate::wire", "crate::wire::id::Id", "crate::machine::turn", "core::mem"]);
    assert_eq!(named("use {crate::wire, super::timers};", &["session"]), ["crate::wire", "crate::timers"]);
    assert_eq!(named("use crate::{wire::{id::Id,},}; use crate::role::Role;", &[])[1], "crate::role::Role");
}

#[test]
fn super_and_self_are_resolved_against_the_module() {
    assert_eq!(named("use super::super::wire::id;", &["machine", "turn"]), ["crate::wire::id"]);
    assert_eq!(named("use self::inner::X;", &["machine", "turn"]), ["crate::machine::turn::inner::X"]);
    assert_eq!(
        named("mod inner { use super::super::X; } use super::Y;", &["machine", "turn"]),
        ["crate::machine::X", "crate::machine::Y"]
    );
}

#[test]
fn a_path_outside_a_use_line_is_read() {
    assert_eq!(named("fn f(x: &crate::wire::Id) -> u8 { x.0 }", &[]), ["crate::wire::Id"]);
    assert_eq!(named("let v = Vec::<super::timers::T>::new();", &["session"]), ["Vec", "crate::timers::T"]);
    assert_eq!(named("<X as crate::role::Role>::name()", &[]), ["crate::role::Role"]);
    assert_eq!(named("macro_rules! m { () => { $crate::wire::f() } }", &[]), ["crate::wire::f"]);
    assert_eq!(named("self.wire(); Self::wire()", &["session"]), ["Self::wire"]);
    assert_eq!(named("fn f() { ::std::process::exit(1) }", &[]), ["std::process::exit"]);
    assert_eq!(named("fn f() -> ::std::io::Result<()> {}", &[]), ["std::io::Result"]);
}

#[test]
fn comments_and_literals_name_nothing() {
    let quiet = [
        "// use crate::wire::Id;",
        "//! use std::io;",
        "/* use crate::wire::Id; /* nested */ std::io */",
        "const S: &str = \"crate::wire \\\" std::io\";",
        "const S: &str = r#\"std::io \" crate::wire\"#;",
        "const C: (char, char) = ('\"', '\\''); // std::io \"",
    ];
    for source in quiet {
        assert_eq!(named(source, &[]), Vec::<String>::new(), "{source}");
    }
    assert_eq!(named("const C: char = '\"'; use crate::wire;", &[]), ["crate::wire"]);
    assert_eq!(named("fn f<'a>(x: &'a str) -> crate::wire::Id<'a> {}", &[]), ["crate::wire::Id"]);
    assert_eq!(tokens("/*\n*/ \"\n\" x")[0].line, 3);
}

#[test]
fn what_stands_under_cfg_test_does_not_ship() {
    let gone = [
        "#[cfg(test)] mod tests { use std::io; fn f() { crate::wire::g() } }",
        "#[cfg(test)] #[allow(unused)] use std::{io, fs};",
        "#[cfg(test)] pub(in crate::wire) use std::{io, fs};",
        "#[cfg(all(test, unix))] fn f(x: [u8; 3]) -> std::io::Result<()> { Ok(()) }",
        "#![cfg(test)] use std::io;",
    ];
    for source in gone {
        assert_eq!(named(source, &[]), Vec::<String>::new(), "{source}");
    }
    assert_eq!(named("#[cfg(test)] mod tests { } use std::io;", &[]), ["std::io"]);
    assert_eq!(named("#[cfg(not(test))] use std::io;", &[]), ["std::io"]);
}

#[test]
fn a_test_module_in_a_file_of_its_own_does_not_ship() {
    let file = |name: &str, source: &str| File { name: name.into(), source: source.into() };
    let upwards = "use crate::connection::C; use std::io;";
    let declared = [file("wire/id.rs", "#[cfg(test)] mod tests;"), file("wire/id/tests.rs", upwards)];
    assert_eq!(faults(&declared, &BTreeSet::new()), Vec::<String>::new());
    let shipping = [file("wire/id.rs", "mod tests;"), file("wire/id/tests.rs", upwards)];
    assert_eq!(faults(&shipping, &BTreeSet::new()).len(), 2);
}

#[test]
fn layer_0_imports_nothing_of_ours_and_few_crates() {
    accepted(
        "machine/turn.rs",
        "use core::mem; use alloc::vec::Vec; use smallvec::SmallVec; use super::cancel::Cancel;",
    );
    accepted("machine/turn.rs", "use Phase::*; use crate::machine::cancel; mem::take(x)");
    refused("machine/turn.rs", "use crate::wire::id::Id;", "may not import `wire`");
    refused("machine/turn.rs", "use super::super::time::Timestamp;", "may not import `time`");
    refused("machine/mod.rs", "use super::wire;", "may not import `wire`");
    refused(
        "machine/turn.rs",
        "use core::{\n    mem,\n};\nuse crate::{\n    machine::turn,\n    wire,\n};",
        "machine/turn.rs:6: `wire`",
    );
    refused("machine/turn.rs", "use bytes::Bytes;", "layer 0 may use core, alloc");
    refused("machine/turn.rs", "#[derive(serde_json::X)] struct S;", "layer 0 may use core, alloc");
}

#[test]
fn layer_1_imports_nothing_of_ours() {
    accepted("wire/id.rs", "use bytes::Bytes; use super::envelope::Envelope; use crate::wire::method;");
    refused("wire/id.rs", "use crate::machine::turn;", "may not import `machine`");
    refused("wire/dialect/v1.rs", "use super::super::super::error::E;", "may not import `error`");
}

#[test]
fn layers_2_to_4_import_downwards() {
    accepted("action.rs", "use crate::{wire::id::Id, machine::turn::Stop, time::Timestamp};");
    refused("action.rs", "fn f(s: &crate::session::Key) {}", "may not import `session`");
    accepted("session.rs", "use crate::{config::Config, machine, wire}; use super::time;");
    refused("session/table.rs", "use crate::timers::Timers;", "may not import `timers`");
    refused("timers.rs", "use crate::connection::Connection;", "may not import `connection`");
    accepted("connection/send.rs", "use crate::{session, timers, outbox, Anything}; use super::receive;");
    accepted("lib.rs", "pub use connection::Connection; pub use crate::machine; extern crate alloc;");
}

#[test]
fn the_root_is_no_way_around_the_layers() {
    refused("machine/turn.rs", "use crate as core_crate;", "imports the root");
    refused("wire/id.rs", "use crate::*;", "not a module of LAYERS");
    refused("session.rs", "use crate::Connection;", "import from the module that defines it");
    refused("timers.rs", "use super::{self as top};", "imports the root");
    refused("machine/turn.rs", "use acp_core::wire;", "may not import `wire`");
}

#[test]
fn a_module_that_is_not_in_the_table_is_told() {
    refused("cache.rs", "use core::mem;", "say in which layer it stands");
    refused("cache/mod.rs", "", "say in which layer it stands");
}

#[test]
fn the_core_has_no_std() {
    refused("lib.rs", "extern crate std;", "the core has no std");
    refused("connection/mod.rs", "use std::io;", "the core has no std");
    refused("wire/id.rs", "fn f() { std::mem::drop(1) }", "wire/id.rs:1: `std::mem::drop`");
    accepted("wire/id.rs", "//! Unlike std::io this never blocks.\nfn f() {}");
}

#[test]
fn a_file_over_the_limit_is_told_what_to_do() {
    assert_eq!(length_fault("a.rs", &"x\n".repeat(400)), None);
    assert!(
        length_fault("a.rs", &"x\n".repeat(401))
            .is_some_and(|fault| fault.contains("401 lines") && fault.contains("split"))
    );
}

#[test]
fn an_adapter_that_names_the_other_is_told() {
    assert_eq!(adapter_faults("a.rs", "// acp_tokio is the twin\nuse acp_core::X;", "acp-tokio"), Vec::<String>::new());
    assert_eq!(adapter_faults("a.rs", "\nuse acp_tokio::X;", "acp-tokio").len(), 1);
    assert_eq!(adapter_faults("Cargo.toml", "[dependencies]\nacp-tokio.workspace = true", "acp-tokio").len(), 1);
    assert_eq!(adapter_faults("Cargo.toml", "[package]\nname = \"acp-tokio\"", "acp-tokio").len(), 0);
}

#[test]
fn a_manifest_names_its_dependencies() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\nserde-json = \"1\"\nbytes.workspace = true\n\
                    [dev-dependencies]\nproptest = { version = \"1\" }\n[dependencies.memchr]\nversion = \"2\"\n[lints]\nworkspace = true";
    let expected = ["bytes", "memchr", "proptest", "serde_json"].map(String::from);
    assert_eq!(dependencies(manifest), BTreeSet::from(expected));
}

#[test]
fn json_by_way_of_a_map_is_told() {
    let found = |source: &str| map_faults(&File { name: "a.rs".into(), source: source.into() }).len();
    assert_eq!(found("fn a() { serde_json::json!({}); json!([]) }"), 2);
    assert_eq!(found("#[cfg(test)] mod tests { fn a() { json!({}) } } // json!({})"), 0);
}
