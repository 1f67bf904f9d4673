//! Drives an ACP agent and shows what happens; without arguments, a demonstration. `--help` says the rest.

use std::process::ExitCode;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    acp_examples::drive::main().await
}
