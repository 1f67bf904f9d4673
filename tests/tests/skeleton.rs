//! The main job on both ends, and the order of a cancel: the walking skeleton of all that follows.

use acp_core::{
    AgentAction, CancelKind, Cancellation, ClientAction, Config, Delivery, Outcome, Settlement, TurnEnd,
    wire::StopReason,
};
use acp_tests::bench::{Bench, payload};
use serde_json::json;

#[test]
fn a_client_answers_open_permissions_after_its_cancel_and_then_the_turn_ends() {
    let mut client = Bench::client(Config::client());
    let session = client.session("s1");
    let (turn, prompt) = client.prompt(session);
    client.permission("p", "s1");
    assert_eq!(client.told(), ["PermissionRequested"]);
    assert_eq!(client.conn.cancel_turn(turn, CancelKind::Stop, client.now), Ok(Cancellation::Requested));
    client.permission("crossing", "s1");
    assert_eq!(
        client.frames(),
        [
            json!({ "method": "session/cancel", "params": { "sessionId": "s1" } }),
            json!({ "id": "p", "result": { "outcome": { "outcome": "cancelled" } } }),
            json!({ "id": "crossing", "result": { "outcome": { "outcome": "cancelled" } } }),
        ]
    );
    assert_eq!(client.told(), ["PermissionRevoked"]);
    client.result(prompt, json!({ "stopReason": "cancelled" }));
    let result = payload(json!({ "stopReason": "cancelled" }));
    let ended =
        ClientAction::TurnEnded { session, turn, settlement: Settlement::Cancelled, outcome: Outcome::Result(result) };
    assert_eq!(client.actions(), [ended]);
    assert_eq!(client.conn.cancel_turn(turn, CancelKind::Stop, client.now), Ok(Cancellation::Moot));
    assert_eq!((client.frames(), client.due_in()), (vec![], None));
}

#[test]
fn an_agent_answers_a_cancelled_turn_cancelled_whatever_its_host_says() {
    let mut agent = Bench::agent(Config::agent());
    agent.session("s1");
    agent.prompt(3, "s1");
    agent.prompt(4, "s1");
    let Some(AgentAction::Prompt { ticket, .. }) = agent.conn.poll_action() else { panic!("a turn begins") };
    agent.cancel("s1");
    agent.prompt(5, "s1");
    assert_eq!(agent.frames(), [json!({ "id": 4, "result": { "stopReason": "cancelled" } })]);
    assert_eq!(agent.told(), ["AbortTurn"]);
    let update = payload(json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "." } }));
    assert_eq!(agent.conn.update(&ticket, &update, agent.now), Ok(Delivery::Queued));
    let turn = ticket.turn();
    let end = TurnEnd::Stop(StopReason::EndTurn);
    assert_eq!(agent.conn.end_turn(ticket, &end, agent.now), Delivery::AsCancelled);
    assert_eq!(agent.conn.update(turn, &update, agent.now), Ok(Delivery::TooLate));
    let frames = agent.frames();
    assert_eq!(frames.len(), 2, "{frames:?}");
    assert_eq!(frames[1], json!({ "id": 3, "result": { "stopReason": "cancelled" } }));
    assert_eq!(agent.told(), ["Prompt"], "the prompt after the cancel runs");
    assert_eq!(agent.due_in(), None);
}
