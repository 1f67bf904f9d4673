//! The picture of a trace as SVG, alone or in an HTML page with what is said about it: no script, no font, nothing from
//! elsewhere.

use core::fmt::Write as _;

use acp_core::Side;

use super::{
    check::{Report, Severity},
    log::Log,
    story::{Cancel, Kind, Step, Story, Turn},
};

/// The two lanes, and the whole width.
const CLIENT: usize = 190;
const AGENT: usize = 810;
const WIDTH: usize = 1040;
/// The height of a step, and of a line of text below it.
const STEP: usize = 30;
const NOTE: usize = 18;
/// Where the first step is.
const TOP: usize = 60;

/// Of the picture: whether the reader's screen is light or dark.
const COLOURS: &str = "\
:root{--bg:#fff;--ink:#1c2128;--dim:#6b7580;--lane:#c5ccd3;--client:#0b62c4;--agent:#187a3d;--bad:#c9252d;--warn:#a05a00;\
--band:#0b62c412;--edge:#0b62c455;--cancel:#e08a0022}\
@media(prefers-color-scheme:dark){:root{--bg:#14181d;--ink:#e4e8ec;--dim:#8b96a1;--lane:#3b444d;--client:#6cb0ff;--agent:#5fce8a;\
--bad:#ff7b80;--warn:#f0b45a;--band:#6cb0ff14;--edge:#6cb0ff55;--cancel:#f0b45a26}}\
svg{width:100%;height:auto;font:12px ui-monospace,monospace;background:var(--bg)}text{fill:var(--ink)}.dim{fill:var(--dim)}\
.lane{stroke:var(--lane);stroke-width:2}.client{stroke:var(--client)}.agent{stroke:var(--agent)}.bad{stroke:var(--bad)}\
.warn{stroke:var(--warn)}.tbad{fill:var(--bad)}.twarn{fill:var(--warn)}path{fill:none;stroke-width:1.6}.dash{stroke-dasharray:5 4}\
.band{fill:var(--band);stroke:var(--edge)}.cancel{fill:var(--cancel);stroke:var(--warn);stroke-dasharray:3 3}\
.hot{fill:var(--bad);opacity:.09}";

/// Of what stands around it.
const PAGE: &str = "\
body{background:var(--bg);color:var(--ink);font:14px/1.45 system-ui,sans-serif;max-width:1040px;margin:24px auto;padding:0 16px}\
h1{font-size:20px;margin:0 0 4px}h2{font-size:16px;margin:28px 0 8px}p{color:var(--dim);margin:0 0 16px}\
ol{padding-left:22px}li{margin:6px 0}a{color:var(--client)}.e{color:var(--bad)}.w{color:var(--warn)}";

/// A step with its place on the page.
struct Placed<'a> {
    step: &'a Step,
    y: usize,
    height: usize,
}

/// Makes the picture: a file of its own, that fits into any page.
#[must_use]
pub fn svg(story: &Story) -> String {
    let mut y = TOP;
    let mut placed = Vec::new();
    for (place, step) in story.steps.iter().enumerate() {
        // Room for the heading of a turn that begins here.
        y += if story.turns.iter().any(|turn| turn.steps.0 == place) { NOTE } else { 0 };
        let height = STEP + NOTE * step.findings.len();
        placed.push(Placed { step, y, height });
        y += height;
        y += if story.turns.iter().any(|turn| turn.steps.1 == Some(place)) { NOTE / 2 } else { 0 };
    }
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"sequence diagram\">\n\
         <style>{COLOURS}</style>\n",
        y + 20
    );
    for (place, turn) in story.turns.iter().enumerate() {
        band(&mut svg, place, turn, &placed, y);
    }
    for cancel in &story.cancels {
        phases(&mut svg, cancel, &placed, y);
    }
    for (x, who) in [(CLIENT, "client"), (AGENT, "agent")] {
        let _ = writeln!(svg, "<line class=\"lane\" x1=\"{x}\" y1=\"40\" x2=\"{x}\" y2=\"{y}\"/>");
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"26\" text-anchor=\"middle\" font-weight=\"bold\">{who}</text>");
    }
    for placed in &placed {
        arrow(&mut svg, placed);
    }
    svg + "</svg>\n"
}

/// Makes the page.
#[must_use]
pub fn html(title: &str, log: &Log, story: &Story, report: &Report) -> String {
    let errors = report.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let warnings = report.findings.len() - errors;
    let writer = log.program.as_deref().map(|program| format!(", written by {program}")).unwrap_or_default();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title><style>{PAGE}</style></head><body>\n<h1>{title}</h1>\n\
         <p>{}, {}, {}{}. {}, {}. Point at an arrow to see the message.</p>\n\
         {}{}</body></html>\n",
        count(log.entries.len(), "message"),
        count(story.turns.len(), "turn"),
        count(story.cancels.len(), "cancel"),
        escape(&writer),
        count(errors, "error"),
        count(warnings, "warning"),
        findings(report),
        svg(story),
        title = escape(title),
    )
}

