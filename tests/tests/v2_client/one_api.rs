//! One host for both versions: the same commands are told the same ends, however differently the agent says them.

use acp_core::{CancelKind, ClientAction, OptionValue, Overlap, SessionKey};
use acp_tests::{
    bench::payload,
    client::{ClientBench, text},
    v2::{client_config, client_in, heard, inserts, update},
};
use serde_json::json;

/// A client with one session, and an agent that speaks one of the versions.
struct Pair {
    client: ClientBench,
    session: SessionKey,
    version: u16,
    /// The request of the prompt that runs.
    prompt: u64,
}

impl Pair {
    fn new(version: u16, overlap: Overlap) -> Self {
        let config = client_config(|config| {
            config.overlap = overlap;
            config.offer = Some(version);
        });
        let (client, session) = if version == 2 { client_in(config) } else { ClientBench::ready(config) };
        Self { client, session, version, prompt: 0 }
    }

    // ---- the host --------------------------------------------------------------------------------------------------

    fn prompt(&mut self) {
        let now = self.client.now;
        self.client.conn.prompt(self.session, &text("hi"), None, now).expect("it may be sent, or wait");
    }

    fn steer(&mut self) {
        let now = self.client.now;
        self.client.conn.steer(self.session, &text("rather"), None, now).expect("it may wait");
    }

    fn cancel(&mut self, kind: CancelKind) {
        let now = self.client.now;
        let turn = self.client.conn.running_turn(self.session).expect("a turn runs");
        self.client.conn.cancel_turn(turn, kind, now).expect("ours");
    }

    // ---- the agent -------------------------------------------------------------------------------------------------

    /// Takes the prompt that was sent.
    fn takes(&mut self) {
        let sent = self.client.frames();
        let sent = sent.iter().rfind(|frame| frame["method"] == "session/prompt").expect("a prompt");
        self.prompt = sent["id"].as_u64().expect("our id");
        if self.version == 2 {
            inserts(&mut self.client, self.prompt, "m");
        }
        self.client.chunk("s1", "Hm.");
    }

    fn ends(&mut self, reason: &str) {
        if self.version == 2 {
            acp_tests::v2::idle(&mut self.client, reason);
        } else {
            let request = self.prompt;
            self.client.stops(request, reason);
        }
    }

    fn fails(&mut self) {
        if self.version == 2 {
            let error = json!({ "code": -32000, "message": "m" });
            let told =
                json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": "error", "error": error });
            update(&mut self.client, "s1", told);
        } else {
            let request = self.prompt;
            self.client.error(request, -32000);
        }
    }

    /// What the host was told, what only version 2 says apart.
    fn told(mut self) -> Vec<String> {
        let mut told = self.client.heard();
        told.retain(|told| !told.contains(" inserted ") && (!told.starts_with("update") || told.ends_with("Hm.")));
        assert!(heard(&mut self.client).is_empty());
        assert_eq!(self.client.conn.unresolved(), 0);
        told
    }
}

fn same(overlap: Overlap, script: fn(&mut Pair), expected: &[&str]) {
    for version in [1, 2] {
        let mut pair = Pair::new(version, overlap);
        script(&mut pair);
        assert_eq!(pair.told(), expected, "version {version}");
    }
}

const SAID: &str = "update s1 turn 1: Hm.";
const SAID_2: &str = "update s1 turn 2: Hm.";

#[test]
fn a_turn_ends_by_itself_fails_or_is_stopped() {
    let refuse = Overlap::Refuse;
    same(
        refuse,
        |pair| {
            pair.prompt();
            pair.takes();
            pair.ends("end_turn");
        },
        &[SAID, "turn 1 Ended(EndTurn)"],
    );
    same(
        refuse,
        |pair| {
            pair.prompt();
            pair.takes();
            pair.ends("_odd");
        },
        &[SAID, "turn 1 Ended(Unknown(\"_odd\"))"],
    );
    same(
        refuse,
        |pair| {
            pair.prompt();
            pair.takes();
            pair.fails();
        },
        &[SAID, "turn 1 Failed, Error -32000"],
    );
    same(
        refuse,
        |pair| {
            pair.prompt();
            pair.takes();
            pair.ends("cancelled");
        },
        &[SAID, "turn 1 CancelledUnasked"],
    );
    same(
        refuse,
        |pair| {
            pair.prompt();
            pair.takes();
            pair.cancel(CancelKind::Stop);
            pair.ends("cancelled");
        },
        &[SAID, "turn 1 Cancelled"],
    );
    same(
        refuse,
        |pair| {
            pair.prompt();
            pair.takes();
            pair.cancel(CancelKind::Steer);
            pair.ends("end_turn");
        },
        &[SAID, "turn 1 EndedAlthoughCancelled(EndTurn)"],
    );
    same(
        refuse,
        |pair| {
            pair.prompt();
            pair.takes();
            pair.cancel(CancelKind::Stop);
            pair.fails();
        },
        &[SAID, "turn 1 Failed, Error -32000"],
    );
}

