//! The echo agent on stdin and stdout. Exit code 0: the client closed stdin, or SIGTERM or SIGINT came; 1: stdio failed;
//! 2: the command line is wrong.

use std::process::ExitCode;

use acp_examples::echo::{self, Options};
use clap::Parser;

/// An ACP agent that does what the prompt says: `echo hello`, `stream 10 100`, `permission`, …
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Advertise the auth method `interop-token`, and open no session before it was used
    #[arg(long)]
    require_auth: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Args { require_auth } = Args::parse();
    echo::serve(Options { require_auth }).await
}
