//! What a driver saw while it waited: it tries everything each time, and tells the desk in one go.

use core::{fmt::Display, task::Poll};

use super::{Desk, Input};
use crate::{connection::Role, time::Timestamp};

/// All that happened while a driver waited for what [`Desk::next`] said. `E` is the runtime's error.
#[derive(Debug)]
#[must_use = "what is not told did not happen"]
pub struct Happened<E> {
    /// Whether bytes came; if none, the input is over.
    read: Option<Result<(), E>>,
    wrote: usize,
    flushed: bool,
    unwritable: Option<E>,
    stuck: bool,
    /// The clock or the host wants the desk asked again.
    pub called: bool,
}

impl<E> Default for Happened<E> {
    fn default() -> Self {
        Self { read: None, wrote: 0, flushed: false, unwritable: None, stuck: false, called: false }
    }
}

impl<E> Happened<E> {
    /// Whether to go on waiting.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        let written = self.wrote > 0 || self.flushed || self.stuck || self.unwritable.is_some();
        !written && self.read.is_none() && !self.called
    }

    /// Reads what is there. `attempt` reads into the memory that it is given and returns how many bytes came, none for the
    /// end of the input.
    pub fn read(&mut self, input: &mut Input, attempt: impl FnOnce(&mut [u8]) -> Poll<Result<usize, E>>) {
        if let Poll::Ready(read) = attempt(input.space()) {
            self.read = Some(read.map(|count| input.fill(count)));
        }
    }

    /// Writes what is taken at once, and flushes behind it if that is wanted. `attempt` writes the bytes that it is given
    /// and returns how many were taken, or flushes if there are none.
    pub fn write(&mut self, bytes: &[u8], flush: bool, mut attempt: impl FnMut(&[u8]) -> Poll<Result<usize, E>>) {
        loop {
            let rest = bytes.get(self.wrote..).unwrap_or_default();
            if rest.is_empty() && !flush {
                return;
            }
            match attempt(rest) {
                Poll::Pending => return,
                Poll::Ready(Err(error)) => return self.unwritable = Some(error),
                Poll::Ready(Ok(_)) if rest.is_empty() => return self.flushed = true,
                Poll::Ready(Ok(0)) => return self.stuck = true,
                Poll::Ready(Ok(taken)) => self.wrote += taken,
            }
        }
    }
}

impl<R: Role, A, P, T: Default> Desk<R, A, P, T> {
    /// What happened since [`Desk::next`] was asked, and where it was read into. Whatever happened, it is `now`.
    pub fn tell(&mut self, happened: Happened<impl Display>, input: &Input, now: Timestamp) {
        match happened.read {
            Some(Ok(())) => self.read(input.bytes(), now),
            Some(Err(error)) => self.read_failed(&error, now),
            None => {}
        }
        if happened.wrote > 0 {
            self.wrote(happened.wrote, now);
        }
        if happened.flushed {
            self.flushed();
        }
        if let Some(error) = happened.unwritable {
            self.write_failed(&error, now);
        }
        if happened.stuck {
            self.write_failed(&"no byte is taken", now);
        }
        self.timeout(now);
    }
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};
    use core::task::Poll;

    use super::{Happened, Input};

    type Attempts = Vec<usize>;

    /// Writes 5 bytes to somebody who answers this, and says how many bytes each attempt had.
    fn write(flush: bool, answers: &[Poll<Result<usize, ()>>]) -> (Happened<()>, Attempts) {
        let (mut happened, mut attempts) = (Happened::default(), Vec::new());
        let mut answers = answers.iter();
        happened.write(b"hello", flush, |bytes| {
            attempts.push(bytes.len());
            *answers.next().unwrap()
        });
        assert_eq!(answers.next(), None, "asked too seldom");
        (happened, attempts)
    }

    #[test]
    fn everything_is_written_before_it_is_flushed() {
        let (happened, attempts) = write(true, &[Poll::Ready(Ok(2)), Poll::Ready(Ok(3)), Poll::Ready(Ok(0))]);
        assert_eq!((attempts, happened.wrote, happened.flushed), (vec![5, 3, 0], 5, true));
        let (happened, attempts) = write(true, &[Poll::Ready(Ok(2)), Poll::Pending]);
        assert_eq!((attempts, happened.wrote, happened.flushed), (vec![5, 3], 2, false));
        let (happened, attempts) = write(false, &[Poll::Ready(Ok(5))]);
        assert_eq!((attempts, happened.wrote, happened.flushed), (vec![5], 5, false));
    }

    #[test]
    fn whatever_happens_ends_the_wait() {
        assert!(Happened::<()>::default().is_nothing());
        assert!(write(true, &[Poll::Pending]).0.is_nothing());
        for answer in [Ok(0), Err(())] {
            assert!(!write(true, &[Poll::Ready(answer)]).0.is_nothing());
        }
        assert!(!write(true, &[Poll::Ready(Ok(5)), Poll::Ready(Err(()))]).0.is_nothing());
        assert!(!write(true, &[Poll::Ready(Ok(1)), Poll::Pending]).0.is_nothing());
        let mut happened = Happened::<()>::default();
        happened.read(&mut Input::default(), |_| Poll::Ready(Ok(0)));
        assert!(!happened.is_nothing());
    }
}
