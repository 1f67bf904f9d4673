//! The command line of `drive`, and the plan that comes of it.

use core::time::Duration;
use std::{ffi::OsString, path::PathBuf};

use super::presets;
use acp_core::{Payload, wire::PermissionOptionKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, ValueEnum, error::ErrorKind};

/// Drives an ACP agent: a chat for people, events for programs.
///
/// Without arguments it shows a demonstration against the agent it brings along. With an agent, on a terminal and without
/// prompts, it is a chat; otherwise it opens sessions, prompts, decides permissions, cancels as the flags say, and prints
/// events, one JSON object a line.
///
/// Exit code: 0 all well; 1 nobody reads stdout; 2 usage; 3 the agent answered an error, or a version that is not spoken here; 4 a request timed
/// out; 5 the agent could not be started, exited, or closed its stdout. The highest one wins.
#[derive(Debug, Parser)]
#[command(
    version,
    override_usage = "drive\n       drive [FLAGS] AGENT [-- ARGS…]\n       drive [FLAGS] -- AGENT_PROGRAM [ARGS…]",
    after_help = after_help()
)]
struct Args {
    /// A prompt; repeatable, they run one after the other in each session
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Vec<String>,
    /// A prompt from a file; keeps its place among the prompts
    #[arg(long, value_name = "PATH")]
    prompt_file: Vec<PathBuf>,
    /// The sessions' and the agent's directory [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Sessions on the one connection; prompts run in all of them at once
    #[arg(long, value_name = "N", default_value_t = 1)]
    sessions: usize,
    /// What permissions are answered with: the first option of that kind, the outcome cancelled, or nothing until the
    /// turn is cancelled
    #[arg(long, value_name = "WHAT", default_value = "reject")]
    permission: Policy,
    /// Cancel the first session's first prompt after N updates
    #[arg(long, value_name = "N")]
    cancel_after_updates: Option<u64>,
    /// Cancel the first session's first prompt after this many milliseconds
    #[arg(long, value_name = "MS")]
    cancel_after_ms: Option<u64>,
    /// Cancel a turn when it asks for permission
    #[arg(long)]
    cancel_on_permission: bool,
    /// Client services to advertise and serve: fs, terminal
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    caps: Vec<Service>,
    /// Call authenticate with this method
    #[arg(long, value_name = "METHOD")]
    auth: Option<String>,
    /// Load this session instead of a new one
    #[arg(long, value_name = "ID", conflicts_with = "resume")]
    load: Option<String>,
    /// Resume this session instead of a new one
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    /// Set this mode once a session is there
    #[arg(long, value_name = "ID")]
    mode: Option<String>,
    /// A raw request before the prompts; repeatable
    #[arg(long, num_args = 2, value_names = ["METHOD", "JSON"])]
    call: Vec<String>,
    /// Seconds that a request, a prompt too, may take
    #[arg(long, value_name = "SECS", default_value_t = 30.0)]
    timeout: f64,
    /// The protocol version to ask for
    #[arg(long, value_name = "N", default_value_t = 1)]
    protocol: u16,
    /// Write down what passes, one JSON object a line; `trace FILE` shows it and checks it
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Leave the text of the payloads out of the trace
    #[arg(long, requires = "trace")]
    trace_no_text: bool,
    /// Print events as JSON also on a terminal
    #[arg(long)]
    json: bool,
    /// An agent by name, or its program
    #[arg(value_name = "AGENT", required_unless_present = "command")]
    agent: Option<OsString>,
    /// The agent's program and its arguments; behind the name of an agent: more arguments
    #[arg(last = true, value_name = "ARGS")]
    command: Vec<OsString>,
}

fn after_help() -> String {
    let names: Vec<_> = presets::ALL.iter().map(|preset| preset.name).collect();
    format!("Agents that are known by name: {}", names.join(", "))
}

/// What permissions are answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Policy {
    Allow,
    Reject,
    Cancel,
    Never,
}

