//! The smallest client: it runs an agent, prompts it once, and prints what it says. `client_small AGENT [ARGS…]`

use core::error::Error;
use std::env;
use std::io::{self, Write as _};

use acp_core::view::{SessionUpdate, Update};
use acp_core::wire::PermissionOptionKind;
use acp_core::{Client, ClientAction, Config, Decision, Payload};
use acp_tokio::{Actions, Grace, Handle, process};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut command = process::command(env::args_os().nth(1).ok_or("usage: client_small AGENT [ARGS…]")?);
    command.args(env::args_os().skip(2));
    let (client, actions, running) = acp_tokio::launch(command, Config::client(), Grace::default())?;
    let running = tokio::spawn(running.run());
    let talked = talk(&client, actions).await;
    client.close();
    let ending = running.await??; // the agent is gone, with all it started
    talked.map_err(|why| {
        eprint!("{}", ending.stderr); // an agent that dies says why, as a rule
        format!("{why} ({})", ending.reason).into()
    })
}

async fn talk(client: &Handle<Client>, mut actions: Actions<Client>) -> Result<(), Box<dyn Error>> {
    client.initialize(&Payload::EMPTY)?.await.outcome.into_result()?;
    let place = Payload::try_from(json!({ "cwd": env::current_dir()?, "mcpServers": [] }))?;
    let opened = client.request("session/new", Some(place), None)?.await;
    let Some(session) = opened.session else { return Err(opened.outcome.to_string().into()) };
    let hello = Payload::try_from(json!([{ "type": "text", "text": "Hello!" }]))?;
    let turn = client.prompt(session, &hello)?.detach(); // its end is told below

    while let Some(action) = actions.next().await {
        match action {
            ClientAction::Update { params, .. } => {
                if let Ok(SessionUpdate { update: Update::AgentMessageChunk(said), .. }) = params.view() {
                    print!("{}", said.content.text().unwrap_or_default());
                    io::stdout().flush()?;
                }
            }
            ClientAction::PermissionRequested { ticket, offer, .. } => {
                let no = offer.first(&[PermissionOptionKind::RejectOnce]);
                let no = no.map_or(Decision::Cancelled, |option| Decision::Select(option.id.clone()));
                client.decide(ticket, &no);
            }
            ClientAction::TurnEnded { turn: ended, settlement, .. } if ended == turn => {
                println!("\n{settlement:?}");
                break;
            }
            other => drop(client.decline(other)),
        }
    }
    Ok(())
}
