//! The smallest client: it runs an agent, prompts it once, and prints what it says. `client_small AGENT [ARGS…]`

use core::error::Error;
use std::{
    env,
    io::{self, Write as _},
};

use acp_core::{ClientAction, Config, Decision, Payload, wire::PermissionOptionKind};
use acp_tokio::{Grace, process};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut command = process::command(env::args_os().nth(1).ok_or("usage: client_small AGENT [ARGS…]")?);
    command.args(env::args_os().skip(2));
    let (client, mut actions, running) = acp_tokio::launch(command, Config::client(), Grace::default())?;
    let running = tokio::spawn(running.run());

    client.initialize(&Payload::EMPTY)?.await;
    let place = Payload::try_from(json!({ "cwd": env::current_dir()?, "mcpServers": [] }))?;
    let opened = client.request("session/new", Some(place), None)?.await;
    let Some(session) = opened.session else { return Err(format!("no session: {:?}", opened.outcome).into()) };
    let hello = Payload::try_from(json!([{ "type": "text", "text": "Hello!" }]))?;
    let turn = client.prompt(session, &hello)?.detach();

    while let Some(action) = actions.next().await {
        match action {
            ClientAction::Update { params, .. } => {
                let update: Value = params.get()?;
                print!("{}", update["update"]["content"]["text"].as_str().unwrap_or_default());
                io::stdout().flush()?;
            }
            ClientAction::PermissionRequested { ticket, offer, .. } => {
                let no = offer.first(&[PermissionOptionKind::RejectOnce]);
                let no = no.map_or(Decision::Cancelled, |option| Decision::Select(option.id.clone()));
                client.decide(ticket, &no);
            }
            ClientAction::TurnEnded { turn: ended, settlement, .. } if ended == turn => {
                println!("\n{settlement:?}");
                client.close(); // the last action follows, and the agent is ended with all it started
            }
            other => drop(client.decline(other)),
        }
    }
    running.await??;
    Ok(())
}