#[test]
fn a_steer_is_sent_when_the_turn_before_it_is_over_however_that_ends() {
    for overlap in [Overlap::Refuse, Overlap::Queue(8)] {
        same(
            overlap,
            |pair| {
                pair.prompt();
                pair.takes();
                pair.steer();
                pair.ends("cancelled");
                pair.takes();
                pair.ends("end_turn");
            },
            &[SAID, "turn 1 Cancelled", SAID_2, "turn 2 Ended(EndTurn)"],
        );
        same(
            overlap,
            |pair| {
                pair.prompt();
                pair.takes();
                pair.steer();
                pair.fails();
            },
            &[SAID, "turn 1 Failed, Error -32000", "turn 2 Failed, NotSent"],
        );
    }
}

#[test]
fn prompts_that_wait_are_sent_taken_back_or_stopped_in_the_same_order() {
    let queue = Overlap::Queue(8);
    same(
        queue,
        |pair| {
            pair.prompt();
            pair.takes();
            pair.prompt();
            pair.ends("end_turn");
            pair.takes();
            pair.fails();
        },
        &[SAID, "turn 1 Ended(EndTurn)", SAID_2, "turn 2 Failed, Error -32000"],
    );
    same(
        queue,
        |pair| {
            pair.prompt();
            pair.takes();
            pair.prompt();
            let (now, session) = (pair.client.now, pair.session);
            pair.client.conn.stop_session(session, now).expect("open");
            pair.ends("cancelled");
        },
        &[SAID, "turn 2 Cancelled, Cancelled", "turn 1 Cancelled"],
    );
    same(
        queue,
        |pair| {
            pair.prompt();
            pair.takes();
            pair.prompt();
            pair.client.eof();
        },
        &[SAID, "turn 1 Closed, Closed", "turn 2 Closed, Closed", "closed Eof"],
    );
}

#[test]
fn the_end_of_a_turn_tells_which_tool_calls_have_no_result() {
    for version in [1, 2] {
        let mut pair = Pair::new(version, Overlap::Refuse);
        pair.prompt();
        pair.takes();
        for (call, status) in
            [("a", "pending"), ("b", "in_progress"), ("c", "completed"), ("d", "_vendor"), ("b", "failed")]
        {
            pair.client.tool("s1", call, status);
        }
        let turn = pair.client.conn.running_turn(pair.session).expect("a turn runs");
        let open = |pair: &Pair| pair.client.conn.open_tool_calls(turn).map(str::to_owned).collect::<Vec<_>>();
        pair.cancel(CancelKind::Stop);
        assert_eq!(open(&pair), ["a", "d"], "to be shown as cancelled at once");
        pair.client.tool("s1", "a", "completed");
        pair.client.tool("s1", "e", "in_progress");
        pair.ends("cancelled");
        pair.client.tool("s1", "f", "in_progress");
        let ended = pair.client.actions().into_iter().find_map(|action| match action {
            ClientAction::ToolCallsLeftOpen { calls, .. } => Some(calls.join(" ")),
            ClientAction::TurnEnded { .. } => panic!("it is told before the end"),
            _ => None,
        });
        assert_eq!((ended.as_deref(), open(&pair)), (Some("d e"), Vec::new()), "version {version}");
    }
}

#[test]
fn an_option_is_set_as_the_version_writes_it() {
    for (version, value, expected) in [
        (1, OptionValue::Id("fast"), json!({ "sessionId": "s1", "configId": "m", "value": "fast" })),
        (2, OptionValue::Id("fast"), json!({ "sessionId": "s1", "configId": "m", "type": "id", "value": "fast" })),
        (1, OptionValue::Switch(true), json!({ "sessionId": "s1", "configId": "m", "type": "boolean", "value": true })),
        (
            2,
            OptionValue::Switch(false),
            json!({ "sessionId": "s1", "configId": "m", "type": "boolean", "value": false }),
        ),
    ] {
        let mut pair = Pair::new(version, Overlap::Refuse);
        let (now, conn) = (pair.client.now, &mut pair.client.conn);
        // What is recorded replays, as every bench checks at its end.
        conn.set_config_option(pair.session, "m", value, None, now).expect("it may be sent");
        let meta = payload(json!({ "trace": 1 }));
        conn.set_config_option(pair.session, "m", value, Some(&meta), now).expect("it may be sent");
        let sent = pair.client.frames();
        let [.., plain, with_meta] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!((&plain["method"], &plain["params"]), (&json!("session/set_config_option"), &expected));
        assert_eq!(with_meta["params"]["_meta"], json!({ "trace": 1 }));
        let wrong = pair.client.conn.set_config_option(pair.session, "m", value, Some(&payload(json!([]))), now);
        assert!(wrong.is_err() && pair.client.frames().is_empty(), "`_meta` is an object");
    }
}
