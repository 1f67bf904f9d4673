//! Checks of agents: the handshake, envelopes, ids and framing.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    Outcome, Weight,
    agent::{Check, both, check},
    peer::Peer,
};

const REQUEST: &str = "https://www.jsonrpc.org/specification#request_object";
const RESPONSE: &str = "https://www.jsonrpc.org/specification#response_object";
const ERRORS: &str = "https://www.jsonrpc.org/specification#error_object";

pub(super) const CHECKS: &[Check] = &[
    check(
        both([
            "A01",
            "initialize is answered with the version that was asked for, and what the agent offers",
            "Initialization",
            "initialization",
        ]),
        Weight::Must,
        &[],
        |peer| {
            peer.initialize()?;
            let asked = u64::from(peer.setup.version);
            let [info, offers] =
                if peer.is_v2() { ["info", "capabilities"] } else { ["agentInfo", "agentCapabilities"] };
            match (peer.hello["protocolVersion"].as_u64(), peer.hello[offers].is_object()) {
                (Some(version), true) if version == asked => {
                    Ok(peer.hello[info]["name"].as_str().unwrap_or_default().to_owned())
                }
                (Some(version), false) if version == asked => Ok("it offers nothing".to_owned()),
                (version, _) => Err(format!("the version is {version:?}").into()),
            }
        },
    ),
    check(
        both([
            "A02",
            "a version that nobody knows yet is answered with one that the agent speaks",
            "Initialization, Version Negotiation",
            "initialization#version-negotiation",
        ]),
        Weight::Must,
        &[],
        |peer| {
            let greeting = peer.greeting(60_000);
            let said = peer.result("initialize", greeting)?;
            match said["protocolVersion"].as_u64() {
                Some(version) if (1..60_000).contains(&version) => Ok(format!("version {version}")),
                version => Err(format!("the version is {version:?}").into()),
            }
        },
    ),
    check(
        both([
            "A03",
            "what a newer client says beside is passed over",
            "Extensibility, The _meta Field",
            "extensibility#the-_meta-field",
        ]),
        Weight::Must,
        &[],
        |peer| {
            let mut newer = peer.greeting(peer.setup.version.into());
            let offers = json!({ "fs": { "readTextFile": false, "later": true }, "later": { "deep": [null] } });
            newer[if peer.is_v2() { "capabilities" } else { "clientCapabilities" }] = offers;
            newer["later"] = json!({ "a": [1] });
            newer["_meta"] = json!({ "example.org/x": 1 });
            peer.result("initialize", newer).map(|_| String::new())
        },
    ),
    check(
        both(["A04", "a request before initialize is refused, and does no harm", "Initialization", "initialization"]),
        Weight::Should,
        &["before-initialize"],
        |peer| {
            let place = peer.place();
            let answer = peer.ask("session/new", place)?;
            let code = code(&answer).ok_or("a session is opened before the connection is")?;
            peer.open().map(|_| format!("{code}"))
        },
    ),
    check(
        both([
            "A05",
            "the ways to log in have names of their own",
            "Authentication, Advertising Authentication",
            "authentication#advertising-authentication",
        ]),
        Weight::Must,
        &[],
        |peer| {
            peer.initialize()?;
            let id = if peer.is_v2() { "methodId" } else { "id" };
            let methods = peer.hello["authMethods"].as_array().cloned().unwrap_or_default();
            let ids: BTreeSet<_> = methods.iter().map(|method| method[id].to_string()).collect();
            if ids.len() == methods.len() { Ok(format!("{}", ids.len())) } else { Err("two have the same id".into()) }
        },
    ),
    check(
        both(["A10", "an answer has the id of its request, whatever that is", "JSON-RPC 2.0, 5", RESPONSE]),
        Weight::Must,
        &[],
        |peer| {
            peer.initialize()?;
            let long = "x".repeat(1000);
            for id in [
                json!(0),
                json!(-7),
                json!(9_007_199_254_740_991_i64),
                json!("a"),
                json!(""),
                json!("1"),
                json!("ü ✓"),
                json!(long),
            ] {
                peer.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "_conform/none", "params": {} }));
                peer.response(&id)?;
            }
            Ok(String::new())
        },
    ),
    check(
        both(["A11", "an unknown method is answered with an error", "JSON-RPC 2.0, 5.1", ERRORS]),
        Weight::Must,
        &[],
        |peer| {
            peer.initialize()?;
            for (method, params) in
                [("conform/none", json!({})), ("_conform/none", json!({})), ("session/none", json!({}))]
            {
                let answer = peer.ask(method, params)?;
                code(&answer).ok_or_else(|| format!("`{method}` has a result"))?;
            }
            peer.is_usable().map(|()| String::new())
        },
    ),
    check(
        both([
            "A12",
            "the error for an unknown method is -32601",
            "Extensibility, Custom Requests",
            "extensibility#custom-requests",
        ]),
        Weight::Should,
        &[],
        |peer| {
            peer.initialize()?;
            match code(&peer.ask("_conform/none", json!({}))?) {
                Some(-32601) => Ok(String::new()),
                code => Err(format!("it is {code:?}").into()),
            }
        },
    ),
    check(
        both([
            "A13",
            "a notification is never answered: unknown, one's own, or a cancel of nothing",
            "Overview, Communication Model",
            "overview#communication-model",
        ]),
        Weight::Must,
        &["peer-rejected"],
        |peer| {
            let session = peer.open()?;
            let before = peer.heard.len();
            for (method, params) in [
                ("conform/none", json!({})),
                ("_conform/none", json!({ "x": 1 })),
                ("$/none", json!({})),
                ("$/cancel_request", json!({ "requestId": 424_242 })),
                ("session/cancel", json!({ "sessionId": session })),
                ("session/cancel", json!({ "sessionId": "no-such-session" })),
            ] {
                peer.notify(method, params);
            }
            // The answer to a request comes behind what those before it brought.
            peer.is_usable()?;
            let heard = peer.heard.get(before..).unwrap_or_default();
            match heard.iter().find(|said| said.get("method").is_none() && said.get("result").is_none()) {
                Some(answer) => Err(format!("it is answered {answer}").into()),
                None => Ok(String::new()),
            }
        },
    ),
    check(
        both(["A14", "parameters that are wrong are answered with an error", "JSON-RPC 2.0, 5.1", ERRORS]),
        Weight::Must,
        &[],
        |peer| {
            peer.initialize()?;
            for (method, params) in [
                ("session/new", json!({ "cwd": 5, "mcpServers": [] })),
                ("session/prompt", json!({})),
                ("session/prompt", json!({ "sessionId": 1, "prompt": "x" })),
            ] {
                let answer = peer.ask(method, params.clone())?;
                code(&answer).ok_or_else(|| format!("`{method}` with {params} has a result"))?;
            }
            peer.is_usable().map(|()| String::new())
        },
    ),
    check(
        both(["A15", "an answer that nobody asked for is passed over", "JSON-RPC 2.0, 5", RESPONSE]),
        Weight::Must,
        &[],
        |peer| {
            peer.initialize()?;
            peer.answer(&json!("never-asked"), json!({}));
            peer.refuse(&json!(987_654), -32603);
            peer.is_usable().map(|()| String::new())
        },
    ),
    check(
        both(["A20", "a line that is no JSON does not end the connection", "Transports, stdio", "transports#stdio"]),
        Weight::Must,
        &[],
        |peer| survives(peer, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\n"),
    ),
    check(
        both([
            "A21",
            "blank lines, white space and carriage returns around messages are fine",
            "Transports, stdio",
            "transports#stdio",
        ]),
        Weight::Should,
        &[],
        |peer| {
            peer.initialize()?;
            peer.raw(&b"\n\r\n   \n"[..]);
            peer.raw(&b"  {\"jsonrpc\":\"2.0\",\"id\":\"crlf\",\"method\":\"_conform/none\",\"params\":{}} \r\n"[..]);
            peer.response(&json!("crlf")).map(|_| String::new())
        },
    ),
    check(
        both(["A22", "a message may come byte by byte, and two in one piece", "Transports, stdio", "transports#stdio"]),
        Weight::Must,
        &[],
        |peer| {
            peer.initialize()?;
            let line =
                "{\"jsonrpc\":\"2.0\",\"id\":\"split\",\"method\":\"_conform/none\",\"params\":{\"t\":\"é✓🚀\"}}\n";
            for byte in line.bytes() {
                peer.raw(vec![byte]);
            }
            peer.response(&json!("split"))?;
            let two = ["one", "two"]
                .map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",\"method\":\"_conform/none\"}}\n"));
            peer.raw(two.concat());
            peer.response(&json!("two"))?;
            peer.response(&json!("one")).map(|_| String::new())
        },
    ),
    check(
        both(["A23", "a batch does not end the connection", "Transports", "transports"]),
        Weight::Must,
        &["batch"],
        |peer| {
            let batch = b"[{\"jsonrpc\":\"2.0\",\"id\":\"b1\",\"method\":\"_conform/none\"}]\n[]\n[1]\n";
            survives(peer, batch)
        },
    ),
    check(
        both(["A24", "bytes that are no UTF-8 do not end the connection", "Transports, stdio", "transports#stdio"]),
        Weight::Must,
        &["unknown-answer"],
        |peer| {
            survives(
                peer,
                b"{\"jsonrpc\":\"2.0\",\"id\":\"u\",\"method\":\"_x\",\"params\":{\"t\":\"\xff\xfe\"}}\n\x00\x01\n",
            )
        },
    ),
    check(
        both(["A25", "values nested 20 000 deep do not end the agent", "Transports, stdio", "transports#stdio"]),
        Weight::Must,
        &[],
        |peer| {
            let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
            let line = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":\"deep\",\"method\":\"_conform/none\",\"params\":{{\"d\":{deep}}}}}\n"
            );
            survives(peer, line.as_bytes())
        },
    ),
    check(
        both(["A26", "300 requests at once are answered once each", "JSON-RPC 2.0, 5", RESPONSE]),
        Weight::Must,
        &[],
        |peer| {
            peer.initialize()?;
            let before = peer.heard.len();
            let ids: Vec<_> = (0..300).map(|n| peer.post("_conform/none", json!({ "n": n }))).collect();
            for id in &ids {
                peer.response(id)?;
            }
            let heard = |peer: &Peer<'_>| {
                let heard = peer.heard.get(before..).unwrap_or_default();
                heard.iter().filter(|said| said.get("method").is_none() && ids.contains(&said["id"])).count()
            };
            peer.fence()?;
            match heard(peer) {
                300 => Ok(String::new()),
                n => Err(format!("there are {n} answers").into()),
            }
        },
    ),
    check(
        both(["A27", "messages that are none are not taken for requests", "JSON-RPC 2.0, 4", REQUEST]),
        Weight::Must,
        &["unknown-answer", "not-a-message"],
        |peer| {
            let odd = b"42\nnull\n\"hi\"\n{\"foo\":1}\n{\"jsonrpc\":\"1.0\",\"id\":91,\"method\":\"_x\"}\n\
                        {\"jsonrpc\":\"2.0\",\"id\":92,\"result\":{},\"error\":{\"code\":1,\"message\":\"x\"}}\n";
            survives(peer, odd)
        },
    ),
];

/// The code of an answer that is an error.
pub(super) fn code(answer: &Value) -> Option<i64> {
    answer["error"]["code"].as_i64()
}

/// The connection is of use after these bytes.
fn survives(peer: &mut Peer<'_>, bytes: &[u8]) -> Outcome {
    peer.initialize()?;
    let before = peer.heard.len();
    peer.raw(bytes);
    // What the bytes bring comes before the answer to what is sent behind them.
    peer.is_usable()?;
    let said = peer.heard.get(before..).unwrap_or_default();
    let codes: Vec<_> = said.iter().filter_map(code).map(|code| code.to_string()).collect();
    Ok(if codes.is_empty() { "silent".to_owned() } else { codes.join(" ") })
}
