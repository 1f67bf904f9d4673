//! Prompts while a turn runs: refused, held here unsent and in order, or sent at once; and the line that cuts a turn short.

use acp_core::{CancelKind, Cancellation, CommandError, Config, Misuse, Overlap, TurnKey};
use acp_tests::{
    bench::payload,
    client::{ClientBench, config, text},
};
use serde_json::{Value, json};

/// A running turn, whose prompt is request 3, with room for this many behind it.
fn queueing(limit: usize) -> (ClientBench, acp_core::SessionKey, TurnKey) {
    ClientBench::running(config(|config| config.overlap = Overlap::Queue(limit)))
}

fn prompt(client: &mut ClientBench, session: acp_core::SessionKey, line: &str) -> Result<TurnKey, CommandError> {
    let now = client.now;
    client.conn.prompt(session, &text(line), None, now)
}

fn steer(client: &mut ClientBench, session: acp_core::SessionKey, line: &str) -> Result<TurnKey, CommandError> {
    let now = client.now;
    client.conn.steer(session, &text(line), None, now)
}

/// The text of each prompt among the frames that wait, and any other frame as its method.
fn lines(client: &mut ClientBench) -> Vec<String> {
    let line = |frame: Value| match frame["params"]["prompt"][0]["text"].as_str() {
        Some(text) => text.to_owned(),
        None => frame["method"].as_str().unwrap_or("?").to_owned(),
    };
    client.frames().into_iter().map(line).collect()
}

// ---- refused ---------------------------------------------------------------------------------------------------

#[test]
fn a_second_prompt_is_refused_by_default_and_nothing_is_written() {
    let (mut client, session, _) = ClientBench::running(Config::client());
    assert_eq!(prompt(&mut client, session, "b"), Err(Misuse::TurnInProgress.into()));
    assert_eq!(lines(&mut client), [""; 0]);
    let other = client.session("s2");
    assert!(prompt(&mut client, other, "c").is_ok(), "each session has its own turn");
    client.stops(3, "end_turn");
    assert!(prompt(&mut client, session, "d").is_ok());
    assert_eq!(lines(&mut client), ["c", "d"]);
}

#[test]
fn a_prompt_is_an_array_and_carries_meta_as_it_came() {
    let (mut client, session) = ClientBench::ready(Config::client());
    let (now, meta) = (client.now, payload(json!({ "x": { "y": null } })));
    for (content, meta) in [(json!({}), None), (json!([]), Some(payload(json!("x"))))] {
        let refused = client.conn.prompt(session, &payload(content), meta.as_ref(), now);
        assert!(matches!(refused, Err(CommandError::Misuse(Misuse::Payload(_)))));
    }
    assert!(client.conn.prompt(session, &text("hi"), Some(&meta), now).is_ok());
    let content = json!([{ "type": "text", "text": "hi" }]);
    let params = json!({ "sessionId": "s1", "prompt": content, "_meta": { "x": { "y": null } } });
    assert_eq!(client.frames(), [json!({ "id": 3, "method": "session/prompt", "params": params })]);
}

// ---- held here -------------------------------------------------------------------------------------------------

#[test]
fn prompts_that_wait_are_sent_one_by_one_in_order() {
    let (mut client, session, _) = queueing(2);
    assert!(prompt(&mut client, session, "b").is_ok());
    assert!(prompt(&mut client, session, "c").is_ok());
    assert_eq!(prompt(&mut client, session, "d"), Err(CommandError::Full { what: "overlap" }));
    assert_eq!(lines(&mut client), [""; 0]);
    client.stops(3, "end_turn");
    assert_eq!(lines(&mut client), ["b"]);
    assert!(prompt(&mut client, session, "d").is_ok(), "there is room again");
    client.error(4, -32603);
    assert_eq!(lines(&mut client), ["c"], "a turn that fails by itself holds nothing up");
    client.stops(5, "max_tokens");
    client.stops(6, "end_turn");
    assert_eq!(lines(&mut client), ["d"]);
    let ended =
        ["turn 1 Ended(EndTurn)", "turn 2 Failed, Error -32603", "turn 3 Ended(MaxTokens)", "turn 4 Ended(EndTurn)"];
    assert_eq!(client.heard(), ended);
}

