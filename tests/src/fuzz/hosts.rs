//! What hosts do with what they are told, and of themselves: anything that their connection lets them.

use core::time::Duration;

use acp_core::{
    Agent, AgentAction, CancelKind, Client, ClientAction, Common, Decision, ErrorObject, InitializeTicket, Payload,
    PermissionTicket, Role, Scope, SessionTicket, Ticket, TurnEnd, TurnKey, TurnTicket,
    wire::{StopReason, UpdateKind},
};

use super::Decisions;
use crate::wire::{Wire, raw};

/// What a host holds.
#[derive(Debug, Default)]
pub(super) struct Held {
    initialize: Vec<InitializeTicket>,
    sessions: Vec<SessionTicket>,
    turns: Vec<TurnTicket>,
    permissions: Vec<PermissionTicket>,
    requests: Vec<Ticket>,
    /// Turns it heard of.
    known: Vec<TurnKey>,
}

/// A role that can be played.
pub(super) trait Host: Role {
    /// Takes an action in: its tickets are kept.
    fn keep(action: Self::Action, held: &mut Held) -> Result<(), Self::Action>;

    /// Does something with what is kept, or of itself.
    fn act(wire: &mut Wire<Self>, held: &mut Held, decisions: &mut Decisions<'_>);
}

fn answer(decisions: &mut Decisions<'_>) -> Result<Payload, ErrorObject> {
    match decisions.below(3) {
        0 => Ok(Payload::EMPTY),
        1 => Ok(raw(r#"[{"stopReason":"end_turn"},"é\ud800",1e400]"#)),
        _ => Err(ErrorObject::new(-32000, "no")),
    }
}

impl Host for Agent {
    fn keep(action: AgentAction, held: &mut Held) -> Result<(), AgentAction> {
        match action {
            AgentAction::Initialize { ticket, .. } => held.initialize.push(ticket),
            AgentAction::SessionRequested { ticket, .. } => held.sessions.push(ticket),
            AgentAction::Prompt { ticket, .. } => {
                held.known.push(ticket.turn());
                held.turns.push(ticket);
            }
            AgentAction::CloseSession { ticket, .. } | AgentAction::Common(Common::Request { ticket, .. }) => {
                held.requests.push(ticket);
            }
            other => return Err(other),
        }
        Ok(())
    }

    fn act(wire: &mut Wire<Self>, held: &mut Held, decisions: &mut Decisions<'_>) {
        let Wire { conn, now, .. } = wire;
        let now = *now;
        let turn = (!held.known.is_empty()).then(|| held.known[decisions.below(held.known.len())]);
        let session = conn.find_session(["s1", "s2"][decisions.below(2)]);
        let scope = turn.map(Scope::Turn).or(session.map(Scope::Session));
        match decisions.below(10) {
            0 => {
                if let Some(ticket) = held.initialize.pop() {
                    let offer = raw(r#"{"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"close":{}}}}"#);
                    let _ = conn.accept_initialize(ticket, &offer, now);
                }
            }
            1 => {
                if let Some(ticket) = held.sessions.pop() {
                    let id = ["s1", "s2", "s3", ""][decisions.below(4)];
                    match conn.accept_session(ticket, &raw(&format!(r#"{{"sessionId":"{id}"}}"#)), now) {
                        Ok(_) => {}
                        Err(refused) => drop(conn.abandon(refused.ticket.key(), now)),
                    }
                }
            }
            2 => {
                if let Some(ticket) = held.turns.pop() {
                    let end = match decisions.below(3) {
                        0 => TurnEnd::Stop(StopReason::EndTurn),
                        1 => TurnEnd::Stop(StopReason::Cancelled),
                        _ => TurnEnd::Error(ErrorObject::new(-32000, "no")),
                    };
                    conn.end_turn(ticket, &end, now);
                }
            }
            3 => {
                if let Some(ticket) = held.requests.pop() {
                    conn.respond(ticket, answer(decisions), now).expect("it is never refused");
                }
            }
            4 => {
                if let Some(scope) = scope {
                    let update = [
                        r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"T"}"#,
                        r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}"#,
                        r#"{"sessionUpdate":"plan","entries":[]}"#,
                        "5",
                    ];
                    let _ = conn.update(scope, &raw(update[decisions.below(4)]), now);
                }
            }
            5 => {
                if let Some(scope) = scope {
                    let text = String::from_utf8_lossy(decisions.take(20)).into_owned();
                    let _ = conn.say(scope, &UpdateKind::AgentMessageChunk, &text, now);
                }
            }
            6 => {
                if let Some(scope) = scope {
                    let permission = raw(r#"{"toolCall":{"toolCallId":"t"},"options":[{"optionId":"a"}]}"#);
                    let (method, params) = match decisions.below(3) {
                        0 => ("session/request_permission", permission),
                        1 => ("fs/read_text_file", raw(r#"{"path":"/a"}"#)),
                        _ => ("_ext", Payload::EMPTY),
                    };
                    let _ = conn.request_in(scope, method, &params, None, now);
                }
            }
            7 => conn.set_auth_required(decisions.below(2) == 1),
            8 => {
                if let Some(ticket) = held.turns.pop() {
                    conn.abandon(ticket.key(), now);
                }
            }
            _ => {
                if let Some(ticket) = held.requests.pop() {
                    conn.abandon(ticket.key(), now);
                }
            }
        }
    }
}

impl Host for Client {
    fn keep(action: ClientAction, held: &mut Held) -> Result<(), ClientAction> {
        match action {
            ClientAction::PermissionRequested { ticket, .. } => held.permissions.push(ticket),
            ClientAction::Common(Common::Request { ticket, .. }) => held.requests.push(ticket),
            other => return Err(other),
        }
        Ok(())
    }

    fn act(wire: &mut Wire<Self>, held: &mut Held, decisions: &mut Decisions<'_>) {
        let Wire { conn, now, .. } = wire;
        let now = *now;
        let turn = (!held.known.is_empty()).then(|| held.known[decisions.below(held.known.len())]);
        let session = conn.find_session(["s1", "s2"][decisions.below(2)]);
        let kind = [CancelKind::Stop, CancelKind::Steer][decisions.below(2)];
        let content = || raw(r#"[{"type":"text","text":"é"}]"#);
        match (decisions.below(10), session, turn) {
            (0, Some(session), _) => held.known.extend(conn.prompt(session, &content(), None, now)),
            (1, Some(session), _) => held.known.extend(conn.steer(session, &content(), None, now)),
            (2, _, Some(turn)) => drop(conn.cancel_turn(turn, kind, now)),
            (3, Some(session), _) => drop(conn.stop_session(session, now)),
            (4, _, Some(turn)) => drop(conn.edit_prompt(turn, &content(), None, now)),
            (5, ..) => {
                if let Some(ticket) = held.permissions.pop() {
                    if decisions.below(4) == 0 {
                        let _ = conn.commit(&ticket, now);
                    }
                    let choice = [Decision::Select("a".into()), Decision::Select("z".into()), Decision::Cancelled];
                    conn.decide(ticket, &choice[decisions.below(3)], now);
                }
            }
            (6, ..) => {
                if let Some(ticket) = held.requests.pop() {
                    conn.respond(ticket, answer(decisions), now).expect("it is never refused");
                }
            }
            (7, ..) => {
                if let Some(ticket) = held.permissions.pop() {
                    conn.abandon(ticket.key(), now);
                }
            }
            (8, ..) => {
                let id = ["s1", "s2"][decisions.below(2)];
                let in_session = raw(&format!(r#"{{"sessionId":"{id}","cwd":"/","mcpServers":[]}}"#));
                let method = ["session/load", "session/close", "session/new", "session/list"][decisions.below(4)];
                let _ = conn.request(method, Some(in_session), None, now);
            }
            _ => {
                let timeout = (decisions.below(2) == 1).then_some(Duration::from_secs(3));
                if let Ok(request) = conn.request("_own", None, timeout, now)
                    && decisions.below(2) == 1
                {
                    let _ = conn.cancel_request(request, now);
                }
            }
        }
    }
}
