//! The echo agent on stdin and stdout. Exit code 0: the client closed stdin, or SIGTERM or SIGINT came; 1: stdio failed;
//! 2: the command line is wrong.

use std::{path::PathBuf, process::ExitCode};

use acp_core::Side;
use acp_examples::{
    echo::{self, Options},
    trace::Recorder,
};
use clap::Parser;

const PROGRAM: &str = concat!("echo_agent ", env!("CARGO_PKG_VERSION"));

/// An ACP agent that does what the prompt says: `echo hello`, `stream 10 100`, `permission`, …
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Advertise the auth method `interop-token`, and open no session before it was used
    #[arg(long)]
    require_auth: bool,
    /// Write down what passes, one JSON object a line; `trace FILE` shows it and checks it
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Leave the text of the payloads out of the trace
    #[arg(long, requires = "trace")]
    trace_no_text: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Args { require_auth, trace, trace_no_text } = Args::parse();
    let trace = match trace.map(|file| (Recorder::create(&file, Side::Agent, PROGRAM, !trace_no_text), file)) {
        Some((Err(why), file)) => {
            eprintln!("echo_agent: the trace {}: {why}", file.display());
            return ExitCode::from(2);
        }
        Some((Ok(recorder), _)) => Some(recorder),
        None => None,
    };
    echo::serve(Options { require_auth, trace }).await
}
