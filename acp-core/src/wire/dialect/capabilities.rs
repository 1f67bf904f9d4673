//! What the ends offer each other in `initialize`: one view of it, whichever version of the protocol says it.

use super::{Version, elements, fields, v1};
use crate::wire::{method::Gate, payload::Payload};

/// What one end offered in `initialize`, as far as it decides which methods may be called. Nothing, by default: what is
/// left out is not supported (ACP, Initialization, "Capabilities").
///
/// Version 1 has booleans and objects, version 2 objects only, and fewer of them: `session` stands for the four methods
/// that version 1 offers one by one. The shape follows the `protocolVersion` beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Capabilities(u32);

impl Capabilities {
    /// What an agent offers, by the result of `initialize`. A part that cannot be read is not offered.
    #[must_use]
    pub fn of_agent(result: &Payload) -> Self {
        Self::of_agent_in(result.as_bytes())
    }

    pub(in crate::wire) fn of_agent_in(result: &[u8]) -> Self {
        match Version::said_in(result) {
            Version::V1 => Self::of_agent_v1(result),
            Version::V2 => Self::of_agent_v2(result),
        }
    }

    /// What a client offers, by the params of `initialize`. A part that cannot be read is not offered.
    #[must_use]
    pub fn of_client(params: &Payload) -> Self {
        Self::of_client_in(params.as_bytes())
    }

    pub(in crate::wire) fn of_client_in(params: &[u8]) -> Self {
        let v1 = Version::said_in(params) == Version::V1;
        let [all] = fields(params, [if v1 { "clientCapabilities" } else { "capabilities" }]);
        let [fs, terminal, elicitation] = inside(all, ["fs", "terminal", "elicitation"]);
        let [read, write] = inside(fs, ["readTextFile", "writeTextFile"]);
        let [form, url] = inside(elicitation, ["form", "url"]).map(is_there);
        Self::default()
            .with(Gate::FsRead, v1 && is_true(read))
            .with(Gate::FsWrite, v1 && is_true(write))
            .with(Gate::Terminal, v1 && is_true(terminal))
            .with(Gate::Elicitation, form || url)
            .with(Gate::ElicitationForm, form)
            .with(Gate::ElicitationUrl, url)
    }

    /// Whether methods behind this gate may be called. [`Gate::None`] is always open.
    #[must_use]
    pub const fn offers(self, gate: Gate) -> bool {
        matches!(gate, Gate::None) || self.0 & Self::bit(gate) != 0
    }

    fn of_agent_v1(result: &[u8]) -> Self {
        let [all] = fields(result, ["agentCapabilities"]);
        let [load, session, auth] = inside(all, ["loadSession", "sessionCapabilities", "auth"]);
        let [resume, list, delete, close, fork] = inside(session, ["resume", "list", "delete", "close", "fork"]);
        let [logout] = inside(auth, ["logout"]);
        Self::default()
            .with(Gate::LoadSession, is_true(load))
            .with(Gate::Resume, is_there(resume))
            .with(Gate::List, is_there(list))
            .with(Gate::Delete, is_there(delete))
            .with(Gate::Close, is_there(close))
            .with(Gate::Fork, is_there(fork))
            .with(Gate::Logout, is_there(logout))
    }

    fn of_agent_v2(result: &[u8]) -> Self {
        let [all, methods] = fields(result, ["capabilities", "authMethods"]);
        let [session] = inside(all, ["session"]);
        let [delete, fork] = inside(session, ["delete", "fork"]);
        let (session, auth) = (is_there(session), elements(methods.unwrap_or_default()).next().is_some());
        let baseline = [Gate::Session, Gate::LoadSession, Gate::Resume, Gate::List, Gate::Close];
        baseline
            .into_iter()
            .fold(Self::default(), |all, gate| all.with(gate, session))
            .with(Gate::Delete, is_there(delete))
            .with(Gate::Fork, is_there(fork))
            .with(Gate::Auth, auth)
            .with(Gate::Logout, auth)
    }

    const fn with(self, gate: Gate, offered: bool) -> Self {
        if offered { Self(self.0 | Self::bit(gate)) } else { self }
    }

    const fn bit(gate: Gate) -> u32 {
        1 << gate as u32
    }
}

impl Version {
    /// The version whose shape the params or the result of `initialize` have.
    fn said_in(params_or_result: &[u8]) -> Self {
        let [version] = fields(params_or_result, ["protocolVersion"]);
        Self::of(version.and_then(v1::version_number).unwrap_or(1))
    }
}

fn inside<'a, const N: usize>(object: Option<&'a [u8]>, names: [&str; N]) -> [Option<&'a [u8]>; N] {
    fields(object.unwrap_or_default(), names)
}

fn is_true(value: Option<&[u8]>) -> bool {
    value == Some(b"true")
}

/// An object, which is what the schema asks for, or a plain `true`.
fn is_there(value: Option<&[u8]>) -> bool {
    value.is_some_and(|value| value.starts_with(b"{") || value == b"true")
}