impl Policy {
    /// The kinds of options to choose from, in the order of preference.
    pub(super) const fn kinds(self) -> &'static [PermissionOptionKind] {
        match self {
            Self::Allow => &[PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways],
            Self::Reject => &[PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways],
            Self::Cancel | Self::Never => &[],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Service {
    Fs,
    Terminal,
}

/// How a session is opened.
#[derive(Clone, Debug)]
pub(super) enum Opening {
    New,
    Load(String),
    Resume(String),
}

/// When a turn of the first session is cancelled.
#[derive(Clone, Debug, Default)]
pub(super) struct CancelPlan {
    /// Which prompt, from 0.
    pub(super) prompt: usize,
    pub(super) after_updates: Option<u64>,
    pub(super) after: Option<Duration>,
}

/// Everything one run does.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) agent: Vec<OsString>,
    /// How one gets the agent, if it is one that is known by name.
    pub(super) install: Option<&'static str>,
    /// Absolute, and free of links.
    pub(super) cwd: PathBuf,
    pub(super) sessions: usize,
    pub(super) prompts: Vec<String>,
    pub(super) permission: Policy,
    pub(super) cancel: CancelPlan,
    pub(super) cancel_on_permission: bool,
    pub(super) fs: bool,
    pub(super) terminal: bool,
    pub(super) auth: Option<String>,
    pub(super) opening: Opening,
    pub(super) mode: Option<String>,
    pub(super) calls: Vec<(String, Payload)>,
    pub(super) timeout: Duration,
    pub(super) protocol: u16,
    /// Where what passes is written down, and whether with its text.
    pub(super) trace: Option<(PathBuf, bool)>,
    /// Events as JSON are asked for.
    pub(super) json: bool,
}

/// Reads the command line.
///
/// # Errors
///
/// What is wrong with it, or the help that was asked for.
pub(super) fn parse() -> Result<Plan, clap::Error> {
    let matches = Args::command().try_get_matches()?;
    let args = Args::from_arg_matches(&matches)?;
    let usage = |why: String| Args::command().error(ErrorKind::ValueValidation, why);

    // Both kinds of prompts, in the order of the command line.
    let places = |name| matches.indices_of(name).into_iter().flatten();
    let mut prompts: Vec<(usize, String)> = places("prompt").zip(args.prompt).collect();
    for (place, path) in places("prompt_file").zip(args.prompt_file) {
        let text = std::fs::read_to_string(&path);
        prompts.push((place, text.map_err(|why| usage(format!("cannot read {}: {why}", path.display())))?));
    }
    prompts.sort_by_key(|(place, _)| *place);

    let mut calls = Vec::new();
    for pair in args.call.chunks_exact(2) {
        let [method, params] = pair else { continue };
        let parsed = Payload::parse(params.clone());
        calls.push((method.clone(), parsed.map_err(|why| usage(format!("--call {method}: {why}")))?));
    }
    let cwd = args.cwd.unwrap_or_else(|| PathBuf::from("."));
    let timeout = Duration::try_from_secs_f64(args.timeout).ok().filter(|timeout| !timeout.is_zero());
    let preset = args.agent.as_ref().and_then(|name| presets::named(name.to_str()?));
    let agent = match (preset, args.agent) {
        (Some(preset), _) => {
            preset.command(args.command).map_err(|why| usage(format!("this program cannot find itself: {why}")))?
        }
        (None, program) => program.into_iter().chain(args.command).collect(),
    };
    Ok(Plan {
        agent,
        install: preset.map(|preset| preset.install),
        cwd: cwd.canonicalize().map_err(|why| usage(format!("--cwd {}: {why}", cwd.display())))?,
        sessions: args.sessions,
        json: args.json || !prompts.is_empty(),
        prompts: prompts.into_iter().map(|(_, text)| text).collect(),
        permission: args.permission,
        cancel: CancelPlan {
            prompt: 0,
            after_updates: args.cancel_after_updates,
            after: args.cancel_after_ms.map(Duration::from_millis),
        },
        cancel_on_permission: args.cancel_on_permission,
        fs: args.caps.contains(&Service::Fs),
        terminal: args.caps.contains(&Service::Terminal),
        auth: args.auth,
        opening: match (args.load, args.resume) {
            (Some(id), _) => Opening::Load(id),
            (None, Some(id)) => Opening::Resume(id),
            (None, None) => Opening::New,
        },
        mode: args.mode,
        calls,
        trace: args.trace.map(|file| (file, !args.trace_no_text)),
        timeout: timeout.ok_or_else(|| usage("--timeout must be a number above 0".to_owned()))?,
        protocol: match args.protocol {
            0 => return Err(usage("--protocol must be above 0".to_owned())),
            version => version,
        },
    })
}

/// The plan of the demonstration: this program as the agent, and a turn of each kind.
///
/// # Errors
///
/// This program, or its directory, cannot be found.
pub(super) fn demonstration() -> std::io::Result<Plan> {
    let prompts = ["stream 6 120", "permission", "stream 1000000 0", "echo A cancel ends a turn, not the session."];
    Ok(Plan {
        agent: vec![std::env::current_exe()?.into(), super::AS_AGENT.into()],
        install: None,
        cwd: std::env::current_dir()?.canonicalize()?,
        sessions: 1,
        prompts: prompts.map(str::to_owned).into(),
        permission: Policy::Allow,
        cancel: CancelPlan { prompt: 2, after_updates: Some(4), after: None },
        cancel_on_permission: false,
        fs: false,
        terminal: false,
        auth: None,
        opening: Opening::New,
        mode: None,
        calls: Vec::new(),
        trace: None,
        timeout: Duration::from_secs(10),
        protocol: 1,
        json: false,
    })
}
