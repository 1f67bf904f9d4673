//! Silence: how long it may last, what breaks it, and what is no silence at all. And what each end offered, which is read
//! from the right member.

use core::time::Duration;

use acp_core::{Agent, AgentAction, CommandError, Config, Role, Timestamp, wire::MethodName};
use acp_tests::{
    describe::Describe,
    wire::{Wire, err, ok, raw, rpc},
};

const MINUTE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

fn idle(config: &mut Config) {
    config.idle = Some(MINUTE);
}

fn due<R: Role>(wire: &Wire<R>) -> Option<Duration>
where
    R::Action: Describe<R>,
{
    let deadline = wire.conn.poll_timeout()?;
    Some(deadline.at.saturating_duration_since(wire.now))
}

#[test]
fn a_connection_is_not_closed_for_silence_unless_asked() {
    let mut agent = Wire::agent(|_| {});
    assert_eq!(agent.conn.poll_timeout(), None);
    agent.sleep(MINUTE * 60 * 24);
    assert!(!agent.conn.is_closed());
}

#[test]
fn silence_closes_once_its_time_is_over() {
    let mut agent = Wire::agent(idle);
    agent.sleep(MINUTE - SECOND);
    assert_eq!((due(&agent), agent.actions()), (Some(SECOND), vec![]));
    agent.sleep(SECOND);
    assert_eq!(agent.actions(), ["closed Idle"]);
    assert_eq!((agent.conn.poll_timeout(), agent.counts()), (None, [0; 4]));
}

/// Blank lines are how some clients keep a connection alive.
#[test]
fn any_line_breaks_the_silence() {
    let mut agent = Wire::agent(|config| {
        idle(config);
        config.limits.line = 1000;
    });
    let long = "y".repeat(2000);
    for line in ["", " \r", "noise", r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#, r#"[]"#, &long] {
        agent.sleep(MINUTE - SECOND);
        agent.feed(line);
        assert_eq!(due(&agent), Some(SECOND), "half a line is none: {line}");
        agent.feed("\n");
        assert_eq!(due(&agent), Some(MINUTE), "{line}");
        agent.conn.handle_timeout(agent.now);
        assert_eq!(due(&agent), Some(MINUTE), "{line}");
    }
    agent.sleep(MINUTE - SECOND);
    agent.conn.handle_message(&bytes::Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"method\":\"_x\"}"), agent.now);
    assert_eq!(due(&agent), Some(MINUTE), "a message is a line");
}

/// The ball is with us: a person who thinks is no silence of the agent's.
#[test]
fn it_is_no_silence_while_a_request_is_open_in_either_direction() {
    let mut client = Wire::client(idle);
    client.feed(rpc(
        r#""id":900,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","name":"A","kind":"allow_once"}]}"#,
    ));
    client.actions();
    assert_eq!(due(&client), None);
    client.sleep(MINUTE * 6);
    let Some(acp_core::ClientAction::PermissionRequested { ticket, .. }) = client.told.pop() else { panic!() };
    client.conn.decide(ticket, &acp_core::Decision::Select("a".into()), client.now);
    assert_eq!(due(&client), Some(MINUTE), "it begins again with our answer");

    let session = client.key("s1");
    client.conn.prompt(session, &raw("[]"), None, client.now).expect("idle");
    assert_eq!(due(&client), None);
    client.sleep(MINUTE * 31);
    client.feed(rpc(r#""id":3,"result":{"stopReason":"end_turn"}"#));
    assert_eq!(due(&client), Some(MINUTE));
    client.conn.request("_x", None, Some(MINUTE * 2), client.now).expect("room");
    assert_eq!(due(&client), Some(MINUTE * 2), "the deadline of the request");
    client.sleep(MINUTE * 2);
    assert_eq!(due(&client), Some(MINUTE));
}

#[test]
fn a_peer_that_never_says_anything_is_silent_too() {
    let mut agent: Wire<Agent> = Wire::fresh({
        let mut config = Config::agent();
        idle(&mut config);
        config
    });
    assert_eq!(agent.conn.poll_timeout(), None, "the clock was not seen yet");
    agent.now = Timestamp::from_millis(5_000_000);
    agent.conn.handle_timeout(agent.now);
    assert_eq!(due(&agent), Some(MINUTE));
    agent.sleep(MINUTE);
    assert_eq!(agent.actions(), ["closed Idle"]);
}

/// A time beyond the end of the clock is as good as none.
#[test]
fn no_time_is_too_long_for_the_clock() {
    let mut client = Wire::client(|config| {
        config.idle = Some(Duration::MAX);
        config.stop_confirm = Some(Duration::MAX);
    });
    client.conn.request("_x", None, Some(Duration::MAX), client.now).expect("room");
    let session = client.key("s1");
    let turn = client.conn.prompt(session, &raw("[]"), None, client.now).expect("idle");
    client.conn.cancel_turn(turn, acp_core::CancelKind::Stop, client.now).expect("a turn");
    client.quiet();
    client.sleep(MINUTE * 60 * 24 * 365 * 100);
    assert_eq!((client.actions(), client.conn.unresolved()), (vec![], 2));
}

/// The end for silence flushes what waits to be written.
#[test]
fn what_waits_to_be_written_goes_out_before_the_end() {
    let mut agent = Wire::agent(idle);
    agent.feed(rpc(r#""id":1,"method":"nope""#));
    agent.sleep(MINUTE);
    assert_eq!(agent.actions(), [""; 0]);
    assert_eq!(agent.frames(), [err("1", -32601)]);
    assert_eq!(agent.actions(), ["closed Idle"]);
}

/// `clientCapabilities`, not `capabilities`; and kept for as long as the connection lives.
#[test]
fn what_the_client_offered_is_read_from_its_member() {
    for (member, offered) in [("clientCapabilities", true), ("capabilities", false)] {
        let mut agent: Wire<Agent> = Wire::fresh(Config::agent());
        agent.feed(rpc(&format!(
            r#""id":0,"method":"initialize","params":{{"protocolVersion":1,"{member}":{{"fs":{{"readTextFile":true}}}}}}"#
        )));
        let Some(AgentAction::Initialize { ticket, .. }) = agent.conn.poll_action() else { panic!("told") };
        let all = raw(r#"{"agentCapabilities":{"loadSession":true}}"#);
        agent.conn.accept_initialize(ticket, &all, agent.now).expect("an object");
        assert_eq!(agent.frames().len(), 1);
        agent.feed(rpc(r#""id":1,"method":"session/load","params":{"sessionId":"s1","cwd":"/","mcpServers":[]}"#));
        let Some(AgentAction::SessionRequested { ticket, .. }) = agent.conn.poll_action() else { panic!("told") };
        let (session, _) = agent.conn.accept_session(ticket, &raw("{}"), agent.now).expect("an answer");
        assert_eq!(agent.frames(), [ok("1", "{}")]);
        let read = agent.conn.request_in(session, "fs/read_text_file", &raw(r#"{"path":"/a"}"#), None, agent.now);
        let write = agent.conn.request_in(session, "fs/write_text_file", &raw("{}"), None, agent.now);
        assert_eq!(read.is_ok(), offered);
        assert_eq!(write, Err(CommandError::NotOffered(MethodName::new("fs/write_text_file"))));
    }
}
