//! A client that runs an agent as its child and shows what happens: as JSON events for programs, as a transcript for
//! people.
//!
//! The shape of a client: one task sends, takes the actions in their order, and shows them. It never waits for two things
//! at once, because everything it waits for is an action, or a time.

mod args;
mod chat;
mod events;
mod files;
mod presets;
mod run;
mod services;
mod session;
mod show;
mod terminals;
mod turns;

use core::time::Duration;
use std::{
    io::{self, IsTerminal as _},
    path::Path,
    process::ExitCode,
};

use acp_core::{Client, Config, Side, machine::shutdown::Step};
use acp_tokio::{Actions, Grace, Handle, Running};

use self::{args::Plan, events::Event, run::Run, show::Output};
use crate::{
    echo,
    shape::widened,
    trace::{Recorder, Tap},
};

/// The argument with which this program is the agent of its own demonstration.
const AS_AGENT: &str = "__echo-agent";

/// How long an agent may take to go, once its stdin is closed; and then once it was told to.
const GRACE: Grace = Grace { stdin: Duration::from_millis(1500), terminate: Duration::from_millis(300) };

/// How many lines of its stderr are shown of an agent that is gone.
const LAST_WORDS: usize = 20;

/// How long the end of everything may take, the steps of [`GRACE`] included; then the agent is killed.
const END: Duration = Duration::from_secs(4);

/// Exit codes.
mod exit {
    pub(super) const OURS: u8 = 1;
    pub(super) const USAGE: u8 = 2;
    pub(super) const REFUSED: u8 = 3;
    pub(super) const TIMEOUT: u8 = 4;
    pub(super) const GONE: u8 = 5;
    /// As a shell says it of a program that SIGINT ended.
    pub(super) const INTERRUPTED: u8 = 130;
}

/// The program `drive`.
pub async fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == AS_AGENT) {
        return echo::serve(echo::Options::default()).await;
    }
    let demonstration = std::env::args_os().len() == 1;
    let plan = match demonstration {
        true => match args::demonstration() {
            Ok(plan) => plan,
            Err(why) => {
                eprintln!("drive: the demonstration needs to know where it runs: {why}");
                return exit::USAGE.into();
            }
        },
        false => match args::parse() {
            Ok(plan) => plan,
            Err(why) => {
                let _ = why.print();
                return if why.use_stderr() { exit::USAGE.into() } else { ExitCode::SUCCESS };
            }
        },
    };
    if !demonstration && !plan.json && chat::is_possible() {
        return talk(&plan).await.into();
    }
    let out = match demonstration || (!plan.json && io::stdout().is_terminal()) {
        true => Output::transcript(demonstration),
        false => Output::Json,
    };
    drive(&plan, out).await.into()
}

const PROGRAM: &str = concat!("drive ", env!("CARGO_PKG_VERSION"));

fn start_trace(recorder: &Recorder, file: &Path, text: bool) -> io::Result<()> {
    let told = |why: io::Error| io::Error::new(why.kind(), format!("the trace {}: {why}", file.display()));
    recorder.start(file, Side::Client, PROGRAM, text).map_err(told)
}

/// Starts the agent, with a recorder in between if there is one.
fn start(
    plan: &Plan,
    config: Config,
    recorder: Option<&Recorder>,
) -> io::Result<(Handle<Client>, Actions<Client>, Running)> {
    let (program, arguments) = plan.agent.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = acp_tokio::process::command(program);
    command.args(arguments).current_dir(&plan.cwd);
    if let (Some((file, text)), Some(recorder)) = (&plan.trace, recorder) {
        start_trace(recorder, file, *text)?;
    }
    let missing = |why: io::Error| match (why.kind(), plan.install) {
        (io::ErrorKind::NotFound, install) => {
            let install = install.map(|install| format!(" ({install})")).unwrap_or_default();
            io::Error::new(why.kind(), format!("there is no program {}{install}", program.display()))
        }
        _ => why,
    };
    let started = match recorder {
        None => acp_tokio::launch(command, config, GRACE),
        Some(recorder) => acp_tokio::launch_through(command, config, GRACE, |pipes| {
            let reader = Tap::new(pipes.stdout, Side::Agent, recorder.clone());
            (reader, Tap::new(pipes.stdin, Side::Client, recorder.clone()))
        }),
    };
    started.map_err(missing)
}

