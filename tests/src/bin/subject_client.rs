//! A client for the runner of the conformance checks to find fault with: `drive`, which is good; or, with `--fault NAME`, a
//! small one that has it.

use std::{
    io::{BufRead as _, BufReader, Write},
    process::{Command, ExitCode, Stdio},
};

use serde_json::{Value, json};

#[tokio::main(worker_threads = 1)]
async fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [flag, fault, _, agent @ ..] if flag == "--fault" => match small(fault, agent) {
            Some(()) => ExitCode::SUCCESS,
            None => ExitCode::FAILURE,
        },
        _ => acp_examples::drive::main().await,
    }
}

/// Prompts an agent once. `None`: it went wrong.
fn small(fault: &str, agent: &[String]) -> Option<()> {
    let (program, arguments) = agent.split_first()?;
    let mut child = Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let (mut stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
    let place = json!({ "cwd": "/", "mcpServers": [] });
    ask(&mut stdin, 1, "initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }))?;
    if fault == "hasty" {
        ask(&mut stdin, 2, "session/new", place.clone())?;
    }
    for line in BufReader::new(stdout).split(b'\n') {
        let message: Value = match serde_json::from_slice(&line.ok()?) {
            Ok(message) => message,
            Err(_) if fault == "brittle" => return None,
            Err(_) => continue,
        };
        match (message["method"].as_str(), message.get("id"), message["result"].is_object()) {
            (None, Some(id), true) if *id == 1 => {
                if message["result"]["protocolVersion"] != 1 && fault != "believes" {
                    break;
                }
                if fault != "hasty" {
                    ask(&mut stdin, 2, "session/new", place.clone())?;
                }
            }
            (None, Some(id), true) if *id == 2 => {
                let prompt = json!([{ "type": "text", "text": "hi" }]);
                let params = json!({ "sessionId": message["result"]["sessionId"], "prompt": prompt });
                ask(&mut stdin, 3, "session/prompt", params)?;
            }
            (None, Some(id), _) if matches!(id.as_u64(), Some(1..=3)) => break,
            (Some("session/request_permission"), Some(id), _) => {
                let option = if fault == "guesses" { "maybe" } else { "no" };
                let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
                send(&mut stdin, &json!({ "jsonrpc": "2.0", "id": id, "result": outcome }))?;
            }
            (Some(_), None, _) if fault == "answers" => refuse(&mut stdin, &Value::Null)?,
            (Some(_), Some(id), _) => refuse(&mut stdin, id)?,
            _ => {}
        }
    }
    drop(stdin);
    child.wait().ok()?;
    if fault == "lingers" {
        std::thread::sleep(core::time::Duration::from_secs(1000));
    }
    Some(())
}

fn ask(to: &mut impl Write, id: u64, method: &str, params: Value) -> Option<()> {
    send(to, &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

fn refuse(to: &mut impl Write, id: &Value) -> Option<()> {
    send(to, &json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no" } }))
}

fn send(to: &mut impl Write, message: &Value) -> Option<()> {
    writeln!(to, "{message}").and_then(|()| to.flush()).ok()
}
