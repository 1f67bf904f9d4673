//! The rules that a trace is held against, each with the page of the protocol it comes from.

use super::Severity;

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name, for people and for filters.
    pub name: &'static str,
    /// What it says.
    pub says: &'static str,
    /// How certain a breach of it is, where the finding does not say otherwise.
    pub severity: Severity,
    /// The page and the section it comes from.
    pub section: &'static str,
    /// Where that is.
    pub link: &'static str,
}

macro_rules! rules {
    ($($rule:ident $name:literal $severity:ident $section:literal $link:literal $says:literal)*) => {
        $(
            #[doc = $says]
            pub const $rule: Rule =
                Rule { name: $name, says: $says, severity: Severity::$severity, section: $section, link: $link };
        )*

        /// All of them.
        pub const ALL: &[Rule] = &[$($rule),*];
    };
}

/// Where the pages of version 1 are; a link of a rule goes on from here, unless it is whole.
pub const PAGES: &str = "https://agentclientprotocol.com/protocol/v1/";

rules! {
    // What passes is messages.
    NOT_JSON "not-json" Error "Transports, stdio" "transports#stdio"
        "Nothing but messages may pass, each in one line: no log output, no line breaks within a message."
    NOT_A_MESSAGE "not-a-message" Error "JSON-RPC 2.0, 4 and 5" "https://www.jsonrpc.org/specification#request_object"
        "A message is one object with `jsonrpc` \"2.0\" and either a method, a result or an error."
    BATCH "batch" Error "Transports" "transports"
        "Messages are individual requests, notifications or responses: no batches."
    // Ids and answers.
    NULL_ID "null-id" Warning "JSON-RPC 2.0, 4" "https://www.jsonrpc.org/specification#request_object"
        "A request should not have the id null."
    ID_IN_USE "id-in-use" Error "JSON-RPC 2.0, 4" "https://www.jsonrpc.org/specification#request_object"
        "An id that an unanswered request of the same side has cannot be used for another."
    UNKNOWN_ANSWER "unknown-answer" Error "JSON-RPC 2.0, 5" "https://www.jsonrpc.org/specification#response_object"
        "An answer has the id of a request that was sent."
    ANSWERED_TWICE "answered-twice" Error "JSON-RPC 2.0, 5" "https://www.jsonrpc.org/specification#response_object"
        "A request is answered once."
    UNANSWERED "unanswered" Error "JSON-RPC 2.0, 5" "https://www.jsonrpc.org/specification#response_object"
        "Every request is answered."
    PEER_REJECTED "peer-rejected" Warning "JSON-RPC 2.0, 5" "https://www.jsonrpc.org/specification#response_object"
        "An error with the id null says that something was sent that the other side could not read."
    // Initialization.
    BEFORE_INITIALIZE "before-initialize" Error "Initialization" "initialization"
        "Nothing is sent before `initialize` is answered."
    INITIALIZE_TWICE "initialize-twice" Warning "Initialization" "initialization"
        "A connection is initialized once."
    // Methods.
    WRONG_DIRECTION "wrong-direction" Error "Overview" "overview"
        "A method is sent by the side that the protocol gives it to."
    WRONG_FORM "wrong-form" Error "Overview, Communication Model" "overview#communication-model"
        "A request has an id, and a notification has none."
    UNKNOWN_METHOD "unknown-method" Warning "Extensibility, Extension Methods" "extensibility#extension-methods"
        "A method that is not of the protocol begins with an underscore."
    NOT_ADVERTISED "not-advertised" Error "Initialization, Capabilities" "initialization#capabilities"
        "A method behind a capability is called only if the other side advertised it."
    BAD_PARAMS "bad-params" Error "Schema" "schema"
        "A message has the parameters that the schema requires."
    BAD_RESULT "bad-result" Error "Schema" "schema"
        "A result has the members that the schema requires."
    RELATIVE_PATH "relative-path" Error "Overview, Argument requirements" "overview#argument-requirements"
        "Paths are absolute."
    AUTH_METHOD "auth-method" Error "Authentication" "authentication"
        "`authenticate` names one of the methods that the agent advertised."
    // Sessions.
    UNKNOWN_SESSION "unknown-session" Error "Session Setup, Session ID" "session-setup#session-id"
        "A message names a session that is open on this connection."
    LOAD_ORDER "load-order" Error "Session Setup, Loading a Session" "session-setup#loading-a-session"
        "`session/load` is answered after the whole conversation was replayed."
    RESUME_REPLAYS "resume-replays" Error "Session Setup, Resuming a Session" "session-setup#resuming-a-session"
        "`session/resume` is answered without replaying the conversation."
    UNKNOWN_MODE "unknown-mode" Error "Session Modes, From the Client" "session-modes#from-the-client"
        "A mode that is set is one of those that the agent offered for the session."
    // Turns.
    CONTENT_NOT_ADVERTISED "content-not-advertised" Error "Initialization, Prompt capabilities" "initialization#prompt-capabilities"
        "A prompt holds only kinds of content that the agent advertised."
    SECOND_PROMPT "second-prompt" Warning "Prompt Turn, Continue Conversation" "prompt-turn#6-continue-conversation"
        "The next prompt of a session is sent once its turn is over."
    STOP_REASON "stop-reason" Error "Prompt Turn, Stop Reasons" "prompt-turn#stop-reasons"
        "A turn ends for one of the reasons that the protocol names."
    UPDATE_KIND "update-kind" Warning "Schema, SessionUpdate" "schema#sessionupdate"
        "An update is of a kind that the protocol names."
    UPDATE_AFTER_CANCELLED "update-after-cancelled" Error "Prompt Turn, Cancellation" "prompt-turn#cancellation"
        "All updates of a cancelled turn are sent before its answer."
    UPDATE_OUTSIDE_TURN "update-outside-turn" Warning "Prompt Turn, Check for Completion" "prompt-turn#4-check-for-completion"
        "Output and tool calls are reported before the turn's answer."
    UNKNOWN_TOOL_CALL "unknown-tool-call" Warning "Tool Calls, Updating" "tool-calls#updating"
        "A tool call is announced before it is updated."
    TOOL_STATUS "tool-status" Error "Tool Calls, Status" "tool-calls#status"
        "A tool call has a status that the protocol names."
    OPEN_REQUEST "open-request" Error "Prompt Turn, Check for Completion" "prompt-turn#4-check-for-completion"
        "A turn ends when nothing is pending any more: no permission it asked for is open."
    // Permissions and cancels.
    OPTION_NOT_OFFERED "option-not-offered" Error "Tool Calls, Requesting Permission" "tool-calls#requesting-permission"
        "The option that is selected is one of those that were offered."
    PERMISSION_AFTER_CANCEL "permission-after-cancel" Error "Prompt Turn, Cancellation" "prompt-turn#cancellation"
        "Once it has cancelled, the client answers every open permission request of the turn `cancelled`."
    PERMISSION_UNASKED_CANCEL "permission-unasked-cancel" Warning "Tool Calls, Requesting Permission" "tool-calls#requesting-permission"
        "A permission request is answered `cancelled` when the turn was cancelled."
    CANCEL_IGNORED "cancel-ignored" Error "Prompt Turn, Cancellation" "prompt-turn#cancellation"
        "A turn that was cancelled ends with the stop reason `cancelled`."
    CANCEL_FAILED "cancel-failed" Error "Prompt Turn, Cancellation" "prompt-turn#cancellation"
        "A turn that was cancelled is not answered with an error: the abort is no failure."
    CANCEL_UNANSWERED "cancel-unanswered" Error "Prompt Turn, Cancellation" "prompt-turn#cancellation"
        "A turn that was cancelled is answered."
    CANCELLED_UNASKED "cancelled-unasked" Warning "Prompt Turn, Stop Reasons" "prompt-turn#stop-reasons"
        "The stop reason `cancelled` says that the client cancelled."
    // Terminals.
    UNKNOWN_TERMINAL "unknown-terminal" Error "Terminals" "terminals"
        "A terminal that is named was created, and not released."
}
