//! The end, and what still waits to be written: a slow reader gets all of it, a deaf one is given up.

use core::time::Duration;

use acp_core::{AgentAction, CloseReason, Common, Config};
use acp_tests::bench::{Bench, payload};
use serde_json::json;

/// An agent with five updates queued, whose client has ended its stream.
fn ending() -> Bench<acp_core::Agent> {
    let mut agent = Bench::agent(Config::agent());
    let session = agent.session("s1");
    for _ in 0..5 {
        agent
            .conn
            .update(session, &payload(json!({ "sessionUpdate": "session_info_update" })), agent.now)
            .expect("there is room");
    }
    agent.eof();
    agent
}

#[test]
fn a_peer_that_reads_slowly_gets_everything() {
    let mut agent = ending();
    for _ in 0..5 {
        agent.wait(Config::agent().drain - Duration::from_millis(1));
        assert!(agent.conn.poll_transmit().is_some());
    }
    assert_eq!(agent.actions(), [AgentAction::Common(Common::Closed(CloseReason::Eof))]);
    assert_eq!(agent.due_in(), None);
}

#[test]
fn a_peer_that_does_not_read_is_given_up() {
    let mut agent = ending();
    assert!(agent.conn.poll_transmit().is_some());
    assert_eq!(agent.due_in(), Some(Config::agent().drain));
    agent.wait(Config::agent().drain);
    assert_eq!(agent.actions(), [AgentAction::Common(Common::Closed(CloseReason::Eof))]);
    assert!(agent.conn.poll_transmit().is_none());
    assert_eq!((agent.conn.queued_bytes(), agent.due_in()), (0, None));
}
