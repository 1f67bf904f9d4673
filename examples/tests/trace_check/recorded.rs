//! Logs of real programs, which are good.

use acp_examples::trace::{check, read};

/// Recorded with real programs at both ends, with their text removed: the SDKs of other languages, and ours.
#[test]
fn recorded_logs_have_no_findings() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces");
    let mut names = Vec::new();
    for file in std::fs::read_dir(folder).expect("a folder") {
        let path = file.expect("a file").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("text");
        let log = read(&text, None).expect("a trace");
        assert!(log.entries.len() > 8, "{name}: {} entries", log.entries.len());
        let said: Vec<_> = check(&log).findings.iter().map(ToString::to_string).collect();
        // These agents take the answer to their permission request before the cancel that was read before it: the SDK
        // hands on answers ahead of notifications.
        let is_known = name.contains("drive-ts") && name.contains("cancel");
        let known = "13: warning[cancel-ignored]: the agent: the turn ended with `end_turn`; the cancel may have crossed it (see line 9)";
        assert_eq!(said, if is_known { vec![known] } else { Vec::new() }, "{name}");
        names.push(name);
    }
    assert!(names.len() >= 12, "{names:?}");
}
