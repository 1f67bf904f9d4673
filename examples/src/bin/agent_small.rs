//! The smallest agent: it streams an answer, and stops when it is cancelled.

use core::error::Error;

use acp_core::{
    AgentAction, Config, Payload,
    wire::{StopReason, UpdateKind},
};
use acp_tokio::Turn;
use serde_json::json;
use tokio::time::{Duration, sleep};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (reader, writer) = acp_tokio::stdio()?;
    let (agent, mut actions, driver) = acp_tokio::agent(reader, writer, Config::agent())?;
    let driver = tokio::spawn(driver);
    let mut sessions = 0;
    while let Some(action) = actions.next().await {
        match action {
            AgentAction::Initialize { ticket, .. } => {
                let about = json!({ "agentInfo": { "name": "agent_small", "version": "1.0.0" } });
                agent.accept_initialize(ticket, &Payload::try_from(about)?)?;
            }
            AgentAction::SessionRequested { ticket, .. } => {
                sessions += 1;
                let opened = json!({ "sessionId": format!("session-{sessions}") });
                agent.accept_session(ticket, &Payload::try_from(opened)?)?;
            }
            AgentAction::Prompt { ticket, .. } => {
                tokio::spawn(answer(agent.turn(ticket)));
            }
            other => drop(agent.decline(other)), // whatever else is asked gets the answer it is owed
        }
    }
    eprintln!("{}", driver.await?);
    Ok(())
}

async fn answer(turn: Turn) {
    for word in ["One ", "word ", "at ", "a ", "time."] {
        tokio::select! {
            () = turn.token().cancelled() => break,
            _ = turn.say(&UpdateKind::AgentMessageChunk, word) => sleep(Duration::from_millis(100)).await,
        }
    }
    turn.stop(StopReason::EndTurn); // a cancelled turn is answered `cancelled`, whatever is said here
}
