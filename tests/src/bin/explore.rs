//! Explores the pair in a scope of your choice:
//!
//! ```text
//! cargo run --release -p acp-tests --bin explore -- --prompts 3 --cancels 2 --permissions 2 --updates 1
//!     [--waiting 1 [--forward]] [--hand-out] [--endings] [--says-cancelled] [--limit STATES] [--mutant forgets|ignores|ends]
//! ```

use std::{process::ExitCode, time::Instant};

use acp_tests::{
    explore::explore,
    pair::{Mutant, Pair, Scope},
};

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

fn run(mut args: impl Iterator<Item = String>) -> Result<String, String> {
    let mut scope = Scope {
        prompts: 2,
        waiting: 0,
        forward: false,
        cancels: 2,
        permissions: 2,
        updates: 1,
        hand_out: false,
        endings: false,
        says_cancelled: false,
    };
    let (mut mutant, mut limit) = (None, 20_000_000);
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{flag} needs a value"));
        let number = |text: String| text.parse::<usize>().map_err(|why| format!("{text}: {why}"));
        match flag.as_str() {
            "--prompts" => scope.prompts = number(value()?)?,
            "--waiting" => scope.waiting = number(value()?)?,
            "--cancels" => scope.cancels = number(value()?)?,
            "--permissions" => scope.permissions = number(value()?)?,
            "--updates" => scope.updates = number(value()?)?,
            "--limit" => limit = number(value()?)?,
            "--forward" => scope.forward = true,
            "--hand-out" => scope.hand_out = true,
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
    let report = explore(&Pair::new(scope, mutant), limit).map_err(|found| found.to_string())?;
    let seconds = started.elapsed().as_secs_f64();
    Ok(format!("{scope:?}\n{report:#?}\n{seconds:.1} s"))
}
