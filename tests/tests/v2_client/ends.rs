//! The end of the connection in each stage of a client's turn: it is told once, and nothing is left.

use acp_core::{CancelKind, Overlap};
use acp_tests::{
    client::{ClientBench, text},
    v2::{asks, client_config, client_is_at_rest, heard, inserts, running},
};
use serde_json::json;

/// Something that happens to a bench.
type Act = fn(&mut ClientBench);

/// A turn in some stage, another that waits here, and a question.
const STAGES: [(&str, Act); 5] = [
    ("sent", |_| ()),
    ("inserted", |client| inserts(client, 3, "m1")),
    ("asked", |client| {
        inserts(client, 3, "m1");
        asks(client, "p", "s1");
    }),
    ("cancelling before it is inserted", stop),
    ("cancelling", |client| {
        inserts(client, 3, "m1");
        stop(client);
    }),
];

fn stop(client: &mut ClientBench) {
    let (now, session) = (client.now, client.conn.find_session("s1").expect("open"));
    let turn = client.conn.running_turn(session).expect("it runs");
    client.conn.cancel_turn(turn, CancelKind::Stop, now).expect("ours");
}

fn in_stage(overlap: Overlap, stage: Act) -> ClientBench {
    let (mut client, session, _) = running(client_config(|config| config.overlap = overlap));
    let now = client.now;
    client.conn.prompt(session, &text("more"), None, now).expect("it may wait, or be sent");
    stage(&mut client);
    heard(&mut client);
    client.said();
    client
}

#[test]
fn however_it_ends_each_turn_is_over_once_and_nothing_is_left() {
    let ways: [(&str, Act); 3] = [
        ("closed Eof", |client| client.eof()),
        ("closed Local", |client| {
            let now = client.now;
            client.conn.close(now);
        }),
        ("closed Lost(\"broken pipe\")", |client| {
            let now = client.now;
            client.conn.handle_lost("broken pipe", now);
        }),
    ];
    for (closed, way) in ways {
        for (name, stage) in STAGES {
            for overlap in [Overlap::Queue(8), Overlap::Forward(8)] {
                let mut client = in_stage(overlap, stage);
                way(&mut client);
                let mut said = client.said();
                let mut told = heard(&mut client);
                assert_eq!(told.pop().as_deref(), Some(closed), "{name}");
                if name == "asked" {
                    assert!(told.contains(&"revoked 1".to_owned()), "{told:?}");
                    told.retain(|told| told != "revoked 1");
                    if !closed.contains("Lost") {
                        assert_eq!(said.pop().as_deref(), Some("p: cancelled"));
                    }
                }
                assert!(said.is_empty(), "{name}: {said:?}");
                told.sort();
                assert_eq!(told, ["turn 1 Closed, Closed", "turn 2 Closed, Closed"], "{name} {overlap:?}");
                client_is_at_rest(&client.conn);
            }
        }
    }
}

#[test]
fn a_prompt_that_was_not_delivered_says_so_and_one_that_was_inserted_cannot_be() {
    let (mut client, session) = acp_tests::v2::client_in(client_config(|_| ()));
    let now = client.now;
    client.conn.prompt(session, &text("hi"), None, now).expect("idle");
    let frame = client.conn.poll_transmit().expect("the prompt");
    client.conn.handle_transmit_failed(frame.id(), now);
    assert_eq!(heard(&mut client), ["turn 1 Failed, Undelivered"]);
    client_is_at_rest(&client.conn);
}

#[test]
fn an_answer_that_cannot_be_read_is_a_failure() {
    let (mut client, _, _) = running(client_config(|_| ()));
    client.message(json!({ "id": 3, "result": {}, "error": { "code": 1, "message": "m" } }));
    assert_eq!(heard(&mut client), ["turn 1 Failed, Invalid"]);
    client_is_at_rest(&client.conn);
}
