//! Golden transcripts: what comes in and what the host does, as text, and below each line what came out of it. The
//! format is described in `golden/README.md`. A player makes the outputs new; whether they are right is for a reader.

mod agent;
mod client;
mod config;
mod host;

use core::time::Duration;

use acp_core::{Agent, Client, Connection, Role, Scope, SessionKey, Timestamp};

use self::host::Hosted;
use crate::{taped::Taped, wire::raw};

/// What begins the title of a scene.
const TITLE: &str = "## ";
/// What begins a line that came out.
const OUT: &str = "  ";

/// A file of scenes, each played on a fresh connection: the same text, with the outputs of today.
///
/// # Panics
///
/// A line cannot be played. The message says which.
#[must_use]
pub fn play(file: &str) -> String {
    let mut out = String::new();
    let mut lines = file.lines().enumerate().filter(|(_, line)| !line.starts_with(OUT)).peekable();
    while let Some((_, line)) = lines.next() {
        say(&mut out, line);
        if !line.starts_with(TITLE) {
            continue;
        }
        let mut scene = Vec::new();
        while let Some(next) = lines.next_if(|(_, line)| !line.starts_with(TITLE)) {
            scene.push(next);
        }
        play_scene(&scene, &mut out);
    }
    out
}

/// How many scenes a file has.
#[must_use]
pub fn scenes(file: &str) -> usize {
    file.lines().filter(|line| line.starts_with(TITLE)).count()
}

