//! The tables: requests of either end, sessions, and updates of sessions that are not known yet.

use core::time::Duration;

use acp_core::{AgentAction, CommandError, Overlap, Payload, Scope};
use acp_tests::wire::{Wire, err, ok, raw, rpc};

use super::print;

#[test]
fn our_own_requests_have_a_limit_and_each_end_gives_the_place_back() {
    let mut client = Wire::client(|config| config.limits.own_requests = 3);
    let second = Some(Duration::from_secs(1));
    let ask = |client: &mut Wire<acp_core::Client>, timeout| client.conn.request("_x", None, timeout, client.now);
    let keys: Vec<_> = (0..3).map(|_| ask(&mut client, second).expect("there is room")).collect();
    client.frames();
    let before = print(&client.conn);
    let full = Err(CommandError::Full { what: "limits.own_requests" });
    assert_eq!(ask(&mut client, second), full);
    let session = client.key("s1");
    assert_eq!(client.conn.prompt(session, &raw("[]"), None, client.now).map(drop), full.clone().map(drop));
    let load = Some(raw(r#"{"sessionId":"s2","cwd":"/","mcpServers":[]}"#));
    assert_eq!(client.conn.request("session/load", load, None, client.now), full);
    assert_eq!(print(&client.conn), before, "a refused command changed something");
    assert_eq!(client.conn.find_session("s2"), None);

    // By its answer, by an error, by its time.
    client.feed(rpc(r#""id":4,"result":{}"#));
    assert!(ask(&mut client, None).is_ok());
    assert_eq!(ask(&mut client, None), full);
    client.feed(rpc(r#""id":3,"error":{"code":1,"message":"m"}"#));
    assert!(ask(&mut client, None).is_ok());
    assert_eq!(ask(&mut client, None), full);
    client.sleep(Duration::from_secs(1));
    let fifth = ask(&mut client, None).expect("there is room");
    assert_eq!(ask(&mut client, None), full);
    // By being cancelled before it was sent.
    client.conn.cancel_request(fifth, client.now).expect("a key of ours");
    assert!(ask(&mut client, None).is_ok());
    assert_eq!(ask(&mut client, None), full);
    assert!(keys.iter().all(|key| key.number() < fifth.number()), "ids are never given twice");
    client.conn.handle_lost("gone", client.now);
    assert_eq!(client.counts(), [0; 4]);
    assert_eq!(ask(&mut client, None), Err(CommandError::Closed));
}

#[test]
fn requests_of_the_peers_have_a_limit_and_one_over_it_is_refused_and_not_kept() {
    let ask = |id: u32| rpc(&format!(r#""id":{id},"method":"_x""#));
    let mut agent = Wire::agent(|config| config.limits.peer_requests = 2);
    agent.feed(ask(1)).feed(ask(2));
    assert_eq!(agent.frames(), [""; 0]);
    agent.feed(ask(3)).feed(ask(3));
    assert_eq!(agent.frames(), [err("3", -32603), err("3", -32603)]);
    // An open id stays a duplicate, and gets no second answer.
    agent.feed(ask(2));
    assert_eq!(agent.frames(), [""; 0]);
    assert_eq!(agent.actions(), ["request _x - -", "request _x - -", "violation duplicate id: _x"]);
    // Refusals by the core take no place; what comes after the answer does.
    agent.answer_all();
    assert_eq!(agent.frames(), [ok("2", "{}"), ok("1", "{}")]);
    agent.feed(ask(3)).feed(ask(4)).feed(ask(5));
    assert_eq!(agent.frames(), [err("5", -32603)]);
    agent.actions();
    agent.answer_all();
    agent.quiet();
    assert_eq!(agent.counts(), [0; 4]);
}

#[test]
fn sessions_have_a_limit_and_closing_one_makes_room() {
    let mut agent = Wire::agent(|config| config.limits.sessions = 3);
    assert!(agent.open("s2").is_some());
    let third = agent.open("s3");
    assert!(third.is_some() && agent.open("s4").is_none());
    agent.frames();
    let load = rpc(r#""id":1,"method":"session/load","params":{"sessionId":"s5","cwd":"/","mcpServers":[]}"#);
    agent.feed(rpc(r#""id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}"#)).feed(&load);
    assert_eq!(agent.frames(), [err("1", -32603), err("1", -32603)]);
    assert_eq!((agent.actions(), agent.conn.sessions()), (vec![], 3));
    // A flood changes nothing.
    for _ in 0..10_000 {
        agent.feed(&load);
        assert!(agent.conn.poll_transmit().is_some());
    }
    assert_eq!((agent.counts(), agent.conn.sessions()), ([0; 4], 3));
    agent.feed(rpc(r#""id":1,"method":"session/close","params":{"sessionId":"s3"}"#));
    let Some(AgentAction::CloseSession { ticket, .. }) = agent.conn.poll_action() else { panic!("told to close") };
    assert!(agent.open("s4").is_none(), "it is there until it is closed");
    agent.conn.respond(ticket, Ok(Payload::EMPTY), agent.now).expect("an answer");
    let again = agent.open("s4");
    assert!(again.is_some() && again != third, "the key of a closed session names nothing");
    assert_eq!(agent.conn.sessions(), 3);
}

/// Requests that would open sessions count as soon as they are sent: their answers cannot be refused.
#[test]
fn a_client_opens_no_more_sessions_than_it_can_keep() {
    let mut client = Wire::client(|config| config.limits.sessions = 2);
    let new = || Some(raw(r#"{"cwd":"/","mcpServers":[]}"#));
    let load = || Some(raw(r#"{"sessionId":"s9","cwd":"/","mcpServers":[]}"#));
    let full = Err(CommandError::Full { what: "limits.sessions" });
    assert!(client.conn.request("session/new", new(), None, client.now).is_ok());
    let before = print(&client.conn);
    assert_eq!(client.conn.request("session/new", new(), None, client.now), full);
    assert_eq!(client.conn.request("session/load", load(), None, client.now), full);
    assert_eq!(print(&client.conn), before, "a refused command changed something");
    client.feed(rpc(r#""id":3,"error":{"code":1,"message":"m"}"#));
    assert!(client.conn.request("session/load", load(), None, client.now).is_ok());
    assert_eq!(client.conn.request("session/new", new(), None, client.now), full);
    client.feed(rpc(r#""id":4,"result":{}"#));
    assert_eq!(client.conn.request("session/new", new(), None, client.now), full);
    client.conn.request("session/close", Some(raw(r#"{"sessionId":"s9"}"#)), None, client.now).expect("offered");
    client.feed(rpc(r#""id":5,"result":{}"#));
    assert!(client.conn.request("session/new", new(), None, client.now).is_ok());
}

#[test]
fn early_updates_are_held_up_to_the_limit_and_told_with_their_session() {
    let update = |session: &str, n: u32| {
        rpc(&format!(r#""method":"session/update","params":{{"sessionId":"{session}","update":{{"n":{n}}}}}"#))
    };
    let told = |session: &str, origin: &str, id: &str, n: u32| {
        format!(r#"update {session} {origin} {{"sessionId":"{id}","update":{{"n":{n}}}}}"#)
    };
    let mut client = Wire::client(|config| config.limits.early_updates = 2);
    let new = || Some(raw(r#"{"cwd":"/","mcpServers":[]}"#));
    client.conn.request("session/new", new(), None, client.now).expect("there is room");
    client.feed([update("a", 1), update("b", 2), update("a", 3)].concat());
    assert_eq!(client.actions(), [""; 0], "two each are held");
    client.feed(update("a", 4));
    assert_eq!(client.actions(), [told("-", "OutOfTurn", "a", 4)], "one more is told at once");
    client.feed(rpc(r#""id":3,"result":{"sessionId":"a"}"#)).feed(update("a", 5));
    assert_eq!(
        client.actions(),
        [
            r#"resolved 3 a result {"sessionId":"a"}"#.to_owned(),
            told("a", "Early", "a", 1),
            told("a", "Early", "a", 3),
            told("-", "Early", "b", 2),
            told("a", "OutOfTurn", "a", 5),
        ]
    );
    // With nothing on its way, nothing is held.
    client.feed(update("b", 6));
    assert_eq!(client.actions(), [told("-", "OutOfTurn", "b", 6)]);
    // There is room again.
    client.conn.request("session/new", new(), None, client.now).expect("there is room");
    client.feed([update("c", 7), update("c", 8)].concat());
    assert_eq!(client.actions(), [""; 0]);
    client.conn.handle_eof(client.now);
    client.quiet();
    assert_eq!(client.counts(), [0; 4]);
}

/// What the agent asks in a turn is counted like any other request, and given back by its cancel.
#[test]
fn a_cancel_gives_back_the_places_of_the_turns_requests() {
    let mut agent = Wire::agent(|config| config.limits.own_requests = 2);
    agent.feed(rpc(r#""id":1,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}"#));
    let Some(AgentAction::Prompt { ticket, .. }) = agent.conn.poll_action() else { panic!("a turn") };
    let scope = Scope::from(&ticket);
    let read = raw(r#"{"path":"/a"}"#);
    let ask = |agent: &mut Wire<acp_core::Agent>, scope| {
        agent.conn.request_in(scope, "fs/read_text_file", &read, None, agent.now)
    };
    assert!(ask(&mut agent, scope).is_ok() && ask(&mut agent, scope).is_ok());
    assert_eq!(ask(&mut agent, scope), Err(CommandError::Full { what: "limits.own_requests" }));
    agent.feed(rpc(r#""method":"session/cancel","params":{"sessionId":"s1"}"#));
    assert_eq!(agent.conn.unresolved(), 0);
    let session = agent.key("s1");
    assert!(ask(&mut agent, session.into()).is_ok());
}

#[test]
fn a_client_that_queues_prompts_queues_up_to_its_limit() {
    let mut client = Wire::client(|config| config.overlap = Overlap::Queue(1));
    let session = client.key("s1");
    let ask = |client: &mut Wire<acp_core::Client>| client.conn.prompt(session, &raw("[]"), None, client.now);
    assert!(ask(&mut client).is_ok() && ask(&mut client).is_ok());
    let before = print(&client.conn);
    assert_eq!(ask(&mut client), Err(CommandError::Full { what: "overlap" }));
    assert_eq!(print(&client.conn), before, "a refused command changed something");
    client.feed(rpc(r#""id":3,"result":{"stopReason":"end_turn"}"#));
    assert!(ask(&mut client).is_ok(), "there is room again");
    assert_eq!(ask(&mut client), Err(CommandError::Full { what: "overlap" }));
    client.conn.handle_eof(client.now);
    client.quiet();
    assert_eq!(client.counts(), [0; 4]);
}

#[test]
fn prompts_handed_on_early_have_a_limit_too() {
    let prompt =
        |id: u32| rpc(&format!(r#""id":{id},"method":"session/prompt","params":{{"sessionId":"s1","prompt":[]}}"#));
    let mut agent = Wire::agent(|config| config.overlap = Overlap::Forward(1));
    agent.feed((1..=3).map(prompt).collect::<String>());
    assert_eq!((agent.actions().len(), agent.frames()), (2, vec![err("3", -32603)]));
}
