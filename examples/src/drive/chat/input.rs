//! Who types: a thread with the line editor, which hands on lines, single keys while a menu is open, and Ctrl-C.

use std::{
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use rustyline::{
    Cmd, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler, ExternalPrinter as _,
    Helper, KeyCode, KeyEvent, Modifiers, RepeatCount, completion::Completer, error::ReadlineError,
    highlight::Highlighter, hint::Hinter, history::DefaultHistory, validate::Validator,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{commands, screen::Printer};

const PROMPT: &str = "› ";
/// How long the editor may take to begin.
#[cfg(unix)]
const TAKEN: core::time::Duration = core::time::Duration::from_millis(500);

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Line(String),
    /// A key of the menu.
    Key(char),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or nobody can type any more.
    End,
}

/// The keys that a menu wants; none: there is no menu.
pub(super) type Menu = Arc<Mutex<Vec<char>>>;

/// The editor, which takes a line at a time: after each it rests until it is told to go on. So there is no moment at which
/// nobody knows who has the terminal.
#[derive(Debug)]
pub(super) struct Typing {
    pub(super) inputs: UnboundedReceiver<Input>,
    pub(super) menu: Menu,
    on: mpsc::Sender<()>,
    rests: bool,
    saved: Saved,
}

impl Typing {
    /// What is typed next; for ever nothing, once it rests.
    pub(super) async fn next(&mut self) -> Input {
        let input = self.inputs.recv().await.unwrap_or(Input::End);
        self.rests |= !matches!(input, Input::Key(_));
        input
    }

    /// Lets the next line be typed.
    pub(super) fn go_on(&mut self) {
        if core::mem::take(&mut self.rests) {
            // It is gone only if nobody can type any more, which was told.
            let _ = self.on.send(());
        }
    }

    /// Gives the terminal back as it was, and prints the last of what there is to say.
    pub(super) fn close(&mut self, last: &str) {
        if !self.rests {
            self.saved.wait_until_taken();
        }
        self.saved.restore(last);
        self.rests = true;
    }
}

/// Starts the editor. Gives what is typed, and what prints above it.
///
/// # Errors
///
/// This is no terminal.
pub(super) fn start() -> rustyline::Result<(Typing, Printer)> {
    let saved = Saved::new();
    let config = Config::builder().auto_add_history(true).build();
    let mut editor: Editor<Words, DefaultHistory> = Editor::with_config(config)?;
    editor.set_helper(Some(Words));
    let mut printer = editor.create_external_printer()?;
    let (sender, inputs) = unbounded_channel();
    let menu = Menu::default();
    let keys = Keys { menu: Arc::clone(&menu), sender: sender.clone() };
    editor.bind_sequence(Event::Any, EventHandler::Conditional(Box::new(keys)));
    let (on, rested) = mpsc::channel();
    thread::Builder::new().name("editor".to_owned()).spawn(move || edit(editor, &sender, &rested))?;
    // What cannot be printed any more has nobody who reads it.
    let print = move |text: String| drop(printer.print(text));
    Ok((Typing { inputs, menu, on, rests: false, saved }, Box::new(print)))
}

fn edit(mut editor: Editor<Words, DefaultHistory>, sender: &UnboundedSender<Input>, rested: &mpsc::Receiver<()>) {
    loop {
        let input = match editor.readline(PROMPT) {
            Ok(line) => Input::Line(line),
            Err(ReadlineError::Interrupted) => Input::Interrupt,
            Err(_) => Input::End,
        };
        let is_over = input == Input::End;
        if sender.send(input).is_err() || is_over || rested.recv().is_err() {
            return;
        }
    }
}

/// Hands on the keys of a menu, as long as nothing else is being typed.
struct Keys {
    menu: Menu,
    sender: UnboundedSender<Input>,
}

impl ConditionalEventHandler for Keys {
    fn handle(&self, event: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let Some(KeyEvent(KeyCode::Char(key), Modifiers::NONE)) = event.get(0) else { return None };
        let is_wanted = self.menu.lock().unwrap_or_else(PoisonError::into_inner).contains(key);
        if !is_wanted || !context.line().is_empty() {
            return None;
        }
        let _ = self.sender.send(Input::Key(*key));
        Some(Cmd::Noop)
    }
}

/// Completes the names of commands.
struct Words;

impl Completer for Words {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..at).unwrap_or_default();
        let names = commands::NAMES.iter().map(|(name, _)| format!("/{name}"));
        Ok((0, names.filter(|name| typed.starts_with('/') && name.starts_with(typed)).collect()))
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}

/// The state of the terminal, to be put back whatever the editor is doing at the end.
#[cfg(unix)]
#[derive(Debug)]
struct Saved(Option<rustix::termios::Termios>);

#[cfg(unix)]
impl Saved {
    /// Takes the terminal for good: while the editor rests between two lines, keys must wait for it, Ctrl-C too.
    fn new() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let saved = tcgetattr(std::io::stdin()).ok();
        if let Some(mut modes) = saved.clone() {
            modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN);
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Drain, &modes);
        }
        Self(saved)
    }

    /// Waits until the editor has changed it, as it is about to.
    fn wait_until_taken(&self) {
        use rustix::termios::{InputModes, tcgetattr};
        // The editor wants to tell one line break from the other.
        let is_taken = || tcgetattr(std::io::stdin()).is_ok_and(|now| !now.input_modes.contains(InputModes::ICRNL));
        let asked = std::time::Instant::now();
        while self.0.is_some() && !is_taken() && asked.elapsed() < TAKEN {
            thread::sleep(TAKEN / 100);
        }
    }

    /// Puts it back, and prints the last of what there is to say. The editor waits for a key, and does not print any more.
    fn restore(&mut self, last: &str) {
        use std::io::Write as _;
        if let Some(saved) = self.0.take() {
            let _ = rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Now, &saved);
            // The prompt goes, and so does the bracketing of what is pasted.
            let mut out = std::io::stdout().lock();
            let _ = write!(out, "\x1b[?2004l\r\x1b[K{last}").and_then(|()| out.flush());
        }
    }
}

/// Whatever happens, a terminal without an echo is left to nobody.
#[cfg(unix)]
impl Drop for Saved {
    fn drop(&mut self) {
        self.restore("");
    }
}

#[cfg(not(unix))]
#[derive(Debug)]
struct Saved;

#[cfg(not(unix))]
impl Saved {
    const fn new() -> Self {
        Self
    }

    const fn wait_until_taken(&self) {}

    fn restore(&mut self, last: &str) {
        print!("{last}");
    }
}
