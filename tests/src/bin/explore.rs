//! Explores the pair in a scope of your choice:
//!
//! ```text
//! cargo run --release -p acp-tests --bin explore -- --prompts 3 --cancels 2 --permissions 2 --updates 1
//!     [--version 2] [--sessions 2] [--waiting 1 [--forward]] [--hand-out] [--endings] [--timers] [--says-cancelled] [--failures 1] [--limit STATES] [--mutant forgets|ignores|ends]
//! cargo run --release -p acp-tests --bin explore -- --gate      all scopes that are explored at every commit
//! cargo run --release -p acp-tests --bin explore -- --deep      the larger ones
//! ```

use std::{process::ExitCode, time::Instant};

use acp_tests::{
    explore::explore,
    pair::{Mutant, Pair, Scope},
};

/// Half of the time goes into copies of states, made by one thread and dropped by another.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

const ONE: Scope = Scope { cancels: 2, ..Scope::SMALL };

/// What is explored at every commit: all that is in the model, in two and three dimensions at a time.
const GATE: [Scope; 9] = [
    Scope { sessions: 2, ..ONE },
    Scope { sessions: 2, cancels: 1, updates: 0, endings: true, ..ONE },
    Scope { sessions: 2, cancels: 1, timers: true, ..ONE },
    Scope { permissions: 2, ..ONE },
    Scope { prompts: 3, ..ONE },
    Scope { hand_out: true, timers: true, ..ONE },
    Scope { endings: true, timers: true, cancels: 1, says_cancelled: true, ..ONE },
    Scope { waiting: 1, forward: true, ..ONE },
    Scope { failures: 1, ..ONE },
];

/// States that have to be explored at every commit.
const ENOUGH: usize = 1_000_000;

/// Ten times as much, and more, in both versions of the protocol: for a quarter of an hour, and in less than 12 GiB.
const DEEP: [(u16, Scope); 6] = [
    (1, Scope { sessions: 2, prompts: 3, ..ONE }),
    (1, Scope { sessions: 2, failures: 1, ..ONE }),
    (1, Scope { sessions: 2, endings: true, updates: 0, ..ONE }),
    (1, Scope { sessions: 2, waiting: 1, forward: true, updates: 0, ..ONE }),
    (2, Scope { sessions: 2, updates: 0, failures: 1, ..ONE }),
    (2, Scope { sessions: 2, ..ONE }),
];

fn all(scopes: impl IntoIterator<Item = (u16, Scope)>, enough: usize) -> Result<String, String> {
    let (started, mut states, mut edges) = (Instant::now(), 0, 0);
    for (version, scope) in scopes {
        let found = |found| format!("version {version}, {scope:?}\n{found}");
        let report = explore(&Pair::in_version(version, scope, None), 60_000_000).map_err(found)?;
        println!(
            "{:>9} states, {:>9} choices, depth {:>2}: version {version}, {scope:?}",
            report.states, report.edges, report.depth
        );
        states += report.states;
        edges += report.edges;
    }
    let seconds = started.elapsed().as_secs_f64();
    let sum = format!("{states} states, {edges} choices, in {seconds:.1} s");
    if states < enough { Err(format!("{sum}: fewer than {enough}")) } else { Ok(sum) }
}

fn run(mut args: impl Iterator<Item = String>) -> Result<String, String> {
    let mut scope = Scope { permissions: 2, ..ONE };
    let (mut mutant, mut limit, mut version) = (None, 20_000_000, 1);
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{flag} needs a value"));
        let number = |text: String| text.parse::<usize>().map_err(|why| format!("{text}: {why}"));
        match flag.as_str() {
            "--gate" => return all(GATE.map(|scope| (1, scope)), ENOUGH),
            "--deep" => return all(DEEP, 10 * ENOUGH),
            "--sessions" => scope.sessions = number(value()?)?,
            "--prompts" => scope.prompts = number(value()?)?,
            "--waiting" => scope.waiting = number(value()?)?,
            "--cancels" => scope.cancels = number(value()?)?,
            "--permissions" => scope.permissions = number(value()?)?,
            "--failures" => scope.failures = number(value()?)?,
            "--updates" => scope.updates = number(value()?)?,
            "--limit" => limit = number(value()?)?,
            "--version" => version = if value()? == "2" { 2 } else { 1 },
            "--forward" => scope.forward = true,
            "--hand-out" => scope.hand_out = true,
            "--timers" => scope.timers = true,
            "--endings" => scope.endings = true,
            "--says-cancelled" => scope.says_cancelled = true,
            "--mutant" => {
                mutant = Some(match value()?.as_str() {
                    "forgets" => Mutant::ForgetsPermissions,
                    "ignores" => Mutant::IgnoresCancel,
                    "ends" => Mutant::EndsAlthoughCancelled,
                    other => return Err(format!("no mutant {other}: forgets, ignores or ends")),
                });
            }
            other => return Err(format!("no flag {other}: see the top of tests/src/bin/explore.rs")),
        }
    }
    let started = Instant::now();
    let report = explore(&Pair::in_version(version, scope, mutant), limit).map_err(|found| found.to_string())?;
    let seconds = started.elapsed().as_secs_f64();
    Ok(format!("{scope:?}\n{report:#?}\n{seconds:.1} s"))
}
