//! What is told of an agent's work beside its conversation: what version 2 says of the session's state and of terminals,
//! compactions of the context, child sessions, and what is not stable yet.

use alloc::borrow::Cow;

use super::{
    content::Content,
    declare::{Unknown, kinds, views},
    list::List,
    raw::{Raw, Unreadable},
    read::{Patch, View},
    tool::Cancellable,
};
use crate::wire::open_enum::{CompactionStatus, SessionState, StopReason};

views! {
    /// What a session is at (ACP v2, Prompt Lifecycle). A state that is not known is not rest.
    State {
        /// At what.
        state: SessionState = "state",
        /// At rest: why the work ended.
        stop_reason: Option<StopReason> = "stopReason",
        /// At rest after a failure: what went wrong.
        error: Option<Failure<'a>> = "error",
        /// What goes on in the background, if the agent says that at all.
        background: Option<List<'a, Background<'a>>> = "background",
    }

    /// What went wrong: an error of JSON-RPC.
    Failure {
        /// What sort of error.
        code: i64 = "code",
        /// What, in a sentence.
        message: Cow<'a, str> = "message",
        /// More about it.
        data: Option<Raw<'a>> = "data",
    }

    /// A tool call in the background.
    BackgroundToolCall {
        /// Which call.
        id: Cow<'a, str> = "toolCallId",
    }

    /// A terminal in the background.
    BackgroundTerminal {
        /// Which terminal.
        id: Cow<'a, str> = "terminalId",
    }

    /// A child session in the background.
    BackgroundSubagent {
        /// Which session.
        id: Cow<'a, str> = "sessionId",
    }

    /// The history is told to its end.
    ReplayComplete {}

    /// A terminal of the agent's, or what is new about it.
    Terminal {
        /// Which terminal.
        id: Cow<'a, str> = "terminalId",
        /// What runs in it.
        command: Patch<Cow<'a, str>> = "command",
        /// Where: an absolute path.
        cwd: Patch<Cow<'a, str>> = "cwd",
        /// All of its output, in place of what was said before.
        output: Patch<Output<'a>> = "output",
        /// How what ran in it ended.
        exit_status: Patch<ExitStatus<'a>> = "exitStatus",
        /// Its size.
        size: Patch<TerminalSize<'a>> = "size",
        /// Whether it can be cancelled by itself.
        capabilities: Patch<Cancellable<'a>> = "capabilities",
    }

    /// The output of a terminal.
    Output {
        /// The bytes, as base64.
        data: Cow<'a, str> = "data",
    }

    /// One more piece of a terminal's output.
    TerminalOutput {
        /// Which terminal.
        id: Cow<'a, str> = "terminalId",
        /// The bytes, as base64: each piece by itself.
        data: Cow<'a, str> = "data",
    }

    /// How a program ended.
    ExitStatus {
        /// With this code.
        code: Option<i64> = "exitCode",
        /// By this signal.
        signal: Option<Cow<'a, str>> = "signal",
    }

    /// The size of a terminal.
    TerminalSize {
        /// Columns.
        cols: u16 = "cols",
        /// Rows.
        rows: u16 = "rows",
    }

    /// A compaction of the context.
    Compaction {
        /// Which one.
        id: Cow<'a, str> = "compactionId",
        /// How far it is.
        status: Patch<CompactionStatus> = "status",
        /// The summary, in place of what was said before.
        summary: Patch<List<'a, Content<'a>>> = "summary",
        /// Why it failed.
        error: Patch<Cow<'a, str>> = "error",
    }

    /// One more piece of the summary that a compaction writes.
    CompactionChunk {
        /// Which compaction.
        id: Cow<'a, str> = "compactionId",
        /// The piece.
        content: Content<'a> = "content",
    }

    /// A child session, or what is new about it.
    Subagent {
        /// Its id.
        id: Cow<'a, str> = "sessionId",
        /// Its title.
        title: Patch<Cow<'a, str>> = "title",
        /// What it is for.
        description: Patch<Cow<'a, str>> = "description",
        /// What it is at.
        state: Patch<State<'a>> = "state",
        /// Where it works: an absolute path.
        cwd: Patch<Cow<'a, str>> = "cwd",
        /// Its other folders: absolute paths.
        additional_directories: Patch<List<'a, Cow<'a, str>>> = "additionalDirectories",
        /// Whether it can be cancelled by itself.
        capabilities: Patch<Cancellable<'a>> = "capabilities",
    }

    /// A message between sessions.
    SessionMessage {
        /// Which message.
        id: Cow<'a, str> = "messageId",
        /// The session that sends it.
        sender: Option<Cow<'a, str>> = "senderSessionId",
        /// The session it is for.
        recipient: Option<Cow<'a, str>> = "recipientSessionId",
        /// What it says.
        content: Patch<List<'a, Content<'a>>> = "content",
    }

    /// What the user might say next (unstable).
    Suggestions {
        /// In place of what was said before.
        suggestions: List<'a, Suggestion<'a>> = "suggestions",
    }

    /// A prompt that the user might send.
    Suggestion {
        /// What it says.
        prompt: List<'a, Content<'a>> = "prompt",
    }

    /// A point in the history to come back to (unstable).
    Cursor {
        /// Which one.
        id: Cow<'a, str> = "cursorId",
        /// Where it is.
        anchor: Patch<Raw<'a>> = "anchor",
        /// What can be done from it.
        capabilities: Patch<Raw<'a>> = "capabilities",
    }
}

kinds! {
    /// Something that goes on in the background.
    Background by "type" {
        /// A tool call.
        ToolCall(BackgroundToolCall) = "tool_call",
        /// A terminal.
        Terminal(BackgroundTerminal) = "terminal",
        /// A child session.
        Subagent(BackgroundSubagent) = "subagent",
    }
}
