//! Drives an ACP agent and shows what happens; without arguments, a demonstration. `--help` says the rest.

use std::process::ExitCode;

// The driver has a thread of its own: a cancel is written also while this one is busy showing what came before.
#[tokio::main(worker_threads = 1)]
async fn main() -> ExitCode {
    acp_examples::drive::main().await
}
