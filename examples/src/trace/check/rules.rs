//! The rules that a trace is held against, each with the pages of the protocol it comes from, in one version or in both.

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
    /// Where version 1 says so. `None`: it does not.
    pub v1: Option<Place>,
    /// Where version 2 says so. `None`: it does not.
    pub v2: Option<Place>,
}

/// Where a rule stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The page and the section.
    pub section: &'static str,
    link: &'static str,
    pages: &'static str,
}

impl Place {
    /// A section of the pages of version 1: its name, and its address below that of the pages, or the whole address.
    #[must_use]
    pub const fn v1(section: &'static str, link: &'static str) -> Self {
        Self { section, link, pages: V1 }
    }

    /// The same of version 2.
    #[must_use]
    pub const fn v2(section: &'static str, link: &'static str) -> Self {
        Self { section, link, pages: V2 }
    }

    /// The address of the section.
    #[must_use]
    pub fn address(&self) -> String {
        if self.link.contains("://") { self.link.to_owned() } else { format!("{}{}", self.pages, self.link) }
    }
}

impl Rule {
    /// Where the rule stands in this version of the protocol; if it does not, where it stands in the other.
    #[must_use]
    pub fn place(&self, version: u16) -> Place {
        let (this, that) = if version >= 2 { (self.v2, self.v1) } else { (self.v1, self.v2) };
        this.or(that).unwrap_or(NOWHERE)
    }
}

const NOWHERE: Place = Place { section: "", link: "", pages: "" };
const V1: &str = "https://agentclientprotocol.com/protocol/v1/";
const V2: &str = "https://agentclientprotocol.com/protocol/v2/";

/// `1`: in version 1 only, `2`: in version 2 only, `=`: in both, under the same heading. Two of them: each on a page of its own.
macro_rules! places {
    (= $section:literal $link:literal) => {
        (Some(Place::v1($section, $link)), Some(Place::v2($section, $link)))
    };
    (1 $section:literal $link:literal) => {
        (Some(Place::v1($section, $link)), None)
    };
    (2 $section:literal $link:literal) => {
        (None, Some(Place::v2($section, $link)))
    };
    (1 $section:literal $link:literal 2 $other:literal $there:literal) => {
        (Some(Place::v1($section, $link)), Some(Place::v2($other, $there)))
    };
}

macro_rules! rules {
    ($($rule:ident $name:literal $severity:ident [$($place:tt)*] $says:literal)*) => {
        $(
            #[doc = $says]
            pub const $rule: Rule = {
                let (v1, v2) = places!($($place)*);
                Rule { name: $name, says: $says, severity: Severity::$severity, v1, v2 }
            };
        )*

        /// All of them.
        pub const ALL: &[Rule] = &[$($rule),*];
    };
}

