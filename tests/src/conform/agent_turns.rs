//! Checks of agents: turns, permissions, cancels, and the end.

use core::time::Duration;

use serde_json::{Value, json};

use super::{
    Outcome, Stop, Weight,
    agent::{Check, Peer, QUIET},
    agent_wire::{check, code},
    wire::Policy,
};

const REASONS: [&str; 5] = ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"];
const CANCEL: [&str; 2] = ["Prompt Turn, Cancellation", "prompt-turn#cancellation"];
const ASK: [&str; 2] = ["Tool Calls, Requesting Permission", "tool-calls#requesting-permission"];

pub(super) const CHECKS: &[Check] = &[
    check(
        [
            "A40",
            "a turn ends for a reason of the protocol, after all its updates",
            "Prompt Turn, Stop Reasons",
            "prompt-turn#stop-reasons",
        ],
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let reason = peer.turn(&session)?;
            peer.quiet(QUIET);
            if REASONS.contains(&reason.as_str()) { Ok(reason) } else { Err(format!("it is `{reason}`").into()) }
        },
    ),
    check(
        [
            "A41",
            "turns follow each other in a session",
            "Prompt Turn, Continue Conversation",
            "prompt-turn#6-continue-conversation",
        ],
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            peer.turn(&session)?;
            peer.turn(&session)
        },
    ),
    check(
        ["A42", "a resource link beside the text is accepted", "Content, Resource Link", "content#resource-link"],
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let text = json!({ "type": "text", "text": peer.setup.prompt, "_meta": { "a": 1 }, "later": 1 });
            let link = json!({ "type": "resource_link", "uri": "file:///tmp/a.txt", "name": "a.txt" });
            let params = json!({ "sessionId": session, "prompt": [text, link], "_meta": {}, "later": [1] });
            let id = peer.post("session/prompt", params);
            peer.reason(&id)
        },
    ),
    check(["A43", "a prompt of 1 MiB is taken", "Transports, stdio", "transports#stdio"], Weight::Must, &[], |peer| {
        let session = peer.open()?;
        let text = format!("{} {}", peer.setup.prompt, "x".repeat(1 << 20));
        let id = peer.start_turn(&session, &text);
        peer.response(&id)?;
        peer.is_usable().map(|()| String::new())
    }),
    check(
        ["A50", "a cancelled turn ends as cancelled, and nothing follows", CANCEL[0], CANCEL[1]],
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let id = peer.slow_turn(&session)?;
            peer.cancel(&session);
            is_cancelled(peer, &id)?;
            peer.quiet(QUIET);
            Ok(String::new())
        },
    ),
    check(["A51", "a prompt after a cancelled one runs", CANCEL[0], CANCEL[1]], Weight::Must, &[], |peer| {
        let session = peer.open()?;
        let id = peer.slow_turn(&session)?;
        peer.cancel(&session);
        is_cancelled(peer, &id)?;
        not_cancelled(peer.turn(&session)?)
    }),
    check(
        ["A52", "a cancel that is repeated, or late, does no harm", CANCEL[0], CANCEL[1]],
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let id = peer.slow_turn(&session)?;
            for _ in 0..3 {
                peer.cancel(&session);
            }
            is_cancelled(peer, &id)?;
            peer.cancel(&session);
            not_cancelled(peer.turn(&session)?)
        },
    ),
    check(
        ["A53", "a cancel while nothing runs does not hit the next turn", CANCEL[0], CANCEL[1]],
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            peer.cancel(&session);
            not_cancelled(peer.turn(&session)?)
        },
    ),
    check(["A54", "a cancel ends the turn of its own session only", CANCEL[0], CANCEL[1]], Weight::Must, &[], |peer| {
        let one = peer.open()?;
        let two = peer.session()?;
        let first = peer.slow_turn(&one)?;
        let second = peer.slow_turn(&two)?;
        peer.cancel(&one);
        is_cancelled(peer, &first)?;
        peer.quiet(Duration::from_millis(50));
        if peer.heard.iter().any(|said| said.get("method").is_none() && said["id"] == second) {
            return Err("the other turn is over, too".into());
        }
        peer.cancel(&two);
        is_cancelled(peer, &second)
    }),
    check(
        [
            "A55",
            "a prompt cancelled by its id is answered once: as cancelled, or with -32800",
            "Cancellation",
            "cancellation",
        ],
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let id = peer.slow_turn(&session)?;
            peer.notify("$/cancel_request", json!({ "requestId": id }));
            let wanted = id.clone();
            let said = peer.quiet(QUIET).into_iter().find(|said| said.get("method").is_none() && said["id"] == wanted);
            let Some(answer) = said else {
                // To support it is optional.
                peer.cancel(&session);
                is_cancelled(peer, &id)?;
                return Ok("it is passed over".to_owned());
            };
            match (code(&answer), answer["result"]["stopReason"].as_str()) {
                (Some(-32800), _) | (_, Some("cancelled")) => Ok(String::new()),
                _ => Err(format!("it is answered {answer}").into()),
            }
        },
    ),
    check(["A60", "a turn goes on when its permission is given", ASK[0], ASK[1]], Weight::Must, &[], |peer| {
        let session = peer.open()?;
        let (id, _) = peer.permission_turn(&session)?;
        peer.reason(&id)
    }),
    check(
        ["A61", "a turn ends when its permission is refused, and the tool is not run", ASK[0], ASK[1]],
        Weight::Must,
        &[],
        |peer| permission(peer, Policy::Permit("reject")),
    ),
    check(["A62", "a permission that cannot be read is none", ASK[0], ASK[1]], Weight::Must, &["unanswered"], |peer| {
        permission(peer, Policy::Result(json!({ "outcome": "allow" })))
    }),
    check(["A63", "an option that was not offered is no permission", ASK[0], ASK[1]], Weight::Must, &[], |peer| {
        permission(peer, Policy::Result(json!({ "outcome": { "outcome": "selected", "optionId": "never-offered" } })))
    }),
    check(
        ["A64", "a cancel while a permission is open ends the turn as cancelled", CANCEL[0], CANCEL[1]],
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            peer.policy = Policy::Hold;
            let (id, asked) = peer.permission_turn(&session)?;
            peer.cancel(&session);
            peer.answer(&asked["id"], json!({ "outcome": { "outcome": "cancelled" } }));
            is_cancelled(peer, &id)
        },
    ),
    check(
        ["A65", "a cancel ends the turn also if its permission is never answered", CANCEL[0], CANCEL[1]],
        Weight::Should,
        &[],
        |peer| {
            let session = peer.open()?;
            peer.policy = Policy::Hold;
            let (id, _) = peer.permission_turn(&session)?;
            peer.cancel(&session);
            is_cancelled(peer, &id)
        },
    ),
    check(["A66", "a permission that is answered twice counts once", ASK[0], ASK[1]], Weight::Must, &[], |peer| {
        let session = peer.open()?;
        peer.policy = Policy::Hold;
        let (id, asked) = peer.permission_turn(&session)?;
        let option = &asked["params"]["options"][0]["optionId"];
        let yes = json!({ "outcome": { "outcome": "selected", "optionId": option } });
        peer.answer(&asked["id"], yes.clone());
        peer.answer(&asked["id"], yes);
        peer.policy = Policy::Permit("allow");
        let reason = peer.reason(&id)?;
        peer.is_usable().map(|()| reason)
    }),
    check(
        ["A70", "the agent goes when its stdin is closed in mid-turn", "Transports, stdio", "transports#stdio"],
        Weight::Must,
        &[],
        |peer| {
            // How long it takes to go is looked at after every check.
            let session = peer.open()?;
            peer.slow_turn(&session).map(|_| String::new())
        },
    ),
];

fn is_cancelled(peer: &mut Peer<'_>, id: &Value) -> Outcome {
    match peer.reason(id)?.as_str() {
        "cancelled" => Ok(String::new()),
        reason => Err(format!("the turn ends with `{reason}`").into()),
    }
}

fn not_cancelled(reason: String) -> Outcome {
    if reason == "cancelled" { Err("the next turn is cancelled, too".into()) } else { Ok(reason) }
}

/// The turn ends, and its tool was not run.
fn permission(peer: &mut Peer<'_>, policy: Policy) -> Outcome {
    let session = peer.open()?;
    peer.policy = policy;
    let (id, asked) = peer.permission_turn(&session)?;
    let answer = peer.response(&id)?;
    let call = &asked["params"]["toolCall"]["toolCallId"];
    let is_run = |said: &Value| {
        let update = &said["params"]["update"];
        update["toolCallId"] == *call && update["status"] == "completed"
    };
    if peer.heard.iter().any(is_run) {
        return Err(Stop::Fail("the tool is run all the same".to_owned()));
    }
    Ok(answer["result"]["stopReason"].as_str().unwrap_or("an error").to_owned())
}
