//! Bytes to lines: what ends a line, what may stand around a message, and lines that mean nothing.

use acp_core::{Agent, Client};
use acp_tests::wire::{err, rpc};

use super::case::{Case, agent, asking_client, client, fresh_agent, fresh_client};

const NOPE: &str = r#"{"jsonrpc":"2.0","id":9,"method":"nope"}"#;
const TOLD: &str = r#"{"jsonrpc":"2.0","method":"_x"}"#;
const NOT_JSON: i64 = -32700;
const NOT_FOUND: i64 = -32601;

pub(crate) fn of_agents() -> Vec<Case<Agent>> {
    vec![
        Case::new("white space and CR around a message mean nothing", agent, format!(" \t{NOPE} \r\n"))
            .frames([err("9", NOT_FOUND)]),
        Case::new("blank lines say nothing", agent, "\n\n\r\n \t\n   \r\n"),
        Case::new("a byte order mark at the start is passed over", fresh_agent, format!("\u{feff}{NOPE}\n"))
            .frames([err("9", NOT_FOUND)]),
        Case::new("a byte order mark in front of a later line is passed over", agent, format!("\u{feff}{NOPE}\n"))
            .frames([err("9", NOT_FOUND)]),
        Case::new(
            "terminal escapes in front of a message are passed over",
            agent,
            format!("\x1b[?25l\x1b[1;31m {TOLD}\n\x1b]0;a title\x07{TOLD}\n\x1b[0m\n"),
        )
        .actions(["notification _x -"; 2]),
        Case::new(
            "only a line feed ends a line",
            agent,
            rpc("\"method\":\"_x\",\"params\":{\"t\":\"a✓😀\u{2028}b\u{2029}c\u{85}\"}"),
        )
        .actions(["notification _x {\"t\":\"a✓😀\u{2028}b\u{2029}c\u{85}\"}"]),
        Case::new("a lone CR between tokens is white space", agent, "{\"jsonrpc\":\"2.0\",\r\"method\":\"_x\"}\r\n")
            .actions(["notification _x -"]),
        Case::new(
            "a line that is not UTF-8 is answered, and the next one read",
            agent,
            [b"\xff\xfe\n", NOPE.as_bytes(), b"\n"].concat(),
        )
        .frames([err("null", NOT_JSON), err("9", NOT_FOUND)])
        .actions(["violation not JSON (2)"]),
        Case::new(
            "text that is not UTF-8 is never replaced",
            agent,
            b"{\"jsonrpc\":\"2.0\",\"method\":\"_x\",\"params\":{\"t\":\"\xe4\xbd\"}}\n",
        )
        .frames([err("null", NOT_JSON)])
        .actions(["violation not JSON (51)"]),
        Case::new("NUL is no white space", agent, format!("\0{TOLD}\n{TOLD}\n"))
            .frames([err("null", NOT_JSON)])
            .actions(["violation not JSON (32)", "notification _x -"]),
        Case::new("NUL, VT and FF do not end a line", agent, "{\"a\":\"\0\x0b\x0c\"}\n")
            .frames([err("null", NOT_JSON)])
            .actions(["violation not JSON (11)"]),
        Case::new("a line that is not JSON is answered, and the next one read", agent, format!("{{bad\n{NOPE}\n"))
            .frames([err("null", NOT_JSON), err("9", NOT_FOUND)])
            .actions(["violation not JSON (4)"]),
        Case::new("two messages in one line are none", agent, format!("{TOLD}{TOLD}\n"))
            .frames([err("null", NOT_JSON)])
            .actions(["violation not JSON (62)"]),
        Case::new("a last line without a line feed is processed at the end", agent, NOPE)
            .eof()
            .frames([err("9", NOT_FOUND)])
            .actions(["closed Eof"]),
        Case::new("a message cut off by the end is answered as not JSON", agent, &NOPE[..20])
            .eof()
            .frames([err("null", NOT_JSON)])
            .actions(["violation not JSON (20)", "closed Eof"]),
        Case::new("blank lines before the end say nothing", agent, "\n\n\n  \n  ").eof().actions(["closed Eof"]),
        Case::new("the end is told once", agent, "")
            .then(|bench| {
                bench.conn.handle_eof(bench.now);
                bench.conn.handle_eof(bench.now);
                bench.feed(NOPE).feed("\n");
                bench.conn.handle_lost("late", bench.now);
                bench.conn.close(bench.now);
            })
            .actions(["closed Eof"]),
        Case::new("answers of a host come to nothing once the stream is lost", agent, rpc(r#""id":1,"method":"_x""#))
            .actions(["request _x - -"])
            .then(|bench| {
                bench.conn.handle_lost("gone", bench.now);
                bench.answer_all();
            })
            .actions([r#"closed Lost("gone")"#]),
        Case::new(
            "a line of 100 KiB is a line like any other",
            agent,
            [rpc(&format!(r#""method":"_big","params":["{}"]"#, "y".repeat(100 << 10))), rpc(r#""method":"_x""#)]
                .concat(),
        )
        .actions([format!(r#"notification _big ["{}"]"#, "y".repeat(100 << 10)), "notification _x -".to_owned()]),
        Case::new("lines without meaning up to the budget are suffered", agent, "x\n".repeat(3))
            .config(|config| config.limits.noise_lines = 3)
            .frames(vec![err("null", NOT_JSON); 3])
            .actions(["violation not JSON (1)"; 3]),
        Case::new(
            "one more line without meaning ends it, and what is behind is not read",
            agent,
            format!("{}{TOLD}\n", "x\n".repeat(5)),
        )
        .config(|config| config.limits.noise_lines = 3)
        .frames(vec![err("null", NOT_JSON); 4])
        .actions(["violation not JSON (1)"; 4].into_iter().chain(["closed TooMuchNoise"])),
        Case::new("a good line gives the budget of noise back", agent, format!("x\nx\nx\n{TOLD}\nx\nx\nx\n"))
            .config(|config| config.limits.noise_lines = 3)
            .frames(vec![err("null", NOT_JSON); 6])
            .actions(
                ["violation not JSON (1)"; 3]
                    .into_iter()
                    .chain(["notification _x -"])
                    .chain(["violation not JSON (1)"; 3]),
            ),
        Case::new("bytes without meaning up to the budget are suffered", agent, "xxxxx\nxxxxx\n")
            .config(|config| config.limits.noise_bytes = 10)
            .frames([err("null", NOT_JSON), err("null", NOT_JSON)])
            .actions(["violation not JSON (5)"; 2]),
        Case::new("one more byte without meaning ends it", agent, "xxxxx\nxxxxx\nx\n")
            .config(|config| config.limits.noise_bytes = 10)
            .frames(vec![err("null", NOT_JSON); 3])
            .actions([
                "violation not JSON (5)",
                "violation not JSON (5)",
                "violation not JSON (1)",
                "closed TooMuchNoise",
            ]),
    ]
}

pub(crate) fn of_clients() -> Vec<Case<Client>> {
    vec![
        Case::new(
            "what a program prints before its first message is reported and not answered",
            fresh_client,
            format!("migrating database... done\n> npm run agent\n{TOLD}\n"),
        )
        .actions(["violation not JSON (26)", "violation not JSON (15)", "notification _x -"]),
        Case::new(
            "a client answers no noise of any kind",
            client,
            "not json at all\n5\n{}\n[]\n[1]\n\"x\"\n{bad\n\x00\n",
        )
        .actions([
            "violation not JSON (15)",
            "violation not RPC (1): a message must be an object",
            "violation not RPC (2): `jsonrpc` must be \"2.0\"",
            "violation not RPC (2): a batch must not be empty",
            "violation not RPC (3): a message must be an object",
            "violation not RPC (3): a message must be an object",
            "violation not JSON (4)",
            "violation not JSON (1)",
        ]),
        Case::new(
            "a code point cut in the middle arrives whole",
            client,
            rpc(r#""method":"_x","params":{"text":"你✓"}"#),
        )
        .actions([r#"notification _x {"text":"你✓"}"#]),
        Case::new("CR LF ends a line", asking_client, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\r\n")
            .actions(["resolved 3 - result {}"]),
        Case::new(
            "an answer in a last line without a line feed counts before anything is failed",
            asking_client,
            r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        )
        .eof()
        .actions(["resolved 3 - result {}", "resolved 4 - Closed", "closed Eof"]),
        Case::new(
            "an answer cut off by the end is reported, and what is open fails",
            asking_client,
            r#"{"jsonrpc":"2.0","id":3,"res"#,
        )
        .eof()
        .actions(["violation not JSON (28)", "resolved 3 - Closed", "resolved 4 - Closed", "closed Eof"]),
        Case::new("too much noise at a client fails what is open", asking_client, "x\nx\nx\n")
            .config(|config| config.limits.noise_lines = 2)
            .actions([
                "violation not JSON (1)",
                "violation not JSON (1)",
                "violation not JSON (1)",
                "resolved 3 - Closed",
                "resolved 4 - Closed",
                "closed TooMuchNoise",
            ]),
    ]
}
