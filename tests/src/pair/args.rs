//! Which pair is explored, as flags of a program.

use clap::{Args, ValueEnum};

use super::{Mutant, Pair, Scope};

/// What is asked for: two sessions, prompts and cancels at most, as a rule, or the states are too many to wait for.
#[derive(Args, Clone, Copy, Debug)]
pub struct Asked {
    /// The version of the protocol
    #[arg(long, value_name = "1|2", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=2))]
    version: u16,
    /// Sessions that are open
    #[arg(long, value_name = "N", default_value_t = 1)]
    sessions: usize,
    /// Prompts of the client, in all sessions together
    #[arg(long, value_name = "N", default_value_t = 2)]
    prompts: usize,
    /// Prompts that may wait behind the one that runs
    #[arg(long, value_name = "N", default_value_t = 0)]
    waiting: usize,
    /// Those are sent at once, and wait at the agent
    #[arg(long)]
    forward: bool,
    /// Cancels of the client, Stop or Steer
    #[arg(long, value_name = "N", default_value_t = 2)]
    cancels: usize,
    /// Permission requests of the agent
    #[arg(long, value_name = "N", default_value_t = 2)]
    permissions: usize,
    /// Updates of the agent
    #[arg(long, value_name = "N", default_value_t = 1)]
    updates: usize,
    /// Handing out a frame is a step of its own
    #[arg(long)]
    hand_out: bool,
    /// The connection may end, in every way
    #[arg(long)]
    endings: bool,
    /// Every deadline may come before anything else happens
    #[arg(long)]
    timers: bool,
    /// The agent's host may say `cancelled` by itself
    #[arg(long)]
    says_cancelled: bool,
    /// Frames that are lost on their way
    #[arg(long, value_name = "N", default_value_t = 0)]
    failures: usize,
    /// Version 2: the agent's host may insert a prompt whenever it likes
    #[arg(long)]
    insert: bool,
    /// Hosts are slow: to take an action is a step of its own
    #[arg(long)]
    slow: bool,
    /// A fault that has to be found
    #[arg(long, value_enum)]
    mutant: Option<Named>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Named {
    /// A cancel forgets the open permissions
    Forgets,
    /// The agent ignores a cancel
    Ignores,
    /// The agent ends a turn although it was cancelled
    Ends,
}

impl Asked {
    /// How much there is to explore.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        let Self { sessions, prompts, waiting, forward, cancels, permissions, updates, .. } = *self;
        let Self { hand_out, endings, timers, says_cancelled, failures, insert, slow, .. } = *self;
        Scope {
            sessions,
            prompts,
            waiting,
            forward,
            cancels,
            permissions,
            updates,
            hand_out,
            endings,
            timers,
            says_cancelled,
            failures,
            insert,
            slow,
        }
    }

    /// The pair that is meant.
    #[must_use]
    pub fn pair(&self) -> Pair {
        let mutant = self.mutant.map(|named| match named {
            Named::Forgets => Mutant::ForgetsPermissions,
            Named::Ignores => Mutant::IgnoresCancel,
            Named::Ends => Mutant::EndsAlthoughCancelled,
        });
        Pair::in_version(self.version, self.scope(), mutant)
    }
}
