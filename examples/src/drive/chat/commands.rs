//! The commands of a chat: lines that begin with a slash.

/// The commands, and what they do.
pub(super) const NAMES: &[(&str, &str)] = &[
    ("cancel", "stop the turn, as Ctrl-C does"),
    ("config", "show the session's options; `/config ID VALUE` sets one"),
    ("help", "this"),
    ("login", "show the ways to log in; `/login ID` takes one"),
    ("mode", "show the session's modes; `/mode ID` sets one"),
    ("new", "open another session"),
    ("quit", "leave, as Ctrl-D does"),
    ("resume", "`/resume N` or `/resume ID` goes on with a stored session"),
    ("sessions", "list the stored sessions"),
    ("trace", "`/trace FILE` writes down what passes from now on"),
];

/// What a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command<'a> {
    /// It is for the agent.
    Say(&'a str),
    /// One of ours, with what stands behind its name.
    Ours(&'static str, &'a str),
    /// One that nobody knows.
    Unknown(&'a str),
    Nothing,
}

/// Reads a line. `of_agent` says whether the agent has a command of this name.
pub(super) fn read(line: &str, of_agent: impl Fn(&str) -> bool) -> Command<'_> {
    let line = line.trim();
    let Some(command) = line.strip_prefix('/') else {
        return if line.is_empty() { Command::Nothing } else { Command::Say(line) };
    };
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    match NAMES.iter().find(|(known, _)| *known == name) {
        Some((known, _)) => Command::Ours(known, rest.trim()),
        None if of_agent(name) => Command::Say(line),
        None => Command::Unknown(name),
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, read};

    #[test]
    fn lines_are_for_the_agent_or_for_us() {
        let read = |line| read(line, |name| name == "web");
        assert_eq!(read(" fix it "), Command::Say("fix it"));
        assert_eq!(read("/web rust"), Command::Say("/web rust"));
        assert_eq!(read("/resume  3"), Command::Ours("resume", "3"));
        assert_eq!(read("/quit"), Command::Ours("quit", ""));
        assert_eq!(read("/qiut"), Command::Unknown("qiut"));
        assert_eq!(read("  "), Command::Nothing);
    }
}
