//! Sessions: what one is opened with, what is stored, and what is told about one apart from its conversation.

use alloc::borrow::Cow;

use super::{
    config::ConfigOption,
    declare::views,
    list::List,
    raw::{Raw, Unreadable},
    read::{Patch, View},
};
use crate::wire::open_enum::NoticeSeverity;

views! {
    /// The result of `session/new`, `session/load`, `session/resume` and `session/fork`: what
    /// [`Outcome::Result`](crate::Outcome::Result) brings. Each part is left out by an agent that does not have it.
    Opened {
        /// The id, if it is a new session.
        session_id: Option<Cow<'a, str>> = "sessionId",
        /// Version 1: its modes.
        modes: Option<Modes<'a>> = "modes",
        /// Its options.
        options: Option<List<'a, ConfigOption<'a>>> = "configOptions",
        /// Version 2: the agent's commands.
        commands: Option<List<'a, Command<'a>>> = "availableCommands",
    }

    /// The modes of a session (ACP v1, Session Modes).
    Modes {
        /// The one it is in.
        current: Cow<'a, str> = "currentModeId",
        /// Those there are.
        available: List<'a, Mode<'a>> = "availableModes",
    }

    /// A mode.
    Mode {
        /// Its id.
        id: Cow<'a, str> = "id",
        /// Its name, for people.
        name: Option<Cow<'a, str>> = "name",
        /// What it is for.
        description: Option<Cow<'a, str>> = "description",
    }

    /// The mode changed.
    CurrentMode {
        /// The mode now. An example of the protocol calls it `modeId`, and so do some agents.
        id: Cow<'a, str> = "currentModeId" or "modeId",
    }

    /// The agent's commands, in place of those that were said before (ACP, Slash Commands).
    Commands {
        /// The commands.
        commands: List<'a, Command<'a>> = "availableCommands",
    }

    /// A command of the agent's.
    Command {
        /// Its name, without the slash.
        name: Cow<'a, str> = "name",
        /// What it does.
        description: Option<Cow<'a, str>> = "description",
        /// What goes behind its name, if something does.
        input: Option<CommandInput<'a>> = "input",
        /// Version 2: what sort of command. `command`, if it does not say.
        kind: Option<Cow<'a, str>> = "type",
    }

    /// What goes behind the name of a command.
    CommandInput {
        /// A hint at what to write there.
        hint: Option<Cow<'a, str>> = "hint",
    }

    /// The result of `session/list`: stored sessions.
    SessionList {
        /// The sessions.
        sessions: List<'a, StoredSession<'a>> = "sessions",
        /// Where the list goes on. `None`: it is at its end.
        next_cursor: Option<Cow<'a, str>> = "nextCursor",
    }

    /// A stored session.
    StoredSession {
        /// Its id.
        id: Cow<'a, str> = "sessionId",
        /// Its folder: an absolute path.
        cwd: Option<Cow<'a, str>> = "cwd",
        /// Its title.
        title: Option<Cow<'a, str>> = "title",
        /// When it was used last, in ISO 8601.
        updated_at: Option<Cow<'a, str>> = "updatedAt",
        /// Other folders of it: absolute paths.
        additional_directories: Option<List<'a, Cow<'a, str>>> = "additionalDirectories",
    }

    /// News about the session itself.
    SessionInfo {
        /// Its title.
        title: Patch<Cow<'a, str>> = "title",
        /// When it was used last, in ISO 8601.
        updated_at: Patch<Cow<'a, str>> = "updatedAt",
    }

    /// How much of the context is used.
    Usage {
        /// Tokens in the context.
        used: u64 = "used",
        /// Tokens there is room for.
        size: u64 = "size",
        /// What the session has cost.
        cost: Patch<Cost<'a>> = "cost",
    }

    /// A price.
    Cost {
        /// How much.
        amount: f64 = "amount",
        /// Of what: a code of ISO 4217.
        currency: Option<Cow<'a, str>> = "currency",
    }

    /// Something to tell the user, outside the conversation.
    Notice {
        /// What it is about.
        title: Cow<'a, str> = "title",
        /// More about it.
        description: Option<Cow<'a, str>> = "description",
        /// How bad it is.
        severity: Option<NoticeSeverity> = "severity",
    }
}
