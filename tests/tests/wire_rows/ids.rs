//! The ids of the peer's requests: which are ids, that they come back as they came, and what is the same id.

use acp_core::Agent;
use acp_tests::wire::{Wire, err, ok, rpc};

use super::case::{Case, agent, asking_agent, fresh_agent};

const NOT_FOUND: i64 = -32601;
const INVALID: i64 = -32600;

/// Every id there is, as it may be written.
const IDS: &[&str] = &[
    "0",
    "-1",
    "-7",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "123456789012345678901234567890",
    "-123456789012345678901234567890",
    r#""""#,
    r#""1""#,
    r#""init-7""#,
    r#""b7e0-uuid""#,
    r#""\u0061""#,
    r#""a\/b\\\"✓""#,
    r#""\ud800""#,
    r#""null""#,
    "null",
];

/// What is no id, though it is JSON.
const NO_IDS: &[&str] = &["true", "false", "{}", r#"{"a":1}"#, "[]", "[1]", "1.5", "1.0", "1e3", "-0", "0.0"];

fn each(ids: &[&str], rest: &str) -> String {
    ids.iter().map(|id| rpc(&format!(r#""id":{id},{rest}"#))).collect()
}

pub(crate) fn of_agents() -> Vec<Case<Agent>> {
    let request = |id: &str| rpc(&format!(r#""id":{id},"method":"_x""#));
    vec![
        Case::new("every id is echoed byte for byte", agent, each(IDS, r#""method":"no/such","params":{}"#))
            .frames(IDS.iter().map(|id| err(id, NOT_FOUND))),
        Case::new("every id is echoed byte for byte by a late answer", agent, each(IDS, r#""method":"_x""#))
            .actions(IDS.iter().map(|_| "request _x - -"))
            .then(Wire::answer_all)
            .frames(IDS.iter().rev().map(|id| ok(id, "{}"))),
        Case::new("what is no id is refused with id null", agent, each(NO_IDS, r#""method":"_x""#))
            .config(|config| config.limits.noise_lines = 100)
            .frames(NO_IDS.iter().map(|_| err("null", INVALID)))
            .actions(
                NO_IDS.iter().map(|id| {
                    format!("violation not RPC ({}): `id` must be a string, an integer or null", 37 + id.len())
                }),
            ),
        Case::new(
            "initialize may have the id 0",
            fresh_agent,
            rpc(r#""id":0,"method":"initialize","params":{"protocolVersion":1}"#),
        )
        .actions([r#"initialize 1 {"protocolVersion":1}"#]),
        Case::new("a request with the id null is a request", agent, request("null"))
            .actions(["request _x - -"])
            .then(Wire::answer_all)
            .frames([ok("null", "{}")]),
        Case::new("only a missing id makes a notification", agent, rpc(r#""method":"_x","params":{"id":1}"#))
            .actions([r#"notification _x {"id":1}"#]),
        Case::new("an unknown notification gets no answer", agent, rpc(r#""method":"no/such","params":{}"#))
            .actions(["notification no/such {}"]),
        Case::new(
            "a notification that is unknown below the protocol is ignored",
            agent,
            rpc(r#""method":"$/progress""#),
        ),
        Case::new(
            "a request sent as a notification gets no answer",
            agent,
            rpc(r#""method":"session/prompt","params":{"sessionId":"s1","prompt":[]}"#),
        )
        .actions(["violation bad notification session/prompt: it is a request, and came without an id"]),
        Case::new(
            "a second request with an open id is ignored, and the first answered once",
            agent,
            [request("5"), request("5")].concat(),
        )
        .actions(["request _x - -", "violation duplicate id: _x"])
        .then(Wire::answer_all)
        .frames([ok("5", "{}")]),
        Case::new("an answered id may come again", agent, request("5"))
            .actions(["request _x - -"])
            .then(|bench| {
                bench.actions();
                bench.answer_all();
                bench.feed(rpc(r#""id":5,"method":"_again""#));
                assert_eq!(bench.actions(), ["request _again - -"]);
                bench.answer_all();
            })
            .frames([ok("5", "{}"), ok("5", "{}")]),
        Case::new("a refused id may come again", agent, rpc(r#""id":5,"method":"nope""#).repeat(3)).frames(vec![
            err(
                "5", NOT_FOUND
            );
            3
        ]),
        Case::new(
            "ids are the same by value, not by spelling",
            agent,
            [request(r#""a""#), request(r#""\u0061""#)].concat(),
        )
        .actions(["request _x - -", "violation duplicate id: _x"])
        .then(Wire::answer_all)
        .frames([ok(r#""a""#, "{}")]),
        Case::new(
            "a number and a string are never the same id",
            agent,
            [request("1"), request(r#""1""#), request("null"), request(r#""null""#)].concat(),
        )
        .actions(["request _x - -"; 4])
        .then(Wire::answer_all)
        .frames([ok(r#""null""#, "{}"), ok("null", "{}"), ok(r#""1""#, "{}"), ok("1", "{}")]),
        Case::new(
            "integers that a float takes for the same are two ids",
            agent,
            [request("9007199254740993"), request("9007199254740992")].concat(),
        )
        .actions(["request _x - -"; 2])
        .then(Wire::answer_all)
        .frames([ok("9007199254740992", "{}"), ok("9007199254740993", "{}")]),
        Case::new(
            "the same id in both directions is two requests",
            asking_agent,
            [request("1"), rpc(r#""id":1,"result":{}"#)].concat(),
        )
        .actions(["request _x - -", "resolved 1 - result {}"])
        .then(Wire::answer_all)
        .frames([ok("1", "{}")]),
        Case::new(
            "a malformed call with an open id gets no answer of its own",
            agent,
            [request("5"), rpc(r#""id":5,"method":7"#)].concat(),
        )
        .actions(["request _x - -", "violation not RPC (35): `method` must be a string"])
        .then(Wire::answer_all)
        .frames([ok("5", "{}")]),
        Case::new(
            "a cancel of an id that is not open is ignored",
            agent,
            rpc(r#""method":"$/cancel_request","params":{"requestId":77}"#),
        ),
        Case::new(
            "a cancel finds its request by the value of the id",
            agent,
            [request(r#""a""#), rpc(r#""method":"$/cancel_request","params":{"requestId":"\u0061"}"#)].concat(),
        )
        .actions(["request _x - -", "cancel requested 3"])
        .then(Wire::answer_all)
        .frames([ok(r#""a""#, "{}")]),
        Case::new(
            "a cancel of no id is reported and not answered",
            agent,
            rpc(r#""method":"$/cancel_request","params":{"requestId":1.5}"#),
        )
        .actions(["violation bad notification $/cancel_request: `requestId` is missing, or is no id"]),
    ]
}
