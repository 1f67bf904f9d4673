//! The commands: the first word of a prompt says what the turn does.

use core::{str::FromStr, time::Duration};

use acp_core::{ErrorObject, Payload, wire::StopReason};

use super::{
    services,
    talk::{Halt, Talk},
    tools,
};
use crate::shape::{LINE, invalid_params, prompt_text};

/// What is said to a prompt that is none of the commands.
const HELP: &str = "I do what the first word says: echo TEXT, len TEXT, stream N [MS], hang, big N, tool, permission, \
                    stop REASON, error CODE, crash [N], read PATH, write PATH TEXT, exec CMD, elicit, plan.";

/// One turn, from its prompt to its end.
pub(super) async fn run(talk: Talk, params: Payload) {
    let how = match talk.dialect.check(&params).and_then(|()| prompt_text(&params)) {
        Ok(prompt) => {
            // The line it came in may be long, and is not needed any more.
            drop(params);
            talk.heard(&prompt);
            obey(&talk, &prompt).await
        }
        Err(error) => Err(Halt::Failed(error)),
    };
    let how = match how {
        Err(Halt::Unsupported) => talk.say("unsupported").await.map(|()| StopReason::EndTurn),
        how => how,
    };
    talk.end(how);
}

async fn obey(talk: &Talk, prompt: &str) -> Result<StopReason, Halt> {
    let (command, rest) = prompt.split_once(' ').unwrap_or((prompt, ""));
    match command {
        "echo" if talk.is_loud() => talk.say(&rest.to_uppercase()).await?,
        "echo" => talk.say(rest).await?,
        "len" => talk.say(&rest.chars().count().to_string()).await?,
        "stream" => stream(talk, rest).await?,
        "hang" => {
            eprintln!("echo_agent: hangs");
            talk.unless_cancelled(core::future::pending::<()>()).await?;
        }
        "big" => {
            let size: usize = number("big N", rest)?;
            if size > LINE {
                return Err(Halt::Failed(invalid_params(format!("`big N`: a line holds {LINE} bytes"))));
            }
            talk.say(&"x".repeat(size)).await?;
        }
        "tool" => tools::tool(talk).await?,
        "permission" => tools::permission(talk).await?,
        "stop" if rest.is_empty() => return Err(Halt::Failed(invalid_params("`stop REASON` needs a stop reason"))),
        "stop" => return Ok(StopReason::from(rest)),
        "error" => {
            let code = number("error CODE", rest)?;
            return Err(Halt::Failed(ErrorObject::new(code, "asked for an error")));
        }
        "crash" => {
            let status = if rest.is_empty() { 3 } else { number("crash [N]", rest)? };
            eprintln!("echo_agent: asked to crash");
            std::process::exit(status);
        }
        "read" => services::read(talk, rest).await?,
        "write" => services::write(talk, rest).await?,
        "exec" => services::exec(talk, rest).await?,
        "plan" => tools::plan(talk).await?,
        "elicit" => services::elicit(talk).await?,
        _ => talk.say(HELP).await?,
    }
    Ok(StopReason::EndTurn)
}

async fn stream(talk: &Talk, arguments: &str) -> Result<(), Halt> {
    let (count, pause) = arguments.split_once(' ').unwrap_or((arguments, "0"));
    let count: u64 = number("stream N [MS]", count)?;
    let pause = Duration::from_millis(number("stream N [MS]", pause)?);
    for i in 1..=count {
        talk.say(&format!("chunk {i}/{count}")).await?;
        if !pause.is_zero() {
            talk.unless_cancelled(tokio::time::sleep(pause)).await?;
        }
    }
    eprintln!("echo_agent: streamed {count} chunks");
    Ok(())
}

fn number<T: FromStr>(usage: &str, text: &str) -> Result<T, Halt> {
    text.trim()
        .parse()
        .map_err(|_| Halt::Failed(invalid_params(format!("`{usage}` needs a whole number, not {text:?}"))))
}
