//! One recorded call, called again. Tickets are made from their keys: the recording says who held them.

use alloc::boxed::Box;
use core::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::Fields;
use crate::{
    action::{Decision, TurnEnd},
    connection::{Connection, Role, SessionPlan},
    machine::CancelKind,
    role::{Agent, Client},
    ticket::{
        FrameId, IncomingKey, InitializeTicket, PermissionTicket, RequestKey, Scope, SessionKey, SessionTicket, Ticket,
        TurnKey, TurnTicket,
    },
    time::Timestamp,
    wire::{ErrorObject, Method, Payload, StopReason, UpdateKind},
};

/// An end whose calls can be called again.
pub(super) trait Play: Role {
    /// `None`: there is no such call, or its arguments are not as they should be.
    fn play(conn: &mut Connection<Self>, what: &str, fields: &Fields<'_>, now: Timestamp) -> Option<()>;
}

impl Play for Client {
    fn play(conn: &mut Connection<Self>, what: &str, fields: &Fields<'_>, now: Timestamp) -> Option<()> {
        let (content, meta) = (|| fields.payload("content"), fields.payload("meta"));
        let meta = meta.as_ref();
        match what {
            "initialize" => drop(conn.initialize(&fields.payload("params")?, now)),
            "prompt" => drop(conn.prompt(fields.session()?, &content()?, meta, now)),
            "prompt_once" => {
                let key = fields.get::<Box<str>>("key")?;
                drop(conn.prompt_once(fields.session()?, &content()?, &key, meta, now));
            }
            "steer" => drop(conn.steer(fields.session()?, &content()?, meta, now)),
            "edit_prompt" => drop(conn.edit_prompt(fields.turn()?, &content()?, meta, now)),
            "cancel_turn" => {
                let kind = match fields.raw("kind")? {
                    "\"stop\"" => CancelKind::Stop,
                    "\"steer\"" => CancelKind::Steer,
                    _ => return None,
                };
                drop(conn.cancel_turn_with(fields.turn()?, kind, meta, now));
            }
            "stop_session" => drop(conn.stop_session(fields.session()?, now)),
            "decide" => {
                let decision = fields.get::<Option<Box<str>>>("option")?.map_or(Decision::Cancelled, Decision::Select);
                conn.decide(PermissionTicket { key: fields.ticket()? }, &decision, now);
            }
            "commit" => {
                let _ = conn.commit(&PermissionTicket { key: fields.ticket()? }, now);
            }
            "open_session" => {
                let mut plan = SessionPlan::new(fields.payload("params")?);
                plan.stored = fields.get("stored");
                plan.prefer_resume = fields.get("prefer_resume")?;
                plan.login = fields.get("login");
                plan.timeout = fields.timeout();
                drop(conn.open_session(&plan, now));
            }
            "log_in" => drop(conn.log_in(&fields.get::<Box<str>>("auth_method")?, fields.timeout(), now)),
            "log_out" => drop(conn.log_out(fields.timeout(), now)),
            _ => return either(conn, what, fields, now),
        }
        Some(())
    }
}

impl Play for Agent {
    fn play(conn: &mut Connection<Self>, what: &str, fields: &Fields<'_>, now: Timestamp) -> Option<()> {
        match what {
            "set_auth_required" => conn.set_auth_required(fields.get("required")?),
            "accept_initialize" => {
                let ticket = InitializeTicket { key: fields.ticket()? };
                drop(conn.accept_initialize(ticket, &fields.payload("result")?, now));
            }
            "reject_initialize" => {
                let ticket = InitializeTicket { key: fields.ticket()? };
                conn.reject_initialize(ticket, &fields.error("error")?, now);
            }
            "accept_session" => {
                let ticket = SessionTicket { key: fields.ticket()?, method: Method::SessionNew };
                drop(conn.accept_session(ticket, &fields.payload("result")?, now));
            }
            "reject_session" => {
                let ticket = SessionTicket { key: fields.ticket()?, method: Method::SessionNew };
                conn.reject_session(ticket, &fields.error("error")?, now);
            }
            "update" => drop(conn.update(fields.scope()?, &fields.payload("update")?, now)),
            "say" => {
                let (kind, text) = (fields.get::<Box<str>>("kind")?, fields.get::<Box<str>>("text")?);
                drop(conn.say(fields.scope()?, &UpdateKind::from(&*kind), &text, now));
            }
            "insert_prompt" => {
                drop(conn.insert_prompt(fields.turn()?, &fields.get::<Box<str>>("message")?, now));
            }
            "begin_work" => drop(conn.begin_work(fields.session()?, now)),
            "set_background" => drop(conn.set_background(fields.session()?, &fields.payload("items")?, now)),
            "end_turn" => {
                let (key, turn) = (fields.ticket()?, fields.turn()?);
                // What a session a ticket names is for its holder to read; the core goes by the turn.
                let ticket = TurnTicket { key, turn, session: SessionKey { slot: 0, generation: 0 } };
                let end = match fields.get::<&str>("end") {
                    Some(reason) => TurnEnd::Stop(StopReason::from(reason)),
                    None => TurnEnd::Error(fields.error("end")?),
                };
                conn.end_turn(ticket, &end, now);
            }
            _ => return either(conn, what, fields, now),
        }
        Some(())
    }
}

/// What can be called at either end.
fn either<R: Role>(conn: &mut Connection<R>, what: &str, fields: &Fields<'_>, now: Timestamp) -> Option<()> {
    match what {
        "input" => conn.handle_input(&fields.bytes("bytes")?, now),
        "message" => conn.handle_message(&Bytes::from(fields.bytes("bytes")?), now),
        "eof" => conn.handle_eof(now),
        "lost" => conn.handle_lost(&fields.get::<Box<str>>("why")?, now),
        "undelivered" => conn.handle_transmit_failed(FrameId(fields.get("frame")?), now),
        "timeout" => conn.handle_timeout(now),
        "transmit" => drop(conn.poll_transmit()),
        "action" => drop(conn.poll_action()),
        "time" => conn.tell_time(now),
        "close" => conn.close(now),
        "request" => {
            let (method, params) = (fields.get::<Box<str>>("method")?, fields.payload("params"));
            drop(conn.request(&method, params, fields.timeout(), now));
        }
        "request_in" => {
            let (method, params) = (fields.get::<Box<str>>("method")?, fields.payload("params")?);
            drop(conn.request_in(fields.scope()?, &method, &params, fields.timeout(), now));
        }
        "notify" => {
            let (method, params) = (fields.get::<Box<str>>("method")?, fields.payload("params"));
            drop(conn.notify(&method, params.as_ref(), now));
        }
        "cancel_request" => drop(conn.cancel_request(RequestKey(fields.get("request")?), now)),
        "respond" => {
            let answer = match fields.get::<[&RawValue; 1]>("answer") {
                Some([result]) => Ok(Payload::parse(Bytes::copy_from_slice(result.get().as_bytes())).ok()?),
                None => Err(fields.error("answer")?),
            };
            drop(conn.respond(Ticket { key: fields.ticket()? }, answer, now));
        }
        "abandon" => {
            conn.abandon(fields.ticket()?, now);
        }
        _ => return None,
    }
    Some(())
}

impl Fields<'_> {
    fn payload(&self, name: &str) -> Option<Payload> {
        Payload::parse(Bytes::copy_from_slice(self.raw(name)?.as_bytes())).ok()
    }

    fn error(&self, name: &str) -> Option<ErrorObject> {
        let raw = Fields::read(self.raw(name)?).ok()?;
        let error = ErrorObject::new(raw.get("code")?, raw.get::<Box<str>>("message")?);
        if raw.raw("data").is_none() {
            return Some(error);
        }
        raw.payload("data").map(|data| error.with_data(data))
    }

    fn ticket(&self) -> Option<IncomingKey> {
        self.get("ticket").map(IncomingKey)
    }

    fn turn(&self) -> Option<TurnKey> {
        self.get("turn").map(TurnKey)
    }

    fn session(&self) -> Option<SessionKey> {
        self.get("session").map(|(slot, generation)| SessionKey { slot, generation })
    }

    fn scope(&self) -> Option<Scope> {
        match self.get("scope") {
            Some(turn) => Some(Scope::Turn(TurnKey(turn))),
            None => {
                let (slot, generation) = self.get("scope")?;
                Some(Scope::Session(SessionKey { slot, generation }))
            }
        }
    }

    fn timeout(&self) -> Option<Duration> {
        self.get("timeout").map(Duration::from_nanos)
    }
}
