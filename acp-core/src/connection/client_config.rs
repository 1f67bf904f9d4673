//! Options of a session, as a client sets them.

use super::{Connection, client::meta_member, recording::note};
use crate::{
    error::{CommandError, Misuse},
    role::Client,
    ticket::{RequestKey, Scope, SessionKey},
    time::Timestamp,
    wire::{Method, MethodName, Payload, own},
};

/// A value for [`Connection::set_config_option`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OptionValue<'a> {
    /// Of an option with several: the id of one of them.
    Id(&'a str),
    /// Of an option that is on or off. Version 1 has them for clients that offer
    /// `clientCapabilities.session.configOptions.boolean` only.
    Switch(bool),
}

impl Connection<Client> {
    /// Sets an option of a session, at rest or in a turn: sends `session/set_config_option`, as the agreed version writes
    /// it. `meta`, if given, is an object for `_meta`. The answer is told as [`Common::Resolved`](crate::Common::Resolved), and
    /// has all options of the session: [`ConfigOptions`](crate::view::ConfigOptions).
    ///
    /// # Errors
    ///
    /// [`Misuse::UnknownSession`]; otherwise see [`CommandError`]. Nothing was sent.
    pub fn set_config_option(
        &mut self,
        session: SessionKey,
        option: &str,
        value: OptionValue<'_>,
        meta: Option<&Payload>,
        now: Timestamp,
    ) -> Result<RequestKey, CommandError> {
        let params = match value {
            // "Untyped", says version 1 of the id of a value; version 2 types every one.
            OptionValue::Id(id) => own::option_id(option, id, self.speaks_v2()),
            OptionValue::Switch(on) => own::option_switch(option, on),
        };
        let not_json = Misuse::Payload("the option is not JSON");
        let members = meta_member(meta)?;
        let params = Payload::splice(members.strip_prefix(b",").unwrap_or_default(), &params).ok_or(not_json)?;
        // It is written down as what it comes to.
        let (scope, method, timeout) = (Scope::Session(session), Method::SessionSetConfigOption, None);
        let name = method.name();
        note!(self, "request_in", now, "scope" = scope, "method" = name, "params" = params, "timeout" = timeout);
        self.advance(now);
        let id = self.sessions.get(session).ok_or(Misuse::UnknownSession)?.id.clone();
        self.call(MethodName::Known(method), Some(&params), Some(&id), Some((session, scope)), timeout)
    }
}
