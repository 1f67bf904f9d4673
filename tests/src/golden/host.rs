//! What a host is at either end: what it does, and what it remembers of what it was told.

use acp_core::{Common, Config, ErrorObject, Payload, RequestKey, Role, Ticket, TurnKey};
use std::collections::BTreeMap;

use super::{Args, Player, id, raw, refused};
use crate::describe::{Describe, outcome};

/// An end with a host.
pub(super) trait Hosted: Role<Action: Describe<Self>> {
    /// What the host remembers.
    type Host: Default;

    /// The default policy.
    fn config() -> Config;

    /// What happens before a scene: `initialize` in this version, and these sessions.
    fn prelude(second: bool, sessions: &[&str]) -> String;

    /// A turn by its number.
    fn turn(host: &Self::Host, number: u64) -> Option<TurnKey>;

    /// A request of ours.
    fn keep_request(host: &mut Self::Host, request: RequestKey);

    /// The host is told something: in words. Its tickets are kept.
    fn hear(player: &mut Player<Self>, action: Self::Action) -> String;

    /// What the host does at this end only, or at either with what it remembers.
    fn act(player: &mut Player<Self>, verb: &str, args: Args<'_>, out: &mut Vec<String>) -> Option<()>;
}

/// What is kept at either end.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Rights to answer, by the number of the request.
    pub(super) tickets: BTreeMap<u64, Ticket>,
    /// Requests of ours.
    pub(super) requests: BTreeMap<u64, RequestKey>,
}

impl Kept {
    /// What either end is told.
    pub(super) fn hear<R: Role>(&mut self, conn: &acp_core::Connection<R>, common: Common) -> String {
        match common {
            Common::Request { ticket, method, session, params } => {
                let number = ticket.key().number();
                let session = session.map_or(String::new(), |session| format!(" in {}", id(conn, Some(session))));
                let params = params.map_or(String::new(), |params| format!(" {params}"));
                self.tickets.insert(number, ticket);
                format!("* request #{number}{session}: {method}{params}")
            }
            Common::CancelRequested(key) => format!("* cancel request #{}", key.number()),
            Common::Notification { method, params } => {
                format!("* notification {method}{}", params.map_or(String::new(), |params| format!(" {params}")))
            }
            Common::Resolved(of) => format!("* resolved {}: {}", of.request.number(), outcome(&of.outcome)),
            Common::CancelUnconfirmed(request) => format!("* cancel of {} unconfirmed", request.number()),
            Common::Silent(time) => format!("* silent for {time:?}"),
            Common::Violation(of) => format!("* violation: {}", crate::describe::violation(&of)),
            Common::Closed(why) => format!("* closed: {why}"),
            other => format!("* {other:?}"),
        }
    }

    fn ticket(&mut self, number: Option<u64>) -> Option<Ticket> {
        let number = number.or_else(|| self.tickets.keys().next().copied())?;
        self.tickets.remove(&number)
    }

    /// What a host does with what it keeps, at either end.
    pub(super) fn act<R: Hosted>(
        player: &mut Player<R>,
        kept: impl Fn(&mut R::Host) -> &mut Self,
        verb: &str,
        mut args: Args<'_>,
        out: &mut Vec<String>,
    ) -> Option<()> {
        let now = player.now;
        match verb {
            "answer" | "fail" => {
                let ticket = kept(&mut player.host).ticket(args.number())?;
                let answer = if verb == "answer" { Ok(raw(args.0)) } else { Err(error_of(args)?) };
                match player.conn.respond(ticket, answer, now) {
                    Ok(delivery) => said(out, delivery),
                    Err(why) => out.push(refused(&why)),
                }
            }
            "drop" => {
                let ticket = kept(&mut player.host).ticket(args.number())?;
                player.conn.abandon(ticket.key(), now);
            }
            "cancel_request" => {
                let request = args.number()?;
                let request = *kept(&mut player.host).requests.get(&request)?;
                out.push(format!("= {}", shown(&player.conn.cancel_request(request, now))));
            }
            _ => return None,
        }
        Some(())
    }
}

/// What became of an answer, if it is not what was said.
pub(super) fn said(out: &mut Vec<String>, delivery: acp_core::Delivery) {
    if delivery != acp_core::Delivery::Queued {
        out.push(format!("= {delivery:?}"));
    }
}

/// What became of a command.
pub(super) fn shown<T: core::fmt::Debug, E: core::fmt::Display>(result: &Result<T, E>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(why) => format!("refused: {why}"),
    }
}

/// `CODE MESSAGE`, or `CODE {"data":…} MESSAGE`.
pub(super) fn error_of(mut args: Args<'_>) -> Option<ErrorObject> {
    let code = args.word()?.parse().ok()?;
    let data: Option<Payload> = args.0.starts_with('{').then(|| args.word()).flatten().map(raw);
    let error = ErrorObject::new(code, args.0);
    Some(match data {
        Some(data) => error.with_data(data),
        None => error,
    })
}
