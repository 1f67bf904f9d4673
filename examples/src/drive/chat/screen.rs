//! What a chat shows: text that streams in above the line that is being edited, wrapped, and in colours where there are any.
//!
//! The editor prints whole lines above its own. So that text appears as it comes, the line that is not full yet is printed
//! too, and taken back as soon as there is more of it: it is always the last one above the editor's.

use core::fmt::Write as _;
use std::collections::VecDeque;

use unicode_width::UnicodeWidthChar as _;

const DIM: &str = "\x1b[2m";
const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const CYAN: &str = "\x1b[36m";
const PLAIN: &str = "\x1b[0m";
/// Up to the line above, to its beginning, and empties it.
const TAKE_BACK: &str = "\x1b[1A\r\x1b[2K";
/// Columns where nobody says how many there are.
const COLUMNS: usize = 80;

/// How something looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Plain,
    Dim,
    Bold,
    Good,
    Bad,
    Warn,
    Accent,
}

impl Look {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => DIM,
            Self::Bold => BOLD,
            Self::Good => GREEN,
            Self::Bad => RED,
            Self::Warn => YELLOW,
            Self::Accent => CYAN,
        }
    }
}

/// Where it is printed: above the line that is being edited.
pub(super) type Printer = Box<dyn FnMut(String) + Send>;

/// The screen.
pub(super) struct Screen {
    printer: Printer,
    coloured: bool,
    /// Rows that are complete, and not printed yet. The first may be what became of the one that was printed.
    rows: VecDeque<(Look, String)>,
    /// The row that is not full yet, and how it looks.
    open: String,
    /// Its columns.
    width: usize,
    look: Look,
    /// The open row, as it was printed.
    printed: Option<String>,
}

impl core::fmt::Debug for Screen {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Screen").field("open", &self.open).finish_non_exhaustive()
    }
}

impl Screen {
    pub(super) fn new(printer: Printer, coloured: bool) -> Self {
        Self {
            printer,
            coloured,
            rows: VecDeque::new(),
            open: String::new(),
            width: 0,
            look: Look::Plain,
            printed: None,
        }
    }

    /// Text that goes on where the last text of this look ended.
    pub(super) fn text(&mut self, look: Look, text: &str) {
        if look != self.look {
            self.end();
            self.look = look;
        }
        let columns = columns();
        for c in text.chars() {
            match c {
                '\n' => self.row(),
                '\t' => (0..4).for_each(|_| self.put(' ')),
                '\r' => {}
                // The agent's text must not steer the terminal.
                c if c.is_control() => self.put('·'),
                c => self.put(c),
            }
            if self.width >= columns {
                self.wrap();
            }
        }
    }

    fn put(&mut self, c: char) {
        self.open.push(c);
        self.width += c.width().unwrap_or(0);
    }

    /// One line of its own, or several.
    pub(super) fn line(&mut self, look: Look, text: &str) {
        self.end();
        self.look = look;
        self.text(look, text);
        self.row();
    }

    /// Ends the row that is not full yet.
    pub(super) fn end(&mut self) {
        if !self.open.is_empty() {
            self.row();
        }
    }

    /// Somebody wrote below the last row: it cannot be taken back any more. What was seen of it stays where it is.
    pub(super) fn was_broken(&mut self) {
        let Some(mut printed) = self.printed.take() else { return };
        // It may have been broken off, and have grown since.
        while let Some((look, row)) = self.rows.pop_front() {
            if let Some(rest) = printed.strip_prefix(row.as_str()) {
                printed = rest.trim_start().to_owned();
                continue;
            }
            let rest = row.strip_prefix(printed.as_str()).unwrap_or(&row).to_owned();
            return self.rows.push_front((look, rest));
        }
        self.open = self.open.strip_prefix(printed.as_str()).unwrap_or(&self.open).to_owned();
        self.width = width(&self.open);
    }

    /// Whether there is something that was not printed.
    pub(super) fn is_due(&self) -> bool {
        !self.rows.is_empty() || self.printed.as_deref().unwrap_or_default() != self.open
    }

    /// Prints what there is.
    pub(super) fn flush(&mut self) {
        if self.is_due() {
            let out = self.take();
            (self.printer)(out);
        }
    }

