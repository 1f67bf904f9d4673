//! Conformance of somebody's agent or client, driven over raw lines by a scripted peer that uses no connection of ours.
//!
//! Every check starts the program anew. It plays one scene, correct or with a planted fault, and looks at what comes back;
//! then the linter of traces reads all that passed, so that a check of one rule finds the breach of another, too. A check
//! says which rule it stands for and where that is written.

pub mod agent;
mod agent_sessions;
mod agent_turns;
mod agent_v2;
mod agent_wire;
pub mod client;
mod client_scenes;
mod peer;
mod report;
mod wire;

use core::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use std::{ffi::OsString, path::PathBuf};

use acp_core::Side;
use acp_examples::trace::{
    Severity,
    check::{self, Place},
    read,
};

pub use self::report::{junit, tap};

/// How much a check counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The protocol, or JSON-RPC, demands it; or the program would not survive its peers without.
    Must,
    /// The protocol recommends it.
    Should,
}

/// What a check is, without what it does.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name: `A` and a number for agents, `C` and a number for clients.
    pub id: &'static str,
    /// How much it counts.
    pub weight: Weight,
    /// What is checked, as a sentence.
    pub title: &'static str,
    /// Where version 1 says so. `None`: it does not.
    pub v1: Option<Place>,
    /// Where version 2 says so. `None`: it does not.
    pub v2: Option<Place>,
    /// Rules of the linter that are not applied here, because the scene provokes a breach of them.
    pub without: &'static [&'static str],
}

impl About {
    /// Where the rule stands in this version. `None`: it is no rule there.
    #[must_use]
    pub const fn place(&self, version: u16) -> Option<Place> {
        if version >= 2 { self.v2 } else { self.v1 }
    }
}

/// Why a check did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The rule is broken.
    Fail(String),
    /// There is nothing to check: what is needed is not offered, or was not said.
    Skip(String),
}

impl<T: Into<String>> From<T> for Stop {
    fn from(why: T) -> Self {
        Self::Fail(why.into())
    }
}

/// What a check came to; a remark, if it passed.
pub type Outcome = Result<String, Stop>;

/// One check, done.
#[derive(Clone, Debug)]
pub struct Done {
    /// Which one.
    pub about: About,
    /// Where its rule stands in the version that was checked.
    pub place: Place,
    /// What it came to.
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
}

impl Done {
    /// Whether a must was broken.
    #[must_use]
    pub const fn is_bad(&self) -> bool {
        matches!((self.about.weight, &self.outcome), (Weight::Must, Err(Stop::Fail(_))))
    }
}

/// What is checked, and how.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The program and its arguments. Of a client: `{agent}` among them stands for the command of the agent to start;
    /// without it, `--` and that command are appended.
    pub command: Vec<OsString>,
    /// A directory for sessions.
    pub cwd: PathBuf,
    /// How long any answer may take.
    pub timeout: Duration,
    /// A prompt that the agent answers in a moment.
    pub prompt: String,
    /// A prompt whose answer streams in for long. Without it, most checks of cancels are skipped.
    pub slow: Option<String>,
    /// A prompt for which the agent asks for permission. Without it, the checks of permissions are skipped.
    pub permission: Option<String>,
    /// The way to log in, if the agent demands that.
    pub auth: Option<String>,
    /// Where the traces of all checks are kept. Default: nowhere.
    pub traces: Option<PathBuf>,
    /// The version of the protocol to ask for: 1 or 2.
    pub version: u16,
    /// Only checks whose name begins with one of these. None: all.
    pub only: Vec<String>,
}

impl Setup {
    /// What is needed for a command, with everything else at its default.
    #[must_use]
    pub fn new(command: Vec<OsString>) -> Self {
        Self {
            command,
            cwd: std::env::temp_dir(),
            timeout: Duration::from_secs(10),
            prompt: "Say hello.".to_owned(),
            slow: None,
            permission: None,
            auth: None,
            traces: None,
            version: 1,
            only: Vec::new(),
        }
    }

    /// Where the rule of a check stands, if the check is wanted.
    fn wants(&self, about: &About) -> Option<Place> {
        let is_wanted = self.only.is_empty() || self.only.iter().any(|prefix| about.id.starts_with(prefix.as_str()));
        about.place(self.version).filter(|_| is_wanted)
    }

    /// Where the trace of a check is written, and whether it is kept. One that is not is nobody else's: checks may run side
    /// by side.
    fn trace(&self, about: &About) -> (PathBuf, bool) {
        static LAST: AtomicU64 = AtomicU64::new(0);
        match &self.traces {
            Some(folder) => (folder.join(format!("{}.ndjson", about.id)), true),
            None => {
                let (process, number) = (std::process::id(), LAST.fetch_add(1, Ordering::Relaxed));
                let name = format!("acp-conform-{process}-{number}-{}.ndjson", about.id);
                (std::env::temp_dir().join(name), false)
            }
        }
    }
}

/// What the linter says against `side` in a trace; nothing, if that cannot be read.
fn lint(trace: &std::path::Path, side: Side, about: &About) -> Result<(), Stop> {
    let Ok(text) = std::fs::read_to_string(trace) else { return Ok(()) };
    let Ok(log) = read(&text, None) else { return Ok(()) };
    let found = check::check(&log).findings.into_iter().find(|finding| {
        finding.by == side && finding.severity == Severity::Error && !about.without.contains(&finding.rule.name)
    });
    found.map_or(Ok(()), |finding| Err(Stop::Fail(format!("the trace, line {finding}"))))
}
