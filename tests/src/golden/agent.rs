//! The host of an agent in a golden transcript.

use std::collections::BTreeMap;

use acp_core::{
    Agent, AgentAction, Config, InitializeTicket, RequestKey, SessionTicket, TurnEnd, TurnKey, TurnTicket,
    wire::{StopReason, UpdateKind},
};

use super::{
    Args, Player,
    host::{Hosted, Kept, error_of, said, shown},
    id, raw, refused,
};

/// What the host of an agent remembers.
#[derive(Debug, Default)]
pub(super) struct Host {
    kept: Kept,
    initialize: Option<InitializeTicket>,
    opening: BTreeMap<u64, SessionTicket>,
    turns: BTreeMap<u64, TurnTicket>,
    known: BTreeMap<u64, TurnKey>,
}

impl Hosted for Agent {
    type Host = Host;

    fn config() -> Config {
        Config::agent()
    }

    fn prelude(second: bool, sessions: &[&str]) -> String {
        let (params, result) = if second {
            (crate::v2::client_params(), crate::v2::agent_result())
        } else {
            let capabilities = crate::bench::client_capabilities();
            (serde_json::json!({ "clientCapabilities": capabilities }), crate::agent::every_capability())
        };
        let version = if second { 2 } else { 1 };
        let mut params = params;
        params["protocolVersion"] = version.into();
        let mut steps = format!(r#"< {{"jsonrpc":"2.0","id":"init","method":"initialize","params":{params}}}"#) + "\n";
        steps += &format!("accept {result}\n");
        for session in sessions {
            let params = r#"{"cwd":"/code/ann/project","mcpServers":[]}"#;
            steps += &format!(
                "< {{\"jsonrpc\":\"2.0\",\"id\":\"new {session}\",\"method\":\"session/new\",\"params\":{params}}}\n"
            );
            steps += &format!("open {{\"sessionId\":\"{session}\"}}\n");
        }
        steps
    }

    fn turn(host: &Host, number: u64) -> Option<TurnKey> {
        host.known.get(&number).copied()
    }

    fn keep_request(host: &mut Host, request: RequestKey) {
        host.kept.requests.insert(request.number(), request);
    }

    fn hear(player: &mut Player<Self>, action: AgentAction) -> String {
        let Player { conn, host, .. } = player;
        match action {
            AgentAction::Initialize { ticket, version, params } => {
                host.initialize = Some(ticket);
                format!("* initialize, version {version}: {params}")
            }
            AgentAction::SessionRequested { ticket, method, session, replay, params } => {
                let number = ticket.key().number();
                host.opening.insert(number, ticket);
                let session = session.map_or(String::new(), |session| format!(" {}", id(conn, Some(session))));
                let replay = if replay { ", to be replayed" } else { "" };
                format!("* open #{number} {}{session}{replay}: {params}", method.name())
            }
            AgentAction::Prompt { ticket, params } => {
                let (turn, session) = (ticket.turn(), id(conn, Some(ticket.session())));
                host.known.insert(turn.number(), turn);
                host.turns.insert(turn.number(), ticket);
                format!("* prompt, turn {} in {session}: {params}", turn.number())
            }
            AgentAction::DropQueued { turn, .. } => format!("* drop queued turn {}", turn.number()),
            AgentAction::AbortTurn { turn, cause, again, .. } => {
                format!("* abort turn {}: {cause:?}{}", turn.number(), if again { ", again" } else { "" })
            }
            AgentAction::TurnForced { turn, .. } => format!("* turn {} forced", turn.number()),
            AgentAction::ToolCallsClosed { turn, calls, .. } => {
                format!("* tool calls closed in turn {}: {}", turn.number(), calls.join(", "))
            }
            AgentAction::IdleCancel { session } => format!("* idle cancel in {}", id(conn, Some(session))),
            AgentAction::CloseSession { ticket, session } => {
                let number = ticket.key().number();
                host.kept.tickets.insert(number, ticket);
                format!("* close session #{number}: {}", id(conn, Some(session)))
            }
            AgentAction::Common(common) => host.kept.hear(conn, common),
            other => format!("* {other:?}"),
        }
    }

    fn act(player: &mut Player<Self>, verb: &str, mut args: Args<'_>, out: &mut Vec<String>) -> Option<()> {
        let now = player.now;
        match verb {
            "accept" => {
                let ticket = player.host.initialize.take()?;
                match player.conn.accept_initialize(ticket, &raw(args.0), now) {
                    Ok(delivery) => said(out, delivery),
                    Err(why) => {
                        out.push(refused(&why));
                        player.host.initialize = Some(why.ticket);
                    }
                }
            }
            "reject" => {
                let ticket = player.host.initialize.take()?;
                said(out, player.conn.reject_initialize(ticket, &error_of(args)?, now));
            }
            "open" => {
                let number = args.number().or_else(|| player.host.opening.keys().next().copied())?;
                let ticket = player.host.opening.remove(&number)?;
                match player.conn.accept_session(ticket, &raw(args.0), now) {
                    Ok((_, delivery)) => said(out, delivery),
                    Err(why) => {
                        out.push(refused(&why));
                        player.host.opening.insert(number, why.ticket);
                    }
                }
            }
            "no_session" => {
                let number = player.host.opening.keys().next().copied()?;
                let ticket = player.host.opening.remove(&number)?;
                said(out, player.conn.reject_session(ticket, &error_of(args)?, now));
            }
            "update" => {
                let scope = player.scope(args.word()?)?;
                match player.conn.update(scope, &raw(args.0), now) {
                    Ok(delivery) => said(out, delivery),
                    Err(why) => out.push(refused(&why)),
                }
            }
            "say" => {
                let scope = player.scope(args.word()?)?;
                match player.conn.say(scope, &UpdateKind::from("agent_message_chunk"), args.0, now) {
                    Ok(delivery) => said(out, delivery),
                    Err(why) => out.push(refused(&why)),
                }
            }
            "end" => {
                let number = args.number()?;
                let ticket = player.host.turns.remove(&number)?;
                let end = match args.0.strip_prefix("error ") {
                    Some(error) => TurnEnd::Error(error_of(Args(error))?),
                    None => TurnEnd::Stop(StopReason::from(args.0)),
                };
                said(out, player.conn.end_turn(ticket, &end, now));
            }
            "drop_turn" => {
                let ticket = player.host.turns.remove(&args.number()?)?;
                said(out, player.conn.abandon(ticket.key(), now));
            }
            "insert" => {
                let turn = Self::turn(&player.host, args.number()?)?;
                let inserted = player.conn.insert_prompt(turn, args.0, now);
                match inserted {
                    Ok(delivery) => said(out, delivery),
                    Err(why) => out.push(refused(&why)),
                }
            }
            "begin_work" => {
                let session = player.session(args.word()?)?;
                out.push(format!("= {}", shown(&player.conn.begin_work(session, now))));
            }
            "auth_required" => player.conn.set_auth_required(args.word()?.parse().ok()?),
            _ => return Kept::act(player, |host| &mut host.kept, verb, args, out),
        }
        Some(())
    }
}
