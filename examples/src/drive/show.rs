//! Shows a run: as one JSON object a line, or as a transcript that a person enjoys reading.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::{Arc, OnceLock},
    time::Instant,
};

use acp_core::{Client, view::Info};
use acp_tokio::Handle;

use super::events::{Answer, Event, Update};

/// Characters of a text that are shown in a transcript.
const WIDTH: usize = 76;
const DIM: &str = "\x1b[2m";
const BOLD: &str = "\x1b[1m";
const BLUE: &str = "\x1b[34m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[31m";
const PLAIN: &str = "\x1b[0m";

const TO_AGENT: &str = "client → agent";
const TO_CLIENT: &str = "client ← agent";
const HERE: &str = "client        ";

/// What the turns of the demonstration are there for.
const TITLES: [&str; 4] =
    ["an answer that streams", "a tool that needs permission", "a cancel in mid-stream", "a prompt after the cancel"];

/// Where events go.
pub(super) enum Output {
    Json,
    Transcript(Transcript),
}

impl Output {
    pub(super) fn transcript(titled: bool) -> Self {
        let coloured = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self::Transcript(Transcript {
            started: Instant::now(),
            titled,
            coloured,
            cancel: None,
            written: Arc::default(),
        })
    }

    /// Notes when the cancel that was just asked for is written; much may be queued before it.
    pub(super) fn watch_cancel(&mut self, asked: Instant, client: Handle<Client>) {
        if let Self::Transcript(transcript) = self {
            let written = Arc::default();
            transcript.written = Arc::clone(&written);
            transcript.cancel = Some(Cancel { asked, updates: 0, last: String::new() });
            tokio::spawn(async move {
                client.flush().await;
                let _ = written.set(Instant::now());
            });
        }
    }

    /// Shows one event, at once.
    ///
    /// # Errors
    ///
    /// Nobody reads stdout any more.
    pub(super) fn show(&mut self, event: &Event<'_>) -> io::Result<()> {
        match self {
            Self::Json => json(event),
            Self::Transcript(transcript) => transcript.show(event),
        }
    }
}

fn json(event: &Event<'_>) -> io::Result<()> {
    if event.is_for_people() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, event)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Who said what, and when.
pub(super) struct Transcript {
    started: Instant,
    titled: bool,
    coloured: bool,
    /// A cancel that is not answered yet.
    cancel: Option<Cancel>,
    /// When the last cancel was written.
    written: Arc<OnceLock<Instant>>,
}

/// What came between a cancel and its answer.
struct Cancel {
    asked: Instant,
    updates: u64,
    last: String,
}

