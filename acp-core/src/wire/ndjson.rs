//! A byte stream to lines (ACP, "Transports": one message a line, ended by `\n`).
//!
//! Every byte is looked at once, and copied into a block that the lines cut from it share. Only the line that is not
//! complete yet is held, and a line that is too long is not even held: its bytes go through a scanner that keeps who
//! waits for it.

use alloc::vec::Vec;
use core::{
    hash::{Hash, Hasher},
    mem,
};

use bytes::{Bytes, BytesMut};

use super::oversize::{Oversized, Scanner};

/// Bytes of a block that several lines share. A line that may become longer gets memory of its own, and takes it along.
const BLOCK: usize = 64 * 1024;

const BYTE_ORDER_MARK: [u8; 3] = *b"\xef\xbb\xbf";

/// Splits a byte stream at `\n`. One byte order mark at the start is taken off, and a `\r` in front of the `\n`.
///
/// Two of them that got the same bytes are equal, however the bytes were cut.
#[derive(Clone, Debug)]
pub struct Deframer {
    limit: usize,
    /// How many bytes of the mark have been read, as long as it can still become one.
    mark: Option<u8>,
    /// What is there of a line that may still fit. Empty if it is long.
    buffer: BytesMut,
    /// What is there of a long one, in memory that grows where it is: allocators do not copy that much.
    long: Vec<u8>,
    /// Set while a line that is too long goes by.
    scanner: Option<Scanner>,
}

/// What was between two line breaks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Framed {
    /// A line, without its line break; it may be empty.
    Line(Bytes),
    /// A line over the limit, of which only this is known.
    TooLong(Oversized),
}

impl Framed {
    /// A message of a transport that keeps messages apart: the limit is the same.
    #[must_use]
    pub fn whole(message: &Bytes, limit: usize) -> Self {
        if message.len() <= limit {
            return Self::Line(message.clone());
        }
        let mut scanner = Scanner::new(limit);
        scanner.feed(message);
        Self::TooLong(scanner.finish())
    }
}

impl PartialEq for Deframer {
    fn eq(&self, other: &Self) -> bool {
        let rest = |it: &Self| (it.limit, it.mark);
        rest(self) == rest(other) && self.begun() == other.begun() && self.scanner == other.scanner
    }
}

impl Eq for Deframer {}

impl Hash for Deframer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.limit, self.mark, self.begun(), &self.scanner).hash(state);
    }
}