#[test]
fn prompts_that_wait_can_be_listed_edited_and_taken_back() {
    let (mut client, session, first) = queueing(3);
    let b = prompt(&mut client, session, "b").expect("room");
    let c = prompt(&mut client, session, "c").expect("room");
    let d = prompt(&mut client, session, "d").expect("room");
    assert_eq!(client.conn.waiting_prompts(session).collect::<Vec<_>>(), [b, c, d]);
    let said: Value = client.conn.waiting_prompt(c).expect("it waits").get().expect("JSON");
    assert_eq!((&said["sessionId"], &said["prompt"][0]["text"]), (&json!("s1"), &json!("c")));
    let now = client.now;
    assert_eq!(client.conn.edit_prompt(c, &text("C"), None, now), Ok(true));
    assert_eq!(client.conn.edit_prompt(first, &text("A"), None, now), Ok(false), "it was sent");
    assert_eq!(client.conn.cancel_turn(b, CancelKind::Steer, now), Ok(Cancellation::Requested));
    assert_eq!(client.conn.cancel_turn(b, CancelKind::Stop, now), Ok(Cancellation::Moot));
    assert_eq!((client.heard(), lines(&mut client)), (vec!["turn 2 Cancelled, Cancelled".into()], vec![]));
    assert_eq!(client.due_in(), None, "nothing has to be confirmed");
    client.stops(3, "end_turn");
    assert_eq!(lines(&mut client), ["C"]);
    assert_eq!(client.conn.waiting_prompt(c), None);
}

#[test]
fn a_cancel_of_the_running_turn_leaves_those_that_wait() {
    let (mut client, session, first) = queueing(1);
    assert!(prompt(&mut client, session, "b").is_ok());
    let now = client.now;
    assert!(client.conn.cancel_turn(first, CancelKind::Stop, now).is_ok());
    assert_eq!(lines(&mut client), ["session/cancel"]);
    client.permission("crossing", "s1");
    client.stops(3, "cancelled");
    assert_eq!(client.said(), ["crossing: cancelled", "ask 4 session/prompt"]);
    client.permission("of the next", "s1");
    assert_eq!(client.heard(), ["turn 1 Cancelled", "permission 2 s1 turn 2"]);
}

#[test]
fn prompts_that_wait_are_not_sent_when_the_connection_ends() {
    for end in 0..3 {
        let (mut client, session, _) = queueing(2);
        assert!(prompt(&mut client, session, "b").is_ok());
        assert!(prompt(&mut client, session, "c").is_ok());
        let now = client.now;
        match end {
            0 => client.conn.close(now),
            1 => client.eof(),
            _ => client.conn.handle_lost("gone", now),
        }
        let heard = client.heard();
        assert_eq!(heard[..3], ["turn 1 Closed, Closed", "turn 2 Closed, Closed", "turn 3 Closed, Closed"]);
        assert_eq!((lines(&mut client), heard.len(), client.conn.unresolved()), (vec![], 4, 0));
    }
}

#[test]
fn a_prompt_without_room_when_its_time_comes_ends_as_not_sent() {
    let (mut client, session, _) = ClientBench::running(config(|config| {
        config.overlap = Overlap::Queue(2);
        config.limits.queued_bytes = 600;
    }));
    assert!(prompt(&mut client, session, "b").is_ok());
    let now = client.now;
    let filler = payload(json!({ "x": "x".repeat(480) }));
    assert!(client.conn.notify("_filler", Some(&filler), now).is_ok());
    client.stops(3, "end_turn");
    assert_eq!(client.heard(), ["turn 1 Ended(EndTurn)", "turn 2 Failed, NotSent"]);
    assert_eq!(lines(&mut client), ["_filler"]);
    assert!(prompt(&mut client, session, "c").is_ok());
}