    /// What is to be printed, as if it were.
    pub(super) fn take(&mut self) -> String {
        let mut out = String::new();
        if self.printed.take().is_some() {
            out.push_str(TAKE_BACK);
        }
        for (look, row) in core::mem::take(&mut self.rows) {
            self.paint(&mut out, look, &row);
        }
        if !self.open.is_empty() {
            self.paint(&mut out, self.look, &self.open);
            self.printed = Some(self.open.clone());
        }
        out
    }

    fn row(&mut self) {
        self.rows.push_back((self.look, core::mem::take(&mut self.open)));
        self.width = 0;
    }

    /// The row is full: breaks it at its last blank, if there is one.
    fn wrap(&mut self) {
        let rest = match self.open.rfind(' ').filter(|at| *at > 0) {
            Some(at) => {
                let rest = self.open.get(at + 1..).unwrap_or_default().to_owned();
                self.open.truncate(at);
                rest
            }
            None => self.open.pop().map(String::from).unwrap_or_default(),
        };
        self.row();
        self.width = width(&rest);
        self.open = rest;
    }

    fn paint(&self, out: &mut String, look: Look, row: &str) {
        let code = if self.coloured { look.code() } else { "" };
        let plain = if code.is_empty() { "" } else { PLAIN };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{code}{row}{plain}");
    }
}

fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The columns of the terminal.
#[cfg(unix)]
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 8).unwrap_or(COLUMNS)
}

#[cfg(not(unix))]
fn columns() -> usize {
    COLUMNS
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::{Look, Screen};

    /// What a terminal shows that does what it is told.
    fn shown(act: impl FnOnce(&mut Screen)) -> Vec<String> {
        let printed = Arc::new(Mutex::new(String::new()));
        let sink = Arc::clone(&printed);
        let mut screen = Screen::new(Box::new(move |text| sink.lock().expect("one thread").push_str(&text)), false);
        act(&mut screen);
        screen.flush();
        let mut rows: Vec<String> = Vec::new();
        for row in printed.lock().expect("one thread").split_terminator('\n') {
            let mut row = row;
            while let Some(rest) = row.strip_prefix(super::TAKE_BACK) {
                rows.pop();
                row = rest;
            }
            rows.push(row.to_owned());
        }
        rows
    }

    #[test]
    fn text_appears_as_it_comes_and_goes_on_in_its_row() {
        let rows = shown(|screen| {
            for piece in ["One ", "two", " three\nfo", "ur"] {
                screen.text(Look::Plain, piece);
                screen.flush();
            }
        });
        assert_eq!(rows, ["One two three", "four"]);
    }

    #[test]
    fn a_full_row_breaks_at_a_blank() {
        let rows = shown(|screen| screen.text(Look::Plain, &"word ".repeat(40)));
        assert!(rows.len() >= 2 && rows.iter().all(|row| row.len() < 200 && !row.starts_with(' ')), "{rows:?}");
        assert_eq!(rows.join(" ").matches("word").count(), 40);
    }

    #[test]
    fn another_look_is_another_row_and_a_broken_row_is_not_taken_back() {
        let rows = shown(|screen| {
            screen.text(Look::Dim, "thinking");
            screen.text(Look::Plain, "say");
            screen.flush();
            screen.was_broken();
            screen.text(Look::Plain, "ing");
        });
        assert_eq!(rows, ["thinking", "say", "ing"]);
    }

    #[test]
    fn a_broken_row_that_was_broken_off_since_is_not_said_twice() {
        let rows = shown(|screen| {
            let row = "word ".repeat(15);
            screen.text(Look::Plain, &format!("{row}1234"));
            screen.flush();
            screen.text(Look::Plain, "567 more");
            screen.was_broken();
        });
        assert_eq!(rows, [format!("{}1234", "word ".repeat(15)), "567 more".to_owned()]);
    }

    #[test]
    fn the_agent_does_not_steer_the_terminal() {
        assert_eq!(shown(|screen| screen.line(Look::Plain, "a\x1b[2Jb\x07")), ["a·[2Jb·"]);
    }
}