impl Transcript {
    fn show(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Started => writeln!(io::stdout().lock(), "{:>9}  who speaks      what is said", "ms"),
            Event::Sent { method, about } => self.line(TO_AGENT, BLUE, &format!("{method}, {about}")),
            Event::Initialized { protocol_version, agent_info, auth_methods, .. } => {
                let info: Option<Info<'_>> = agent_info.and_then(|info| info.view().ok());
                let (name, version) = info.map_or(("?".into(), None), |info| (info.name, info.version));
                let version = version.unwrap_or("?".into());
                let mut text = format!("{name} {version} speaks version {protocol_version}");
                if !auth_methods.is_empty() {
                    text = format!("{text}; log in with {}", auth_methods.join(" or "));
                }
                self.line(TO_CLIENT, GREEN, &text)
            }
            Event::Auth { .. } => self.line(TO_CLIENT, GREEN, "logged in"),
            Event::Session { session_id, .. } => self.line(TO_CLIENT, GREEN, &format!("session {session_id}")),
            Event::Result { method, result } => self.line(TO_CLIENT, GREEN, &format!("{method}: {result}")),
            Event::Prompted { prompt, text } => {
                let title =
                    TITLES.get(*prompt).filter(|_| self.titled).map_or(String::new(), |title| format!(": {title}"));
                self.heading(&format!("turn {}{title}", prompt + 1))?;
                self.line(TO_AGENT, BLUE, &format!("prompt \"{text}\""))
            }
            Event::Update(update) => match &mut self.cancel {
                Some(cancel) => {
                    cancel.updates += 1;
                    cancel.last = describe(update);
                    Ok(())
                }
                None => self.line(TO_CLIENT, GREEN, &describe(update)),
            },
            Event::Asked { tool_call_id, options } => {
                self.line(TO_CLIENT, YELLOW, &format!("may I, for {tool_call_id}? {}", options.join(" / ")))
            }
            Event::Permission { answer, .. } => match answer {
                Answer::Selected { option_id } => self.line(TO_AGENT, YELLOW, &format!("permission: {option_id}")),
                Answer::Cancelled => self.line(TO_AGENT, YELLOW, "permission: cancelled"),
            },
            Event::CancelSent { .. } => {
                let asked = self.cancel.as_ref().map_or_else(Instant::now, |cancel| cancel.asked);
                self.line_at(asked, HERE, RED, "cancel 1/4: asked for; open permissions are void from here on")
            }
            Event::Stop { stop_reason, .. } => self.stop(stop_reason),
            Event::Error { r#where, what, .. } => self.line(TO_CLIENT, RED, &format!("{where} failed: {what}")),
            Event::Closed { r#where, reason } => self.line(HERE, RED, &format!("closed during {where}: {reason}")),
            Event::Ended { how } => {
                self.heading("the end")?;
                self.line(HERE, DIM, &format!("the agent's process is over: {how}"))
            }
        }
    }

    fn stop(&mut self, reason: &str) -> io::Result<()> {
        let Some(Cancel { asked, updates, last }) = self.cancel.take() else {
            return self.line(TO_CLIENT, BOLD, &format!("turn ends: {reason}"));
        };
        if let Some(&written) = self.written.get() {
            self.line_at(written, TO_AGENT, RED, "cancel 2/4: session/cancel is written")?;
        }
        let late = match updates {
            0 => "cancel 3/4: no update was on its way any more".to_owned(),
            n => format!("cancel 3/4: {n} updates were still on their way, to {last}"),
        };
        self.line(TO_CLIENT, RED, &late)?;
        let took = asked.elapsed().as_secs_f64() * 1000.0;
        self.line(TO_CLIENT, BOLD, &format!("cancel 4/4: turn ends: {reason}, {took:.1} ms after it was asked"))
    }

    fn heading(&self, text: &str) -> io::Result<()> {
        let (bold, plain) = self.colours(BOLD);
        writeln!(io::stdout().lock(), "\n{:>9}  {bold}{}{plain}", "", clip(text))
    }

    fn line(&self, who: &str, colour: &'static str, text: &str) -> io::Result<()> {
        self.line_at(Instant::now(), who, colour, text)
    }

    fn line_at(&self, at: Instant, who: &str, colour: &'static str, text: &str) -> io::Result<()> {
        let ms = at.saturating_duration_since(self.started).as_secs_f64() * 1000.0;
        let ((dim, plain), (colour, _)) = (self.colours(DIM), self.colours(colour));
        let mut out = io::stdout().lock();
        writeln!(out, "{dim}{ms:>9.1}{plain}  {colour}{who}{plain}  {}", clip(text))?;
        out.flush()
    }

    const fn colours(&self, colour: &'static str) -> (&'static str, &'static str) {
        if self.coloured { (colour, PLAIN) } else { ("", "") }
    }
}

fn describe(update: &Update<'_>) -> String {
    let Update { kind, text, tool_call_id, status, .. } = update;
    match (text, tool_call_id) {
        (Some(text), _) => format!("\"{text}\""),
        (None, Some(id)) => {
            let kind = kind.as_deref().unwrap_or("tool call");
            format!("{kind} {id}{}", status.as_deref().map(|status| format!(": {status}")).unwrap_or_default())
        }
        (None, None) => kind.as_deref().unwrap_or("an update of no known kind").to_owned(),
    }
}

/// Fit for one line of a terminal, which the agent's text must not steer.
fn clip(text: &str) -> String {
    let mut shown: String = text.chars().take(WIDTH).map(|char| if char.is_control() { '·' } else { char }).collect();
    if text.chars().nth(WIDTH).is_some() {
        shown.push('…');
    }
    shown
}
