//! What this agent says differently in the two versions of the protocol. All of it is shape: when things are said, and what
//! a cancel does, is the same, and the core's.

use acp_core::{
    ErrorObject, Payload,
    view::{Content, Prompt},
    wire::ToolCallStatus,
};
use serde_json::{Value, json};

use crate::shape::{chunk, invalid_params, tool_call};

/// The one way to log in.
pub(super) const AUTH_METHOD: &str = "interop-token";

/// The version that was agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Dialect {
    #[default]
    V1,
    /// The preview.
    V2,
}

impl Dialect {
    pub(super) const fn of(version: u16) -> Self {
        if version >= 2 { Self::V2 } else { Self::V1 }
    }

    /// The result of `initialize`.
    pub(super) fn initialized(self, require_auth: bool) -> Value {
        let (name, title, version) = ("echo_agent", "Echo", env!("CARGO_PKG_VERSION"));
        let (login, about) = ("Token", "Any client may have it.");
        match self {
            Self::V1 => {
                let mut result = json!({
                    "agentInfo": { "name": name, "title": title, "version": version },
                    "agentCapabilities": {
                        "loadSession": true,
                        "sessionCapabilities": { "list": {}, "resume": {}, "close": {}, "delete": {} },
                    },
                    "authMethods": [],
                });
                if require_auth {
                    result["authMethods"] = json!([{ "id": AUTH_METHOD, "name": login, "description": about }]);
                    result["agentCapabilities"]["auth"] = json!({ "logout": {} });
                }
                result
            }
            Self::V2 => {
                let mut result = json!({
                    "info": { "name": name, "title": title, "version": version },
                    "capabilities": { "session": { "delete": {} } },
                });
                if require_auth {
                    let method = json!({
                        "type": "agent", "methodId": AUTH_METHOD, "name": login, "description": about,
                    });
                    result["authMethods"] = json!([method]);
                }
                result
            }
        }
    }

    /// Refuses the blocks of a prompt that this agent has no use for. Version 2 demands it (ACP v2, `PromptRequest`); in
    /// version 1 they are passed over.
    pub(super) fn check(self, params: &Payload) -> Result<(), ErrorObject> {
        let prompt = params.view::<Prompt<'_>>().ok().filter(|_| self == Self::V2);
        let is_of_use = |block: &Content<'_>| matches!(block, Content::Text(_) | Content::ResourceLink(_));
        match prompt.into_iter().flat_map(|prompt| prompt.content).find(|block| !is_of_use(block)) {
            Some(_) => Err(invalid_params("`prompt` may hold text and links to resources only")),
            None => Ok(()),
        }
    }

    /// A piece of a message. Version 2 wants to know of which.
    pub(super) fn chunk(self, kind: &str, message: &str, text: &str) -> Value {
        let mut update = chunk(kind, text);
        if self == Self::V2 {
            update["messageId"] = json!(message);
        }
        update
    }

    /// A new tool call. In version 2 the first update makes it.
    pub(super) fn tool_call(self, id: &str, title: &str) -> Value {
        let mut update = tool_call(id, title);
        if self == Self::V2 {
            update["sessionUpdate"] = json!("tool_call_update");
        }
        update
    }

    /// The whole plan. Version 2 has several, and names them.
    pub(super) fn plan(self, id: &str, entries: Vec<Value>) -> Value {
        match self {
            Self::V1 => json!({ "sessionUpdate": "plan", "entries": entries }),
            Self::V2 => json!({
                "sessionUpdate": "plan_update",
                "plan": { "type": "items", "planId": id, "entries": entries },
            }),
        }
    }

    /// What a tool call changed: one line of a file.
    pub(super) fn diff(self, path: &str) -> Value {
        match self {
            Self::V1 => json!({ "type": "diff", "path": path, "oldText": "before\n", "newText": "after\n" }),
            Self::V2 => json!({
                "type": "diff",
                "changes": [{ "operation": "modify", "path": path, "fileType": "text" }],
                "patch": {
                    "format": "git_patch",
                    "text": format!("--- a{path}\n+++ b{path}\n@@ -1 +1 @@\n-before\n+after\n"),
                },
            }),
        }
    }

    /// How a tool call ends that is cut short.
    pub(super) const fn cut_short(self) -> ToolCallStatus {
        match self {
            Self::V1 => ToolCallStatus::Failed,
            Self::V2 => ToolCallStatus::Cancelled,
        }
    }

    /// The request for permission to run a tool call.
    pub(super) fn permission(self, id: &str, title: &str, options: Value) -> Value {
        let call = json!({ "toolCallId": id, "title": title, "kind": "edit", "status": "pending" });
        match self {
            Self::V1 => json!({ "toolCall": call, "options": options }),
            Self::V2 => json!({
                "title": format!("{title}?"),
                "subject": { "type": "tool_call", "toolCall": call },
                "options": options,
            }),
        }
    }
}
