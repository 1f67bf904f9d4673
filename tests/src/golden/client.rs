//! The host of a client in a golden transcript.

use std::collections::BTreeMap;

use acp_core::{
    CancelKind, Client, ClientAction, Config, Decision, Offer, Origin, PermissionTicket, RequestKey, SessionPlan,
    TurnKey, wire::PermissionOptionKind,
};

use super::{
    Args, Player,
    host::{Hosted, Kept, said, shown},
    id, raw, refused,
};
use crate::describe::outcome;

/// What the host of a client remembers.
#[derive(Debug, Default)]
pub(super) struct Host {
    kept: Kept,
    permissions: BTreeMap<u64, (PermissionTicket, Offer)>,
    known: BTreeMap<u64, TurnKey>,
}

impl Hosted for Client {
    type Host = Host;

    fn config() -> Config {
        Config::client()
    }

    fn prelude(second: bool, sessions: &[&str]) -> String {
        let (params, mut result) = if second {
            (crate::v2::client_params(), crate::v2::agent_result())
        } else {
            let capabilities = crate::bench::client_capabilities();
            (serde_json::json!({ "clientCapabilities": capabilities }), crate::agent::every_capability())
        };
        result["protocolVersion"] = if second { 2 } else { 1 }.into();
        let mut steps = format!("initialize {params}\n");
        steps += &format!(r#"< {{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        for (index, session) in sessions.iter().enumerate() {
            steps += "\nrequest session/new {\"cwd\":\"/code/ann/project\",\"mcpServers\":[]}\n";
            steps += &format!(r#"< {{"jsonrpc":"2.0","id":{},"result":{{"sessionId":"{session}"}}}}"#, index + 2);
        }
        steps
    }

    fn turn(host: &Host, number: u64) -> Option<TurnKey> {
        host.known.get(&number).copied()
    }

    fn keep_request(host: &mut Host, request: RequestKey) {
        host.kept.requests.insert(request.number(), request);
    }

    fn hear(player: &mut Player<Self>, action: ClientAction) -> String {
        let Player { conn, host, .. } = player;
        match action {
            ClientAction::Update { session, origin, params } => {
                let origin = match origin {
                    Origin::Turn(turn) => format!("turn {}", turn.number()),
                    other => format!("{other:?}"),
                };
                match session {
                    Some(session) => format!("* update in {}, {origin}: {params}", id(conn, Some(session))),
                    None => format!("* update of no known session, {origin}: {params}"),
                }
            }
            ClientAction::PermissionRequested { ticket, session, turn, offer, params } => {
                let (number, session) = (ticket.key().number(), id(conn, Some(session)));
                let turn = turn.map_or(String::new(), |turn| format!(", turn {}", turn.number()));
                let options: Vec<_> =
                    offer.options.iter().map(|option| format!("{}={}", option.id, option.kind)).collect();
                let dropped =
                    if offer.dropped.is_empty() { String::new() } else { format!(", unreadable {:?}", offer.dropped) };
                host.permissions.insert(number, (ticket, *offer));
                format!("* permission #{number} in {session}{turn} [{}]{dropped}: {params}", options.join(" "))
            }
            ClientAction::PermissionRevoked(key) => format!("* permission #{} revoked", key.number()),
            ClientAction::PermissionOverdue(key) => format!("* permission #{} overdue", key.number()),
            ClientAction::PromptInserted { turn, message, .. } => {
                format!("* turn {} inserted as {}", turn.number(), message.as_deref().unwrap_or("-"))
            }
            ClientAction::ToolCallsLeftOpen { session, turn, calls } => {
                let (session, calls) = (id(conn, Some(session)), calls.join(", "));
                format!("* turn {} in {session} leaves tool calls open: {calls}", turn.number())
            }
            ClientAction::TurnEnded { session, turn, settlement, outcome: of } => {
                format!(
                    "* turn {} in {} ended: {settlement:?}; {}",
                    turn.number(),
                    id(conn, Some(session)),
                    outcome(&of)
                )
            }
            ClientAction::Common(common) => host.kept.hear(conn, common),
            other => format!("* {other:?}"),
        }
    }

    fn act(player: &mut Player<Self>, verb: &str, mut args: Args<'_>, out: &mut Vec<String>) -> Option<()> {
        let now = player.now;
        match verb {
            "initialize" => {
                if let Err(why) = player.conn.initialize(&raw(args.0), now) {
                    out.push(refused(&why));
                }
            }
            "prompt" | "steer" | "prompt_once" => {
                let session = player.session(args.word()?)?;
                let sent = match verb {
                    "prompt" => player.conn.prompt(session, &raw(args.0), None, now),
                    "steer" => player.conn.steer(session, &raw(args.0), None, now),
                    _ => {
                        let key = args.word()?;
                        player.conn.prompt_once(session, &raw(args.0), key, None, now)
                    }
                };
                match sent {
                    Ok(turn) => {
                        player.host.known.insert(turn.number(), turn);
                        out.push(format!("= turn {}", turn.number()));
                    }
                    Err(why) => out.push(refused(&why)),
                }
            }
            "cancel" => {
                let turn = Self::turn(&player.host, args.number()?)?;
                let kind = match args.0 {
                    "stop" => CancelKind::Stop,
                    "steer" => CancelKind::Steer,
                    _ => return None,
                };
                out.push(format!("= {}", shown(&player.conn.cancel_turn(turn, kind, now))));
            }
            "stop_session" => {
                let session = player.session(args.word()?)?;
                out.push(format!("= {}", shown(&player.conn.stop_session(session, now))));
            }
            "decide" | "choose" => {
                let number = args.number()?;
                let (ticket, offer) = player.host.permissions.remove(&number)?;
                let option = if verb == "choose" {
                    let kinds: Vec<_> = args.0.split(' ').map(PermissionOptionKind::from).collect();
                    offer.first(&kinds).map(|option| option.id.clone())
                } else {
                    args.word().map(Into::into)
                };
                let decision = option.map_or(Decision::Cancelled, Decision::Select);
                said(out, player.conn.decide(ticket, &decision, now));
            }
            "drop_permission" => {
                let (ticket, _) = player.host.permissions.remove(&args.number()?)?;
                said(out, player.conn.abandon(ticket.key(), now));
            }
            "commit" => {
                let (ticket, _) = player.host.permissions.get(&args.number()?)?;
                out.push(format!("= {}", player.conn.commit(ticket, now)));
            }
            "open_session" => {
                let login = args.flag("login");
                let mut plan = match args.flag("stored") {
                    Some(stored) => SessionPlan::stored(stored, raw(args.0)),
                    None => SessionPlan::new(raw(args.0)),
                };
                plan.login = login.map(Into::into);
                match player.conn.open_session(&plan, now) {
                    Ok(request) => {
                        out.push(format!("= request {}", request.number()));
                        player.host.kept.requests.insert(request.number(), request);
                    }
                    Err(why) => out.push(refused(&why)),
                }
            }
            "log_in" => {
                let sent = player.conn.log_in(args.word()?, None, now);
                sent.err().iter().for_each(|why| out.push(refused(why)));
            }
            "log_out" => {
                let sent = player.conn.log_out(None, now);
                sent.err().iter().for_each(|why| out.push(refused(why)));
            }
            _ => return Kept::act(player, |host| &mut host.kept, verb, args, out),
        }
        Some(())
    }
}
