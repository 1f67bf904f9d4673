//! What the checks came to, for other programs: TAP 13, and the XML that most build servers read.

use core::fmt::Write as _;

use super::{Done, Stop, Weight};

/// The Test Anything Protocol, version 13.
#[must_use]
pub fn tap(done: &[Done]) -> String {
    let mut out = format!("TAP version 13\n1..{}\n", done.len());
    for (n, Done { about, place, outcome, took }) in done.iter().enumerate() {
        let head = format!("{} - {} {}", n + 1, about.id, one_line(about.title));
        // Writing to a string cannot fail.
        let _ = match outcome {
            Ok(remark) if remark.is_empty() => writeln!(out, "ok {head}"),
            Ok(remark) => writeln!(out, "ok {head} ({})", one_line(remark)),
            Err(Stop::Skip(why)) => writeln!(out, "ok {head} # SKIP {}", one_line(why)),
            Err(Stop::Fail(why)) => {
                // TAP's own word for what is looked at and not required.
                let todo = if about.weight == Weight::Should { " # TODO recommended" } else { "" };
                let (why, section, link) = (json(why), json(place.section), place.address());
                let ms = took.as_millis();
                writeln!(
                    out,
                    "not ok {head}{todo}\n  ---\n  message: {why}\n  rule: {section}\n  source: {link}\n  duration_ms: {ms}\n  ..."
                )
            }
        };
    }
    let count = |is_it: fn(&Done) -> bool| done.iter().filter(|done| is_it(done)).count();
    let passed = count(|done| done.outcome.is_ok());
    let skipped = count(|done| matches!(done.outcome, Err(Stop::Skip(_))));
    let bad = count(Done::is_bad);
    let advice = done.len() - passed - skipped - bad;
    let _ = writeln!(out, "# {passed} passed, {bad} failed, {advice} recommended only, {skipped} skipped");
    out
}

/// JUnit XML.
#[must_use]
pub fn junit(suite: &str, done: &[Done]) -> String {
    let bad = done.iter().filter(|done| done.is_bad()).count();
    let skipped = done.iter().filter(|done| done.outcome.is_err()).count() - bad;
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{bad}\" skipped=\"{skipped}\">\n",
        escape(suite),
        done.len()
    );
    for done in done {
        let Done { about, place, outcome, took } = done;
        let _ = write!(
            out,
            "  <testcase classname=\"{}\" name=\"{} {}\" time=\"{:.3}\">",
            escape(place.section),
            about.id,
            escape(about.title),
            took.as_secs_f64()
        );
        let _ = match outcome {
            Ok(_) => Ok(()),
            Err(Stop::Skip(why)) => write!(out, "<skipped message=\"{}\"/>", escape(why)),
            Err(Stop::Fail(why)) if !done.is_bad() => {
                write!(out, "<skipped message=\"recommended: {}\"/>", escape(why))
            }
            Err(Stop::Fail(why)) => {
                write!(out, "<failure message=\"{}\">{}</failure>", escape(why), escape(&place.address()))
            }
        };
        out.push_str("</testcase>\n");
    }
    out.push_str("</testsuite>\n");
    out
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r', '#'], " ")
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
