//! What the explorer found, each as the few lines that it comes to.

use acp_core::{AgentAction, Config, Delivery, TurnEnd, wire::StopReason};
use acp_tests::bench::{Bench, payload};
use serde_json::json;

#[test]
fn a_turn_whose_host_says_cancelled_unasked_closes_its_open_tool_calls_before_the_error() {
    let mut agent = Bench::agent(Config::agent());
    agent.session("s");
    agent.prompt(7, "s");
    let told = agent.actions();
    let Some(AgentAction::Prompt { ticket, .. }) = told.into_iter().next() else { panic!("no prompt was told") };
    let call = payload(json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Run" }));
    agent.conn.update(&ticket, &call, agent.now).expect("there is room");
    agent.frames();
    let delivery = agent.conn.end_turn(ticket, &TurnEnd::Stop(StopReason::Cancelled), agent.now);
    assert_eq!(delivery, Delivery::AsWithdrawn);

    let frames = agent.frames();
    let [closed, answer] = frames.as_slice() else { panic!("a last word and an answer: {frames:?}") };
    let update = &closed["params"]["update"];
    assert_eq!((&update["toolCallId"], &update["status"]), (&json!("t"), &json!("failed")));
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32800)));
    assert_eq!(agent.told(), ["ToolCallsClosed"]);
}