// ---- sent at once ----------------------------------------------------------------------------------------------

#[test]
fn prompts_may_be_sent_at_once_to_an_agent_that_queues_them() {
    let (mut client, session, _) = ClientBench::running(config(|config| config.overlap = Overlap::Forward(1)));
    let second = prompt(&mut client, session, "b").expect("room");
    assert_eq!(prompt(&mut client, session, "c"), Err(CommandError::Full { what: "overlap" }));
    assert_eq!(lines(&mut client), ["b"]);
    assert_eq!(client.conn.waiting_prompts(session).count(), 0, "nothing waits here");
    let now = client.now;
    assert!(client.conn.cancel_turn(second, CancelKind::Steer, now).is_ok());
    assert_eq!(client.said(), ["$/cancel_request 4"], "`session/cancel` would hit the first");
    client.error(4, -32800);
    client.stops(3, "end_turn");
    assert_eq!(client.heard(), ["turn 2 Cancelled, Error -32800", "turn 1 Ended(EndTurn)"]);
}

#[test]
fn a_cancel_of_a_prompt_that_waits_there_and_was_not_delivered_was_not_asked() {
    for by_now_it_runs in [false, true] {
        let (mut client, session, _) = ClientBench::running(config(|config| config.overlap = Overlap::Forward(1)));
        let second = prompt(&mut client, session, "b").expect("room");
        lines(&mut client);
        let now = client.now;
        for _ in 0..2 {
            let cancelled = client.conn.cancel_turn(second, CancelKind::Stop, now);
            assert_eq!(cancelled, Ok(Cancellation::Requested), "it may be asked again");
            let frame = client.conn.poll_transmit().expect("the cancel").id();
            client.conn.handle_transmit_failed(frame, now);
            assert_eq!(client.heard(), ["undelivered turn 2 stop=true steer=true"]);
        }
        assert!(client.conn.cancel_turn(second, CancelKind::Stop, now).is_ok());
        let frame = client.conn.poll_transmit().expect("the cancel").id();
        client.stops(3, "end_turn");
        client.heard();
        if by_now_it_runs {
            assert!(client.conn.cancel_turn(second, CancelKind::Stop, now).is_ok());
            client.conn.handle_transmit_failed(frame, now);
            client.stops(4, "end_turn");
            assert_eq!(client.heard(), ["turn 2 EndedAlthoughCancelled(EndTurn)"], "it was cancelled in another way");
        } else {
            client.conn.handle_transmit_failed(frame, now);
            client.stops(4, "end_turn");
            let heard = ["undelivered turn 2 stop=true steer=true", "turn 2 Ended(EndTurn)"];
            assert_eq!(client.heard(), heard, "the agent heard of none");
        }
    }
}

// ---- a line that cuts the turn short ---------------------------------------------------------------------------

#[test]
fn a_steer_cancels_the_turn_and_sends_its_line_when_that_is_over() {
    for overlap in [Overlap::Refuse, Overlap::Queue(1)] {
        let (mut client, session, _) = ClientBench::running(config(|config| config.overlap = overlap));
        client.permission("p", "s1");
        client.heard();
        let second = steer(&mut client, session, "b").expect("room");
        assert_eq!(client.said(), ["session/cancel s1", "p: cancelled"]);
        assert_eq!((client.due_in(), client.conn.waiting_prompts(session).collect::<Vec<_>>()), (None, vec![second]));
        client.chunk("s1", "late");
        client.stops(3, "cancelled");
        assert_eq!(lines(&mut client), ["b"]);
        client.chunk("s1", "new");
        client.permission("q", "s1");
        let heard = [
            "revoked 1",
            "update s1 turn 1: late",
            "turn 1 Cancelled",
            "update s1 turn 2: new",
            "permission 2 s1 turn 2",
        ];
        assert_eq!(client.heard(), heard);
    }
}

