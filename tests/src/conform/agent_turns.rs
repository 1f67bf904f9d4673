//! Checks of agents: turns, permissions, cancels, and the end.

use serde_json::{Value, json};

use super::{
    Outcome, Stop, Weight,
    agent::{Check, both, check, each, v1},
    agent_wire::code,
    peer::{Peer, Turn},
    wire::Policy,
};

const REASONS: [&str; 5] = ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"];
/// What version 2 has besides.
const FAILED: &str = "error";
const V2_CANCEL: [&str; 2] = ["Prompt Lifecycle, Cancellation", "prompt-lifecycle#cancellation"];
const CANCEL: [&str; 2] = ["Prompt Turn, Cancellation", "prompt-turn#cancellation"];
const ASK: [&str; 2] = ["Tool Calls, Requesting Permission", "tool-calls#requesting-permission"];

pub(super) const CHECKS: &[Check] = &[
    check(
        each(
            [
                "A40",
                "a turn ends for a reason of the protocol, after all its updates",
                "Prompt Turn, Stop Reasons",
                "prompt-turn#stop-reasons",
            ],
            ["Prompt Lifecycle, Stop Reasons", "prompt-lifecycle#stop-reasons"],
        ),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let reason = peer.turn(&session)?;
            peer.fence()?;
            let is_of_v2 = peer.is_v2() && (reason == FAILED || reason.starts_with('_'));
            match REASONS.contains(&reason.as_str()) || is_of_v2 {
                true => Ok(reason),
                false => Err(format!("it is `{reason}`").into()),
            }
        },
    ),
    check(
        each(
            [
                "A41",
                "turns follow each other in a session",
                "Prompt Turn, Continue Conversation",
                "prompt-turn#6-continue-conversation",
            ],
            ["Prompt Lifecycle, Continue Conversation", "prompt-lifecycle#6-continue-conversation"],
        ),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            peer.turn(&session)?;
            peer.turn(&session)
        },
    ),
    check(
        both(["A42", "a resource link beside the text is accepted", "Content, Resource Link", "content#resource-link"]),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let text = json!({ "type": "text", "text": peer.setup.prompt, "_meta": { "a": 1 }, "later": 1 });
            let link = json!({ "type": "resource_link", "uri": "file:///tmp/a.txt", "name": "a.txt" });
            let params = json!({ "sessionId": session, "prompt": [text, link], "_meta": {}, "later": [1] });
            let turn = peer.start_as(params);
            peer.reason(&turn)
        },
    ),
    check(
        both(["A43", "a prompt of 1 MiB is taken", "Transports, stdio", "transports#stdio"]),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let text = format!("{} {}", peer.setup.prompt, "x".repeat(1 << 20));
            let turn = peer.start_turn(&session, &text);
            peer.response(&turn.id)?;
            peer.is_usable().map(|()| String::new())
        },
    ),
    check(
        each(["A50", "a cancelled turn ends as cancelled, and nothing follows", CANCEL[0], CANCEL[1]], V2_CANCEL),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let turn = peer.slow_turn(&session)?;
            peer.cancel(&session);
            is_cancelled(peer, &turn)?;
            peer.fence().map(|()| String::new())
        },
    ),
    check(
        each(["A51", "a prompt after a cancelled one runs", CANCEL[0], CANCEL[1]], V2_CANCEL),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let turn = peer.slow_turn(&session)?;
            peer.cancel(&session);
            is_cancelled(peer, &turn)?;
            not_cancelled(peer.turn(&session)?)
        },
    ),
    check(
        each(["A52", "a cancel that is repeated, or late, does no harm", CANCEL[0], CANCEL[1]], V2_CANCEL),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let turn = peer.slow_turn(&session)?;
            for _ in 0..3 {
                peer.cancel(&session);
            }
            is_cancelled(peer, &turn)?;
            peer.cancel(&session);
            not_cancelled(peer.turn(&session)?)
        },
    ),
    check(
        each(["A53", "a cancel while nothing runs does not hit the next turn", CANCEL[0], CANCEL[1]], V2_CANCEL),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            peer.cancel(&session);
            not_cancelled(peer.turn(&session)?)
        },
    ),
    check(
        each(["A54", "a cancel ends the turn of its own session only", CANCEL[0], CANCEL[1]], V2_CANCEL),
        Weight::Must,
        &[],
        |peer| {
            let one = peer.open()?;
            let two = peer.session()?;
            let first = peer.slow_turn(&one)?;
            let second = peer.slow_turn(&two)?;
            peer.cancel(&one);
            is_cancelled(peer, &first)?;
            peer.fence()?;
            if peer.is_over(&second) {
                return Err("the other turn is over, too".into());
            }
            peer.cancel(&two);
            is_cancelled(peer, &second)
        },
    ),
    check(
        v1([
            "A55",
            "a prompt cancelled by its id is answered once: as cancelled, or with -32800",
            "Cancellation",
            "cancellation",
        ]),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let turn = peer.slow_turn(&session)?;
            peer.notify("$/cancel_request", json!({ "requestId": turn.id }));
            peer.fence()?;
            // To support it is optional: then another cancel ends the turn.
            let is_over = peer.is_over(&turn);
            peer.cancel(&session);
            let answer = peer.response(&turn.id)?;
            match (code(&answer), answer["result"]["stopReason"].as_str()) {
                (Some(-32800), _) | (_, Some("cancelled")) if is_over => Ok(String::new()),
                (Some(-32800), _) | (_, Some("cancelled")) => Ok("not at once, or not by itself".to_owned()),
                _ => Err(format!("it is answered {answer}").into()),
            }
        },
    ),
    check(both(["A60", "a turn goes on when its permission is given", ASK[0], ASK[1]]), Weight::Must, &[], |peer| {
        let session = peer.open()?;
        let (turn, _) = peer.permission_turn(&session)?;
        peer.reason(&turn)
    }),
    check(
        both(["A61", "a turn ends when its permission is refused, and the tool is not run", ASK[0], ASK[1]]),
        Weight::Must,
        &[],
        |peer| permission(peer, Policy::Permit("reject")),
    ),
    check(
        both(["A62", "a permission that cannot be read is none", ASK[0], ASK[1]]),
        Weight::Must,
        &["unanswered"],
        |peer| permission(peer, Policy::Result(json!({ "outcome": "allow" }))),
    ),
    check(
        both(["A63", "an option that was not offered is no permission", ASK[0], ASK[1]]),
        Weight::Must,
        &[],
        |peer| {
            permission(
                peer,
                Policy::Result(json!({ "outcome": { "outcome": "selected", "optionId": "never-offered" } })),
            )
        },
    ),
    check(
        each(
            ["A64", "a cancel while a permission is open ends the turn as cancelled", CANCEL[0], CANCEL[1]],
            V2_CANCEL,
        ),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            peer.policy = Policy::Hold;
            let (turn, asked) = peer.permission_turn(&session)?;
            peer.cancel(&session);
            peer.answer(&asked["id"], json!({ "outcome": { "outcome": "cancelled" } }));
            is_cancelled(peer, &turn)
        },
    ),
    check(
        each(
            ["A65", "a cancel ends the turn also if its permission is never answered", CANCEL[0], CANCEL[1]],
            V2_CANCEL,
        ),
        Weight::Should,
        &[],
        |peer| {
            let session = peer.open()?;
            peer.policy = Policy::Hold;
            let (turn, _) = peer.permission_turn(&session)?;
            peer.cancel(&session);
            is_cancelled(peer, &turn)
        },
    ),
    check(
        both(["A66", "a permission that is answered twice counts once", ASK[0], ASK[1]]),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            peer.policy = Policy::Hold;
            let (turn, asked) = peer.permission_turn(&session)?;
            let option = &asked["params"]["options"][0]["optionId"];
            let yes = json!({ "outcome": { "outcome": "selected", "optionId": option } });
            peer.answer(&asked["id"], yes.clone());
            peer.answer(&asked["id"], yes);
            peer.policy = Policy::Permit("allow");
            let reason = peer.reason(&turn)?;
            peer.is_usable().map(|()| reason)
        },
    ),
    check(
        both(["A70", "the agent goes when its stdin is closed in mid-turn", "Transports, stdio", "transports#stdio"]),
        Weight::Must,
        &[],
        |peer| {
            // How long it takes to go is looked at after every check.
            let session = peer.open()?;
            peer.slow_turn(&session).map(|_| String::new())
        },
    ),
];

fn is_cancelled(peer: &mut Peer<'_>, turn: &Turn) -> Outcome {
    match peer.reason(turn)?.as_str() {
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
    let (turn, asked) = peer.permission_turn(&session)?;
    // However it ends: an answer that cannot be read may well be a failure.
    let reason = match peer.response(&turn.id)?.get("error") {
        Some(_) => "an error".to_owned(),
        None => peer.reason(&turn)?,
    };
    let params = &asked["params"];
    let call = if peer.is_v2() { &params["subject"]["toolCall"] } else { &params["toolCall"] };
    let call = &call["toolCallId"];
    let is_run = |said: &Value| {
        let update = &said["params"]["update"];
        update["toolCallId"] == *call && update["status"] == "completed"
    };
    if peer.heard.iter().any(is_run) {
        return Err(Stop::Fail("the tool is run all the same".to_owned()));
    }
    Ok(reason)
}
