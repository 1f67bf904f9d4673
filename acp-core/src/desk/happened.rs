//! What a driver saw while it waited: it tries everything each time, and tells the desk in one go.

use core::{fmt::Display, task::Poll};

use super::{Desk, Input, Round};
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
    /// Whether to tell the desk; if not, the wait goes on, and what happened so far is told with what will.
    #[must_use]
    pub const fn is_news(&self, round: &Round) -> bool {
        let written = self.wrote > 0 || self.flushed;
        let failed = self.stuck || self.unwritable.is_some();
        self.read.is_some() || self.called || failed || (written && round.hurry)
    }

    /// Reads what is there. `attempt` reads into the memory that it is given and returns how many bytes came, none for the
    /// end of the input.
    pub fn read(&mut self, input: &mut Input, attempt: impl FnOnce(&mut [u8]) -> Poll<Result<usize, E>>) {
        if let Poll::Ready(read) = attempt(input.space()) {
            self.read = Some(read.map(|count| input.fill(count)));
        }
    }

    /// Writes what is taken at once, and flushes behind it if that is wanted; what was done before is not done again.
    /// `attempt` writes the bytes that it is given and returns how many were taken, or flushes if there are none.
    pub fn write(&mut self, round: &Round, mut attempt: impl FnMut(&[u8]) -> Poll<Result<usize, E>>) {
        loop {
            let rest = round.write.get(self.wrote..).unwrap_or_default();
            if rest.is_empty() && (self.flushed || !round.flush) {
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
    }
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};
    use core::task::Poll;

    use bytes::Bytes;

    use super::{Happened, Input, Round};

    type Attempts = Vec<usize>;

    const fn round(flush: bool, hurry: bool) -> Round {
        Round { read: false, write: Bytes::from_static(b"hello"), flush, hurry, until: None }
    }

    /// Writes to somebody who answers this, and says how many bytes each attempt had.
    fn write(happened: &mut Happened<()>, flush: bool, answers: &[Poll<Result<usize, ()>>]) -> Attempts {
        let mut attempts = Vec::new();
        let mut answers = answers.iter();
        happened.write(&round(flush, false), |bytes| {
            attempts.push(bytes.len());
            *answers.next().unwrap()
        });
        assert_eq!(answers.next(), None, "asked too seldom");
        attempts
    }

    fn written(flush: bool, answers: &[Poll<Result<usize, ()>>]) -> (Happened<()>, Attempts) {
        let mut happened = Happened::default();
        let attempts = write(&mut happened, flush, answers);
        (happened, attempts)
    }

    #[test]
    fn everything_is_written_before_it_is_flushed() {
        let (happened, attempts) = written(true, &[Poll::Ready(Ok(2)), Poll::Ready(Ok(3)), Poll::Ready(Ok(0))]);
        assert_eq!((attempts, happened.wrote, happened.flushed), (vec![5, 3, 0], 5, true));
        let (happened, attempts) = written(true, &[Poll::Ready(Ok(2)), Poll::Pending]);
        assert_eq!((attempts, happened.wrote, happened.flushed), (vec![5, 3], 2, false));
        let (happened, attempts) = written(false, &[Poll::Ready(Ok(5))]);
        assert_eq!((attempts, happened.wrote, happened.flushed), (vec![5], 5, false));
    }

    #[test]
    fn what_was_written_before_is_not_written_again() {
        let (mut happened, _) = written(true, &[Poll::Ready(Ok(2)), Poll::Pending]);
        assert_eq!(write(&mut happened, true, &[Poll::Ready(Ok(3)), Poll::Pending]), [3, 0]);
        assert_eq!(write(&mut happened, true, &[Poll::Ready(Ok(0))]), [0]);
        assert_eq!(write(&mut happened, true, &[]), [] as [usize; 0]);
        assert_eq!((happened.wrote, happened.flushed), (5, true));
    }

    #[test]
    fn what_is_news_ends_the_wait_and_what_was_written_is_news_only_in_a_hurry() {
        let is_news = |happened: &Happened<()>| [false, true].map(|hurry| happened.is_news(&round(true, hurry)));
        assert_eq!(is_news(&Happened::default()), [false, false]);
        assert_eq!(is_news(&written(true, &[Poll::Pending]).0), [false, false]);
        for answer in [Ok(0), Err(())] {
            assert_eq!(is_news(&written(true, &[Poll::Ready(answer)]).0), [true, true]);
        }
        assert_eq!(is_news(&written(true, &[Poll::Ready(Ok(5)), Poll::Ready(Err(()))]).0), [true, true]);
        assert_eq!(is_news(&written(true, &[Poll::Ready(Ok(1)), Poll::Pending]).0), [false, true]);
        assert_eq!(is_news(&written(true, &[Poll::Ready(Ok(5)), Poll::Ready(Ok(0))]).0), [false, true]);
        let mut happened = Happened::default();
        happened.read(&mut Input::default(), |_| Poll::Ready(Ok(0)));
        assert_eq!(is_news(&happened), [true, true]);
    }
}
