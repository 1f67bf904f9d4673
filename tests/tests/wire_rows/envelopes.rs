//! What makes a message: the members of the envelope, their types, and how they are spelled.

use acp_core::{Agent, Client};
use acp_tests::wire::{Wire, err, ok, rpc};

use super::case::{Case, agent, asking_agent, asking_client, client, fresh_agent};

const INVALID: i64 = -32600;
const PARAMS: i64 = -32602;

/// A line that is JSON and no message: the answer has `id`.
fn refused(name: &'static str, line: &str, id: &str, why: &str) -> Case<Agent> {
    Case::new(name, agent, format!("{line}\n"))
        .frames([err(id, INVALID)])
        .actions([format!("violation not RPC ({}): {why}", line.len())])
}

pub(crate) fn of_agents() -> Vec<Case<Agent>> {
    const VERSION: &str = "`jsonrpc` must be \"2.0\"";
    const OBJECT: &str = "a message must be an object";
    const TWICE: &str = "a member of the envelope is there twice";
    let initialize =
        |version: &str| rpc(&format!(r#""id":1,"method":"initialize","params":{{"protocolVersion":{version}}}"#));
    vec![
        refused("a number is no message", "5", "null", OBJECT),
        refused("a string is no message", "\"{}\"", "null", OBJECT),
        refused("null is no message", "null", "null", OBJECT),
        refused("an object without members is no message", "{}", "null", VERSION),
        refused("a message needs the version", r#"{"id":1,"method":"_x"}"#, "1", VERSION),
        refused("the version is a string", r#"{"jsonrpc":2.0,"id":1,"method":"a"}"#, "1", VERSION),
        refused("there is one version", r#"{"jsonrpc":"1.0","id":"q","method":"_x"}"#, "\"q\"", VERSION),
        refused("without version and id the answer has id null", r#"{"method":"x"}"#, "null", VERSION),
        refused("an id alone is refused with the id", r#"{"jsonrpc":"2.0","id":1}"#, "1", "`method`, `result` or `error` must be there"),
        refused("a method is a string", r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "1", "`method` must be a string"),
        refused("a method of null is no missing method", r#"{"jsonrpc":"2.0","id":1,"method":null}"#, "1", "`method` must be a string"),
        refused("params are an object or an array", r#"{"jsonrpc":"2.0","id":1,"method":"_x","params":"{}"}"#, "1", "`params` must be an object or an array"),
        refused("two ids are none, whichever comes first", r#"{"jsonrpc":"2.0","id":1,"method":"_x","id":2}"#, "null", TWICE),
        refused("two ids are none, however they are spelled", r#"{"jsonrpc":"2.0","\u0069d":1,"method":"_x","id":1}"#, "null", TWICE),
        refused("two methods are none", r#"{"jsonrpc":"2.0","id":1,"method":"_x","method":"_x"}"#, "1", TWICE),
        refused("two params are none", r#"{"jsonrpc":"2.0","id":1,"method":"_x","params":{},"params":{}}"#, "1", TWICE),
        refused("two versions are none", r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"_x"}"#, "1", TWICE),
        Case::new("method together with a result is never answered", agent, rpc(r#""id":5,"method":"_x","result":{}"#))
            .actions(["violation not RPC (50): `method` must not be together with `result` or `error`"]),
        Case::new("method together with an error is never answered", agent, rpc(r#""id":5,"method":"_x","error":null"#))
            .actions(["violation not RPC (51): `method` must not be together with `result` or `error`"]),
        Case::new("an answer to nobody is never answered", agent, rpc(r#""id":77,"result":{}"#))
            .actions(["violation never issued"]),
        Case::new("an error to nobody is never answered", agent, rpc(r#""id":null,"error":{"code":-32700,"message":"m"}"#))
            .actions([r#"violation the peer rejected: -32700 "m" -"#]),
        Case::new("an answer with a broken error is never answered", agent, rpc(r#""id":77,"error":{"code":"E"}"#))
            .actions(["violation not RPC (46): `error` must have an integer `code` and a string `message`"]),
        Case::new("an answer with an id that is none is never answered", agent, rpc(r#""id":[1],"result":{}"#))
            .actions(["violation not RPC (38): `id` must be a string, an integer or null"]),
        Case::new("an answer of another version is never answered", agent, "{\"id\":77,\"result\":{}}\n")
            .actions(["violation not RPC (21): `jsonrpc` must be \"2.0\""]),
        Case::new("an answer that is not JSON inside is never answered", agent, rpc(r#""id":77,"result":{,}"#))
            .actions(["violation not RPC (38): the line is not JSON"]),
        Case::new("an answer with an id of ours resolves our request at an agent too", asking_agent, rpc(r#""id":1,"result":{}"#))
            .actions(["resolved 1 - result {}"]),
        Case::new("an id of ours alone is an invalid answer, not a bad request", asking_agent, "{\"id\":1}\n")
            .actions(["resolved 1 - invalid: `jsonrpc` must be \"2.0\""]),
        Case::new("members and methods may be spelled in escapes", agent, "{\"jsonrpc\":\"2\\u002e0\",\"\\u0069d\":7,\"m\\u0065thod\":\"session\\/list\",\"params\":{}}\n")
            .actions(["request session/list - {}"])
            .then(Wire::answer_all)
            .frames([ok("7", "{}")]),
        Case::new("members may stand in any order, and others beside them", agent, "{\"params\":{\"id\":1,\"result\":2,\"method\":\"_y\"},\"x\":[{}],\"method\":\"_x\",\"ID\":3,\"jsonrpc\":\"2.0\"}\n")
            .actions([r#"notification _x {"id":1,"result":2,"method":"_y"}"#]),
        Case::new("params of null are none", agent, rpc(r#""method":"_x","params":null"#)).actions(["notification _x -"]),
        Case::new("params of an extension may be an array, as deep as they like", agent, rpc(&format!(r#""method":"_x","params":[{}1e400,"\ud800"{}]"#, "[".repeat(100_000), "]".repeat(100_000))))
            .actions([format!(r#"notification _x [{}1e400,"\ud800"{}]"#, "[".repeat(100_000), "]".repeat(100_000))]),
        Case::new("params of the protocol's methods are no array", agent, rpc(r#""id":1,"method":"session/list","params":[1]"#))
            .frames([err("1", PARAMS)]),
        Case::new("line breaks between tokens do not come out again", agent, "{\"jsonrpc\":\"2.0\",\"method\":\"_x\",\"params\":[1,\r2]}\n")
            .actions(["notification _x [1,2]"]),
        Case::new("a version newer than any is negotiated", fresh_agent, initialize("65537"))
            .actions([r#"initialize 1 {"protocolVersion":65537}"#]),
        Case::new("a version with a fraction is refused", fresh_agent, initialize("1.0")).frames([err("1", PARAMS)]),
        Case::new("a negative version is refused", fresh_agent, initialize("-1")).frames([err("1", PARAMS)]),
        Case::new("a version in quotes is refused", fresh_agent, initialize("\"1\"")).frames([err("1", PARAMS)]),
        Case::new("a version that is missing is refused", fresh_agent, rpc(r#""id":1,"method":"initialize""#))
            .frames([err("1", PARAMS)]),
    ]
}

pub(crate) fn of_clients() -> Vec<Case<Client>> {
    vec![
        Case::new("a malformed call with an id is refused by a client too", client, rpc(r#""id":"q","method":7"#))
            .frames([err("\"q\"", INVALID)])
            .actions(["violation not RPC (37): `method` must be a string"]),
        Case::new("a malformed call without an id is reported", client, "{\"method\":\"x\"}\n")
            .actions(["violation not RPC (14): `jsonrpc` must be \"2.0\""]),
        Case::new("a call whose id is none is reported", client, rpc(r#""id":1.5,"method":"_x""#))
            .actions(["violation not RPC (40): `id` must be a string, an integer or null"]),
        Case::new("a request nobody serves is not found", client, rpc(r#""id":77,"method":"x/drain","params":{}"#))
            .frames([err("77", -32601)]),
        Case::new("a request of the agent's may have an id that is open here", asking_client, [rpc(r#""id":3,"method":"_x""#), rpc(r#""id":3,"result":{}"#)].concat())
            .actions(["request _x - -", "resolved 3 - result {}"])
            .then(Wire::answer_all)
            .frames([ok("3", "{}")]),
        Case::new("a permission request with a string id is answered under it", client, rpc(r#""id":"b7e0-uuid","method":"session/request_permission","params":{"sessionId":"nope","toolCall":{"toolCallId":"t1"},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"}]}"#))
            .frames([ok("\"b7e0-uuid\"", r#"{"outcome":{"outcome":"cancelled"}}"#)])
            .actions(["violation bad request session/request_permission: this connection knows no such session"]),
    ]
}
