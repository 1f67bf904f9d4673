//! The error object of JSON-RPC, and its codes.

use alloc::boxed::Box;
use core::fmt;

use super::{
    object::{members, string},
    payload::Payload,
};

/// The error object of JSON-RPC 2.0 (§5.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ErrorObject {
    /// What went wrong; see [`code`]. Any integer: a code nobody knows is a failure like another.
    pub code: i64,
    /// One sentence for a human.
    pub message: Box<str>,
    /// More, in any form. `null` is read as none.
    pub data: Option<Payload>,
}

impl ErrorObject {
    /// An error without data.
    #[must_use]
    pub fn new(code: i64, message: impl Into<Box<str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The same with data.
    #[must_use]
    pub fn with_data(self, data: Payload) -> Self {
        Self { data: Some(data), ..self }
    }

    /// Reads `{"code":<integer>,"message":<string>,"data"?:<any>}`; more members are fine. `None`: it is something else,
    /// or says one of the three twice.
    pub(crate) fn parse(raw: &Payload) -> Option<Self> {
        let (mut code, mut message, mut data) = (None, None, None);
        let mut twice = false;
        members(raw.as_str(), |key, value| {
            let slot = match key {
                "code" => &mut code,
                "message" => &mut message,
                "data" => &mut data,
                _ => return,
            };
            twice |= slot.replace(value).is_some();
        })?;
        let error = Self {
            // Not `1.0`, not `1e3`, not more than 64 bits.
            code: code?.parse().ok()?,
            message: string(message?)?.into(),
            data: data.filter(|data| *data != "null").map(|data| raw.part(data)),
        };
        (!twice).then_some(error)
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl core::error::Error for ErrorObject {}

/// The codes of JSON-RPC 2.0 (§5.1) and of ACP.
pub mod code {
    /// The line is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// JSON, but not a request; or a request that this state of the connection does not allow.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The receiver does not have the method, or did not offer the capability it needs.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters have the wrong form, or ask for something unsupported.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something failed inside the receiver.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// ACP: cancelled, by `$/cancel_request` or for a reason of the receiver's own.
    pub const REQUEST_CANCELLED: i64 = -32800;
    /// ACP: the request needs `authenticate` first.
    pub const AUTH_REQUIRED: i64 = -32000;
    /// ACP: there is no such session, file or terminal. For a session, `data.sessionId` names it.
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// ACP v2: none of the receiver's versions is old enough; `data` has `requested` and `supported`.
    pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
}
