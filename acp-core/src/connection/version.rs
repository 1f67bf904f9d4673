//! The version agreement: which rules are in force, and what an agent answers.

use super::{Connection, Role, agent_receive::Admitted, answer::Duty};
use crate::{
    action::AgentAction,
    error::CommandError,
    machine::{HandshakeInput, Machine, agree},
    role::Agent,
    ticket::{IncomingKey, InitializeTicket},
    wire::{
        Capabilities, ErrorObject, Method, MethodName, Payload, code,
        dialect::{Version, v1, v2},
    },
};

impl<R: Role> Connection<R> {
    /// The version whose rules are in force. Before one is agreed these are the first one's.
    pub(super) fn speaks(&self) -> Version {
        Version::of(self.handshake.version().unwrap_or(1))
    }

    pub(super) fn speaks_v2(&self) -> bool {
        self.speaks() == Version::V2
    }

    /// The command of a version that is not the agreed one.
    pub(super) fn unsupported(&self, method: &MethodName) -> CommandError {
        CommandError::Unsupported { method: method.clone(), version: self.handshake.version().unwrap_or(1) }
    }

    /// The method, if the agreed version of the protocol has it; before that, if any does that may be agreed.
    pub(super) fn known(&self, method: &MethodName) -> Option<Method> {
        let known = method.known()?;
        let has = |version: u16| known.is_in(version);
        let here = match self.handshake.version() {
            Some(version) => has(version),
            None => self.config.versions.iter().copied().any(has),
        };
        here.then_some(known)
    }

    /// `initialize` came to nothing: what stood before it stands again, and a later one may succeed.
    pub(super) fn withdraw_initialize(&mut self, before: Capabilities) {
        if self.handshake.step(HandshakeInput::Withdraw).is_ok() {
            self.peer = before;
        }
    }
}

impl Connection<Agent> {
    pub(super) fn receive_initialize(&mut self, key: IncomingKey, params: Payload) -> Admitted {
        let asked = v1::protocol_version(&params).ok_or_else(|| {
            ErrorObject::new(code::INVALID_PARAMS, "`protocolVersion` must be an integer from 0 to 65535")
        })?;
        let spoken = &self.config.versions;
        let version = agree(asked, spoken).ok_or_else(|| v2::unsupported_version(asked, spoken))?;
        if version == asked && version >= 2 && !v2::has_info(&params) {
            let why = "`info` with a `name` and a `version` is required";
            return Err(ErrorObject::new(code::INVALID_PARAMS, why));
        }
        self.handshake.step(HandshakeInput::Offer(asked)).map_err(|_| {
            let why = "a repeated `initialize` must ask for the agreed version, or a newer one";
            ErrorObject::new(code::INVALID_REQUEST, why)
        })?;
        let before = core::mem::replace(&mut self.peer, Capabilities::of_client(&params));
        self.set_duty(key, Duty::Initialize { version, before });
        self.tell(AgentAction::Initialize { ticket: InitializeTicket { key }, version, params });
        Ok(())
    }
}
