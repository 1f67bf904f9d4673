//! What `swarm` does, in tokio: many connections, each end with a driver of its own, over in-memory pipes of tokio's.
//! `swarm_tokio [CONNECTIONS]`, by default 10 000.
//!
//! Each step is begun on all of them before its end is awaited on any.

use core::error::Error;
use std::env;

use acp_core::{Agent, AgentAction, Client, ClientAction, Config, Payload, Settlement, wire::StopReason};
use acp_examples::{
    bare::{is_idle, welcome},
    shape::{chunk, payload, permission, text_block},
    weigh::Scales,
};
use acp_tokio::{Actions, Handle, PromptTurn, Turn};
use peak_alloc::PeakAlloc;
use serde_json::json;
use tokio::{
    io::{duplex, split},
    task::JoinSet,
};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Bytes that a pipe holds: less than some of the messages have.
const ROOM: usize = 128;

/// One connection: both handles, what the client is told, and its turn.
struct Pair {
    client: Handle<Client>,
    actions: Actions<Client>,
    agent: Handle<Agent>,
    turn: Option<PromptTurn>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let count = env::args().nth(1).map_or(Ok(10_000), |count| count.parse())?;
    let (mut pairs, mut drivers, mut hosts) = (Vec::with_capacity(count), JoinSet::new(), JoinSet::new());
    let whole = Scales::read();
    let mut scales = whole;
    println!("both ends of {count} connections, each:");

    let mut pending = Vec::with_capacity(count);
    for _ in 0..count {
        let (here, there) = duplex(ROOM);
        let ((reader, writer), (agent_reader, agent_writer)) = (split(here), split(there));
        let (client, actions, driver) = acp_tokio::client(reader, writer, Config::client())?;
        drivers.spawn(driver);
        let (agent, to_agent, driver) = acp_tokio::agent(agent_reader, agent_writer, Config::agent())?;
        drivers.spawn(driver);
        hosts.spawn(act(agent.clone(), to_agent));
        pending.push(client.initialize(&Payload::EMPTY)?);
        pairs.push(Pair { client, actions, agent, turn: None });
    }
    for pending in pending.drain(..) {
        pending.await;
    }
    println!("{}", scales.weigh("idle", count));

    for Pair { client, .. } in &pairs {
        let place = payload(json!({ "cwd": "/", "mcpServers": [] }));
        pending.push(client.request("session/new", Some(place), None)?);
    }
    let mut sessions = Vec::with_capacity(count);
    for pending in pending.drain(..) {
        sessions.push(pending.await.session.ok_or("no session was opened")?);
    }
    println!("{}", scales.weigh("with a session, more", count));

    for (Pair { client, turn, .. }, session) in pairs.iter_mut().zip(sessions.drain(..)) {
        *turn = Some(client.prompt(session, &payload(json!([text_block("Go on.")])))?);
    }
    for Pair { actions, .. } in &mut pairs {
        // The ticket may go: the cancel answers what is open.
        while !matches!(actions.next().await, Some(ClientAction::PermissionRequested { .. }) | None) {}
    }
    println!("{}", scales.weigh("in a turn that asks, more", count));

    for turn in pairs.iter().filter_map(|pair| pair.turn.as_ref()) {
        turn.stop();
    }
    let mut cancelled = 0;
    for Pair { actions, turn, .. } in &mut pairs {
        while !matches!(actions.next().await, Some(ClientAction::TurnEnded { .. }) | None) {}
        if let Some(turn) = turn.take() {
            cancelled += usize::from(turn.await.0 == Settlement::Cancelled);
        }
    }
    println!("{}", scales.weigh("cancelled, more", count));
    let is_idle = |pair: &&Pair| pair.client.with(|conn, _| is_idle(conn)) && pair.agent.with(|conn, _| is_idle(conn));
    let idle = pairs.iter().filter(is_idle).count();

    pairs.iter().for_each(|pair| pair.client.close());
    let ended = drivers.join_all().await.len();
    hosts.join_all().await;
    drop((pairs, pending, sessions));
    println!("{}", scales.weigh("closed and dropped, more", count));
    println!(
        "of {count}: {cancelled} cancelled, {idle} idle afterwards, {} closed; left: {} B",
        ended / 2,
        whole.more()
    );
    Ok(())
}

/// The agent's loop: each turn is a task of its own.
async fn act(agent: Handle<Agent>, mut actions: Actions<Agent>) {
    while let Some(action) = actions.next().await {
        match action {
            AgentAction::Prompt { ticket, .. } => drop(tokio::spawn(answer(agent.turn(ticket)))),
            // A refusal would show as a connection that does not get on.
            other => drop(agent.with(|conn, now| welcome(conn, other, now))),
        }
    }
}

/// Streams three words, asks for permission, and waits: when the turn is cancelled, the answer is that.
async fn answer(turn: Turn) {
    for word in ["Three ", "words ", "only."] {
        let _ = turn.update(&payload(chunk("agent_message_chunk", word))).await;
    }
    let _ = turn.ask("session/request_permission", &permission(), None).await;
    turn.stop(StopReason::EndTurn);
}