fn say(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

fn is_comment(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}

fn play_scene(scene: &[(usize, &str)], out: &mut String) {
    let head = scene.iter().position(|(_, line)| !is_comment(line)).expect("a scene begins with an end");
    let (comments, rest) = scene.split_at(head);
    comments.iter().for_each(|(_, line)| say(out, line));
    let ((_, header), steps) = rest.split_first().expect("there is a header");
    say(out, header);
    let (side, words) = header.split_once(' ').unwrap_or((header, ""));
    match side {
        "agent" => Player::<Agent>::begin(words).play(steps, out),
        "client" => Player::<Client>::begin(words).play(steps, out),
        other => panic!("`{other}` is no end: a scene begins with `agent` or `client`"),
    }
}

/// One end, its host, and its clock.
struct Player<R: Hosted> {
    conn: Taped<R>,
    now: Timestamp,
    host: R::Host,
    /// Names that the scene gave to sessions, to use their keys when they are gone.
    named: Vec<(String, SessionKey)>,
    /// What is not handed out for now.
    held: Held,
    /// The deadline that was told last.
    due: Option<String>,
    last_frame: Option<acp_core::FrameId>,
    /// The text of the step that is played.
    input: String,
}

#[derive(Default)]
struct Held {
    frames: bool,
    actions: bool,
}

impl<R: Hosted> Player<R> {
    /// An end as the words of a header say.
    fn begin(words: &str) -> Self {
        let mut config = R::config();
        let (policy, words): (Vec<_>, Vec<_>) = words.split_whitespace().partition(|word| word.contains('='));
        policy.iter().for_each(|word| config::set(&mut config, word));
        let (second, words): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| *word == "v2");
        if !second.is_empty() {
            config.versions = [1, 2].into_iter().collect();
        }
        let mut player = Self {
            conn: Taped::new(config),
            now: Timestamp::ZERO,
            host: R::Host::default(),
            named: Vec::new(),
            held: Held::default(),
            due: None,
            last_frame: None,
            input: String::new(),
        };
        if words != ["fresh"] {
            let prelude = R::prelude(!second.is_empty(), &words);
            let steps: Vec<_> = prelude.lines().enumerate().collect();
            player.play(&steps, &mut String::new());
        }
        player
    }

    fn play(&mut self, steps: &[(usize, &str)], out: &mut String) {
        for (number, line) in steps {
            say(out, line);
            if is_comment(line) {
                continue;
            }
            let mut came = Vec::new();
            self.input = line.strip_prefix("bytes ").map_or_else(|| (*line).to_owned(), unescaped);
            let known = self.step(line, &mut came);
            assert!(known.is_some(), "line {}: `{line}` cannot be played", number + 1);
            self.hand_out(&mut came);
            came.iter().for_each(|line| say(out, &format!("{OUT}{line}")));
        }
    }

    /// One line. `None`: it says nothing that can be done.
    fn step(&mut self, line: &str, out: &mut Vec<String>) -> Option<()> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let now = self.now;
        match verb {
            "<" => self.conn.handle_input(format!("{rest}\n").as_bytes(), now),
            "bytes" => self.conn.handle_input(serde_json::from_str::<String>(rest).ok()?.as_bytes(), now),
            "hex" => self.conn.handle_input(&hex(rest)?, now),
            "repeat" => {
                let (times, line) = rest.split_once(" < ")?;
                let times: u32 = times.parse().ok()?;
                for count in 1..=times {
                    let line = line.replace("{n}", &count.to_string());
                    self.conn.handle_input(format!("{line}\n").as_bytes(), now);
                }
            }
            "long" => {
                let (size, line) = rest.split_once(" < ")?;
                let line = line.replace("{x}", &"x".repeat(size.parse().ok()?));
                self.conn.handle_input(format!("{line}\n").as_bytes(), now);
            }
            "eof" => self.conn.handle_eof(now),
            "lost" => self.conn.handle_lost(rest, now),
            "undelivered" => self.conn.handle_transmit_failed(self.last_frame?, now),
            "wait" => self.wait(config::duration(rest)?, out),
            "hold" => *self.hold(rest)? = true,
            "release" => *self.hold(rest)? = false,
            "name" => {
                let (name, session) = rest.split_once(" = ")?;
                self.named.push((name.to_owned(), self.session(session)?));
            }
            "gauges" => {
                let conn = &self.conn;
                let reads = if conn.wants_input() { "reads" } else { "does not read" };
                let (own, peers) = (conn.unresolved(), conn.unanswered().count());
                let bytes = [conn.queued_bytes(), conn.held_bytes()];
                out.push(format!(
                    "= {reads}, {own} of ours and {peers} of theirs open, bytes to write and held {bytes:?}"
                ));
            }
            "close" => self.conn.close(now),
            "request" | "request_in" => {
                let mut args = Args(rest);
                let scope = if verb == "request_in" { Some(self.scope(args.word()?)?) } else { None };
                let method = args.word()?;
                let timeout = args.flag("timeout").and_then(config::duration);
                let asked = match scope {
                    Some(scope) => self.conn.request_in(scope, method, &raw(args.0), timeout, now),
                    None => self.conn.request(method, args.json(), timeout, now),
                };
                match asked {
                    Ok(request) => {
                        R::keep_request(&mut self.host, request);
                        out.push(format!("= request {}", request.number()));
                    }
                    Err(why) => out.push(refused(&why)),
                }
            }
            "notify" => {
                let mut args = Args(rest);
                let method = args.word()?;
                if let Err(why) = self.conn.notify(method, args.json().as_ref(), now) {
                    out.push(refused(&why));
                }
            }
            _ => return R::act(self, verb, Args(rest), out),
        }
        Some(())
    }

    fn hold(&mut self, what: &str) -> Option<&mut bool> {
        match what {
            "frames" => Some(&mut self.held.frames),
            "actions" => Some(&mut self.held.actions),
            _ => None,
        }
    }

    /// Time passes; the loop around the connection wakes up for each deadline on the way.
    fn wait(&mut self, time: Duration, out: &mut Vec<String>) {
        let until = self.now + time;
        while let Some(deadline) = self.conn.poll_timeout().filter(|deadline| deadline.at <= until) {
            self.now = self.now.max(deadline.at);
            self.conn.handle_timeout(self.now);
            self.hand_out(out);
        }
        self.now = until;
        self.conn.handle_timeout(until);
    }

    /// What waits: actions, frames, and the next deadline if it is another one.
    fn hand_out(&mut self, out: &mut Vec<String>) {
        loop {
            let before = out.len();
            while let Some(action) = if self.held.actions { None } else { self.conn.poll_action() } {
                let told = R::hear(self, action);
                out.push(short(&self.as_it_came(&told)));
            }
            while let Some(frame) = if self.held.frames { None } else { self.conn.poll_transmit() } {
                self.last_frame = Some(frame.id());
                let line = frame.into_line();
                let line = core::str::from_utf8(&line).expect("UTF-8").strip_suffix('\n').expect("a line");
                assert!(!line.contains('\n'), "one message a line");
                out.push(format!("> {}", short(line)));
            }
            // That all is written may be news to the host.
            if out.len() == before {
                break;
            }
        }
        let due = self.conn.poll_timeout();
        let due = due.map(|due| format!("{:?} {:?}", due.at.saturating_duration_since(Timestamp::ZERO), due.cause));
        if due != self.due {
            out.push(format!("@ {}", due.as_deref().unwrap_or("none")));
            self.due = due;
        }
    }

    /// What was told, without a long payload that stands in the line above, byte for byte.
    fn as_it_came(&self, told: &str) -> String {
        const SHORT: usize = 40;
        let payload = told.match_indices(['{', '[']).map(|(at, _)| told.split_at(at));
        let mut payload = payload.filter(|(_, tail)| tail.len() > SHORT && self.input.contains(tail));
        payload.next().map_or_else(|| told.to_owned(), |(said, _)| format!("{said}{{…}}"))
    }

    /// A session by its id, or by a name that the scene gave it.
    fn session(&self, name: &str) -> Option<SessionKey> {
        let named = self.named.iter().find(|(known, _)| known == name).map(|(_, key)| *key);
        named.or_else(|| self.conn.find_session(name))
    }

    /// A turn by its number, or a session.
    fn scope(&self, name: &str) -> Option<Scope> {
        match name.parse() {
            Ok(turn) => R::turn(&self.host, turn).map(Scope::Turn),
            Err(_) => self.session(name).map(Scope::Session),
        }
    }
}

