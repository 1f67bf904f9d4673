//! Explores the pair in a scope of your choice; `--help` lists what a scope has.
//!
//! ```text
//! cargo run --release -p acp-tests --bin explore -- --prompts 3 --cancels 2 --permissions 2 --updates 1
//! cargo run --release -p acp-tests --bin explore -- --gate      all scopes that are explored at every commit
//! cargo run --release -p acp-tests --bin explore -- --deep      the larger ones
//! ```

use std::{process::ExitCode, time::Instant};

use acp_tests::{
    explore::explore,
    pair::{Pair, Scope, args::Asked},
};
use clap::Parser;

/// Explores both ends of a connection, the types that ship, in every order of what can happen.
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    asked: Asked,
    /// States that are too many
    #[arg(long, value_name = "N", default_value_t = 20_000_000)]
    limit: usize,
    /// All scopes that are explored at every commit
    #[arg(long)]
    gate: bool,
    /// The larger ones
    #[arg(long)]
    deep: bool,
}

/// Half of the time goes into copies of states, made by one thread and dropped by another.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(&Args::parse()) {
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
const GATE: [Scope; 10] = [
    Scope { sessions: 2, ..ONE },
    Scope { sessions: 2, cancels: 1, updates: 0, endings: true, ..ONE },
    Scope { sessions: 2, cancels: 1, timers: true, ..ONE },
    Scope { permissions: 2, ..ONE },
    Scope { prompts: 3, ..ONE },
    Scope { hand_out: true, timers: true, ..ONE },
    Scope { endings: true, timers: true, cancels: 1, says_cancelled: true, ..ONE },
    Scope { waiting: 1, forward: true, ..ONE },
    Scope { failures: 1, ..ONE },
    Scope { cancels: 1, slow: true, ..ONE },
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

fn run(args: &Args) -> Result<String, String> {
    if args.gate {
        return all(GATE.map(|scope| (1, scope)), ENOUGH);
    }
    if args.deep {
        return all(DEEP, 10 * ENOUGH);
    }
    let started = Instant::now();
    let report = explore(&args.asked.pair(), args.limit).map_err(|found| found.to_string())?;
    let seconds = started.elapsed().as_secs_f64();
    Ok(format!("{:?}\n{report:#?}\n{seconds:.1} s", args.asked.scope()))
}
