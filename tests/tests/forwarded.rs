//! A client whose prompts are sent at once, to an agent that queues: what a cancel of one that waits there does.

use acp_core::{CancelKind, Cancellation, ClientAction, Config, Outcome, Overlap, Settlement};
use acp_tests::bench::{Bench, payload};
use serde_json::json;

#[test]
fn a_prompt_that_waits_at_the_agent_is_cancelled_by_its_request_and_settles_as_asked() {
    let mut config = Config::client();
    config.overlap = Overlap::Forward(4);
    let mut client = Bench::client(config);
    let session = client.session("s1");
    let (first, first_id) = client.prompt(session);
    let (second, second_id) = client.prompt(session);
    assert_eq!(client.conn.cancel_turn(second, CancelKind::Stop, client.now), Ok(Cancellation::Requested));
    assert_eq!(client.conn.cancel_turn(second, CancelKind::Stop, client.now), Ok(Cancellation::AlreadyRequested));
    assert_eq!(
        client.frames(),
        [json!({ "method": "$/cancel_request", "params": { "requestId": second_id } })],
        "the one before it is not hit"
    );
    let cancelled = json!({ "stopReason": "cancelled" });
    client.result(second_id, cancelled.clone());
    client.result(first_id, json!({ "stopReason": "end_turn" }));
    let ended = |turn, settlement, result| ClientAction::TurnEnded {
        session,
        turn,
        settlement,
        outcome: Outcome::Result(payload(result)),
    };
    let by_itself = Settlement::Ended(acp_core::wire::StopReason::EndTurn);
    assert_eq!(
        client.actions(),
        [ended(second, Settlement::Cancelled, cancelled), ended(first, by_itself, json!({ "stopReason": "end_turn" })),]
    );
}
