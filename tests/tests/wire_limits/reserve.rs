//! Obligations are never refused: answers, cancels and closes find room where nothing else does.

use core::time::Duration;

use acp_core::{
    Agent, AgentAction, CancelKind, CommandError, Common, Delivery, Payload, Scope, TurnEnd, wire::StopReason,
};
use acp_tests::schema::may_emit;
use acp_tests::wire::{Wire, err, ok, raw, rpc};

use super::sized;

const FULL: CommandError = CommandError::Full { what: "limits.queued_bytes" };

fn prompt(id: u32) -> String {
    rpc(&format!(r#""id":{id},"method":"session/prompt","params":{{"sessionId":"s1","prompt":[]}}"#))
}

/// Fills what may wait to be written with updates.
fn fill(agent: &mut Wire<Agent>) {
    let session = agent.key("s1");
    for size in [1000, 100, 10] {
        while agent.conn.update(session, &sized(size), agent.now) == Ok(Delivery::Queued) {}
    }
    assert_eq!(agent.conn.update(session, &sized(10), agent.now), Err(FULL));
}

#[test]
fn an_agent_whose_queue_is_full_still_answers_and_cancels() {
    may_emit("what fills the queue is no update");
    let mut agent = Wire::agent(|config| {
        config.limits.queued_bytes = 10_000;
        config.limits.reserve_per_request = 500;
    });
    agent.feed(prompt(1)).feed(prompt(2)).feed(rpc(r#""id":3,"method":"_x""#)).feed(rpc(r#""id":4,"method":"_y""#));
    let (mut tickets, mut turn) = (Vec::new(), None);
    while let Some(action) = agent.conn.poll_action() {
        match action {
            AgentAction::Common(Common::Request { ticket, .. }) => tickets.push(ticket),
            AgentAction::Prompt { ticket, .. } => turn = Some(ticket),
            other => panic!("{other:?}"),
        }
    }
    let turn = turn.expect("a turn");
    let call = raw(r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"x"}"#);
    assert_eq!(agent.conn.update(&turn, &call, agent.now), Ok(Delivery::Queued));
    let own = agent.conn.request_in(Scope::from(&turn), "fs/read_text_file", &raw("{}"), None, agent.now);
    let own = own.expect("there is room");
    assert_eq!(agent.frames().len(), 2);
    fill(&mut agent);
    let waiting = agent.conn.queued_bytes();
    // A cancel of our own, the answers to everything, and the last words of the open tool call.
    assert!(agent.conn.cancel_request(own, agent.now).is_ok());
    agent.feed(rpc(r#""method":"session/cancel","params":{"sessionId":"s1"}"#)).feed(rpc(r#""id":5,"method":"nope""#));
    for ticket in tickets {
        assert_eq!(agent.conn.respond(ticket, Ok(sized(400)), agent.now), Ok(Delivery::Queued));
    }
    assert_eq!(agent.conn.end_turn(turn, &TurnEnd::Stop(StopReason::EndTurn), agent.now), Delivery::AsCancelled);
    assert!(agent.conn.queued_bytes() > waiting && waiting <= 10_000);
    let key = agent.key("s1");
    assert_eq!(agent.conn.update(key, &sized(10), agent.now), Err(FULL), "what is voluntary waits");
    let frames = agent.frames();
    let owed: Vec<_> = frames.iter().skip_while(|frame| !frame.contains("$/cancel_request")).collect();
    let cancelled = r#"{"stopReason":"cancelled"}"#;
    let result = sized(400);
    assert_eq!(
        owed[1..],
        [
            &ok("2", cancelled),
            &err("5", -32601),
            &ok("3", result.as_str()),
            &ok("4", result.as_str()),
            owed[5],
            &ok("1", cancelled)
        ]
    );
    assert!(owed[5].contains(r#""toolCallId":"t""#) && owed[5].contains(r#""status":"failed""#), "{}", owed[5]);
    assert_eq!(agent.counts(), [0; 4]);
    let key = agent.key("s1");
    assert_eq!(agent.conn.update(key, &sized(10), agent.now), Ok(Delivery::Queued), "room again");
}

#[test]
fn a_client_whose_queue_is_full_still_cancels_and_answers() {
    may_emit("its host answers everything alike");
    let mut client = Wire::client(|config| config.limits.queued_bytes = 4000);
    let session = client.key("s1");
    let turn = client.conn.prompt(session, &raw("[]"), None, client.now).expect("idle");
    client.frames();
    client.feed(rpc(
        r#""id":"p","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","name":"A","kind":"allow_once"}]}"#,
    ));
    client.feed(rpc(r#""id":"f","method":"fs/read_text_file","params":{"sessionId":"s1","path":"/a"}"#));
    client.actions();
    while client.conn.notify("_x", Some(&sized(100)), client.now).is_ok() {}
    while client.conn.notify("_x", None, client.now).is_ok() {}
    let waiting = client.conn.queued_bytes();
    assert!(client.conn.cancel_turn(turn, CancelKind::Stop, client.now).is_ok());
    client.answer_all();
    client.feed(rpc(r#""id":9,"method":"nope""#));
    assert!(client.conn.queued_bytes() > waiting);
    let frames = client.frames();
    let owed = frames.iter().position(|frame| frame.contains("session/cancel")).expect("the cancel");
    let cancelled = r#"{"outcome":{"outcome":"cancelled"}}"#;
    assert_eq!(frames[owed + 1..], [ok("\"p\"", cancelled), ok("\"f\"", "{}"), err("9", -32601)]);
    assert_eq!(client.counts(), [1, 0, 0, 0], "the prompt is open");
}

/// "An answer that fits in neither becomes -32603": the budget, and a reserve for each open request.
#[test]
fn an_answer_that_fits_neither_the_budget_nor_the_reserve_goes_out_as_an_error() {
    may_emit("what fills the queue is no update");
    for (over, expected) in [(0, Delivery::Queued), (1, Delivery::AsError)] {
        let mut agent = Wire::agent(|config| {
            config.limits.queued_bytes = 10_000;
            config.limits.reserve_per_request = 500;
        });
        agent.feed(rpc(r#""id":3,"method":"_x""#));
        let Some(AgentAction::Common(Common::Request { ticket, .. })) = agent.conn.poll_action() else { panic!() };
        fill(&mut agent);
        let left = 10_000 - agent.conn.queued_bytes() + 500;
        let size = left - r#"{"jsonrpc":"2.0","id":3,"result":}"#.len() - 1 + over;
        assert_eq!(agent.conn.respond(ticket, Ok(sized(size)), agent.now), Ok(expected), "{over}");
        assert_eq!(agent.frames().iter().any(|frame| *frame == err("3", -32603)), over == 1);
        assert_eq!(agent.counts(), [0; 4]);
    }
}

/// A batch's answers wait here, so they count as what waits to be written.
#[test]
fn the_answers_of_an_open_batch_count() {
    let mut agent = Wire::agent(|config| {
        config.limits.queued_bytes = 10_000;
        config.limits.reserve_per_request = 100;
    });
    let elements: Vec<_> =
        (0..20).map(|id| rpc(&format!(r#""id":{id},"method":"_x""#)).trim_end().to_owned()).collect();
    agent.feed(format!("[{}]\n", elements.join(","))).actions();
    let mut deliveries = Vec::new();
    while agent.told.len() > 1 {
        if let Some(AgentAction::Common(Common::Request { ticket, .. })) = agent.told.pop() {
            deliveries.push(agent.conn.respond(ticket, Ok(sized(1000)), agent.now).expect("an answer"));
        }
    }
    let whole = deliveries.iter().take_while(|delivery| **delivery == Delivery::Queued).count();
    assert!((9..=11).contains(&whole), "{deliveries:?}");
    assert!(deliveries.iter().skip(whole).all(|delivery| *delivery == Delivery::AsError), "{deliveries:?}");
    agent.answer_all();
    assert!(agent.conn.queued_bytes() < 10_000 + 20 * 200, "{}", agent.conn.queued_bytes());
    assert_eq!(agent.frames().len(), 1);
    assert_eq!(agent.counts(), [0; 4]);
}

/// A peer that asks and does not read gets the reading stopped, late: what was handed in is answered still.
#[test]
fn reading_stops_when_even_the_reserve_is_used_up_and_goes_on_when_there_is_room() {
    let mut agent = Wire::agent(|config| {
        config.limits.queued_bytes = 2000;
        config.limits.reserve_per_request = 500;
    });
    let mut asked = 0;
    while agent.conn.wants_input() {
        agent.feed(rpc(r#""id":1,"method":"nope""#));
        asked += 1;
        assert!(asked < 100);
    }
    assert!(agent.conn.queued_bytes() >= 2500);
    agent.feed(rpc(r#""id":1,"method":"nope""#).repeat(5));
    let mut answered = 0;
    while !agent.conn.wants_input() {
        assert!(agent.conn.poll_transmit().is_some());
        answered += 1;
    }
    assert!(agent.conn.queued_bytes() < 2500);
    assert_eq!(answered + agent.frames().len(), asked + 5, "everything was answered");
    assert_eq!(agent.counts(), [0; 4]);
}

#[test]
fn closing_answers_what_is_owed_though_the_queue_is_full() {
    may_emit("what fills the queue is no update");
    let mut agent = Wire::agent(|config| config.limits.queued_bytes = 5000);
    agent.feed(prompt(1)).feed(rpc(r#""id":3,"method":"_x""#)).actions();
    fill(&mut agent);
    agent.conn.close(agent.now);
    agent.sleep(Duration::from_secs(2));
    let frames = agent.frames();
    let owed = [err("3", -32800), ok("1", r#"{"stopReason":"cancelled"}"#)];
    assert!(owed.iter().all(|owed| frames[frames.len() - 2..].contains(owed)), "{:?}", &frames[frames.len() - 2..]);
    assert_eq!(agent.actions().last().map(String::as_str), Some("closed Local"));
    assert_eq!((agent.counts(), agent.conn.poll_timeout()), ([0; 4], None));
    // Misuse of what is over changes nothing either.
    assert_eq!(agent.conn.notify("_x", Some(&Payload::EMPTY), agent.now), Err(CommandError::Closed));
}
