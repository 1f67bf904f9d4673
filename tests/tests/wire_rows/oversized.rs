//! Lines over the limit, which is 400 bytes here: skipped, and whoever waits for one is told.

use acp_core::{Agent, Client, Config};
use acp_tests::wire::{Wire, err, err_with, ok, rpc};

use super::case::{Case, agent, asking_agent, asking_client, client};

const INVALID: i64 = -32600;

fn short(config: &mut Config) {
    config.limits.line = 400;
}

/// A filling of so many bytes.
fn fill(bytes: usize) -> String {
    "y".repeat(bytes)
}

fn too_big(id: &str, method: &str, size: usize) -> String {
    err_with(id, INVALID, &format!(r#"{{"method":"{method}","size":{size},"limit":400}}"#))
}

/// What such a line is filled with to have this many bytes in all.
fn filling(line: impl Fn(&str) -> String, bytes: usize) -> String {
    fill(bytes - line("").trim_end().len())
}

/// The line is skipped, and this is said about it; the next one is read.
fn agent_case(name: &'static str, start: fn(fn(&mut Config)) -> Wire<Agent>, line: &str) -> Case<Agent> {
    Case::new(name, start, format!("{}\n", line.trim_end())).config(short)
}

fn client_case(name: &'static str, line: &str) -> Case<Client> {
    Case::new(name, asking_client, format!("{}\n", line.trim_end())).config(short)
}

/// A line of this many bytes in all.
fn sized(line: impl Fn(&str) -> String, bytes: usize) -> String {
    line(&filling(&line, bytes))
}

pub(crate) fn of_agents() -> Vec<Case<Agent>> {
    let padded = |text: &str| rpc(&format!(r#""id":"q","method":"_x","params":{{"t":"{text}"}}"#));
    let late =
        |text: &str| format!("{{\"params\":{{\"t\":\"{text}\"}},\"id\":\"q\",\"method\":\"_x\",\"jsonrpc\":\"2.0\"}}");
    let long_name = fill(5000);
    vec![
        agent_case("a line as long as the limit is read", agent, &sized(padded, 400))
            .actions([format!(r#"request _x - {{"t":"{}"}}"#, filling(padded, 400))])
            .then(Wire::answer_all)
            .frames([ok("\"q\"", "{}")]),
        Case::new("CR LF does not count", agent, format!("{}\r\n", sized(padded, 400).trim_end()))
            .config(short)
            .actions([format!(r#"request _x - {{"t":"{}"}}"#, filling(padded, 400))])
            .then(Wire::answer_all)
            .frames([ok("\"q\"", "{}")]),
        agent_case("a request one byte longer is refused, with its method and its size", agent, &sized(padded, 401))
            .frames([too_big("\"q\"", "_x", 401)])
            .actions(["violation too long: 401 of 400, _x -"]),
        agent_case("a request is known though its method comes behind its params", agent, &sized(late, 600))
            .frames([too_big("\"q\"", "_x", 600)])
            .actions(["violation too long: 600 of 400, _x -"]),
        agent_case("a request is known though its id comes last", agent, &sized(|text| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"_x\",\"params\":{{\"t\":\"{text}\"}},\"id\":123456789012345678901234567890}}"), 600))
            .frames([too_big("123456789012345678901234567890", "_x", 600)])
            .actions(["violation too long: 600 of 400, _x -"]),
        agent_case("keys inside params and inside strings are nobody's", agent, &sized(|text| format!("{{\"params\":{{\"id\":1,\"result\":2,\"t\":\"\\\"id\\\":1,{text}\"}},\"x\":{{\"id\":8}},\"id\":9,\"method\":\"_x\",\"jsonrpc\":\"2.0\"}}"), 600))
            .frames([too_big("9", "_x", 600)])
            .actions(["violation too long: 600 of 400, _x -"]),
        agent_case("members of a long line may be spelled in escapes", agent, &sized(|text| format!("{{\"jsonrpc\":\"2.0\",\"params\":[\"{text}\"],\"\\u0069d\":7,\"m\\u0065thod\":\"session\\/list\"}}"), 600))
            .frames([too_big("7", "session/list", 600)])
            .actions(["violation too long: 600 of 400, session/list -"]),
        agent_case("a notification is reported with its session", agent, &sized(|text| rpc(&format!(r#""method":"session/cancel","params":{{"t":"{text}","sessionId":"s1"}}"#)), 600))
            .actions(["violation too long: 600 of 400, session/cancel s1"]),
        agent_case("noise is noise, however long", agent, &fill(1000))
            .frames([err("null", INVALID)])
            .actions(["violation too long: 1000 of 400, - -"]),
        agent_case("an open id gets no second answer from a long line", agent, &[r#"{"jsonrpc":"2.0","id":"q","method":"_x"}"#, "\n", &sized(padded, 600)].concat())
            .actions(["request _x - -", "violation too long: 600 of 400, _x -"])
            .then(Wire::answer_all)
            .frames([ok("\"q\"", "{}")]),
        agent_case("a long line says no id if it says it twice", agent, &sized(|text| rpc(&format!(r#""id":1,"method":"_x","params":["{text}"],"id":2"#)), 600))
            .frames([err("null", INVALID)])
            .actions(["violation too long: 600 of 400, - -"]),
        agent_case("an id over 4 KiB is not kept", agent, &rpc(&format!(r#""id":"{long_name}","method":"_x""#)))
            .frames([err("null", INVALID)])
            .actions(["violation too long: 5039 of 400, - -"]),
        agent_case("a long answer to nobody is never answered", agent, &sized(|text| rpc(&format!(r#""id":77,"result":"{text}""#)), 600))
            .actions(["violation too long: 600 of 400, - -"]),
        agent_case("a long answer resolves our request at an agent too", asking_agent, &sized(|text| rpc(&format!(r#""id":1,"error":"{text}""#)), 600))
            .actions(["resolved 1 - too long: 600 of 400"]),
        agent_case("a long method together with a result is never answered", agent, &sized(|text| rpc(&format!(r#""id":5,"method":"_x","result":"{text}""#)), 600))
            .actions(["violation too long: 600 of 400, - -"]),
        agent_case("a long answer with two ids is never answered", agent, &sized(|text| rpc(&format!(r#""id":5,"id":6,"result":"{text}""#)), 600))
            .actions(["violation too long: 600 of 400, - -"]),
        agent_case("an id alone in a long line is refused with the id", agent, &sized(|text| rpc(&format!(r#""id":5,"vendor":"{text}""#)), 600))
            .frames([err("5", INVALID)])
            .actions(["violation too long: 600 of 400, - -"]),
        agent_case("a batch over the limit of a line is refused as a whole", agent, &format!("[{}1]", "1,".repeat(200)))
            .frames([err("null", INVALID)])
            .actions(["violation too long: 403 of 400, - -"]),
        Case::new("long noise spends a quarter of the budget at most", agent, format!("{}\n", fill(1000)).repeat(6))
            .config(|config| {
                short(config);
                config.limits.noise_bytes = 400;
            })
            .frames(vec![err("null", INVALID); 5])
            .actions(["violation too long: 1000 of 400, - -"; 5].into_iter().chain(["closed TooMuchNoise"])),
        Case::new("the rest of a long line is skipped to its line feed", agent, [fill(40).repeat(20), "\n".into(), rpc(r#""id":9,"method":"nope""#)].concat())
            .config(short)
            .frames([err("null", INVALID), err("9", -32601)])
            .actions(["violation too long: 800 of 400, - -"]),
        Case::new("a long request without a line feed is refused at the end", agent, sized(padded, 600).trim_end())
            .config(short)
            .eof()
            .frames([too_big("\"q\"", "_x", 600)])
            .actions(["violation too long: 600 of 400, _x -", "closed Eof"]),
    ]
}

pub(crate) fn of_clients() -> Vec<Case<Client>> {
    let answer = |text: &str| rpc(&format!(r#""id":3,"result":{{"t":"{text}"}}"#));
    let late = |text: &str| format!("{{\"result\":{{\"t\":\"{text}\"}},\"jsonrpc\":\"2.0\",\"id\":3}}");
    vec![
        client_case("an answer as long as the limit is read", &sized(answer, 400))
            .actions([format!(r#"resolved 3 - result {{"t":"{}"}}"#, filling(answer, 400))]),
        client_case("a longer answer fails its own call, with its size and the limit", &sized(answer, 401))
            .actions(["resolved 3 - too long: 401 of 400"]),
        client_case("the call is found though its id comes last", &sized(late, 600))
            .actions(["resolved 3 - too long: 600 of 400"]),
        client_case(
            "a long request of the agent's is refused under its id",
            &sized(
                |text| rpc(&format!(r#""id":"q","method":"session/request_permission","params":{{"t":"{text}"}}"#)),
                600,
            ),
        )
        .frames([too_big("\"q\"", "session/request_permission", 600)])
        .actions(["violation too long: 600 of 400, session/request_permission -"]),
        client_case(
            "a long update is reported with its session",
            &sized(
                |text| {
                    rpc(&format!(
                        r#""method":"session/update","params":{{"update":{{"t":"{text}"}},"sessionId":"s1"}}"#
                    ))
                },
                600,
            ),
        )
        .actions(["violation too long: 600 of 400, session/update s1"]),
        client_case(
            "ids inside a long result are nobody's",
            &sized(|text| rpc(&format!(r#""result":{{"id":3,"t":"{text}"}},"id":4"#)), 600),
        )
        .actions(["resolved 4 - too long: 600 of 400"]),
        client_case(
            "an id inside params cannot pass for an answer",
            &sized(
                |text| {
                    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"_x\",\"params\":{{\"id\":3,\"result\":\"{text}\"}}}}")
                },
                600,
            ),
        )
        .actions(["violation too long: 600 of 400, _x -"]),
        client_case(
            "a long answer with two ids settles neither",
            &sized(|text| rpc(&format!(r#""id":3,"result":"{text}","id":4"#)), 600),
        )
        .actions(["violation too long: 600 of 400, - -"]),
        client_case(
            "an id of ours alone in a long line fails its call",
            &sized(|text| rpc(&format!(r#""id":3,"vendor":"{text}""#)), 600),
        )
        .actions(["resolved 3 - too long: 600 of 400"]),
        client_case("long noise is reported and not answered", &fill(1000))
            .actions(["violation too long: 1000 of 400, - -"]),
        Case::new(
            "a long answer without a line feed fails its call at the end",
            asking_client,
            sized(answer, 600).trim_end(),
        )
        .config(short)
        .eof()
        .actions(["resolved 3 - too long: 600 of 400", "resolved 4 - Closed", "closed Eof"]),
        Case::new("the line behind a long one is read", client, [sized(answer, 600), rpc(r#""method":"_n""#)].concat())
            .config(short)
            .actions(["violation too long: 600 of 400, - -", "notification _n -"]),
    ]
}
