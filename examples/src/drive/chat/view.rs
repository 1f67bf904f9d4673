//! What the agent reports, as a person sees it: text, thoughts, tool calls with how long they took, plans, diffs, usage.

use std::collections::BTreeMap;

use acp_core::{
    Payload,
    wire::{PlanEntryStatus, ToolCallStatus, UpdateKind},
};
use serde_json::Value;
use tokio::time::Instant;

use super::screen::{Look, Screen};

/// Lines of a diff, or of the output of a tool, that are shown.
const LINES: usize = 24;

/// What is known of a session from its updates.
#[derive(Debug, Default)]
pub(super) struct View {
    calls: BTreeMap<String, Call>,
    /// Tokens used and the size of the context, and the cost.
    usage: Option<String>,
    /// The plan as it was shown last.
    plan: Vec<String>,
    /// The commands of the agent: name and description.
    pub(super) commands: Vec<(String, String)>,
    pub(super) mode: Option<String>,
    /// The options of the session, as the agent wrote them.
    pub(super) options: Vec<Value>,
}

#[derive(Debug)]
struct Call {
    title: String,
    started: Instant,
}

impl View {
    /// Shows one update. In a turn of ours what the user says is known already.
    pub(super) fn update(&mut self, screen: &mut Screen, params: &Payload, in_turn: bool) {
        let params: Value = params.get().unwrap_or_default();
        let update = &params["update"];
        let kind = UpdateKind::from(update["sessionUpdate"].as_str().unwrap_or_default());
        match kind {
            UpdateKind::AgentMessageChunk => screen.text(Look::Plain, &block(&update["content"])),
            UpdateKind::AgentThoughtChunk => screen.text(Look::Dim, &block(&update["content"])),
            UpdateKind::UserMessageChunk | UpdateKind::UserMessage if in_turn => {}
            UpdateKind::UserMessage => screen.line(Look::Bold, &blocks(&update["content"])),
            UpdateKind::AgentMessage => screen.line(Look::Plain, &blocks(&update["content"])),
            UpdateKind::AgentThought => screen.line(Look::Dim, &blocks(&update["content"])),
            UpdateKind::UserMessageChunk => screen.text(Look::Bold, &block(&update["content"])),
            UpdateKind::ToolCall | UpdateKind::ToolCallUpdate => self.tool_call(screen, update),
            UpdateKind::Plan => self.plan(screen, update),
            UpdateKind::PlanUpdate => self.plan(screen, &update["plan"]),
            // The ends of turns are told by themselves.
            UpdateKind::StateUpdate | UpdateKind::ReplayComplete => {}
            UpdateKind::UsageUpdate => self.usage = usage(update),
            UpdateKind::AvailableCommandsUpdate => {
                let commands = update["availableCommands"].as_array();
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                self.commands = commands
                    .into_iter()
                    .flatten()
                    .map(|command| (text(&command["name"]), text(&command["description"])))
                    .collect();
            }
            UpdateKind::CurrentModeUpdate => {
                let mode = update["currentModeId"].as_str().or_else(|| update["modeId"].as_str());
                self.mode = mode.map(str::to_owned);
                screen.line(Look::Dim, &format!("mode: {}", mode.unwrap_or("?")));
            }
            UpdateKind::ConfigOptionUpdate => self.set_options(&update["configOptions"]),
            UpdateKind::SessionInfoUpdate => {
                if let Some(title) = update["title"].as_str() {
                    screen.line(Look::Dim, &format!("session: {title}"));
                }
            }
            UpdateKind::Notice => {
                screen.line(Look::Warn, update["message"].as_str().or_else(|| update["text"].as_str()).unwrap_or("?"));
            }
            // What has no picture here is not hidden either.
            other => screen.line(Look::Dim, &format!("({other})")),
        }
    }

    pub(super) fn set_options(&mut self, options: &Value) {
        self.options = options.as_array().cloned().unwrap_or_default();
    }

    /// What is known about the use of the context, to be shown with the end of a turn.
    pub(super) fn usage(&self) -> Option<&str> {
        self.usage.as_deref()
    }

    fn tool_call(&mut self, screen: &mut Screen, update: &Value) {
        let id = update["toolCallId"].as_str().unwrap_or("?").to_owned();
        let title = update["title"].as_str().map(str::to_owned);
        let is_new = !self.calls.contains_key(&id);
        let call = self.calls.entry(id.clone()).or_insert_with(|| Call { title: id, started: Instant::now() });
        if let Some(title) = title {
            call.title = title;
        }
        if is_new {
            let kind = update["kind"].as_str().map(|kind| format!(" ({kind})")).unwrap_or_default();
            screen.line(Look::Accent, &format!("● {}{kind}", call.title));
        }
        let status = update["status"].as_str().map(ToolCallStatus::from);
        let took = call.started.elapsed().as_secs_f64();
        let title = call.title.clone();
        contents(screen, &update["content"]);
        match status {
            Some(ToolCallStatus::Completed) => screen.line(Look::Good, &format!("✓ {title}, {took:.1} s")),
            Some(ToolCallStatus::Failed) => screen.line(Look::Bad, &format!("✗ {title}, {took:.1} s")),
            Some(ToolCallStatus::Pending | ToolCallStatus::InProgress) | None => {}
            Some(other) => screen.line(Look::Dim, &format!("  {title}: {other}")),
        }
    }

