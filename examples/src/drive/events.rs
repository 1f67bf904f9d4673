//! What a run tells, and how it is read out of the agent's messages.

use std::borrow::Cow;

use acp_core::{CommandError, ErrorObject, Outcome, Payload, wire::code};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// One event. Those that are serialized are lines of the JSON output; the others are for the transcript only.
#[derive(Debug, Serialize)]
#[serde(tag = "ev", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Event<'a> {
    Initialized {
        protocol_version: u64,
        agent_capabilities: Value,
        #[serde(skip_serializing_if = "Value::is_null")]
        agent_info: Value,
        auth_methods: Vec<String>,
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
    pub(super) fn read(params: &'a Payload) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            #[serde(borrow)]
            session_id: Option<&'a RawValue>,
            #[serde(borrow)]
            update: Option<&'a RawValue>,
        }
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields<'a> {
            #[serde(borrow)]
            session_update: Option<&'a RawValue>,
            #[serde(borrow)]
            content: Option<&'a RawValue>,
            #[serde(borrow)]
            tool_call_id: Option<&'a RawValue>,
            #[serde(borrow)]
            status: Option<&'a RawValue>,
        }
        #[derive(Default, Deserialize)]
        struct Content<'a> {
            #[serde(borrow)]
            text: Option<&'a RawValue>,
        }
        let params: Params<'a> = params.get().unwrap_or_default();
        let fields: Fields<'a> = inside(params.update);
        // A tool call's content is an array: no text to show in a word.
        let content: Content<'a> = inside(fields.content.filter(|content| content.get().starts_with('{')));
        Self {
            session_id: text(params.session_id).unwrap_or_default(),
            kind: text(fields.session_update),
            text: text(content.text),
            tool_call_id: text(fields.tool_call_id),
            status: text(fields.status),
        }
    }
}

fn inside<'a, T: Deserialize<'a> + Default>(raw: Option<&'a RawValue>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// A string; anything else is nothing.
fn text(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    /// Borrows where it can, which `Cow` alone does not.
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str(raw?.get()).ok().map(|Text(text)| text)
}

/// What is shown of the answer to `initialize`.
pub(super) fn initialized<'a>(result: &Payload) -> Event<'a> {
    let result: Value = result.get().unwrap_or_default();
    let methods = result.get("authMethods").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let ids = methods.iter().filter_map(|method| method.get("id").or_else(|| method.get("methodId"))?.as_str());
    let part = |v1: &str, v2: &str| result.get(v1).or_else(|| result.get(v2)).cloned();
    Event::Initialized {
        protocol_version: result.get("protocolVersion").and_then(Value::as_u64).unwrap_or_default(),
        agent_capabilities: part("agentCapabilities", "capabilities")
            .unwrap_or_else(|| Value::Object(Default::default())),
        agent_info: part("agentInfo", "info").unwrap_or_default(),
        auth_methods: ids.map(str::to_owned).collect(),
    }
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
