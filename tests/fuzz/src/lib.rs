//! The modules of `acp-tests` that the targets need, without all else that the proof depends on.

#![allow(dead_code, unreachable_pub, missing_docs)]

#[path = "../../src/agent.rs"]
mod agent;
#[path = "../../src/bench.rs"]
mod bench;
#[path = "../../src/client.rs"]
mod client;
#[path = "../../src/describe.rs"]
mod describe;
#[path = "../../src/fuzz/mod.rs"]
pub mod fuzz;
#[path = "../../src/model/mod.rs"]
mod model;
#[path = "../../src/taped.rs"]
mod taped;
#[path = "../../src/v2.rs"]
mod v2;
#[path = "../../src/wire.rs"]
mod wire;
#[path = "../../src/words.rs"]
mod words;
