//! Frames and actions as short text: everything that is in them, apart from the words of error messages.

use acp_core::{
    AgentAction, Client, ClientAction, Common, Connection, ErrorObject, Offer, Outcome, Payload, Role, SessionKey,
    Violation, wire::MethodName,
};
use serde_json::value::RawValue;

/// An action as text.
pub trait Describe<R: Role>: Sized {
    /// What it says. Sessions are named by their ids.
    fn describe(&self, conn: &Connection<R>) -> String;

    /// What either end may be told, if it is that.
    ///
    /// # Errors
    ///
    /// It is something that only this end is told.
    fn into_common(self) -> Result<Common, Self>;
}

/// A frame as text, without its line break and without the words of error messages.
///
/// # Panics
///
/// It is not exactly one line of JSON that is a JSON-RPC message, or an array of them.
#[must_use]
pub fn frame(line: &[u8]) -> String {
    let text = core::str::from_utf8(line).expect("UTF-8").strip_suffix('\n').expect("a line break at the end");
    assert!(!text.contains(['\n', '\r']), "a line break inside: {text}");
    let all: Vec<&RawValue> = match text.as_bytes().first() {
        Some(b'[') => serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}")),
        _ => vec![serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"))],
    };
    assert!(!all.is_empty() && all.iter().all(|one| one.get().starts_with(r#"{"jsonrpc":"2.0","#)), "{text}");
    without_words(text)
}

fn without_words(text: &str) -> String {
    const BEFORE: &str = r#","message":""#;
    let (mut said, mut rest) = (String::new(), text);
    while let Some((error, after)) = rest.find(r#""error":{"code":"#).map(|at| rest.split_at(at)) {
        let Some(words) = after.find(BEFORE).map(|at| at + BEFORE.len()) else { break };
        let (code, tail) = after.split_at(words);
        let end = tail
            .char_indices()
            .scan(false, |escaped, (at, c)| {
                let ends = c == '"' && !*escaped;
                *escaped = c == '\\' && !*escaped;
                Some((at, ends))
            })
            .find(|(_, ends)| *ends)
            .map_or(tail.len(), |(at, _)| at);
        assert!(end > 0, "an error says what is wrong: {text}");
        said.extend([error, code, "…"]);
        rest = tail.split_at(end).1;
    }
    said + rest
}

fn name<R: Role>(conn: &Connection<R>, session: Option<SessionKey>) -> String {
    match session {
        Some(session) => conn.session_id(session).unwrap_or("(gone)").to_owned(),
        None => "-".to_owned(),
    }
}

fn params(params: Option<&Payload>) -> &str {
    params.map_or("-", Payload::as_str)
}

fn method(method: Option<&MethodName>) -> &str {
    method.map_or("-", MethodName::as_str)
}

/// An error as text.
fn error(error: &ErrorObject) -> String {
    format!("{} {:?} {}", error.code, error.message, params(error.data.as_ref()))
}

/// An outcome as text.
#[must_use]
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Result(result) => format!("result {result}"),
        Outcome::Error(of) => format!("error {}", error(of)),
        Outcome::Invalid { why, .. } => format!("invalid: {why}"),
        Outcome::TooLong { size, limit } => format!("too long: {size} of {limit}"),
        other => format!("{other:?}"),
    }
}

pub(crate) fn violation(violation: &Violation) -> String {
    match violation {
        Violation::NotJson { size } => format!("not JSON ({size})"),
        Violation::NotRpc { why, size } => format!("not RPC ({size}): {why}"),
        Violation::TooLong { size, limit, method: of, session } => {
            format!("too long: {size} of {limit}, {} {}", method(of.as_ref()), session.as_deref().unwrap_or("-"))
        }
        Violation::DuplicateId { method } => format!("duplicate id: {method}"),
        Violation::NeverIssued => "never issued".to_owned(),
        Violation::PeerRejected(of) => format!("the peer rejected: {}", error(of)),
        Violation::BadNotification { method, why } => format!("bad notification {method}: {why}"),
        Violation::BadRequest { method, why } => format!("bad request {method}: {why}"),
        other => format!("{other:?}"),
    }
}

fn common<R: Role>(conn: &Connection<R>, common: &Common) -> String {
    match common {
        Common::Request { method, session, params: of, .. } => {
            format!("request {method} {} {}", name(conn, *session), params(of.as_ref()))
        }
        Common::CancelRequested(key) => format!("cancel requested {}", key.number()),
        Common::Notification { method, params: of } => format!("notification {method} {}", params(of.as_ref())),
        Common::Resolved(resolved) => {
            let session = name(conn, resolved.session);
            format!("resolved {} {session} {}", resolved.request.number(), outcome(&resolved.outcome))
        }
        Common::Violation(of) => format!("violation {}", violation(of)),
        Common::Closed(reason) => format!("closed {reason:?}"),
        other => format!("{other:?}"),
    }
}

fn offer(offer: &Offer) -> String {
    let options: Vec<_> = offer.options.iter().map(|option| format!("{}={}", option.id, option.kind)).collect();
    format!("{} [{}] dropped {:?}", offer.tool_call.as_deref().unwrap_or_default(), options.join(","), offer.dropped)
}

impl Describe<Client> for ClientAction {
    fn describe(&self, conn: &Connection<Client>) -> String {
        match self {
            Self::Update { session, origin, params } => format!("update {} {origin:?} {params}", name(conn, *session)),
            Self::PermissionRequested { session, turn, offer: of, .. } => {
                let turn = turn.map_or(0, acp_core::TurnKey::number);
                format!("permission {} turn {turn}: {}", name(conn, Some(*session)), offer(of))
            }
            Self::PermissionRevoked(key) => format!("permission revoked {}", key.number()),
            Self::TurnEnded { session, turn, settlement, outcome: of } => {
                let session = name(conn, Some(*session));
                format!("turn {} of {session} ended: {settlement:?}, {}", turn.number(), outcome(of))
            }
            Self::Common(of) => common(conn, of),
            other => format!("{other:?}"),
        }
    }

    fn into_common(self) -> Result<Common, Self> {
        match self {
            Self::Common(common) => Ok(common),
            other => Err(other),
        }
    }
}

impl Describe<acp_core::Agent> for AgentAction {
    fn describe(&self, conn: &Connection<acp_core::Agent>) -> String {
        match self {
            Self::Initialize { version, params, .. } => format!("initialize {version} {params}"),
            Self::SessionRequested { method, session, params, .. } => {
                format!("open {} {} {params}", method.name(), name(conn, *session))
            }
            Self::Prompt { ticket, params } => format!("prompt {} {params}", ticket.turn().number()),
            Self::AbortTurn { turn, cause, again, .. } => {
                format!("abort {} {cause:?}{}", turn.number(), if *again { " again" } else { "" })
            }
            Self::IdleCancel { session } => format!("idle cancel {}", name(conn, Some(*session))),
            Self::CloseSession { session, .. } => format!("close {}", name(conn, Some(*session))),
            Self::TurnForced { turn, .. } => format!("forced {}", turn.number()),
            Self::Common(of) => common(conn, of),
            other => format!("{other:?}"),
        }
    }

    fn into_common(self) -> Result<Common, Self> {
        match self {
            Self::Common(common) => Ok(common),
            other => Err(other),
        }
    }
}