fn band(svg: &mut String, n: usize, turn: &Turn, placed: &[Placed<'_>], bottom: usize) {
    let Some(first) = placed.get(turn.steps.0) else { return };
    let last = turn.steps.1.and_then(|last| placed.get(last));
    let (top, end) = (first.y - NOTE, last.map_or(bottom, |last| last.y + last.height));
    let (x, width) = (CLIENT - 60, AGENT - CLIENT + 120);
    let how = turn.how.as_deref().unwrap_or("not answered");
    let took = last.and_then(|last| Some(last.step.at.0? - first.step.at.0?));
    let took = took.map(|took| format!(", {took:.0} ms")).unwrap_or_default();
    let text = escape(&format!("turn {} · {} · {how}{took}", n + 1, turn.session));
    let _ = writeln!(
        svg,
        "<rect class=\"band\" x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{}\" rx=\"6\"/>",
        end - top
    );
    let _ = writeln!(svg, "<text class=\"dim\" x=\"{}\" y=\"{}\">{text}</text>", x + 8, top + 14);
}

/// The two phases of a cancel: it is asked for, and it is answered.
fn phases(svg: &mut String, cancel: &Cancel, placed: &[Placed<'_>], bottom: usize) {
    let Some(sent) = placed.get(cancel.sent) else { return };
    let answered = cancel.answered.and_then(|answered| placed.get(answered));
    let (top, end) = (sent.y + 2, answered.map_or(bottom, |answered| answered.y + STEP - 2));
    let (x, width) = (CLIENT + 6, AGENT - CLIENT - 12);
    let _ = writeln!(svg, "<rect class=\"cancel\" x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{}\"/>", end - top);
    let took = match (answered, cancel.took) {
        (None, _) => "2 · never answered".to_owned(),
        (Some(_), Some(took)) => format!("2 · after {took:.1} ms"),
        (Some(_), None) => "2 · answered".to_owned(),
    };
    let side = AGENT + 66;
    let _ = writeln!(svg, "<text class=\"twarn\" x=\"{side}\" y=\"{}\">1 · cancel asked</text>", top + 16);
    let _ = writeln!(svg, "<text class=\"twarn\" x=\"{side}\" y=\"{}\">{took}</text>", end.max(top + 34) - 6);
}

fn arrow(svg: &mut String, placed: &Placed<'_>) {
    let Placed { step, y, height } = placed;
    let line = y + 21;
    let (from, to, toward) = match step.from {
        Side::Client => (CLIENT, AGENT, -1),
        Side::Agent => (AGENT, CLIENT, 1),
    };
    let class = match (step.severity(), step.kind, step.from) {
        (Some(Severity::Error), ..) | (_, Kind::Error | Kind::Noise, _) => "bad",
        (Some(Severity::Warning), ..) => "warn",
        (None, _, Side::Client) => "client",
        (None, _, Side::Agent) => "agent",
    };
    let dash = if matches!(step.kind, Kind::Request | Kind::Result | Kind::Error) { "" } else { " dash" };
    let _ = writeln!(svg, "<g><title>line {}: {}</title>", step.lines.0, escape(&step.raw));
    if step.severity() == Some(Severity::Error) {
        let _ = writeln!(svg, "<rect class=\"hot\" x=\"0\" y=\"{y}\" width=\"{WIDTH}\" height=\"{height}\"/>");
    }
    if step.kind == Kind::End {
        let _ = writeln!(svg, "<path class=\"{class}\" d=\"M{} {line}h24\"/>", from - 12);
    } else {
        // The tip points back at the sender.
        let tip = to as i64 + toward * 8;
        let _ = writeln!(
            svg,
            "<path class=\"{class}{dash}\" d=\"M{from} {line}H{to}\"/><path class=\"{class}\" d=\"M{tip} {}L{to} {line}L{tip} {}\"/>",
            line - 4,
            line + 4
        );
    }
    let (x, anchor) = match step.from {
        Side::Client => (CLIENT + 14, "start"),
        Side::Agent => (AGENT - 14, "end"),
    };
    let latency = step.latency.map(|took| format!(" · {took:.1} ms")).unwrap_or_default();
    let label = escape(&format!("{}{latency}", clip(&step.title())));
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{}\" text-anchor=\"{anchor}\">{label}</text>", line - 5);
    if let Some(at) = step.at.0 {
        let _ = writeln!(svg, "<text class=\"dim\" x=\"112\" y=\"{}\" text-anchor=\"end\">{at:.1} ms</text>", line + 4);
    }
    for (n, finding) in step.findings.iter().enumerate() {
        let class = if finding.severity == Severity::Error { "tbad" } else { "twarn" };
        let text = escape(&format!("✗ {}: {}", finding.rule.name, finding.what));
        let _ =
            writeln!(svg, "<text class=\"{class}\" x=\"{}\" y=\"{}\">{text}</text>", CLIENT + 14, line + 16 + n * NOTE);
    }
    svg.push_str("</g>\n");
}

fn findings(report: &Report) -> String {
    if report.findings.is_empty() {
        return String::new();
    }
    let mut list = "<h2>Findings</h2>\n<ol>\n".to_owned();
    for finding in &report.findings {
        let class = if finding.severity == Severity::Error { "e" } else { "w" };
        let place = finding.place();
        let _ = writeln!(
            list,
            "<li><span class=\"{class}\">line {}</span><br>{} <a href=\"{}\">{}</a></li>",
            escape(&finding.to_string()),
            escape(finding.rule.says),
            place.address(),
            escape(place.section)
        );
    }
    list.push_str("</ol>\n<h2>What passed</h2>\n");
    list
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn clip(text: &str) -> String {
    let mut shown: String = text.chars().take(72).collect();
    if text.chars().nth(72).is_some() {
        shown.push('…');
    }
    shown
}

/// Text of others, as text. Controls have no place in XML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push('·'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn what_others_wrote_is_text() {
        assert_eq!(escape("<script>\"&'\x1b"), "&lt;script&gt;&quot;&amp;&#39;·");
    }
}
