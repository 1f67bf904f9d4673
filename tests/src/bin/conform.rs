//! Checks an agent, or a client, of anybody's against the protocol:
//!
//! ```text
//! cargo run -p acp-tests --bin conform -- [--protocol 2] [--slow PROMPT] [--permission PROMPT] AGENT [ARGS…]
//! cargo run -p acp-tests --bin conform -- --client CLIENT [ARGS…] {agent}
//! ```
//!
//! The report is TAP on stdout. Exit code: 0 no must is broken; 1 one is; 2 usage.

use core::time::Duration;
use std::{
    ffi::OsString,
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use acp_tests::conform::{self, Setup, Weight, agent, client};
use clap::Parser;

/// Checks an ACP agent, or a client, against the protocol, with a scripted peer and its faults: an agent against version 1
/// or 2, a client against version 1.
///
/// An agent is started once for each check. It needs to be told nothing, but tells more if two prompts are known: one whose
/// answer streams in for long, and one that makes it ask for permission.
///
/// A client is started once for each check, too. It must start the agent that stands in its command as {agent} (or behind
/// `--`, which is appended otherwise), open a session, send at least one prompt, decide permissions by itself, and end.
#[derive(Parser)]
#[command(version, override_usage = "conform [FLAGS] AGENT [ARGS…]\n       conform --client [FLAGS] CLIENT [ARGS…]")]
struct Args {
    /// The command is a client
    #[arg(long)]
    client: bool,
    /// The version of the protocol to ask an agent for
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=2))]
    protocol: u16,
    /// A prompt that is answered in a moment
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// A prompt whose answer streams in for long
    #[arg(long, value_name = "TEXT")]
    slow: Option<String>,
    /// A prompt that makes the agent ask for permission
    #[arg(long, value_name = "TEXT")]
    permission: Option<String>,
    /// The way to log in, if the agent demands that
    #[arg(long, value_name = "METHOD")]
    auth: Option<String>,
    /// The directory of the sessions [default: one for temporary files]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// How long an answer may take
    #[arg(long, value_name = "SECS", default_value_t = 10)]
    timeout: u64,
    /// Only checks whose name begins with this; repeatable
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// Keep the trace of each check in this directory; the program `trace` shows them
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Write the report as JUnit XML, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// List the checks with their rules
    #[arg(long, exclusive = true)]
    list: bool,
    /// The agent or the client, and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required_unless_present = "list")]
    command: Vec<OsString>,
}

/// The argument with which this program is the agent of a scene.
const PLAY: &str = "__play";

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == PLAY) {
        let words: Vec<_> = words.collect();
        let [id, trace, timeout] = words.as_slice() else { return ExitCode::from(2) };
        let millis = timeout.to_str().and_then(|timeout| timeout.parse().ok()).unwrap_or(10_000);
        let played = client::play(&id.to_string_lossy(), Path::new(trace), Duration::from_millis(millis));
        return if played.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let args = Args::parse();
    if args.client && args.protocol != 1 {
        eprintln!("conform: a client is checked against version 1");
        return ExitCode::from(2);
    }
    if args.list {
        list();
        return ExitCode::SUCCESS;
    }
    match run(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            eprintln!("conform: {why}");
            ExitCode::from(2)
        }
    }
}

fn run(args: Args) -> std::io::Result<bool> {
    let mut setup = Setup::new(args.command);
    let place = args.cwd.unwrap_or(setup.cwd);
    setup.cwd = place.canonicalize()?;
    setup.timeout = Duration::from_secs(args.timeout.max(1));
    setup.prompt = args.prompt.unwrap_or(setup.prompt);
    (setup.slow, setup.permission, setup.auth) = (args.slow, args.permission, args.auth);
    (setup.only, setup.traces, setup.version) = (args.only, args.traces, args.protocol);
    if let Some(traces) = &mut setup.traces {
        std::fs::create_dir_all(&traces)?;
        // The player of a scene may be started elsewhere.
        *traces = traces.canonicalize()?;
    }
    // The report comes at the end; until then, one sees that something goes on.
    let told = |done: &conform::Done| eprint!("{}", if done.is_bad() { "✗" } else { "." });
    let done = match args.client {
        true => client::run(&setup, &[std::env::current_exe()?.into(), PLAY.into()], told),
        false => agent::run(&setup, told),
    };
    eprintln!();
    print!("{}", conform::tap(&done));
    if let Some(file) = &args.junit {
        let suite = if args.client { "ACP client" } else { "ACP agent" };
        std::fs::write(file, conform::junit(suite, &done))?;
    }
    Ok(!done.iter().any(conform::Done::is_bad))
}

fn list() {
    let mut out = String::new();
    for about in agent::list().iter().chain(&client::list()) {
        let weight = if about.weight == Weight::Must { "must" } else { "should" };
        out.push_str(&format!("{} ({weight}) {}\n", about.id, about.title));
        for (version, place) in [(1, about.v1), (2, about.v2)] {
            if let Some(place) = place {
                out.push_str(&format!("    version {version}, {}: {}\n", place.section, place.address()));
            }
        }
    }
    // Whoever reads it may have had enough.
    let _ = std::io::stdout().write_all(out.as_bytes());
}
