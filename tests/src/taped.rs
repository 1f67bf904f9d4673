//! A connection that is recorded all its life, and replayed when it is dropped: so every test on a bench is also one that
//! the same inputs give the same outputs, and that the texts can be taken out of what it recorded.

use core::{
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicBool, Ordering},
};
use std::{collections::BTreeMap, thread};

use acp_core::{
    Config, Connection, Role,
    replay::{ReplayError, redact, replay},
};
use serde_json::value::RawValue;

/// A recorded connection.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Taped<R: Role>(Connection<R>);

/// A recording that grows beyond this is replayed up to there.
const ROOM: usize = 1 << 20;

static OFF: AtomicBool = AtomicBool::new(false);

/// From now on nothing is recorded in this program: it counts bytes, or looks at millions of connections.
pub fn off() {
    OFF.store(true, Ordering::Relaxed);
}

static DAMAGED: AtomicBool = AtomicBool::new(false);

/// This program feeds damaged lines, whose texts may decide what happens: without them it may be something else.
pub fn damaged() {
    DAMAGED.store(true, Ordering::Relaxed);
}

impl<R: Role> Taped<R> {
    /// A fresh connection.
    ///
    /// # Panics
    ///
    /// The configuration is impossible.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let mut conn = Connection::new(config).expect("a possible configuration");
        assert!(OFF.load(Ordering::Relaxed) || conn.record(ROOM), "it is fresh");
        Self(conn)
    }
}

impl<R: Role> Taped<R> {
    /// A copy that is not recorded, while no actions wait.
    #[must_use]
    pub fn fork(&self) -> Option<Self> {
        self.0.fork().map(Self)
    }
}

impl<R: Role> Deref for Taped<R> {
    type Target = Connection<R>;

    fn deref(&self) -> &Connection<R> {
        &self.0
    }
}

impl<R: Role> DerefMut for Taped<R> {
    fn deref_mut(&mut self) -> &mut Connection<R> {
        &mut self.0
    }
}

impl<R: Role> Drop for Taped<R> {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        // Not if a test has taken the beginning.
        let recording = self.0.take_recording().filter(|recording| recording.starts_with(r#"{"acp_recording""#));
        if let Some(recording) = recording {
            check(&recording);
        }
    }
}

/// Replays a recording, takes its texts out, and replays that. In tests, what was emitted is also read with the official
/// types.
///
/// # Panics
///
/// Either does something else than was recorded, or what was emitted is not as the schema says.
pub fn check(recording: &str) {
    #[cfg(feature = "schema")]
    crate::schema::check(recording);
    let replayed = replay(recording);
    assert!(replayed.is_ok(), "{}\n{recording}", replayed.unwrap_err());
    match redact(recording) {
        Ok(redacted) => {
            assert!(replay(&redacted).is_ok(), "{redacted}");
            if !DAMAGED.load(Ordering::Relaxed) {
                same_but_for_texts(recording, &redacted);
            }
        }
        Err(why @ ReplayError::Line { .. }) => panic!("{why}\n{recording}"),
        Err(why) => panic!("{why}"),
    }
}

/// The same calls, the same deadlines, as many frames and actions.
fn same_but_for_texts(recording: &str, redacted: &str) {
    let whole = |text: &str| text.lines().skip(1).filter(|line| *line != r#"{"torn":true}"#).map(outline).collect();
    let (recorded, redacted_outline): (Vec<String>, Vec<String>) = (whole(recording), whole(redacted));
    for (recorded, redacted) in recorded.iter().zip(&redacted_outline) {
        assert_eq!(recorded, redacted, "\n{recording}\n{redacted}");
    }
    assert_eq!(recorded.len(), redacted_outline.len(), "\n{recording}\n{redacted}");
}

/// What stays of a line: the call, its time and deadline, and which kind of action it gave.
fn outline(line: &str) -> String {
    let line: BTreeMap<&str, &RawValue> = serde_json::from_str(line).expect("a line of a recording");
    let told: String = line.get("told").and_then(|told| serde_json::from_str(told.get()).ok()).unwrap_or_default();
    let told = told.split(['{', '(', ' ']).next().unwrap_or_default();
    let [at, what, due, cause] = ["at", "do", "due", "cause"].map(|name| line.get(name).map_or("", |raw| raw.get()));
    format!("{at} {what} {due} {cause} {told}")
}
