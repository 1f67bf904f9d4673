//! The program `trace`.

use std::{
    fs,
    io::{self, IsTerminal as _, Read as _, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use acp_core::Side;
use clap::{Parser, ValueEnum};

use super::{
    check::{self, Report, Severity},
    draw, forms,
    log::Log,
    page, redact,
    story::Story,
};

/// Shows a trace of the Agent Client Protocol, and checks it against the rules of the version that was agreed, 1 or 2.
///
/// Traces are written by `drive --trace FILE` and `echo_agent --trace FILE`. Logs of other programs are read as well: one
/// message a line, with its direction in a member or in front of it; see examples/README.md.
///
/// Exit code: 0 nothing is wrong; 1 a rule is broken (with --check); 2 the file is no trace, or the command line is wrong.
#[derive(Debug, Parser)]
#[command(name = "trace", version)]
struct Args {
    /// The trace; - reads stdin
    file: PathBuf,
    /// Report each rule that is broken, with its line and where it stands, and nothing else
    #[arg(long)]
    check: bool,
    /// Warnings count as well
    #[arg(long)]
    strict: bool,
    /// Report as JSON, one finding a line
    #[arg(long, requires = "check")]
    json: bool,
    /// Write the picture as an HTML page
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
    /// Write the picture alone, as SVG
    #[arg(long, value_name = "OUT")]
    svg: Option<PathBuf>,
    /// The end at which the log was written, for logs that know only in and out
    #[arg(long, value_name = "SIDE")]
    side: Option<End>,
    /// Print the messages with their text removed, as a trace that can be passed on
    #[arg(long, conflicts_with_all = ["check", "html", "svg"])]
    remove_text: bool,
    /// List the rules
    #[arg(long, exclusive = true)]
    rules: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum End {
    Client,
    Agent,
}

/// Runs it.
#[must_use]
pub fn main() -> ExitCode {
    if std::env::args_os().len() == 2 && std::env::args_os().nth(1).is_some_and(|only| only == "--rules") {
        return said(&rules());
    }
    let args = Args::parse();
    let side = args.side.map(|end| if end == End::Client { Side::Client } else { Side::Agent });
    let log = match load(&args.file).and_then(|text| forms::read(&text, side).map_err(|why| why.to_string())) {
        Ok(log) => log,
        Err(why) => {
            eprintln!("trace: {}: {why}", args.file.display());
            return ExitCode::from(2);
        }
    };
    if args.remove_text {
        return said(&removed(&log));
    }
    let report = check::check(&log);
    let pictures = [(&args.html, false), (&args.svg, true)];
    for (out, alone) in pictures.into_iter().filter_map(|(out, alone)| Some((out.as_ref()?, alone))) {
        let title = args.file.file_name().map_or("trace".into(), |name| name.to_string_lossy());
        let story = Story::of(&log, &report.findings);
        let picture = if alone { page::svg(&story) } else { page::html(&title, &log, &story, &report) };
        if let Err(why) = fs::write(out, picture) {
            eprintln!("trace: {}: {why}", out.display());
            return ExitCode::from(2);
        }
    }
    if args.check {
        let text = if args.json { as_json(&report) } else { as_text(&args.file.display().to_string(), &log, &report) };
        let code = said(&text);
        return if report.is_bad(args.strict) { ExitCode::from(1) } else { code };
    }
    if args.html.is_some() || args.svg.is_some() {
        return ExitCode::SUCCESS;
    }
    let coloured = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    said(&draw::sequence(&Story::of(&log, &report.findings), coloured))
}

/// Prints it. Whoever reads it may have had enough.
fn said(text: &str) -> ExitCode {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) if why.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(2),
    }
}

fn load(path: &std::path::Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = match path.to_str() {
        Some("-") => io::stdin().lock().read_to_end(&mut bytes),
        _ => fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    read.map_err(|why| why.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn as_text(file: &str, log: &Log, report: &Report) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let (says, place) = (finding.rule.says, finding.place());
        out.push_str(&format!("{file}:{finding}\n    {says}\n    {}: {}\n", place.section, place.address()));
    }
    for note in &report.notes {
        out.push_str(&format!("{file}: note: {note}\n"));
    }
    if log.skipped > 0 {
        out.push_str(&format!("{file}: note: {} lines are no part of the trace\n", log.skipped));
    }
    let errors = report.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let warnings = report.findings.len() - errors;
    out.push_str(&format!("{file}: {} messages, {errors} errors, {warnings} warnings\n", log.entries.len()));
    out
}

fn as_json(report: &Report) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let place = finding.place();
        let line = serde_json::json!({
            "line": finding.line,
            "severity": if finding.severity == Severity::Error { "error" } else { "warning" },
            "rule": finding.rule.name,
            "by": super::log::name(finding.by),
            "what": finding.what,
            "see": finding.see,
            "says": finding.rule.says,
            "version": finding.version,
            "section": place.section,
            "link": place.address(),
        });
        out.push_str(&format!("{line}\n"));
    }
    out
}

fn removed(log: &Log) -> String {
    let side = log.side.map(super::log::name);
    let header =
        serde_json::json!({ "trace": "acp", "version": 1, "side": side, "program": log.program, "text": false });
    let mut out = format!("{header}\n");
    for entry in &log.entries {
        let what = match &entry.what {
            super::What::Line(line) if serde_json::from_slice::<serde_json::Value>(line).is_ok() => {
                format!("\"bytes\":{},\"message\":{}", line.len(), redact::without_text(line))
            }
            super::What::Line(line) | super::What::Noise(line) => {
                format!("\"line\":\"{}\"", redact::removed(line.len()))
            }
            super::What::Long { size, method } => {
                format!("\"long\":{}", serde_json::json!({ "bytes": size, "method": method }))
            }
            super::What::End(why) => format!("\"end\":{}", serde_json::json!(why)),
        };
        let at = entry.at.map(|at| format!("\"at\":{at:.3},")).unwrap_or_default();
        out.push_str(&format!("{{{at}\"from\":\"{}\",{what}}}\n", super::log::name(entry.from)));
    }
    out
}

fn rules() -> String {
    let mut out = String::new();
    for rule in check::rules::ALL {
        let severity = if rule.severity == Severity::Error { "error" } else { "warning" };
        let versions = match (rule.v1.is_some(), rule.v2.is_some()) {
            (true, false) => ", version 1",
            (false, true) => ", version 2",
            _ => "",
        };
        out.push_str(&format!("{} ({severity}{versions})\n    {}\n", rule.name, rule.says));
        let mut places: Vec<_> = rule.v1.into_iter().chain(rule.v2).collect();
        places.dedup_by_key(|place| place.address());
        for place in places {
            out.push_str(&format!("    {}: {}\n", place.section, place.address()));
        }
    }
    out
}
