//! What a run tells, and how it is read out of the agent's messages.

use std::borrow::Cow;

use acp_core::{
    CommandError, ErrorObject, Outcome, Payload,
    view::{Initialized, Raw},
    wire::code,
};
use serde::Serialize;

/// One event. Those that are serialized are lines of the JSON output; the others are for the transcript only.
#[derive(Debug, Serialize)]
#[serde(tag = "ev", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Event<'a> {
    Initialized {
        protocol_version: u16,
        agent_capabilities: Payload,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_info: Option<Raw<'a>>,
        auth_methods: Vec<Cow<'a, str>>,
    },
    Auth {
        ok: bool,
    },
    Session {
        session_id: &'a str,
        n: usize,
    },
    Result {
        method: &'a str,
        result: &'a Payload,
    },
    Update(Update<'a>),
    Permission {
        session_id: &'a str,
        tool_call_id: &'a str,
        options: &'a [String],
        answer: Answer<'a>,
    },
    CancelSent {
        session_id: &'a str,
    },
    Stop {
        session_id: &'a str,
        prompt: usize,
        stop_reason: &'a str,
    },
    Error {
        r#where: &'a str,
        #[serde(flatten)]
        what: Failure,
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        of: Option<Of>,
    },
    Closed {
        r#where: &'a str,
        reason: String,
    },
    /// The agent's process runs.
    #[serde(skip)]
    Started,
    /// A request is on its way.
    #[serde(skip)]
    Sent {
        method: &'a str,
        about: &'a str,
    },
    /// A prompt is on its way.
    #[serde(skip)]
    Prompted {
        prompt: usize,
        text: &'a str,
    },
    /// A permission is asked for.
    #[serde(skip)]
    Asked {
        tool_call_id: &'a str,
        options: &'a [String],
    },
    /// The agent's process is over.
    #[serde(skip)]
    Ended {
        how: String,
    },
}

impl Event<'_> {
    /// Whether it is none of those that the JSON output has.
    pub(super) const fn is_for_people(&self) -> bool {
        matches!(
            self,
            Self::Started | Self::Sent { .. } | Self::Prompted { .. } | Self::Asked { .. } | Self::Ended { .. }
        )
    }
}

/// The turn that an error is about.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Of {
    pub(super) session_id: String,
    pub(super) prompt: usize,
}

/// The outcome of a permission request.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Answer<'a> {
    Selected { option_id: &'a str },
    Cancelled,
}

/// What went wrong.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Failure {
    code: Code,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Payload>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Code {
    Number(i64),
    Word(&'static str),
}

impl Failure {
    pub(super) fn timeout(message: impl Into<String>) -> Self {
        Self { code: Code::Word("timeout"), message: message.into(), data: None }
    }

    pub(super) fn version(message: impl Into<String>) -> Self {
        Self { code: Code::Word("version"), message: message.into(), data: None }
    }

    /// One that was found on this side, with the code it would have come with from the other.
    pub(super) fn here(code: i64, message: impl Into<String>) -> Self {
        Self { code: Code::Number(code), message: message.into(), data: None }
    }

    /// A request that did not come to a result; `None`: because the connection ended, which is told by itself.
    pub(super) fn of(outcome: &Outcome) -> Option<Self> {
        Some(match outcome {
            Outcome::Error(error) => error.into(),
            Outcome::Invalid { why, .. } => {
                Self::here(code::INTERNAL_ERROR, format!("the answer cannot be used: {why}"))
            }
            Outcome::TooLong { size, limit } => {
                let why = format!("the answer has {size} bytes, and a line may have {limit}");
                Self::here(code::INTERNAL_ERROR, why)
            }
            Outcome::TimedOut => Self::timeout("no answer in time"),
            Outcome::Closed => return None,
            other => Self::here(code::INTERNAL_ERROR, format!("no answer: {other:?}")),
        })
    }

    /// A request that was not sent; `None` as above.
    pub(super) fn unsent(why: &CommandError) -> Option<Self> {
        Some(match why {
            CommandError::Closed => return None,
            CommandError::NotOffered(_) => Self::here(code::METHOD_NOT_FOUND, why.to_string()),
            _ => Self::here(code::INVALID_REQUEST, why.to_string()),
        })
    }
}

impl From<&ErrorObject> for Failure {
    fn from(error: &ErrorObject) -> Self {
        Self { code: Code::Number(error.code), message: error.message.to_string(), data: error.data.clone() }
    }
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match &self.code {
            Code::Number(code) => write!(f, "{} ({code})", self.message),
            Code::Word(code) => write!(f, "{} ({code})", self.message),
        }
    }
}

/// What is shown of an update: only what is there, and can be read.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Update<'a> {
    pub(super) session_id: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<Cow<'a, str>>,
}

impl<'a> Update<'a> {
    /// As much as there is: a line is told of an update that is no update, too.
    pub(super) fn read(params: &'a Payload) -> Self {
        fn text<'a>(of: Option<Raw<'a>>, name: &str) -> Option<Cow<'a, str>> {
            of?.member(name)?.view().ok()
        }
        let params: Option<Raw<'a>> = params.view().ok();
        let update = params.and_then(|params| params.member("update"));
        Self {
            session_id: text(params, "sessionId").unwrap_or_default(),
            kind: text(update, "sessionUpdate"),
            text: text(update.and_then(|update| update.member("content")), "text"),
            tool_call_id: text(update, "toolCallId"),
            status: text(update, "status"),
        }
    }
}

/// What is shown of the answer to `initialize`.
pub(super) fn initialized(result: &Payload) -> Option<Event<'_>> {
    let Initialized { version, info, capabilities, logins, .. } = result.view().ok()?;
    Some(Event::Initialized {
        protocol_version: version,
        agent_capabilities: capabilities.raw.map_or(Payload::EMPTY, |raw| raw.to_payload()),
        agent_info: info.map(|info| info.raw),
        auth_methods: logins.into_iter().flatten().map(|login| login.id).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::{Answer, Event, Failure, Of, Update};
    use acp_core::{ErrorObject, Payload};

    #[test]
    fn events_are_what_the_contract_says() {
        let line = |event: Event<'_>| serde_json::to_string(&event).unwrap_or_default();
        let params = r#"{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","status":7,"content":{"type":"text","text":"é\n"}}}"#;
        let params = Payload::parse(params).unwrap_or(Payload::EMPTY);
        assert_eq!(
            line(Event::Update(Update::read(&params))),
            r#"{"ev":"update","sessionId":"s","kind":"agent_message_chunk","text":"é\n"}"#
        );
        let options = ["a".to_owned()];
        let answer = Answer::Selected { option_id: "a" };
        assert_eq!(
            line(Event::Permission { session_id: "s", tool_call_id: "t", options: &options, answer }),
            r#"{"ev":"permission","sessionId":"s","toolCallId":"t","options":["a"],"answer":{"outcome":"selected","optionId":"a"}}"#
        );
        let what = Failure::from(&ErrorObject::new(-32603, "no").with_data(Payload::NULL));
        let of = Some(Of { session_id: "s".into(), prompt: 1 });
        assert_eq!(
            line(Event::Error { r#where: "session/prompt", what, of }),
            r#"{"ev":"error","where":"session/prompt","code":-32603,"message":"no","data":null,"sessionId":"s","prompt":1}"#
        );
    }
}
