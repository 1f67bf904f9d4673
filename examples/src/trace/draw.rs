//! The picture of a trace on a terminal: one line a step, the client on the left and the agent on the right.

use core::fmt::Write as _;

use acp_core::Side;

use super::{
    check::Severity,
    story::{Kind, Step, Story},
};

/// Columns between the two lanes.
const WIDTH: usize = 64;
const DIM: &str = "\x1b[2m";
const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const BLUE: &str = "\x1b[34m";
const GREEN: &str = "\x1b[32m";
const PLAIN: &str = "\x1b[0m";

/// Draws a story, in colours or without.
#[must_use]
pub fn sequence(story: &Story, coloured: bool) -> String {
    let paint = |colour: &'static str| if coloured { (colour, PLAIN) } else { ("", "") };
    let (bold, plain) = paint(BOLD);
    let mut out = format!("{:>10}   {bold}client{}agent{plain}\n", "ms", " ".repeat(WIDTH - 4));
    for (place, step) in story.steps.iter().enumerate() {
        if let Some((n, turn)) = story.turns.iter().enumerate().find(|(_, turn)| turn.steps.0 == place) {
            band(&mut out, &format!("turn {} in {}", n + 1, turn.session), paint(BOLD));
        }
        arrow(&mut out, step, &paint);
        for cancel in story.cancels.iter().filter(|cancel| cancel.sent == place) {
            note(&mut out, &format!("cancel 1/2: asked for, turn {}", cancel.turn + 1), paint(YELLOW));
        }
        for cancel in story.cancels.iter().filter(|cancel| cancel.answered == Some(place)) {
            let took = cancel.took.map(|took| format!(", {took:.1} ms later")).unwrap_or_default();
            let late = match cancel.late {
                0 => String::new(),
                n => format!(", {n} messages of the agent in between"),
            };
            note(&mut out, &format!("cancel 2/2: answered{took}{late}"), paint(YELLOW));
        }
        for finding in &step.findings {
            let colour = if finding.severity == Severity::Error { RED } else { YELLOW };
            note(&mut out, &format!("✗ line {finding}"), paint(colour));
        }
        if let Some((n, turn)) = story.turns.iter().enumerate().find(|(_, turn)| turn.steps.1 == Some(place)) {
            let how = turn.how.as_deref().unwrap_or("?");
            band(&mut out, &format!("turn {} is over: {how}", n + 1), paint(DIM));
        }
    }
    out
}

fn arrow(out: &mut String, step: &Step, paint: &impl Fn(&'static str) -> (&'static str, &'static str)) {
    let at = step.at.0.map_or_else(String::new, |at| format!("{at:.1}"));
    let latency = step.latency.map(|took| format!(" · {took:.1} ms")).unwrap_or_default();
    let label = clip(&step.title(), WIDTH - 8 - latency.chars().count());
    let label = format!(" {label}{latency} ");
    let line = if matches!(step.kind, Kind::Request | Kind::Result | Kind::Error) { "─" } else { "╌" };
    let rest = line.repeat(WIDTH.saturating_sub(label.chars().count() + 4));
    let drawn = match (step.from, step.kind) {
        (Side::Client, Kind::End) => format!("├{line}{label}┤{}", " ".repeat(rest.chars().count() + 2)),
        (Side::Agent, Kind::End) => format!("{}├{label}{line}┤", " ".repeat(rest.chars().count() + 2)),
        (Side::Client, _) => format!("├{line}{label}{rest}{line}▶│"),
        (Side::Agent, _) => format!("│◀{line}{rest}{label}{line}┤"),
    };
    let colour = match (step.severity(), step.kind, step.from) {
        (Some(Severity::Error), ..) | (_, Kind::Error | Kind::Noise, _) => RED,
        (Some(Severity::Warning), ..) => YELLOW,
        (None, Kind::End, _) => DIM,
        (None, _, Side::Client) => BLUE,
        (None, _, Side::Agent) => GREEN,
    };
    let ((dim, plain), (colour, _)) = (paint(DIM), paint(colour));
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{dim}{at:>10}{plain}   {colour}{drawn}{plain}");
}

fn band(out: &mut String, text: &str, (colour, plain): (&str, &str)) {
    let _ = writeln!(out, "{:>10}   {colour}══ {} {}{plain}", "", clip(text, WIDTH - 8), "═".repeat(8));
}

fn note(out: &mut String, text: &str, (colour, plain): (&str, &str)) {
    let _ = writeln!(out, "{:>10}   │ {colour}{}{plain}", "", clip(text, 160));
}

/// Fit for one line of a terminal, which what others wrote must not steer.
fn clip(text: &str, width: usize) -> String {
    let mut shown: String = text.chars().take(width).map(|c| if c.is_control() { '·' } else { c }).collect();
    if text.chars().nth(width).is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}