#[test]
fn where_prompts_are_sent_at_once_a_steer_sends_its_line_behind_the_cancel() {
    let (mut client, session, _) = ClientBench::running(config(|config| config.overlap = Overlap::Forward(2)));
    steer(&mut client, session, "b").expect("room");
    assert_eq!(client.said(), ["session/cancel s1", "ask 4 session/prompt"], "the cancel is not about it");
    client.stops(3, "cancelled");
    client.stops(4, "end_turn");
    assert_eq!(client.heard(), ["turn 1 Cancelled", "turn 2 Ended(EndTurn)"]);
}

#[test]
fn a_steer_with_no_turn_of_ours_is_sent_at_once_and_cancels_nothing() {
    let (mut client, session) = ClientBench::ready(Config::client());
    client.permission("of the agent's own work", "s1");
    assert!(steer(&mut client, session, "a").is_ok());
    assert_eq!((lines(&mut client), client.heard()), (vec!["a".into()], vec!["permission 1 s1 OutOfTurn".into()]));
}

#[test]
fn of_several_steers_each_is_sent_in_order_and_cut_short_for_the_next() {
    let (mut client, session, _) = queueing(3);
    for line in ["b", "c"] {
        assert!(steer(&mut client, session, line).is_ok());
    }
    assert_eq!(lines(&mut client), ["session/cancel"], "one cancel for the running one");
    client.stops(3, "cancelled");
    assert_eq!(lines(&mut client), ["b", "session/cancel"]);
    client.stops(4, "cancelled");
    assert_eq!(lines(&mut client), ["c"], "the last one runs");
    client.stops(5, "end_turn");
    assert_eq!(client.heard(), ["turn 1 Cancelled", "turn 2 Cancelled", "turn 3 Ended(EndTurn)"]);
}

#[test]
fn the_line_is_not_sent_when_the_turn_that_was_cut_short_fails() {
    let (mut client, session, _) = queueing(3);
    assert!(steer(&mut client, session, "b").is_ok());
    assert!(prompt(&mut client, session, "c").is_ok());
    client.said();
    client.error(3, -32603);
    let failed = ["turn 1 Failed, Error -32603", "turn 2 Failed, NotSent", "turn 3 Failed, NotSent"];
    assert_eq!((client.heard(), lines(&mut client)), (failed.map(String::from).to_vec(), vec![]));
    assert!(prompt(&mut client, session, "d").is_ok(), "once the host has made sure of the session");
    assert_eq!(lines(&mut client), ["d"]);
}

#[test]
fn where_prompts_are_refused_one_line_waits_and_a_second_cancels_nothing() {
    let (mut client, session, _) = ClientBench::running(Config::client());
    let second = steer(&mut client, session, "b").expect("one may wait");
    assert_eq!(steer(&mut client, session, "c"), Err(CommandError::Full { what: "overlap" }));
    let now = client.now;
    assert_eq!(client.conn.edit_prompt(second, &text("b and c"), None, now), Ok(true));
    assert_eq!(lines(&mut client), ["session/cancel"]);
    client.stops(3, "cancelled");
    assert_eq!(lines(&mut client), ["b and c"]);
}

#[test]
fn a_stop_takes_a_line_back_that_was_not_sent() {
    let (mut client, session, _) = ClientBench::running(Config::client());
    assert!(steer(&mut client, session, "b").is_ok());
    let now = client.now;
    assert!(client.conn.stop_session(session, now).is_ok());
    assert_eq!(lines(&mut client), ["session/cancel", "session/cancel"], "the Stop has its own");
    client.stops(3, "cancelled");
    assert_eq!(lines(&mut client), [""; 0]);
    assert_eq!(client.heard(), ["turn 2 Cancelled, Cancelled", "turn 1 Cancelled"]);
}