impl Deframer {
    /// Lines may have `limit` bytes, line break excluded.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, mark: Some(0), buffer: BytesMut::new(), long: Vec::new(), scanner: None }
    }

    /// Takes bytes from `input` until a line is complete, and returns it. `None`: the input is used up.
    pub fn next(&mut self, input: &mut &[u8]) -> Option<Framed> {
        self.skip_mark(input);
        let end = memchr::memchr(b'\n', input);
        let (part, rest) = input.split_at_checked(end.unwrap_or(input.len())).unwrap_or((input, &[]));
        self.take(part, input.len(), end.is_none());
        *input = rest.get(1..).unwrap_or_default();
        end.and_then(|_| self.complete())
    }

    /// The stream has ended. What came after the last line break is a line too.
    pub fn finish(&mut self) -> Option<Framed> {
        self.give_up_mark();
        // What was given up has not been measured yet.
        self.take(&[], 0, false);
        if self.scanner.is_none() && self.begun().is_empty() {
            return None;
        }
        self.complete()
    }

    /// Bytes held: of the line that is not complete yet, or, below 16 KiB, about one that is too long.
    #[must_use]
    pub fn held(&self) -> usize {
        self.begun().len() + usize::from(self.mark.unwrap_or(0)) + self.scanner.as_ref().map_or(0, Scanner::held)
    }

    /// What is there of a line that may still fit.
    fn begun(&self) -> &[u8] {
        if self.long.is_empty() { &self.buffer } else { &self.long }
    }

    fn skip_mark(&mut self, input: &mut &[u8]) {
        while let (Some(read), Some((first, rest))) = (self.mark, input.split_first()) {
            match BYTE_ORDER_MARK.get(usize::from(read)) {
                Some(expected) if expected == first => {
                    *input = rest;
                    self.mark = (usize::from(read) + 1 < BYTE_ORDER_MARK.len()).then_some(read + 1);
                }
                _ => self.give_up_mark(),
            }
        }
    }

    /// What looked like the beginning of a mark was the beginning of a line.
    fn give_up_mark(&mut self) {
        let read = self.mark.take().map_or(0, usize::from);
        self.buffer.extend_from_slice(BYTE_ORDER_MARK.get(..read).unwrap_or_default());
    }

    /// Takes a part of a line, the last one or not. `ahead` bytes of input are there in all.
    fn take(&mut self, part: &[u8], ahead: usize, more: bool) {
        if let Some(scanner) = &mut self.scanner {
            scanner.feed(part);
            return;
        }
        let begun = self.begun();
        let length = begun.len() + part.len();
        // A carriage return at the end may be a part of the line break.
        let carriage_return = part.last().or(begun.last()) == Some(&b'\r');
        if length - usize::from(carriage_return) > self.limit {
            let mut scanner = Scanner::new(self.limit);
            scanner.feed(begun);
            scanner.feed(part);
            (self.buffer, self.long) = (BytesMut::new(), Vec::new());
            self.scanner = Some(scanner);
            return;
        }
        // One that does not end here is taken for long before it is, so that it is copied once.
        if self.long.is_empty() && length <= if more { BLOCK / 2 } else { BLOCK } {
            self.make_room(part.len(), ahead);
            self.buffer.extend_from_slice(part);
        } else {
            self.make_long_room(length);
            self.long.extend_from_slice(part);
        }
    }

    /// Doubles, so that bytes that come one by one are not copied again and again; but not beyond the limit.
    fn make_room(&mut self, more: usize, ahead: usize) {
        let length = self.buffer.len();
        // If all lines of the block are gone, the block can be used again.
        if self.buffer.capacity() - length >= more || self.buffer.try_reclaim(more) {
            return;
        }
        let wanted = if length == 0 && more == ahead && more > BLOCK / 2 {
            // A line that goes on behind a whole block: the next one will be here in a moment.
            2 * more
        } else {
            (2 * length).max(length + ahead.min(BLOCK))
        };
        let mut bigger = BytesMut::with_capacity(wanted.min(self.limit.saturating_add(1)).max(length + more));
        bigger.extend_from_slice(&self.buffer);
        self.buffer = bigger;
    }

    /// Makes room for a long line of this length: the limit, or a half of it, or a half of that and so on. So where it
    /// cannot grow in place, the old half and the new whole are never more than the limit and a half.
    fn make_long_room(&mut self, length: usize) {
        if self.long.capacity() < length {
            let mut wanted = self.limit.saturating_add(1).max(length);
            while wanted / 2 >= length.max(2 * BLOCK) {
                wanted /= 2;
            }
            self.long.reserve_exact(wanted - self.long.len());
        }
        self.long.extend_from_slice(&mem::take(&mut self.buffer));
    }

    fn complete(&mut self) -> Option<Framed> {
        if let Some(scanner) = self.scanner.take() {
            return Some(Framed::TooLong(scanner.finish_line()));
        }
        let mut line = match (self.long.is_empty(), self.buffer.is_empty()) {
            (false, _) => Bytes::from(mem::take(&mut self.long)),
            (true, false) => self.buffer.split().freeze(),
            (true, true) => return Some(Framed::Line(Bytes::new())),
        };
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        Some(Framed::Line(line))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::{BLOCK, Deframer, Framed};

    fn capacity(deframer: &Deframer) -> usize {
        deframer.buffer.capacity() + deframer.long.capacity()
    }

    #[test]
    fn the_buffer_of_a_long_line_goes_with_the_line() {
        let mut deframer = Deframer::new(16 << 20);
        let part = vec![b'x'; BLOCK];
        for count in 1..=200 {
            assert_eq!(deframer.next(&mut &part[..]), None);
            assert!(capacity(&deframer) <= (4 * BLOCK).max(2 * count * BLOCK), "{}", capacity(&deframer));
        }
        assert_eq!(deframer.held(), 200 * BLOCK);
        assert!(capacity(&deframer) <= (16 << 20) + 1, "{}", capacity(&deframer));
        let line = deframer.next(&mut &b"\n"[..]);
        assert!(matches!(line, Some(Framed::Line(line)) if line.len() == 200 * BLOCK));
        assert_eq!((deframer.held(), capacity(&deframer)), (0, 0));
    }

    #[test]
    fn a_line_over_the_limit_leaves_no_memory_behind() {
        let mut deframer = Deframer::new(4 * BLOCK);
        let part = vec![b'x'; BLOCK];
        for _ in 0..4 {
            assert_eq!(deframer.next(&mut &part[..]), None);
        }
        assert!(capacity(&deframer) <= 4 * BLOCK + 1, "{}", capacity(&deframer));
        assert_eq!(deframer.next(&mut &part[..]), None);
        assert_eq!(capacity(&deframer), 0);
        assert!(matches!(deframer.next(&mut &b"\n"[..]), Some(Framed::TooLong(_))));
    }

    #[test]
    fn a_long_line_grows_a_few_times_only_however_it_comes() {
        let mut deframer = Deframer::new(16 << 20);
        let mut grown = 0;
        for _ in 0..1 << 20 {
            let before = capacity(&deframer);
            assert_eq!(deframer.next(&mut &b"x"[..]), None);
            grown += usize::from(capacity(&deframer) != before);
        }
        assert!(grown <= 24, "{grown}");
    }

    #[test]
    fn how_a_line_was_cut_is_not_seen() {
        let line = vec![b'x'; BLOCK / 2 + 7];
        let (mut whole, mut cut) = (Deframer::new(BLOCK), Deframer::new(BLOCK));
        assert_eq!(
            (whole.next(&mut &line[..]), cut.next(&mut &line[..7]), cut.next(&mut &line[7..])),
            (None, None, None)
        );
        assert_eq!(whole, cut);
        assert_eq!(whole.next(&mut &b"\n"[..]), cut.next(&mut &b"\n"[..]));
        assert_eq!(whole, cut);
    }

    #[test]
    fn a_block_whose_lines_are_gone_is_used_again() {
        let mut deframer = Deframer::new(1024);
        let block = |deframer: &mut Deframer| {
            let mut input = &b"0123456789abcde\n"[..];
            let Some(Framed::Line(line)) = deframer.next(&mut input) else { panic!("a line") };
            line.as_ptr()
        };
        let first = block(&mut deframer);
        assert!((0..100).all(|_| block(&mut deframer) == first));
    }
}
