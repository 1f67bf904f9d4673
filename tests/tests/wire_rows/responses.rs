//! Answers to requests of ours: which call they settle, and that nothing that looks like one is ever answered.

use acp_core::Client;
use acp_tests::wire::rpc;

use super::case::{Case, asking_client, client, prompting_client};

pub(crate) fn of_clients() -> Vec<Case<Client>> {
    let response = |id: &str, rest: &str| rpc(&format!(r#""id":{id},{rest}"#));
    vec![
        Case::new(
            "an answer resolves its call, in any order",
            asking_client,
            [response("4", r#""result":4"#), response("3", r#""result":[3]"#)].concat(),
        )
        .actions(["resolved 4 - result 4", "resolved 3 - result [3]"]),
        Case::new(
            "an error resolves its call with its code, its words and its data",
            asking_client,
            response("3", r#""error":{"code":-32000,"message":"log in","data":{"a":1},"x":0}"#),
        )
        .actions([r#"resolved 3 - error -32000 "log in" {"a":1}"#]),
        Case::new("a result of null is a result", asking_client, response("3", r#""result":null"#))
            .actions(["resolved 3 - result null"]),
        Case::new("a string never matches a number", asking_client, response(r#""3""#, r#""result":{}"#))
            .actions(["violation never issued"]),
        Case::new("a number with a fraction matches nothing", asking_client, response("3.0", r#""result":{}"#))
            .actions(["violation not RPC (38): `id` must be a string, an integer or null"]),
        Case::new(
            "an id that was never issued is told apart from a late answer",
            asking_client,
            [
                response("99", r#""result":{}"#),
                response("0", r#""result":{}"#),
                response("-3", r#""result":{}"#),
                response("123456789012345678901234567890", r#""result":{}"#),
                response("1", r#""result":{}"#),
            ]
            .concat(),
        )
        .actions(["violation never issued"; 4]),
        Case::new("a second answer is dropped without a word", asking_client, response("3", r#""result":1"#).repeat(2))
            .actions(["resolved 3 - result 1"]),
        Case::new(
            "an error with the id null is reported, and resolves nothing",
            asking_client,
            response("null", r#""error":{"code":-32700,"message":"parse error"}"#),
        )
        .actions([r#"violation the peer rejected: -32700 "parse error" -"#]),
        Case::new(
            "a result with the id null is an answer to nobody",
            asking_client,
            response("null", r#""result":{"method":"session/update","params":{}}"#),
        )
        .actions(["violation never issued"]),
        Case::new(
            "an error about our line settles the call whose id it has",
            asking_client,
            response("3", r#""error":{"code":-32700,"message":"parse error"}"#),
        )
        .actions([r#"resolved 3 - error -32700 "parse error" -"#]),
        Case::new(
            "both result and error is an invalid answer, to this call only",
            asking_client,
            response("3", r#""result":{},"error":{"code":1,"message":""}"#),
        )
        .actions(["resolved 3 - invalid: `result` must not be together with `error`"]),
        Case::new("neither result nor error is an invalid answer", asking_client, "{\"jsonrpc\":\"2.0\",\"id\":3}\n")
            .actions(["resolved 3 - invalid: `method`, `result` or `error` must be there"]),
        Case::new("an id alone that is not ours is reported", client, "{\"jsonrpc\":\"2.0\",\"id\":77}\n")
            .actions(["violation not RPC (25): `method`, `result` or `error` must be there"]),
        Case::new(
            "an error needs an integer code",
            asking_client,
            response("3", r#""error":{"code":"E1","message":"m"}"#),
        )
        .actions(["resolved 3 - invalid: `error` must have an integer `code` and a string `message`"]),
        Case::new("an error of null is an error, and invalid", asking_client, response("3", r#""error":null"#))
            .actions(["resolved 3 - invalid: `error` must have an integer `code` and a string `message`"]),
        Case::new(
            "an answer of another version is invalid",
            asking_client,
            "{\"jsonrpc\":\"1.0\",\"id\":3,\"result\":{}}\n",
        )
        .actions(["resolved 3 - invalid: `jsonrpc` must be \"2.0\""]),
        Case::new(
            "an answer that says its result twice is invalid",
            asking_client,
            response("3", r#""result":1,"res\u0075lt":2"#),
        )
        .actions(["resolved 3 - invalid: a member of the envelope is there twice"]),
        Case::new("an answer with two ids settles neither", asking_client, response("3", r#""id":4,"result":1"#))
            .actions(["violation not RPC (42): a member of the envelope is there twice"]),
        Case::new(
            "method together with a result settles nothing and is not answered",
            asking_client,
            response("3", r#""method":"_x","result":1"#),
        )
        .actions(["violation not RPC (49): `method` must not be together with `result` or `error`"]),
        Case::new("an answer without an id settles nothing", asking_client, rpc(r#""result":{}"#))
            .actions(["violation not RPC (29): a response must have an `id`"]),
        Case::new(
            "the id of an answer may be spelled in escapes",
            asking_client,
            "{\"jsonrpc\":\"2.0\",\"\\u0069d\":3,\"result\":{}}\n",
        )
        .actions(["resolved 3 - result {}"]),
        Case::new("a result as deep as a million brackets passes through", asking_client, deep())
            .actions([format!("resolved 3 - result {}", brackets())]),
        Case::new(
            "numbers that overflow and lone surrogates pass through",
            asking_client,
            response("3", r#""result":[1e400,-0,"\ud800",123456789012345678901234567890]"#),
        )
        .actions([r#"resolved 3 - result [1e400,-0,"\ud800",123456789012345678901234567890]"#]),
        Case::new(
            "an answer whose result is broken inside settles its call",
            prompting_client,
            response("3", r#""result":{"stopReason":"end_turn",}"#),
        )
        .actions(["turn 1 of s1 ended: Failed, invalid: the line is not JSON"]),
        Case::new(
            "an answer that lost its last brace settles its call",
            asking_client,
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"a\":1}\n",
        )
        .actions(["resolved 3 - invalid: the line is not JSON"]),
        Case::new("a broken answer to nobody is reported", asking_client, response("99", r#""result":{,}"#))
            .actions(["violation not RPC (38): the line is not JSON"]),
        Case::new(
            "a broken call with an id of ours settles nothing",
            asking_client,
            response("3", r#""method":"_x","params":{,}"#),
        )
        .actions(["violation not JSON (51)"]),
        Case::new(
            "a stop reason nobody knows ends the turn as itself",
            prompting_client,
            response("3", r#""result":{"stopReason":"tired","transcriptPath":"/x"}"#),
        )
        .actions([
            r#"turn 1 of s1 ended: Ended(Unknown("tired")), result {"stopReason":"tired","transcriptPath":"/x"}"#,
        ]),
        Case::new(
            "a result without a stop reason ends the turn all the same",
            prompting_client,
            response("3", r#""result":{}"#),
        )
        .actions(["turn 1 of s1 ended: Failed, invalid: `stopReason` is missing, or is no string"]),
    ]
}

fn brackets() -> String {
    ["[".repeat(1_000_000), "]".repeat(1_000_000)].concat()
}

fn deep() -> String {
    rpc(&format!(r#""id":3,"result":{}"#, brackets()))
}
