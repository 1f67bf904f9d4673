//! Permission requests: what is asked, what about, and what may be answered (ACP, Tool Calls).

use alloc::borrow::Cow;

use super::{
    declare::{Unknown, kinds, views},
    list::List,
    raw::{Raw, Unreadable},
    read::View,
    tool::ToolCall,
};
use crate::wire::open_enum::PermissionOptionKind;

/// The params of `session/request_permission`, for a client: what
/// [`ClientAction::PermissionRequested`](crate::ClientAction::PermissionRequested) brings. What can be chosen is in its
/// `offer` already.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Permission<'a> {
    /// The session.
    pub session_id: Option<Cow<'a, str>>,
    /// Version 2: the question.
    pub title: Option<Cow<'a, str>>,
    /// Version 2: more about it.
    pub description: Option<Cow<'a, str>>,
    /// What it is about. Version 1: a tool call.
    pub subject: Option<Subject<'a>>,
    /// What may be answered.
    pub options: List<'a, PermissionOption<'a>>,
    /// All of it, as it came.
    pub raw: Raw<'a>,
}

impl Permission<'_> {
    /// What to show: the question, or else the title of what it is about.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref().or_else(|| match self.subject.as_ref()? {
            Subject::ToolCall(subject) => subject.call.title.value().map(|title| &**title),
            Subject::Command(subject) => Some(&subject.command),
            Subject::Unknown(_) => None,
        })
    }
}

impl<'a> View<'a> for Permission<'a> {
    fn read(raw: Raw<'a>) -> Result<Self, Unreadable> {
        let [session_id, title, description, subject, call, options] =
            raw.members(["sessionId", "title", "description", "subject", "toolCall", "options"])?;
        Ok(Self {
            session_id: View::member(session_id)?,
            title: View::member(title)?,
            description: View::member(description)?,
            // In version 1 the tool call stands where the subject stands, in an object of its own in version 2.
            subject: if call.is_some() {
                ToolCallSubject::read(raw).ok().map(Subject::ToolCall)
            } else {
                View::member(subject)?
            },
            options: View::member(options).map_err(|why| why.at("options"))?,
            raw,
        })
    }
}

kinds! {
    /// What a permission is asked for.
    Subject by "type" {
        /// A tool call.
        ToolCall(ToolCallSubject) = "tool_call",
        /// A command.
        Command(CommandSubject) = "command",
    }
}

views! {
    /// A tool call that a permission is asked for.
    ToolCallSubject {
        /// The call, or what is new about it.
        call: ToolCall<'a> = "toolCall",
    }

    /// A command that a permission is asked for.
    CommandSubject {
        /// The command, for people.
        command: Cow<'a, str> = "command",
        /// Where it is to run: an absolute path.
        cwd: Option<Cow<'a, str>> = "cwd",
        /// The tool call that runs it.
        tool_call: Option<Cow<'a, str>> = "toolCallId",
        /// The terminal it is to run in.
        terminal: Option<Cow<'a, str>> = "terminalId",
    }

    /// What may be answered.
    PermissionOption {
        /// What is answered if it is chosen.
        id: Cow<'a, str> = "optionId",
        /// What to show.
        name: Option<Cow<'a, str>> = "name",
        /// What it means.
        kind: Option<PermissionOptionKind> = "kind",
    }
}
