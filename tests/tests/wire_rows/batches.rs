//! Arrays of messages: handled in order, answered in one array, never sent.

use core::time::Duration;

use acp_core::{Agent, AgentAction, Batches, Client, TurnEnd, wire::StopReason};
use acp_tests::wire::{Wire, err, ok, rpc};

use super::case::{Case, agent, asking_agent, asking_client, client, fresh_agent};

const INVALID: i64 = -32600;
const OBJECT: &str = "a message must be an object";

fn batch<S: AsRef<str>>(elements: impl IntoIterator<Item = S>) -> String {
    let all: Vec<_> = elements.into_iter().map(|element| element.as_ref().trim_end().to_owned()).collect();
    format!("[{}]\n", all.join(","))
}

fn array(answers: &[String]) -> String {
    format!("[{}]", answers.join(","))
}

fn request(id: &str, method: &str) -> String {
    rpc(&format!(r#""id":{id},"method":"{method}""#))
}

fn prompt(id: u32) -> String {
    rpc(&format!(r#""id":{id},"method":"session/prompt","params":{{"sessionId":"s1","prompt":[]}}"#))
}

/// Plays a host that ends every turn it was told of as if nothing had happened.
fn end_all(bench: &mut Wire<Agent>) {
    while let Some(action) = bench.told.pop() {
        if let AgentAction::Prompt { ticket, .. } = action {
            bench.conn.end_turn(ticket, &TurnEnd::Stop(StopReason::EndTurn), bench.now);
        }
    }
}

pub(crate) fn of_agents() -> Vec<Case<Agent>> {
    let not_found = |id: &str| err(id, -32601);
    vec![
        Case::new(
            "a batch is handled in order, and its notifications get no answer",
            agent,
            batch([rpc(r#""method":"_n""#), request("1", "nope"), rpc(r#""method":"_m""#), request("2", "nope")]),
        )
        .frames([array(&[not_found("1"), not_found("2")])])
        .actions(["notification _n -", "notification _m -"]),
        Case::new(
            "initialize may come in a batch, and is answered in an array",
            fresh_agent,
            batch([rpc(r#""method":"x""#), rpc(r#""id":1,"method":"initialize","params":{"protocolVersion":1}"#)]),
        )
        .actions([r#"initialize 1 {"protocolVersion":1}"#])
        .then(|bench| {
            if let Some(AgentAction::Initialize { ticket, .. }) = bench.told.pop() {
                let result = acp_tests::wire::raw("{}");
                bench.conn.accept_initialize(ticket, &result, bench.now).expect("an object");
            }
        })
        .frames([array(&[ok("1", r#"{"protocolVersion":1}"#)])]),
        Case::new(
            "the answers wait for the last one, and stand in the order of the requests",
            agent,
            batch([request("1", "_a"), request("\"2\"", "nope"), request("null", "_b"), request("4", "_c")]),
        )
        .actions(["request _a - -", "request _b - -", "request _c - -"])
        .then(|bench| {
            let last = bench.told.pop();
            bench.answer_all();
            assert_eq!(bench.frames(), [""; 0], "one answer is still owed");
            bench.told.extend(last);
            bench.answer_all();
        })
        .frames([array(&[ok("1", "{}"), not_found("\"2\""), ok("null", "{}"), ok("4", "{}")])]),
        Case::new("a batch of one answer is an array", agent, batch([request("1", "nope")]))
            .frames([array(&[not_found("1")])]),
        Case::new("an empty batch is refused with one object", agent, "[]\n [ ] \n")
            .frames([err("null", INVALID), err("null", INVALID)])
            .actions([
                "violation not RPC (2): a batch must not be empty",
                "violation not RPC (5): a batch must not be empty",
            ]),
        Case::new(
            "a batch of notifications only gets no answer",
            agent,
            batch([rpc(r#""method":"_n""#), rpc(r#""method":"no/such""#)]),
        )
        .actions(["notification _n -", "notification no/such -"]),
        Case::new("each invalid entry is answered by itself", agent, "[1,[],{},\"x\",null]\n")
            .frames([array(&vec![err("null", INVALID); 5])])
            .actions(
                [OBJECT, OBJECT, "`jsonrpc` must be \"2.0\"", OBJECT, OBJECT]
                    .map(|why| format!("violation not RPC (18): {why}")),
            ),
        Case::new(
            "a nested array is no message, neither by position nor as a batch",
            fresh_agent,
            "[[\"2.0\",7,\"initialize\",{\"protocolVersion\":1}],[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]]\n",
        )
        .frames([array(&[err("null", INVALID), err("null", INVALID)])])
        .actions(["violation not RPC (86): a message must be an object"; 2]),
        Case::new(
            "invalid entries do not spoil the good ones",
            agent,
            "[1,{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nope\"},{\"id\":2,\"method\":\"x\"}]\n",
        )
        .frames([array(&[err("null", INVALID), not_found("1"), err("2", INVALID)])])
        .actions([
            "violation not RPC (66): a message must be an object",
            "violation not RPC (66): `jsonrpc` must be \"2.0\"",
        ]),
        Case::new(
            "a broken array is not JSON, and nothing of it is done",
            agent,
            "[{\"jsonrpc\":\"2.0\",\"method\":\"_n\"},\n[1,]\n",
        )
        .frames([err("null", -32700), err("null", -32700)])
        .actions(["violation not JSON (33)", "violation not JSON (4)"]),
        Case::new(
            "a batch of answers is legal and gets none",
            asking_agent,
            batch([rpc(r#""id":1,"result":{}"#), rpc(r#""id":77,"result":{}"#)]),
        )
        .actions(["resolved 1 - result {}", "violation never issued"]),
        Case::new("a duplicate inside a batch is ignored", agent, batch([request("5", "_a"), request("5", "_b")]))
            .actions(["request _a - -", "violation duplicate id: _b"])
            .then(Wire::answer_all)
            .frames([array(&[ok("5", "{}")])]),
        Case::new(
            "a batch of as many entries as the limit allows is handled",
            agent,
            batch([rpc(r#""method":"_n""#), rpc(r#""method":"_n""#)]),
        )
        .config(|config| config.limits.batch = 2)
        .actions(["notification _n -"; 2]),
        Case::new(
            "a longer batch is refused with one object, and nothing of it is done",
            agent,
            batch([rpc(r#""method":"_n""#), request("1", "_x"), request("2", "_x")]),
        )
        .config(|config| config.limits.batch = 2)
        .frames([err("null", INVALID)])
        .actions(["violation not RPC (111): the batch has too many entries"]),
        Case::new("batches can be refused", agent, batch([request("1", "_x")]))
            .config(|config| config.batches = Batches::Reject)
            .frames([err("null", INVALID)])
            .actions(["violation not RPC (40): batches are not supported here"]),
        Case::new("a batch of invalid entries is one line without meaning", agent, "[1,2,3,4]\n[1,2,3,4]\n")
            .config(|config| config.limits.noise_lines = 2)
            .frames([array(&vec![err("null", INVALID); 4]), array(&vec![err("null", INVALID); 4])])
            .actions(["violation not RPC (9): a message must be an object"; 8]),
        Case::new(
            "a good message in a batch gives the budget of noise back",
            agent,
            "1\n[{\"jsonrpc\":\"2.0\",\"method\":\"_n\"},2]\n3\n",
        )
        .config(|config| config.limits.noise_lines = 1)
        .frames([err("null", INVALID), array(&[err("null", INVALID)]), err("null", INVALID)])
        .actions([
            "violation not RPC (1): a message must be an object",
            "notification _n -",
            "violation not RPC (35): a message must be an object",
            "violation not RPC (1): a message must be an object",
        ]),
        Case::new(
            "requests over the limit are refused in their place",
            agent,
            batch([request("1", "_a"), request("2", "_b"), request("3", "_c")]),
        )
        .config(|config| config.limits.peer_requests = 1)
        .actions(["request _a - -"])
        .then(Wire::answer_all)
        .frames([array(&[ok("1", "{}"), err("2", -32603), err("3", -32603)])]),
        Case::new(
            "the end of the stream in an open batch: what is answered in time is in its array",
            agent,
            batch([request("1", "nope"), request("2", "_a")]),
        )
        .actions(["request _a - -"])
        .then(|bench| {
            bench.conn.handle_eof(bench.now);
            bench.answer_all();
        })
        .frames([array(&[not_found("1"), ok("2", "{}")])])
        .actions(["cancel requested 4", "closed Eof"]),
        Case::new(
            "the end of the stream in an open batch: what is not answered in time is answered for the host",
            agent,
            batch([request("1", "nope"), request("2", "_a"), prompt(3)]),
        )
        .actions(["request _a - -", r#"prompt 1 {"sessionId":"s1","prompt":[]}"#])
        .then(|bench| {
            bench.conn.handle_eof(bench.now);
            bench.sleep(Duration::from_secs(2));
        })
        .frames([array(&[not_found("1"), err("2", -32800), ok("3", r#"{"stopReason":"cancelled"}"#)])])
        .actions(["abort 1 Closing", "cancel requested 4", "forced 1", "closed Eof"]),
        Case::new(
            "a cancel behind an open batch settles its prompts",
            agent,
            [
                batch([prompt(1), prompt(2), request("3", "nope")]),
                rpc(r#""method":"session/cancel","params":{"sessionId":"s1"}"#),
            ]
            .concat(),
        )
        .actions([r#"prompt 1 {"sessionId":"s1","prompt":[]}"#, "abort 1 Session"])
        .due("ForceCancelled(TurnKey(1)) at Timestamp(30000000000)")
        .then(end_all)
        .frames([array(&[
            ok("1", r#"{"stopReason":"cancelled"}"#),
            ok("2", r#"{"stopReason":"cancelled"}"#),
            not_found("3"),
        ])]),
        Case::new(
            "a cancel inside a batch covers what stands before it, and nothing behind",
            agent,
            batch([prompt(1), prompt(2), rpc(r#""method":"session/cancel","params":{"sessionId":"s1"}"#), prompt(3)]),
        )
        .actions([r#"prompt 1 {"sessionId":"s1","prompt":[]}"#, "abort 1 Session"])
        .due("ForceCancelled(TurnKey(1)) at Timestamp(30000000000)")
        .then(|bench| {
            end_all(bench);
            assert_eq!(bench.actions(), [r#"prompt 3 {"sessionId":"s1","prompt":[]}"#]);
            end_all(bench);
        })
        .frames([array(&[
            ok("1", r#"{"stopReason":"cancelled"}"#),
            ok("2", r#"{"stopReason":"cancelled"}"#),
            ok("3", r#"{"stopReason":"end_turn"}"#),
        ])]),
        Case::new(
            "a request of a batch may be cancelled by itself",
            agent,
            [
                batch([request("1", "_a"), request("2", "_b")]),
                rpc(r#""method":"$/cancel_request","params":{"requestId":2}"#),
            ]
            .concat(),
        )
        .actions(["request _a - -", "request _b - -", "cancel requested 4"])
        .then(Wire::answer_all)
        .frames([array(&[ok("1", "{}"), ok("2", "{}")])]),
    ]
}

pub(crate) fn of_clients() -> Vec<Case<Client>> {
    vec![
        Case::new(
            "a client takes a batch of answers and updates",
            asking_client,
            batch([
                rpc(r#""id":4,"result":4"#),
                rpc(r#""method":"session/update","params":{"sessionId":"s1","update":{}}"#),
                rpc(r#""id":3,"result":3"#),
            ]),
        )
        .actions([
            "resolved 4 - result 4",
            r#"update s1 OutOfTurn {"sessionId":"s1","update":{}}"#,
            "resolved 3 - result 3",
        ]),
        Case::new(
            "a client answers requests of a batch in one array",
            client,
            batch([request("1", "nope"), request("2", "_a")]),
        )
        .actions(["request _a - -"])
        .then(Wire::answer_all)
        .frames([array(&[err("1", -32601), ok("2", "{}")])]),
        Case::new("a client does not answer what is no message in a batch", client, "[1,[],{}]\n").actions(
            ["a message must be an object", "a message must be an object", "`jsonrpc` must be \"2.0\""]
                .map(|why| format!("violation not RPC (9): {why}")),
        ),
    ]
}
