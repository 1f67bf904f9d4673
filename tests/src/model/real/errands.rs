//! The client's errands, on the connections that ship.

use core::time::Duration;

use acp_core::{CommandError, ErrorObject, Payload, RequestKey, SessionPlan, Timestamp};
use serde_json::{Value, json};

use super::{Paper, Twin, reading};
use crate::{
    bench::payload,
    model::{
        client::errands::BOUND,
        words::{Leg, Plan, Want},
    },
    v2,
};

/// The id of a session. Their order is that of the numbers.
pub(super) fn id(session: usize) -> String {
    format!("s{session:03}")
}

/// As many ways to log in are there: more than there are errands under way, so that each has its own.
pub(super) const LOGINS: usize = 64;

/// The way in which this errand logs in.
fn login(errand: usize) -> String {
    (errand % LOGINS).to_string()
}

impl Twin {
    /// The client's host asks for something that is no prompt.
    pub(super) fn send(
        &mut self,
        number: usize,
        want: Want,
        plan: Plan,
        now: Timestamp,
    ) -> Result<RequestKey, CommandError> {
        let (two, offer) = (self.two, self.offer());
        let conn = &mut self.client.conn;
        let meta = json!({ "errand": number });
        let options = payload(json!({ "cwd": "/", "mcpServers": [], "_meta": meta }));
        let stored = |session, history| {
            let mut params = json!({ "sessionId": id(session), "cwd": "/", "mcpServers": [], "_meta": meta });
            if history {
                params["replayFrom"] = json!({ "type": "start" });
            }
            Some(payload(params))
        };
        let time = (plan == Plan::Bounded).then_some(Duration::from_millis(BOUND));
        if plan == Plan::LogIn {
            let mut plan = match want {
                Want::Load(session) | Want::Resume(session) => SessionPlan::stored(&id(session), options),
                _ => SessionPlan::new(options),
            };
            plan.prefer_resume = matches!(want, Want::Resume(_));
            plan.login = Some(login(number).into());
            return conn.open_session(&plan, now);
        }
        match want {
            Want::Initialize => conn.initialize(&payload(offer), now),
            Want::New => conn.request("session/new", Some(options), time, now),
            Want::Load(session) if two => conn.request("session/resume", stored(session, true), time, now),
            Want::Load(session) => conn.request("session/load", stored(session, false), time, now),
            Want::Resume(session) => conn.request("session/resume", stored(session, false), time, now),
            Want::Close(session) => {
                conn.request("session/close", Some(payload(json!({ "sessionId": id(session) }))), time, now)
            }
            Want::LogIn => conn.log_in(&login(number), time, now),
        }
    }

    /// What the client offers.
    pub(super) fn offer(&self) -> Value {
        match self.two {
            true => json!({ "info": v2::info(), "capabilities": {} }),
            false => json!({ "clientCapabilities": { "fs": { "readTextFile": true } } }),
        }
    }

    /// What the agent offers.
    fn offers(&self) -> Value {
        let login = |way| match self.two {
            true => json!({ "type": "agent", "methodId": login(way), "name": "Log in" }),
            false => json!({ "id": login(way), "name": "Log in" }),
        };
        let logins: Vec<_> = (0..LOGINS).map(login).collect();
        match self.two {
            true => json!({ "info": v2::info(), "capabilities": { "session": {} }, "authMethods": logins }),
            false => {
                let sessions = json!({ "close": {}, "resume": {} });
                let offer = json!({ "loadSession": true, "sessionCapabilities": sessions });
                json!({ "agentCapabilities": offer, "authMethods": logins })
            }
        }
    }

    /// The agent's host answers an errand. `new`: the session that it makes.
    pub(super) fn settle(
        &mut self,
        of: (usize, Leg),
        want: Want,
        new: usize,
        well: bool,
        now: Timestamp,
    ) -> Option<&'static str> {
        let offers = self.offers();
        let conn = &mut self.agent.conn;
        if well && (of.1 == Leg::LogIn || want == Want::LogIn) {
            conn.set_auth_required(false);
        }
        let error = ErrorObject::new(-32603, "no");
        Some(match (self.desk.remove(&of)?, well) {
            (Paper::Initialize(ticket), true) => {
                reading::word(&conn.accept_initialize(ticket, &payload(offers), now).ok()?)
            }
            (Paper::Initialize(ticket), false) => reading::word(&conn.reject_initialize(ticket, &error, now)),
            (Paper::Session(ticket), true) => {
                let result = if want == Want::New { payload(json!({ "sessionId": id(new) })) } else { Payload::EMPTY };
                match conn.accept_session(ticket, &result, now) {
                    Ok((_, delivery)) => reading::word(&delivery),
                    Err(refused) if refused.why == CommandError::Closed => "Closed",
                    Err(_) => "another refusal",
                }
            }
            (Paper::Session(ticket), false) => reading::word(&conn.reject_session(ticket, &error, now)),
            (Paper::Plain(ticket), well) => {
                let answer = if well { Ok(Payload::EMPTY) } else { Err(error) };
                reading::word(&conn.respond(ticket, answer, now).ok()?)
            }
        })
    }
}
