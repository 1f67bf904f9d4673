//! What the agent reports, as a person sees it: text, thoughts, tool calls with how long they took, plans, diffs, usage.

use std::{borrow::Cow, collections::BTreeMap};

use acp_core::{
    Payload,
    view::{
        Commands, ConfigOption, ConfigValue, Content, List, NamedPlan, Patch, PlanEntry, SessionUpdate, ToolCall,
        ToolContent, Update, Usage,
    },
    wire::{PlanEntryStatus, ToolCallStatus},
};
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
    pub(super) options: Vec<Setting>,
}

/// An option of the session.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) id: String,
    /// Its value, as it is shown.
    pub(super) now: String,
    /// The values there are.
    pub(super) values: Vec<String>,
    /// It is on or off.
    pub(super) is_switch: bool,
}

#[derive(Debug)]
struct Call {
    title: String,
    started: Instant,
}

impl View {
    /// Shows one update. In a turn of ours what the user says is known already.
    pub(super) fn update(&mut self, screen: &mut Screen, params: &Payload, in_turn: bool) {
        let update = match params.view::<SessionUpdate<'_>>() {
            Ok(SessionUpdate { update, .. }) => update,
            Err(why) => return screen.line(Look::Warn, &format!("(an update that cannot be read: {why})")),
        };
        match update {
            Update::AgentMessageChunk(said) => screen.text(Look::Plain, &block(&said.content)),
            Update::AgentThoughtChunk(said) => screen.text(Look::Dim, &block(&said.content)),
            Update::UserMessageChunk(_) | Update::UserMessage(_) if in_turn => {}
            Update::UserMessageChunk(said) => screen.text(Look::Bold, &block(&said.content)),
            Update::UserMessage(said) => screen.line(Look::Bold, &blocks(said.content)),
            Update::AgentMessage(said) => screen.line(Look::Plain, &blocks(said.content)),
            Update::AgentThought(said) => screen.line(Look::Dim, &blocks(said.content)),
            Update::ToolCall(call) | Update::ToolCallUpdate(call) => self.tool_call(screen, call),
            Update::Plan(plan) => self.plan(screen, plan.entries),
            Update::PlanUpdate(update) => match update.plan {
                NamedPlan::Items(plan) => self.plan(screen, plan.entries),
                NamedPlan::Markdown(plan) => screen.line(Look::Plain, &plan.content),
                other => screen.line(Look::Dim, &format!("(a plan: {})", other.kind())),
            },
            // The ends of turns are told by themselves.
            Update::StateUpdate(_) | Update::ReplayComplete(_) => {}
            Update::UsageUpdate(update) => self.usage = Some(usage(&update)),
            Update::AvailableCommandsUpdate(Commands { commands, .. }) => {
                let described = |text: Option<_>| text.map(String::from).unwrap_or_default();
                self.commands =
                    commands.iter().map(|command| (command.name.into(), described(command.description))).collect();
            }
            Update::CurrentModeUpdate(mode) => {
                screen.line(Look::Dim, &format!("mode: {}", mode.id));
                self.mode = Some(mode.id.into());
            }
            Update::ConfigOptionUpdate(update) => self.set_options(update.options),
            Update::SessionInfoUpdate(info) => {
                if let Patch::Value(title) = info.title {
                    screen.line(Look::Dim, &format!("session: {title}"));
                }
            }
            Update::Notice(notice) => {
                let more = notice.description.map(|more| format!(": {more}")).unwrap_or_default();
                screen.line(Look::Warn, &format!("{}{more}", notice.title));
            }
            // What has no picture here is not hidden either.
            other => screen.line(Look::Dim, &format!("({})", other.kind())),
        }
    }

    pub(super) fn set_options(&mut self, options: List<'_, ConfigOption<'_>>) {
        self.options = options.iter().map(|option| Setting::of(&option)).collect();
    }

    /// What is known about the use of the context, to be shown with the end of a turn.
    pub(super) fn usage(&self) -> Option<&str> {
        self.usage.as_deref()
    }

    fn tool_call(&mut self, screen: &mut Screen, update: ToolCall<'_>) {
        let id = String::from(update.id);
        let is_new = !self.calls.contains_key(&id);
        let call = self.calls.entry(id.clone()).or_insert_with(|| Call { title: id, started: Instant::now() });
        if let Patch::Value(title) = update.title {
            call.title = title.into();
        }
        if is_new {
            let kind = update.kind.value().map(|kind| format!(" ({kind})")).unwrap_or_default();
            screen.line(Look::Accent, &format!("● {}{kind}", call.title));
        }
        for content in update.content.into_value().into_iter().flatten() {
            show(screen, &content);
        }
        let (title, took) = (&call.title, call.started.elapsed().as_secs_f64());
        match update.status.into_value() {
            Some(ToolCallStatus::Completed) => screen.line(Look::Good, &format!("✓ {title}, {took:.1} s")),
            Some(ToolCallStatus::Failed) => screen.line(Look::Bad, &format!("✗ {title}, {took:.1} s")),
            Some(ToolCallStatus::Pending | ToolCallStatus::InProgress) | None => {}
            Some(other) => screen.line(Look::Dim, &format!("  {title}: {other}")),
        }
    }

    /// Its turn is over, and these tool calls have no result.
    pub(super) fn left_open(&self, screen: &mut Screen, calls: &[Box<str>]) {
        for call in calls.iter().filter_map(|call| self.calls.get(&**call)) {
            let took = call.started.elapsed().as_secs_f64();
            screen.line(Look::Warn, &format!("✗ {}, cut short after {took:.1} s", call.title));
        }
    }

    fn plan(&mut self, screen: &mut Screen, entries: List<'_, PlanEntry<'_>>) {
        let plan: Vec<String> = entries
            .iter()
            .map(|entry| {
                let tick = match entry.status {
                    Some(PlanEntryStatus::Completed) => "☑",
                    Some(PlanEntryStatus::InProgress) => "◐",
                    Some(PlanEntryStatus::Cancelled) => "☒",
                    _ => "☐",
                };
                format!("{tick} {}", entry.content)
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

impl Setting {
    fn of(option: &ConfigOption<'_>) -> Self {
        let (now, values) = match &option.value {
            ConfigValue::Select(select) => {
                (select.current.to_string(), select.values().map(|value| value.id.into()).collect())
            }
            ConfigValue::Switch(switch) => (switch.current.to_string(), Vec::new()),
            other => {
                (other.raw().member("currentValue").map_or_else(|| "?".to_owned(), |now| now.to_string()), Vec::new())
            }
        };
        let is_switch = matches!(option.value, ConfigValue::Switch(_));
        Self { id: option.id.to_string(), now, values, is_switch }
    }
}

/// A block of content in a message.
fn block<'a>(content: &'a Content<'_>) -> Cow<'a, str> {
    match content {
        Content::Text(text) => (&*text.text).into(),
        Content::ResourceLink(link) => format!("[{}]", link.uri).into(),
        Content::Resource(resource) => format!("[{}]", resource.resource.uri).into(),
        other => format!("[{}]", other.kind()).into(),
    }
}

/// The content of a whole message.
fn blocks(content: Patch<List<'_, Content<'_>>>) -> String {
    content.into_value().into_iter().flatten().map(|content| block(&content).into_owned()).collect()
}

/// Something that a tool call yields: diffs, and text.
fn show(screen: &mut Screen, content: &ToolContent<'_>) {
    match content {
        ToolContent::Diff(change) => {
            screen.line(Look::Bold, &format!("  {}", change.path));
            diff(screen, change.old_text.as_deref().unwrap_or_default(), &change.new_text);
        }
        ToolContent::Changes(changes) => match &changes.patch {
            Some(patch) => patched(screen, &patch.text),
            None => {
                for change in changes.changes {
                    let path = change.path.unwrap_or_default();
                    screen.line(Look::Bold, &format!("  {} {path}", change.operation));
                }
            }
        },
        ToolContent::Content(content) => {
            let text = block(content);
            let mut lines = text.lines();
            for line in lines.by_ref().take(LINES) {
                screen.line(Look::Dim, &format!("  {line}"));
            }
            more(screen, lines.count());
        }
        ToolContent::Terminal(_) => screen.line(Look::Dim, "  (its output is in a terminal)"),
        _ => {}
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

fn usage(update: &Usage<'_>) -> String {
    let cost = update.cost.value().map(|cost| {
        let currency = cost.currency.as_deref().unwrap_or_default();
        format!(", {:.2} {currency}", cost.amount)
    });
    format!("{} of {} tokens{}", update.used, update.size, cost.unwrap_or_default())
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
            view.update(
                &mut screen,
                &Payload::parse(format!(r#"{{"sessionId":"s","update":{update}}}"#)).expect("JSON"),
                true,
            );
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
    fn a_notice_and_a_plan_in_markdown_are_shown_in_words() {
        let notice =
            r#"{"sessionUpdate":"notice","severity":"warning","title":"Slow","description":"the model is busy"}"#;
        assert_eq!(shown(&[notice]), "Slow: the model is busy\n");
        let plan = r##"{"sessionUpdate":"plan_update","plan":{"type":"markdown","planId":"p","content":"# Do it"}}"##;
        assert_eq!(shown(&[plan]), "# Do it\n");
    }

    #[test]
    fn options_are_known_in_both_versions_with_the_values_of_groups() {
        let params = Payload::parse(
            r#"{"sessionId":"s","update":{"sessionUpdate":"config_option_update","configOptions":[
                {"id":"model","type":"select","currentValue":"a","options":[{"group":"g","options":[{"value":"a"},{"value":"b"}]}]},
                {"configId":"fast","type":"boolean","currentValue":false},
                {"configId":"dial","type":"_dial","currentValue":0.5}]}}"#,
        );
        let mut view = View::default();
        view.update(&mut Screen::new(Box::new(drop), false), &params.expect("JSON"), true);
        let known: Vec<_> = view.options.iter().map(|it| format!("{} {} {:?}", it.id, it.now, it.values)).collect();
        assert_eq!(known, [r#"model a ["a", "b"]"#, "fast false []", "dial 0.5 []"]);
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