/// A chat, from the start of the agent until nothing is left of it. Gives the exit code.
async fn talk(plan: &Plan) -> u8 {
    let mut config = widened(Config::client());
    config.offer = Some(plan.protocol);
    if plan.protocol > 1 {
        config.versions = [1, 2].into_iter().collect();
    }
    // A person decides how long is too long.
    config.stop_confirm = None;
    config.drain = Duration::from_millis(200);
    let recorder = Recorder::idle();
    let (client, actions, running) = match start(plan, config, Some(&recorder)) {
        Ok(started) => started,
        Err(why) => {
            eprintln!("drive: {why}");
            return exit::GONE;
        }
    };
    let mut terminal = match chat::Terminal::open() {
        Ok(terminal) => terminal,
        Err(why) => {
            eprintln!("drive: no chat on this terminal: {why}");
            return exit::OURS;
        }
    };
    let mut ending = tokio::spawn(running.run());
    let chat = chat::Chat::new(plan, client.clone(), actions, &mut terminal, recorder);
    let over = tokio::select! {
        over = chat.run() => over,
        () = acp_tokio::terminated() => chat::Over { code: exit::INTERRUPTED, kill: false, session: None },
    };
    terminal.close();
    client.close();
    if over.kill {
        // Dropping what runs it kills its group.
        ending.abort();
    }
    let ended = tokio::time::timeout(END, &mut ending).await;
    if over.code == exit::GONE
        && let Ok(Ok(Ok(ended))) = &ended
    {
        let how = ended.status.map_or_else(|| "it hangs".to_owned(), |status| status.to_string());
        eprintln!("drive: the agent is gone: {how}");
        let lines: Vec<_> = ended.stderr.lines().collect();
        for line in lines.iter().skip(lines.len().saturating_sub(LAST_WORDS)) {
            eprintln!("  {line}");
        }
    }
    if let Some(session) = over.session.filter(|_| over.code == exit::GONE) {
        eprintln!("drive: --load {session} or --resume {session} goes on, if the agent has kept it");
    }
    over.code
}

/// One run, from the start of the agent until nothing is left of it. Gives the exit code.
async fn drive(plan: &Plan, mut out: Output) -> u8 {
    let recorder = plan.trace.as_ref().map(|_| Recorder::idle());
    let mut config = widened(Config::client());
    config.offer = Some(plan.protocol);
    if plan.protocol > 1 {
        // Asked for, not forced: an older agent answers with version 1, and the run goes on in it.
        config.versions = [1, 2].into_iter().collect();
    }
    // A cancel that the agent never confirms is a request that times out, like any other here.
    config.stop_confirm = Some(plan.timeout);
    // At the end nobody here has much to say any more.
    config.drain = Duration::from_millis(200);
    let (client, actions, running) = match start(plan, config, recorder.as_ref()) {
        Ok(started) => started,
        Err(why) => {
            let _ = out.show(&Event::Closed { r#where: "start", reason: why.to_string() });
            return exit::GONE;
        }
    };
    let mut ending = tokio::spawn(running.run());
    let mut run = Run::new(plan, client.clone(), actions, out);
    run.show(&Event::Started);
    let interrupted = tokio::select! {
        // Over: why was shown, and is in the exit code.
        _ = run.all() => false,
        () = acp_tokio::terminated() => true,
    };

    client.close();
    let ended = tokio::time::timeout(END, &mut ending).await;
    if ended.is_err() {
        // It does not even read what is left. Dropping what runs it kills its group.
        ending.abort();
        let _ = ending.await;
    }
    let code = if interrupted { exit::INTERRUPTED } else { run.exit() };
    let how = match ended {
        Ok(Ok(Ok(ended))) => {
            if code != 0 {
                eprint!("{}", ended.stderr);
            }
            let by = match ended.by {
                None => "by itself",
                Some(Step::CloseStdin) => "once its stdin was closed",
                Some(Step::Terminate) => "after SIGTERM",
                Some(Step::Kill) => "after SIGKILL",
            };
            ended.status.map_or_else(|| "it hangs".to_owned(), |status| format!("{status}, {by}"))
        }
        Ok(Ok(Err(why))) => why.to_string(),
        Ok(Err(_)) | Err(_) => "killed".to_owned(),
    };
    if code != 0 {
        eprintln!("drive: the agent's process is over: {how}");
    }
    run.show(&Event::Ended { how });
    code
}
