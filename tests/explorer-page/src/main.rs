//! The explored pair, to click through on the explorer page of [`stateright`], or to be counted by its checker:
//!
//! ```text
//! cargo run --release --manifest-path tests/explorer-page/Cargo.toml -- --permissions 1
//! cargo run --release --manifest-path tests/explorer-page/Cargo.toml -- --permissions 1 --check
//! ```
//!
//! The scope is said as to `explore`. With `--check` there is no page: both checkers explore the scope, and have to find
//! the same number of states and of choices, the same outcomes, and the same rule broken, if one is.

mod shown;

use std::{
    collections::BTreeSet,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use acp_tests::{
    explore::{Counterexample, Report, explore},
    pair::args::Asked,
};
use clap::Parser;
use stateright::{Checker, Model};

use self::shown::Page;

/// Half of the time goes into copies of states, made by one thread and dropped by another.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Click through all that can happen between the two ends, or have a second checker count it.
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    asked: Asked,
    /// No page: compare what both checkers find
    #[arg(long)]
    check: bool,
    /// Where the page is, on this machine only
    #[arg(long, value_name = "N", default_value_t = 3000)]
    port: u16,
}

fn main() -> ExitCode {
    let args = Args::parse();
    println!("{:?}", args.asked.scope());
    if args.check {
        return check(&args.asked);
    }
    println!("the page: http://localhost:{}", args.port);
    Page::to_look_at(args.asked.pair()).checker().threads(threads()).serve(("127.0.0.1", args.port));
    ExitCode::SUCCESS
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// What a checker found, as far as both can say it.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Kept {
        states: usize,
        choices: usize,
        outcomes: BTreeSet<&'static str>,
    },
    /// These rules are broken.
    Broken(BTreeSet<String>),
}

impl Found {
    /// Ours ends with the first rule that it finds broken, the other goes on.
    fn is_confirmed_by(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Broken(ours), Self::Broken(theirs)) => ours.is_subset(theirs),
            _ => self == other,
        }
    }
}

fn check(asked: &Asked) -> ExitCode {
    let started = Instant::now();
    let ours = by_ours(explore(&asked.pair(), usize::MAX));
    tell("ours", &ours, started.elapsed());
    let started = Instant::now();
    let theirs = by_stateright(Page::to_check(asked.pair()));
    tell("stateright", &theirs, started.elapsed());
    if ours.is_confirmed_by(&theirs) {
        println!("both found the same");
        return ExitCode::SUCCESS;
    }
    eprintln!("they differ:\n{ours:#?}\n{theirs:#?}");
    ExitCode::FAILURE
}

fn tell(who: &str, found: &Found, took: Duration) {
    let found = match found {
        Found::Kept { states, choices, outcomes } => {
            format!("{states} states, {choices} choices, {} outcomes", outcomes.len())
        }
        Found::Broken(rules) => format!("broken: {rules:?}"),
    };
    println!("{who:>10}: {found}, in {:.1} s", took.as_secs_f64());
}

fn by_ours(found: Result<Report, Box<Counterexample>>) -> Found {
    match found {
        Ok(Report { states, edges, outcomes, .. }) => Found::Kept { states, choices: edges, outcomes },
        Err(found) => {
            println!("{found}");
            Found::Broken([found.broken.rule.to_owned()].into())
        }
    }
}

fn by_stateright(page: Page) -> Found {
    let checker = page.checker().threads(threads()).spawn_bfs().join();
    let broken: BTreeSet<String> = checker.discoveries().into_keys().map(str::to_owned).collect();
    if !broken.is_empty() {
        return Found::Broken(broken);
    }
    // It counts the state in which all begins, and each that a choice leads to.
    let (states, reached) = (checker.unique_state_count(), checker.state_count());
    Found::Kept { states, choices: reached.saturating_sub(1), outcomes: checker.model().occurred() }
}
