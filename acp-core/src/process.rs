//! Layer 5: what adapters that own an agent's process keep beside it: how far its end has got, and the last that it said
//! on stderr. Plain data: no process, no clock, no signal.

#[cfg(feature = "command-line")]
mod command_line;

use alloc::{collections::VecDeque, vec::Vec};
use core::time::Duration;

#[cfg(feature = "command-line")]
pub use self::command_line::{CommandLineError, split_command_line};
use crate::{
    machine::{
        Machine as _,
        shutdown::{Input, Shutdown, Step},
    },
    time::Timestamp,
};

/// How much of stderr is kept, in bytes: 64 KiB, the last ones.
pub const TAIL: usize = 64 << 10;
/// How many bytes of stderr are read at once, and passed on as one piece.
pub const PIECE: usize = 8 << 10;
/// How many pieces of stderr wait for a slow taker before it misses the oldest.
pub const PIECES: usize = 64;
/// How long stderr is still read after the exit, and for how long stdout may be silent then, when something that escaped
/// the group holds them open.
pub const LINGER: Duration = Duration::from_millis(500);
/// More than a pipe holds: what is read beyond it was written after the exit.
const PIPE: u64 = 1 << 20;
/// How long SIGKILL may take to show. Only a process that hangs in the kernel needs longer.
const KILL: Duration = Duration::from_secs(5);

/// How long each step of a shutdown is given to work before the next. Default: 5 s each, as in the field. Zero goes on at
/// once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    /// From the closing of stdin to SIGTERM.
    pub stdin: Duration,
    /// From SIGTERM to SIGKILL.
    pub terminate: Duration,
}

impl Default for Grace {
    fn default() -> Self {
        Self { stdin: Duration::from_secs(5), terminate: Duration::from_secs(5) }
    }
}

/// The end of one process: the [`Shutdown`] machine with its graces on the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    machine: Shutdown,
    grace: Grace,
    due: Option<Timestamp>,
    by: Option<Step>,
}

impl Departure {
    /// Of a process that runs.
    #[must_use]
    pub const fn new(grace: Grace) -> Self {
        Self { machine: Shutdown::Running, grace, due: None, by: None }
    }

    /// Gives the machine its input, and has `take` do what it says. `take` tells whether there is such a step on this
    /// system; if not, the next one is due at once.
    pub fn step(&mut self, input: Input, now: Timestamp, take: impl FnOnce(Step) -> bool) {
        // Refused is only an `Expired` with no grace running, which is too late to matter.
        let Ok(output) = self.machine.step(input) else { return };
        if input != Input::Begin {
            self.due = None;
        }
        let Some(step) = output.step else { return };
        let grace = match (take(step), step) {
            (false, _) => Duration::ZERO,
            (true, Step::CloseStdin) => self.grace.stdin,
            (true, Step::Terminate) => self.grace.terminate,
            (true, Step::Kill) => KILL,
        };
        if output.wait {
            self.by = Some(step);
            self.due = Some(now + grace);
        }
    }

    /// When the grace of the last step is over. `None` after SIGKILL: it survived even that.
    #[must_use]
    pub const fn due(&self) -> Option<Timestamp> {
        self.due
    }

    /// The last step taken while the process ran.
    #[must_use]
    pub const fn by(&self) -> Option<Step> {
        self.by
    }

    /// Whether the process has exited.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.machine == Shutdown::Reaped
    }
}

/// Whether the last bytes of stdout were read, for when the process has exited and its stdout does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastBytes {
    at_exit: u64,
    seen: u64,
}

impl LastBytes {
    /// The process has exited, and this many bytes were read so far.
    #[must_use]
    pub const fn new(read: u64) -> Self {
        Self { at_exit: read, seen: read }
    }

    /// To be asked after each [`LINGER`]. While the reading waits for a host that is `behind`, silence proves nothing.
    pub const fn were_read(&mut self, read: u64, behind: bool) -> bool {
        let silent = read == self.seen && !behind;
        self.seen = read;
        silent || read.wrapping_sub(self.at_exit) > PIPE
    }
}