rules! {
    // What passes is messages.
    NOT_JSON "not-json" Error [= "Transports, stdio" "transports#stdio"]
        "Nothing but messages may pass, each in one line: no log output, no line breaks within a message."
    NOT_A_MESSAGE "not-a-message" Error [= "JSON-RPC 2.0, 4 and 5" "https://www.jsonrpc.org/specification#request_object"]
        "A message is one object with `jsonrpc` \"2.0\" and either a method, a result or an error."
    BATCH "batch" Error [= "Transports" "transports"]
        "Messages are individual requests, notifications or responses: no batches."
    // Ids and answers.
    NULL_ID "null-id" Warning [= "JSON-RPC 2.0, 4" "https://www.jsonrpc.org/specification#request_object"]
        "A request should not have the id null; in version 2 it must not."
    ID_IN_USE "id-in-use" Error [= "JSON-RPC 2.0, 4" "https://www.jsonrpc.org/specification#request_object"]
        "An id that an unanswered request of the same side has cannot be used for another."
    UNKNOWN_ANSWER "unknown-answer" Error [= "JSON-RPC 2.0, 5" "https://www.jsonrpc.org/specification#response_object"]
        "An answer has the id of a request that was sent."
    ANSWERED_TWICE "answered-twice" Error [= "JSON-RPC 2.0, 5" "https://www.jsonrpc.org/specification#response_object"]
        "A request is answered once."
    UNANSWERED "unanswered" Error [= "JSON-RPC 2.0, 5" "https://www.jsonrpc.org/specification#response_object"]
        "Every request is answered."
    PEER_REJECTED "peer-rejected" Warning [= "JSON-RPC 2.0, 5" "https://www.jsonrpc.org/specification#response_object"]
        "An error with the id null says that something was sent that the other side could not read."
    // Initialization.
    BEFORE_INITIALIZE "before-initialize" Error [= "Initialization" "initialization"]
        "Nothing is sent before `initialize` is answered."
    INITIALIZE_TWICE "initialize-twice" Warning [= "Initialization" "initialization"]
        "A connection is initialized once; in version 2 again, as long as nothing else was asked."
    VERSION "version" Error [2 "Initialization, Version Negotiation" "initialization#version-negotiation"]
        "The version that is agreed is not above the one that was asked for."
    OTHER_VERSION "other-version" Error [1 "Initialization, Version Negotiation" "initialization#version-negotiation" 2 "Migration" "migration"]
        "What only another version of the protocol has is not used: its methods, kinds of updates, and members."
    // Methods.
    WRONG_DIRECTION "wrong-direction" Error [= "Overview" "overview"]
        "A method is sent by the side that the protocol gives it to."
    WRONG_FORM "wrong-form" Error [= "Overview, Communication Model" "overview#communication-model"]
        "A request has an id, and a notification has none."
    UNKNOWN_METHOD "unknown-method" Warning [= "Extensibility, Extension Methods" "extensibility#extension-methods"]
        "A method that is not of the protocol begins with an underscore."
    NOT_ADVERTISED "not-advertised" Error [= "Initialization, Capabilities" "initialization#capabilities"]
        "A method behind a capability is called only if the other side advertised it."
    BAD_PARAMS "bad-params" Error [= "Schema" "schema"]
        "A message has the parameters that the schema requires."
    BAD_RESULT "bad-result" Error [= "Schema" "schema"]
        "A result has the members that the schema requires."
    RELATIVE_PATH "relative-path" Error [= "Overview, Argument requirements" "overview#argument-requirements"]
        "Paths are absolute."
    AUTH_METHOD "auth-method" Error [= "Authentication" "authentication"]
        "A login names one of the methods that the agent advertised."
    // Sessions.
    UNKNOWN_SESSION "unknown-session" Error [= "Session Setup, Session ID" "session-setup#session-id"]
        "A message names a session that is open on this connection."
    LOAD_ORDER "load-order" Error [1 "Session Setup, Loading a Session" "session-setup#loading-a-session"]
        "`session/load` is answered after the whole conversation was replayed."
    RESUME_REPLAYS "resume-replays" Error [1 "Session Setup, Resuming a Session" "session-setup#resuming-a-session" 2 "Session Setup, Resuming Sessions" "session-setup#resuming-sessions"]
        "`session/resume` is answered without replaying the conversation, unless that was asked for."
    RESUME_ORDER "resume-order" Error [2 "Session Setup, Resuming Sessions" "session-setup#resuming-sessions"]
        "`session/resume` is answered after the history that it asks for, `replay_complete`, and the state of the session, in this order."
    CLOSE_ORDER "close-order" Error [2 "Session Setup, Closing Active Sessions" "session-setup#closing-active-sessions"]
        "A session that is closed is reported idle before the answer."
    UNKNOWN_MODE "unknown-mode" Error [1 "Session Modes, From the Client" "session-modes#from-the-client"]
        "A mode that is set is one of those that the agent offered for the session."
    // Turns.
    CONTENT_NOT_ADVERTISED "content-not-advertised" Error [= "Initialization, Prompt capabilities" "initialization#prompt-capabilities"]
        "A prompt holds only kinds of content that the agent advertised."
    SECOND_PROMPT "second-prompt" Warning [1 "Prompt Turn, Continue Conversation" "prompt-turn#6-continue-conversation"]
        "The next prompt of a session is sent once its turn is over."
    STOP_REASON "stop-reason" Error [1 "Prompt Turn, Stop Reasons" "prompt-turn#stop-reasons" 2 "Prompt Lifecycle, Stop Reasons" "prompt-lifecycle#stop-reasons"]
        "A turn ends for one of the reasons that the protocol names."
    UPDATE_KIND "update-kind" Warning [= "Schema, SessionUpdate" "schema#sessionupdate"]
        "An update is of a kind that the protocol names."
    UPDATE_AFTER_CANCELLED "update-after-cancelled" Error [1 "Prompt Turn, Cancellation" "prompt-turn#cancellation" 2 "Prompt Lifecycle, Cancellation" "prompt-lifecycle#cancellation"]
        "All updates of a cancelled turn are sent before its end."
    UPDATE_OUTSIDE_TURN "update-outside-turn" Warning [1 "Prompt Turn, Check for Completion" "prompt-turn#4-check-for-completion"]
        "Output and tool calls are reported before the turn's answer."
    UNKNOWN_TOOL_CALL "unknown-tool-call" Warning [1 "Tool Calls, Updating" "tool-calls#updating"]
        "A tool call is announced before it is updated."
    TOOL_STATUS "tool-status" Error [= "Tool Calls, Status" "tool-calls#status"]
        "A tool call has a status that the protocol names."
    OPEN_REQUEST "open-request" Error [1 "Prompt Turn, Check for Completion" "prompt-turn#4-check-for-completion"]
        "A turn ends when nothing is pending any more: no permission it asked for is open."
    // Turns of version 2.
    PROMPT_UNTOLD "prompt-untold" Error [2 "Prompt Lifecycle, Prompt Accepted" "prompt-lifecycle#2-prompt-accepted"]
        "The message of a prompt that was inserted is told, under the id of the answer."
    PROMPT_FAILED "prompt-failed" Error [2 "Schema, PromptResponse" "schema#promptresponse"]
        "A prompt whose message is inserted is not answered with an error: what fails later is told by the state."
    MESSAGE_ID "message-id" Error [2 "Schema, PromptRequest" "schema#promptrequest"]
        "A prompt gets an id of its own; one that is sent again with its idempotency key gets the same."
    SESSION_STATE "session-state" Warning [2 "Prompt Lifecycle, Session States" "prompt-lifecycle#session-states"]
        "A session is in a state that the protocol names."
    WORK_UNREPORTED "work-unreported" Warning [2 "Prompt Lifecycle, Agent Reports Output" "prompt-lifecycle#3-agent-reports-output"]
        "Work is reported as running before its output and its end."
    STILL_WAITING "still-waiting" Warning [2 "Prompt Lifecycle, Tool Invocation and Status Reporting" "prompt-lifecycle#5-tool-invocation-and-status-reporting"]
        "Work that waited for the user is reported as running when it goes on."
    BACKGROUND "background" Error [2 "Schema, StateUpdate" "schema#stateupdate"]
        "Who reports what goes on in the background does so in every state, and names nothing that was not told before."
    TOOL_BACKWARDS "tool-backwards" Error [2 "Tool Calls, Status" "tool-calls#status"]
        "A tool call that began does not become pending again."
    NOT_CANCELLABLE "not-cancellable" Error [2 "Schema, CancelToolCallRequest" "schema#canceltoolcallrequest"]
        "A tool call, or a terminal, is cancelled by itself only while the agent offers that for it."
    // Permissions and cancels.
    OPTION_NOT_OFFERED "option-not-offered" Error [= "Tool Calls, Requesting Permission" "tool-calls#requesting-permission"]
        "The option that is selected is one of those that were offered."
    PERMISSION_AFTER_CANCEL "permission-after-cancel" Error [1 "Prompt Turn, Cancellation" "prompt-turn#cancellation"]
        "Once it has cancelled, the client answers every open permission request of the turn `cancelled`."
    PERMISSION_UNASKED_CANCEL "permission-unasked-cancel" Warning [1 "Tool Calls, Requesting Permission" "tool-calls#requesting-permission"]
        "A permission request is answered `cancelled` when the turn was cancelled."
    CANCEL_IGNORED "cancel-ignored" Error [1 "Prompt Turn, Cancellation" "prompt-turn#cancellation" 2 "Prompt Lifecycle, Cancellation" "prompt-lifecycle#cancellation"]
        "A turn that was cancelled ends with the stop reason `cancelled`."
    CANCEL_FAILED "cancel-failed" Error [1 "Prompt Turn, Cancellation" "prompt-turn#cancellation" 2 "Prompt Lifecycle, Cancellation" "prompt-lifecycle#cancellation"]
        "A turn that was cancelled does not end with an error: the abort is no failure."
    CANCEL_UNANSWERED "cancel-unanswered" Error [1 "Prompt Turn, Cancellation" "prompt-turn#cancellation" 2 "Prompt Lifecycle, Cancellation" "prompt-lifecycle#cancellation"]
        "A turn that was cancelled ends."
    REQUEST_NOT_CANCELLED "request-not-cancelled" Error [2 "Prompt Lifecycle, Cancellation" "prompt-lifecycle#cancellation"]
        "An agent that is cancelled cancels what it asked the user for that work, with `$/cancel_request`."
    CANCELLED_UNASKED "cancelled-unasked" Warning [1 "Prompt Turn, Stop Reasons" "prompt-turn#stop-reasons" 2 "Prompt Lifecycle, Stop Reasons" "prompt-lifecycle#stop-reasons"]
        "The stop reason `cancelled` says that the client cancelled."
    // Terminals.
    UNKNOWN_TERMINAL "unknown-terminal" Error [1 "Terminals" "terminals"]
        "A terminal that is named was created, and not released."
}
