//! What nobody here would say, and keys that nobody gave.

use std::sync::LazyLock;

use acp_core::{Client, Config, Overlap, Payload, RequestKey, Timestamp, TurnKey};
use serde_json::json;

use super::Twin;
use crate::{
    bench::{Bench, payload},
    model::words::{Side, Stray},
};

/// More than there are of either in a run.
const MANY: usize = 1_000;

/// A turn and a request of another connection.
static STRANGE: LazyLock<(TurnKey, RequestKey)> = LazyLock::new(|| {
    let mut config = Config::client();
    (config.overlap, config.limits.own_requests) = (Overlap::Queue(MANY), MANY + 10);
    let mut bench = Bench::<Client>::client(config);
    let session = bench.session("s");
    let content = payload(json!([]));
    let turn = (0..MANY).map(|_| bench.conn.prompt(session, &content, None, Timestamp::ZERO)).last();
    let request = (0..MANY).map(|_| bench.conn.request("_own", Some(Payload::EMPTY), None, Timestamp::ZERO)).last();
    let both = turn.and_then(Result::ok).zip(request.and_then(Result::ok));
    // Nothing of it is worth replaying.
    drop(bench.conn.take_recording());
    both.expect("it takes as many")
});

/// A turn that this connection never had.
pub(super) fn turn() -> TurnKey {
    STRANGE.0
}

/// A request that this connection never sent.
pub(super) fn request() -> RequestKey {
    STRANGE.1
}

impl Twin {
    /// A line that is not of a host's making is on its way to this end.
    pub(super) fn stray(&mut self, side: Side, stray: Stray) {
        let message = match stray {
            Stray::Again(of) => json!({ "jsonrpc": "2.0", "id": self.names.id(of), "method": "no/such" }),
            Stray::Initialize => {
                let mut params = self.offer();
                params["protocolVersion"] = json!(if self.two { 2 } else { 1 });
                json!({ "jsonrpc": "2.0", "id": "stray", "method": "initialize", "params": params })
            }
            Stray::Delete => {
                let params = json!({ "sessionId": "s001" });
                json!({ "jsonrpc": "2.0", "id": "stray", "method": "session/delete", "params": params })
            }
            Stray::Answer => json!({ "jsonrpc": "2.0", "id": 999_999, "result": {} }),
        };
        if let Stray::Again(of) = stray {
            self.laws.doubled.push(of);
        }
        let line = format!("{message}\n").into_bytes();
        match side {
            Side::Client => self.client.put(line, None),
            Side::Agent => self.agent.put(line, None),
        }
    }
}