/// The last [`TAIL`] bytes of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail(VecDeque<u8>);

impl Tail {
    /// With nothing in it.
    #[must_use]
    pub const fn new() -> Self {
        Self(VecDeque::new())
    }

    /// More of the stream.
    pub fn push(&mut self, piece: &[u8]) {
        let piece = piece.get(piece.len().saturating_sub(TAIL)..).unwrap_or_default();
        let excess = (self.0.len() + piece.len()).saturating_sub(TAIL);
        self.0.drain(..excess.min(self.0.len()));
        self.0.extend(piece);
    }

    /// The bytes, oldest first.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.0.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};
    use core::time::Duration;

    use super::{Departure, Grace, Input, LastBytes, PIPE, Step, TAIL, Tail};
    use crate::time::Timestamp;

    const GRACE: Grace = Grace { stdin: Duration::from_millis(10), terminate: Duration::from_millis(20) };

    #[test]
    fn each_step_has_its_grace_and_one_that_does_not_exist_has_none() {
        for (exists, graces) in [(true, [10, 20, 5000]), (false, [10, 0, 5000])] {
            let mut departure = Departure::new(GRACE);
            let mut now = Timestamp::from_millis(1);
            let mut taken = Vec::new();
            for (input, grace) in [Input::Begin, Input::Expired, Input::Expired].into_iter().zip(graces) {
                departure.step(input, now, |step| {
                    taken.push(step);
                    step != Step::Terminate || exists
                });
                assert_eq!(departure.due(), Some(now + Duration::from_millis(grace)));
                assert_eq!(departure.by(), taken.last().copied());
                now = now + Duration::from_millis(grace);
            }
            assert_eq!(taken, [Step::CloseStdin, Step::Terminate, Step::Kill]);
            departure.step(Input::Expired, now, |_| panic!("there is nothing harder"));
            assert_eq!((departure.due(), departure.is_over()), (None, false));
        }
    }

    #[test]
    fn beginning_again_keeps_the_deadline_and_an_exit_ends_it() {
        let mut departure = Departure::new(GRACE);
        departure.step(Input::Begin, Timestamp::ZERO, |_| true);
        let due = departure.due();
        departure.step(Input::Begin, Timestamp::from_millis(5), |_| panic!("it was begun"));
        assert_eq!(departure.due(), due);
        let mut last = None;
        departure.step(Input::Exited, Timestamp::from_millis(6), |step| {
            last = Some(step);
            true
        });
        assert_eq!((last, departure.due(), departure.is_over()), (Some(Step::Kill), None, true));
        assert_eq!(departure.by(), Some(Step::CloseStdin), "what is left behind is killed; the process went before");
    }

    #[test]
    fn the_last_bytes_were_read_after_a_silence_that_is_not_the_hosts_or_after_a_pipeful() {
        let mut last = LastBytes::new(10);
        assert!(!last.were_read(10, true), "the host is behind");
        assert!(!last.were_read(20, false), "there were more");
        assert!(!last.were_read(10 + PIPE, false), "a pipe may hold as many");
        assert!(last.were_read(10 + PIPE, false), "silence");
        assert!(last.were_read(11 + PIPE, true), "nobody who has exited wrote these");
    }

    #[test]
    fn a_tail_keeps_the_last_bytes() {
        let mut tail = Tail::new();
        tail.push(b"gone");
        tail.push(&vec![b'x'; TAIL - 1]);
        tail.push(b"END");
        let kept = tail.to_vec();
        assert!(kept.len() == TAIL && kept.starts_with(b"xxx") && kept.ends_with(b"xEND"));
        tail.push(&[vec![b'a'; TAIL], vec![b'b'; TAIL]].concat());
        assert_eq!(tail.to_vec(), vec![b'b'; TAIL]);
    }
}