/// The name of a session for a reader.
fn id<R: Role>(conn: &Connection<R>, session: Option<SessionKey>) -> &str {
    session.map_or("-", |session| conn.session_id(session).unwrap_or("(gone)"))
}

/// The arguments of a step: words, and then JSON.
struct Args<'a>(&'a str);

impl<'a> Args<'a> {
    fn word(&mut self) -> Option<&'a str> {
        let (word, rest) = self.0.split_once(' ').unwrap_or((self.0, ""));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }

    fn number(&mut self) -> Option<u64> {
        let number = self.0.split(' ').next()?.parse().ok()?;
        self.word();
        Some(number)
    }

    /// `name=value`, if that is next.
    fn flag(&mut self, name: &str) -> Option<&'a str> {
        let (word, rest) = self.0.split_once(' ').unwrap_or((self.0, ""));
        let value = word.strip_prefix(name)?.strip_prefix('=')?;
        self.0 = rest;
        Some(value)
    }

    fn json(&self) -> Option<acp_core::Payload> {
        (!self.0.is_empty()).then(|| raw(self.0))
    }
}

/// A string of JSON, or what stands in its place.
fn unescaped(text: &str) -> String {
    serde_json::from_str(text).unwrap_or_else(|_| text.to_owned())
}

fn refused(why: &impl core::fmt::Display) -> String {
    format!("= refused: {why}")
}

/// A long line by its ends.
fn short(line: &str) -> String {
    const LONG: usize = 2000;
    match (line.get(..200), line.get(line.len().saturating_sub(100)..)) {
        (Some(head), Some(tail)) if line.len() > LONG => format!("{head} … {} bytes … {tail}", line.len()),
        _ => line.to_owned(),
    }
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = digits
        .chars()
        .filter(|digit| *digit != ' ')
        .map(|digit| digit.to_digit(16).map(|d| d as u8))
        .collect::<Option<_>>()?;
    Some(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}