    fn plan(&mut self, screen: &mut Screen, update: &Value) {
        let entries = update["entries"].as_array();
        let plan: Vec<String> = entries
            .into_iter()
            .flatten()
            .map(|entry| {
                let tick = match PlanEntryStatus::from(entry["status"].as_str().unwrap_or_default()) {
                    PlanEntryStatus::Completed => "☑",
                    PlanEntryStatus::InProgress => "◐",
                    _ => "☐",
                };
                format!("{tick} {}", entry["content"].as_str().unwrap_or_default())
            })
            .collect();
        if plan == self.plan {
            return;
        }
        screen.line(Look::Bold, "plan");
        for entry in &plan {
            let look = if entry.starts_with('☑') { Look::Good } else { Look::Plain };
            screen.line(look, &format!("  {entry}"));
        }
        self.plan = plan;
    }
}

/// A block of content in a message.
fn block(content: &Value) -> String {
    let kind = content["type"].as_str().unwrap_or_default();
    match (kind, content["text"].as_str()) {
        ("text", Some(text)) => text.to_owned(),
        ("resource_link", _) => format!("[{}]", content["uri"].as_str().unwrap_or("?")),
        ("resource", _) => format!("[{}]", content["resource"]["uri"].as_str().unwrap_or("?")),
        (kind, _) => format!("[{kind}]"),
    }
}

/// The content of a whole message.
fn blocks(content: &Value) -> String {
    content.as_array().map_or_else(|| block(content), |blocks| blocks.iter().map(block).collect())
}

/// What a tool call shows: diffs, and text.
fn contents(screen: &mut Screen, contents: &Value) {
    for content in contents.as_array().into_iter().flatten() {
        match content["type"].as_str() {
            Some("diff") => {
                if let Some(patch) = content["patch"]["text"].as_str() {
                    patched(screen, patch);
                    continue;
                }
                screen.line(Look::Bold, &format!("  {}", content["path"].as_str().unwrap_or("?")));
                diff(
                    screen,
                    content["oldText"].as_str().unwrap_or_default(),
                    content["newText"].as_str().unwrap_or_default(),
                );
            }
            Some("content") => {
                let text = block(&content["content"]);
                let mut lines = text.lines();
                for line in lines.by_ref().take(LINES) {
                    screen.line(Look::Dim, &format!("  {line}"));
                }
                more(screen, lines.count());
            }
            Some("terminal") => screen.line(Look::Dim, "  (its output is in a terminal)"),
            _ => {}
        }
    }
}

/// A patch, as version 2 has it.
fn patched(screen: &mut Screen, patch: &str) {
    let mut lines = patch.lines();
    for line in lines.by_ref().take(LINES) {
        let look = match line.as_bytes() {
            [b'-', b'-', ..] | [b'+', b'+', ..] => Look::Bold,
            [b'-', ..] => Look::Bad,
            [b'+', ..] => Look::Good,
            _ => Look::Dim,
        };
        screen.line(look, &format!("  {line}"));
    }
    more(screen, lines.count());
}

/// The lines that differ: what is the same at both ends is left out.
fn diff(screen: &mut Screen, old: &str, new: &str) {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let inner = |lines: &[&str]| lines.len() - tail.min(lines.len());
    let sides = [(Look::Bad, '-', old, inner(old)), (Look::Good, '+', new, inner(new))];
    for (look, sign, lines, count) in sides {
        for line in lines.iter().take(count.min(LINES)) {
            screen.line(look, &format!("  {sign} {line}"));
        }
        more(screen, count.saturating_sub(LINES));
    }
}

fn more(screen: &mut Screen, lines: usize) {
    if lines > 0 {
        screen.line(Look::Dim, &format!("  … {lines} more lines"));
    }
}

fn usage(update: &Value) -> Option<String> {
    let (used, size) = (update["used"].as_u64()?, update["size"].as_u64()?);
    let cost = update["cost"]["amount"].as_f64().map(|amount| {
        let currency = update["cost"]["currency"].as_str().unwrap_or_default();
        format!(", {amount:.2} {currency}")
    });
    Some(format!("{used} of {size} tokens{}", cost.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::{Payload, Screen, View};

    fn shown(updates: &[&str]) -> String {
        let printed = Arc::new(Mutex::new(String::new()));
        let sink = Arc::clone(&printed);
        let mut screen = Screen::new(Box::new(move |text| sink.lock().expect("one thread").push_str(&text)), false);
        let mut view = View::default();
        for update in updates {
            view.update(&mut screen, &Payload::parse(format!("{{\"update\":{update}}}")).expect("JSON"), true);
        }
        screen.flush();
        let printed = printed.lock().expect("one thread");
        printed.clone()
    }

    #[test]
    fn a_diff_shows_what_differs() {
        let update = r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"Edit","status":"completed","content":[
            {"type":"diff","path":"/a","oldText":"one\ntwo\nthree\n","newText":"one\n2\nthree\n"}]}"#;
        let shown = shown(&[update]);
        assert!(shown.contains("● Edit\n  /a\n  - two\n  + 2\n✓ Edit, 0."), "{shown}");
    }

    #[test]
    fn a_plan_has_ticks_and_is_shown_when_it_changes() {
        let plan = r#"{"sessionUpdate":"plan","entries":[{"content":"read","status":"completed"},{"content":"write","status":"in_progress"},{"content":"test","status":"pending"}]}"#;
        assert_eq!(shown(&[plan, plan]), "plan\n  ☑ read\n  ◐ write\n  ☐ test\n");
    }

    #[test]
    fn whatever_comes_is_shown_somehow() {
        for odd in [
            "{}",
            "[]",
            "7",
            r#"{"sessionUpdate":7}"#,
            r#"{"sessionUpdate":"tool_call"}"#,
            r#"{"sessionUpdate":"song"}"#,
        ] {
            assert!(!shown(&[odd]).is_empty(), "{odd}");
        }
    }
}
