//! What the checks of either version have in common.

use acp_core::Side;
use acp_examples::trace::{Severity, check, read};

/// What is found in a script: line, rule, who, and how sure that is.
pub(crate) fn found(script: &str) -> Vec<(usize, &'static str, Side, Severity)> {
    let log = read(script, None).expect("a trace");
    let report = check(&log);
    report.findings.iter().map(|finding| (finding.line, finding.rule.name, finding.by, finding.severity)).collect()
}

/// The name as it stands in the table, so that a name that is not there fails.
pub(crate) fn leaked(rule: &str) -> &'static str {
    let rules = check::rules::ALL;
    rules.iter().find(|known| known.name == rule).expect("a rule of the table").name
}

/// The text of these tests names every rule of a version.
#[track_caller]
pub(crate) fn every_rule_is_broken(tests: &str, is_in: fn(&check::Rule) -> bool) {
    let rules = check::rules::ALL.iter().filter(|rule| is_in(rule)).map(|rule| rule.name);
    let missing: Vec<_> = rules.filter(|rule| !tests.contains(&format!("\"{rule}\""))).collect();
    assert_eq!(missing, [""; 0]);
}
