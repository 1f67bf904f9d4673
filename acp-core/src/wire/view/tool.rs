//! Tool calls: what an agent does, with what came of it (ACP, Tool Calls).

use alloc::borrow::Cow;

use super::{
    content::Content,
    declare::{Unknown, views},
    list::List,
    raw::{Raw, Unreadable},
    read::{Patch, View},
};
use crate::wire::open_enum::{DiffOperation, FileType, ToolCallStatus, ToolKind};

views! {
    /// A tool call, or what is new about it: `tool_call`, `tool_call_update`, and what a permission is asked for.
    ToolCall {
        /// Which call.
        id: Cow<'a, str> = "toolCallId",
        /// What it does, for people. The first word on it has one, says version 1.
        title: Patch<Cow<'a, str>> = "title",
        /// The name of the tool.
        name: Patch<Cow<'a, str>> = "name",
        /// What sort of tool. Missing at first: [`ToolKind::Other`].
        kind: Patch<ToolKind> = "kind",
        /// How far it is. Missing at first: [`ToolCallStatus::Pending`].
        status: Patch<ToolCallStatus> = "status",
        /// What it yields, in place of what was said before.
        content: Patch<List<'a, ToolContent<'a>>> = "content",
        /// The files it is about, in place of what was said before.
        locations: Patch<List<'a, Location<'a>>> = "locations",
        /// What the tool was called with: its own business.
        raw_input: Patch<Raw<'a>> = "rawInput",
        /// What the tool answered: its own business.
        raw_output: Patch<Raw<'a>> = "rawOutput",
        /// Version 2: whether it can be cancelled by itself.
        capabilities: Patch<Cancellable<'a>> = "capabilities",
    }

    /// Version 2: what a client may do with a tool call, a terminal or a child session.
    Cancellable {
        /// It may be cancelled by itself.
        cancel: Option<Raw<'a>> = "cancel",
    }

    /// Version 2: one more piece of what a tool call yields.
    ToolCallChunk {
        /// Which call.
        id: Cow<'a, str> = "toolCallId",
        /// The piece.
        content: ToolContent<'a> = "content",
    }

    /// A place that a tool call is about.
    Location {
        /// The file: an absolute path.
        path: Cow<'a, str> = "path",
        /// The line, from 1.
        line: Option<u32> = "line",
    }

    /// Content in a tool call.
    ToolContentBlock {
        /// The content.
        content: Content<'a> = "content",
    }

    /// A change of a file, as version 1 tells it: all of the text, before and after.
    Diff {
        /// The file: an absolute path.
        path: Cow<'a, str> = "path",
        /// The text before. `None`: the file is new.
        old_text: Option<Cow<'a, str>> = "oldText",
        /// The text after.
        new_text: Cow<'a, str> = "newText",
    }

    /// Changes of files, as version 2 tells them.
    Changes {
        /// The files.
        changes: List<'a, Change<'a>> = "changes",
        /// The changes in text, if they are told.
        patch: Option<ChangesPatch<'a>> = "patch",
    }

    /// What happened to a file.
    Change {
        /// What.
        operation: DiffOperation = "operation",
        /// The file: an absolute path; after the operation, if it had another before.
        path: Option<Cow<'a, str>> = "path",
        /// The path before, if it is another.
        old_path: Option<Cow<'a, str>> = "oldPath",
        /// What sort of file.
        file_type: Option<FileType> = "fileType",
        /// Its media type.
        mime_type: Option<Cow<'a, str>> = "mimeType",
    }

    /// A patch.
    ChangesPatch {
        /// Its format: `git_patch`.
        format: Cow<'a, str> = "format",
        /// The patch.
        text: Cow<'a, str> = "text",
    }

    /// A terminal that shows the output of a tool call.
    TerminalRef {
        /// Which terminal.
        id: Cow<'a, str> = "terminalId",
    }

    /// A session that does the work of a tool call.
    SessionRef {
        /// Which session.
        id: Cow<'a, str> = "sessionId",
    }
}

impl Cancellable<'_> {
    /// Whether it may be cancelled by itself.
    #[must_use]
    pub fn can_cancel(&self) -> bool {
        self.cancel.is_some_and(Raw::is_offered)
    }
}

/// Something that a tool call yields.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "in a box it would cost an allocation")]
pub enum ToolContent<'a> {
    /// Content.
    Content(Content<'a>),
    /// A change of a file, as version 1 tells it.
    Diff(Diff<'a>),
    /// Changes of files, as version 2 tells them.
    Changes(Changes<'a>),
    /// A terminal.
    Terminal(TerminalRef<'a>),
    /// A session.
    Session(SessionRef<'a>),
    /// Any other.
    Unknown(Unknown<'a>),
}

/// A block of content without what should be around it is taken, too: an example of the protocol has it so (ACP v1, Session
/// Modes).
impl<'a> View<'a> for ToolContent<'a> {
    fn read(raw: Raw<'a>) -> Result<Self, Unreadable> {
        let [kind, changes] = raw.members(["type", "changes"])?;
        let kind = Cow::member(kind).map_err(|why| why.at("type"))?;
        Ok(match &*kind {
            "content" => Self::Content(ToolContentBlock::read(raw)?.content),
            "diff" if changes.is_some() => Self::Changes(View::read(raw)?),
            "diff" => Self::Diff(View::read(raw)?),
            "terminal" => Self::Terminal(View::read(raw)?),
            "session" => Self::Session(View::read(raw)?),
            _ => match Content::read(raw)? {
                Content::Unknown(unknown) => Self::Unknown(unknown),
                content => Self::Content(content),
            },
        })
    }
}
