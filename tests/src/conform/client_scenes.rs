//! Checks of clients: scenes that an agent plays to them.

use core::time::Duration;

use acp_examples::trace::check::Place;
use serde_json::{Value, json};

use super::{
    About, Outcome, Stop, Weight,
    client::{SESSION, Scene, Stage},
};

/// How long one listens to hear nothing, where there is no message behind which it would have to come.
const QUIET: Duration = Duration::from_millis(300);

const fn scene(
    [id, title, section, link]: [&'static str; 4],
    weight: Weight,
    without: &'static [&'static str],
    play: fn(&mut Stage) -> Outcome,
) -> Scene {
    Scene { about: About { id, weight, title, v1: Some(Place::v1(section, link)), v2: None, without }, play }
}

const RESPONSE: &str = "https://www.jsonrpc.org/specification#response_object";
const ERRORS: &str = "https://www.jsonrpc.org/specification#error_object";
const ASK: [&str; 2] = ["Tool Calls, Requesting Permission", "tool-calls#requesting-permission"];

pub(super) const SCENES: &[Scene] = &[
    scene(
        ["C01", "the client initializes first, and waits for the answer", "Initialization", "initialization"],
        Weight::Must,
        &[],
        |stage| {
            let first = stage.request()?;
            if first["method"] != "initialize" || !first["params"]["protocolVersion"].is_u64() {
                return Err(format!("it begins with {first}").into());
            }
            if let Some(early) = stage.quiet(QUIET).first() {
                return Err(format!("before the answer it sends {early}").into());
            }
            stage.serve(&first);
            let prompt = stage.prompted()?;
            stage.say("Hello.");
            stage.end_turn(&prompt);
            Ok(format!("version {}", first["params"]["protocolVersion"]))
        },
    ),
    scene(
        [
            "C02",
            "a version that the client does not speak ends the connection",
            "Initialization, Version Negotiation",
            "initialization#version-negotiation",
        ],
        Weight::Should,
        &["unanswered"],
        |stage| {
            let first = stage.request()?;
            stage.answer(&first["id"], json!({ "protocolVersion": 60_000, "agentCapabilities": {} }));
            match stage.quiet(QUIET).iter().find(|said| said["method"].is_string()) {
                Some(said) => Err(format!("it goes on with {}", said["method"]).into()),
                None => Ok(String::new()),
            }
        },
    ),
    scene(
        ["C03", "lines that are no messages are passed over", "Transports, stdio", "transports#stdio"],
        Weight::Must,
        &[],
        |stage| {
            stage.raw(&b"Starting up\n\n{\"level\":\"info\"}\n\x1b[32mready\x1b[0m\n"[..]);
            let prompt = stage.prompted()?;
            stage.raw(&b"[debug] thinking\n"[..]);
            still_heard(stage, &prompt)
        },
    ),
    scene(
        ["C04", "a message may come byte by byte, and with a carriage return", "Transports, stdio", "transports#stdio"],
        Weight::Must,
        &[],
        |stage| {
            let first = stage.request()?;
            let id = &first["id"];
            let line = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"protocolVersion\":1,\"agentInfo\":{{\"name\":\"é✓\",\"version\":\"1\"}}}}}}\r\n"
            );
            for byte in line.bytes() {
                stage.raw(vec![byte]);
            }
            let prompt = stage.prompted()?;
            still_heard(stage, &prompt)
        },
    ),
    scene(
        [
            "C10",
            "updates of unknown kinds, with unknown content and members, are passed over",
            "Extensibility",
            "extensibility",
        ],
        Weight::Must,
        &[],
        |stage| {
            let prompt = stage.prompted()?;
            let hologram = json!({ "type": "hologram", "x": 1 });
            for update in [
                json!({ "sessionUpdate": "later_update", "x": [1] }),
                json!({ "sessionUpdate": "agent_message_chunk", "content": hologram, "later": 1, "_meta": { "a": null } }),
                json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "kind": "later", "status": "later", "content": [{ "type": "later" }] }),
                json!({ "sessionUpdate": "plan", "entries": [{ "content": "c", "priority": "later", "status": "later" }] }),
            ] {
                stage.update(SESSION, update);
            }
            still_heard(stage, &prompt)
        },
    ),
    scene(
        [
            "C11",
            "an unknown stop reason ends the turn like another",
            "Prompt Turn, Stop Reasons",
            "prompt-turn#stop-reasons",
        ],
        Weight::Must,
        &[],
        |stage| {
            let prompt = stage.prompted()?;
            stage.answer(&prompt, json!({ "stopReason": "later" }));
            Ok(String::new())
        },
    ),
    scene(
        [
            "C12",
            "an update for a session that the client does not know does no harm",
            "Session Setup, Session ID",
            "session-setup#session-id",
        ],
        Weight::Must,
        &[],
        |stage| {
            let prompt = stage.prompted()?;
            let text = json!({ "type": "text", "text": "x" });
            stage.update("no-such-session", json!({ "sessionUpdate": "agent_message_chunk", "content": text }));
            still_heard(stage, &prompt)
        },
    ),
    scene(
        ["C20", "a second answer, and one that nobody asked for, are passed over", "JSON-RPC 2.0, 5", RESPONSE],
        Weight::Must,
        &[],
        |stage| {
            let first = stage.request()?;
            stage.serve(&first);
            stage.serve(&first);
            stage.answer(&json!("never-asked"), json!({}));
            stage.refuse(&json!(987_654), -32603);
            stage.refuse(&Value::Null, -32700);
            let prompt = stage.prompted()?;
            still_heard(stage, &prompt)
        },
    ),
    scene(
        [
            "C21",
            "an unknown method is answered with an error, and with the id it came with",
            "JSON-RPC 2.0, 5.1",
            ERRORS,
        ],
        Weight::Must,
        &[],
        |stage| {
            let prompt = stage.prompted()?;
            for id in [json!("a"), json!(0), json!(-1), json!("")] {
                stage.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "_conform/none", "params": {} }));
                let answer = stage.response(&id)?;
                refused(&answer, "`_conform/none`")?;
            }
            still_heard(stage, &prompt)
        },
    ),
    scene(
        ["C22", "a notification is never answered", "Overview, Communication Model", "overview#communication-model"],
        Weight::Must,
        &[],
        |stage| {
            let prompt = stage.prompted()?;
            let before = stage.heard.len();
            for method in ["conform/none", "_conform/none", "$/none"] {
                stage.notify(method, json!({ "x": 1 }));
            }
            // The answer to a request comes behind what those before it brought.
            stage.is_heard()?;
            let answer = stage
                .heard
                .get(before..)
                .unwrap_or_default()
                .iter()
                .find(|said| said.get("method").is_none() && said["error"].is_object());
            if let Some(answer) = answer {
                return Err(format!("it is answered {answer}").into());
            }
            still_heard(stage, &prompt)
        },
    ),
    scene(
        [
            "C23",
            "a method that the client did not offer is answered with an error",
            "File System, Checking Support",
            "file-system#checking-support",
        ],
        Weight::Must,
        &[],
        |stage| {
            let prompt = stage.prompted()?;
            let offered = &stage.hello["clientCapabilities"];
            if offered["fs"]["readTextFile"] == true && offered["terminal"] == true {
                stage.end_turn(&prompt);
                return Err(Stop::Skip("it offers files and terminals".to_owned()));
            }
            let (method, params) = match offered["terminal"] == true {
                false => ("terminal/create", json!({ "sessionId": SESSION, "command": "true" })),
                true => ("fs/read_text_file", json!({ "sessionId": SESSION, "path": "/etc/hostname" })),
            };
            let answer = stage.ask(method, params)?;
            refused(&answer, method)?;
            still_heard(stage, &prompt)
        },
    ),
    scene(
        ["C24", "a method that is the agent's to serve is answered with an error", "Overview", "overview"],
        Weight::Must,
        &[],
        |stage| {
            let prompt = stage.prompted()?;
            let text = json!([{ "type": "text", "text": "hi" }]);
            let answer = stage.ask("session/prompt", json!({ "sessionId": SESSION, "prompt": text }))?;
            refused(&answer, "`session/prompt`")?;
            still_heard(stage, &prompt)
        },
    ),
    scene(
        ["C30", "a permission is answered with an option that was offered, or as cancelled", ASK[0], ASK[1]],
        Weight::Must,
        &[],
        |stage| {
            let prompt = stage.prompted()?;
            let answer = stage.is_heard()?;
            let outcome = &answer["result"]["outcome"];
            let said = match (outcome["outcome"].as_str(), outcome["optionId"].as_str()) {
                (Some("cancelled"), _) => "cancelled".to_owned(),
                (Some("selected"), Some(option @ ("yes" | "no"))) => option.to_owned(),
                _ => return Err(format!("it is answered {answer}").into()),
            };
            stage.end_turn(&prompt);
            Ok(said)
        },
    ),
    scene(
        ["C31", "a permission with options of unknown kinds, and more than is known, is answered", ASK[0], ASK[1]],
        Weight::Should,
        &[],
        |stage| {
            let prompt = stage.prompted()?;
            let options = json!([{ "optionId": "later", "name": "Later", "kind": "allow_later", "later": 1 }, { "optionId": "no", "name": "No", "kind": "reject_once" }]);
            let call = json!({ "toolCallId": "t", "title": null, "kind": "later", "status": "later", "content": [{ "type": "later" }] });
            let answer = stage.ask(
                "session/request_permission",
                json!({ "sessionId": SESSION, "toolCall": call, "options": options, "_meta": {} }),
            )?;
            stage.end_turn(&prompt);
            match answer.get("result") {
                Some(result) if result["outcome"]["outcome"].is_string() => Ok(String::new()),
                _ => Err(format!("it is answered {answer}").into()),
            }
        },
    ),
    scene(
        [
            "C40",
            "a session that cannot be opened is not prompted",
            "Session Setup, Creating a Session",
            "session-setup#creating-a-session",
        ],
        Weight::Must,
        &["unanswered"],
        |stage| {
            loop {
                let request = stage.request()?;
                if request["method"] == "session/new" {
                    stage.refuse(&request["id"], -32603);
                    break;
                }
                stage.serve(&request);
            }
            // It may go at once, which is an answer, too.
            let _ = stage.ask("_conform/fence", json!({}));
            match stage.heard.iter().find(|said| said["method"] == "session/prompt") {
                Some(said) => Err(format!("it sends {said}").into()),
                None => Ok(String::new()),
            }
        },
    ),
    scene(
        [
            "C41",
            "a prompt that is answered with an error ends the turn",
            "Prompt Turn, Check for Completion",
            "prompt-turn#4-check-for-completion",
        ],
        Weight::Must,
        &[],
        |stage| {
            let prompt = stage.prompted()?;
            stage.say("So far.");
            stage.refuse(&prompt, -32603);
            Ok(String::new())
        },
    ),
    scene(
        [
            "C42",
            "the client does not wait for ever for an agent that goes in mid-turn",
            "Transports, stdio",
            "transports#stdio",
        ],
        Weight::Must,
        &["unanswered"],
        |stage| {
            stage.prompted()?;
            stage.say("I am go");
            // What was written is still to be taken. Then the process ends, which closes the pipe.
            std::thread::sleep(Duration::from_millis(50));
            stage.timeout = Duration::ZERO;
            Ok(String::new())
        },
    ),
];

/// The client still listens. Ends the turn.
fn still_heard(stage: &mut Stage, prompt: &Value) -> Outcome {
    stage.is_heard()?;
    stage.end_turn(prompt);
    Ok(String::new())
}

fn refused(answer: &Value, method: &str) -> Result<(), Stop> {
    if answer["error"]["code"].is_i64() { Ok(()) } else { Err(format!("{method} is answered {answer}").into()) }
}
