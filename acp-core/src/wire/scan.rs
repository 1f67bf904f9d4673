//! The one piece of JSON that is read by hand: a walk over a line that finds the members of its envelope, and checks all
//! of it on the way.
//!
//! Well-formed is what `serde_json` takes for a raw value, to the byte: the grammar of RFC 8259, any depth, any range of
//! numbers, lone surrogates included. Nothing is decoded and no tree is built; what is found are slices of the line.
//! Everything that has a type goes through serde, from these slices, on demand.
//!
//! Why not serde for this too: it walks over a value once for each level that is looked into. Instructions for a chunk of
//! text from the wire to the action, with texts of 64 B, 1 KiB and 64 KiB (callgrind, x86-64, three escapes in 92 bytes):
//!
//! | | 64 B | 1 KiB | 64 KiB |
//! |---|---|---|---|
//! | borrowed serde | 7 630 | 16 218 | 687 925 |
//! | this walk, any order of members | 2 680 | 6 350 | 363 324 |
//! | the usual form of an update | 1 863 | 5 477 | 302 590 |

use alloc::vec::Vec;

use super::{
    object::string,
    special::{STRIDE, bits, block, find, first, letter},
};

/// A walk over the text of one line. Every step that meets what is not JSON answers `None`, and ends the walk.
pub(super) struct Walk<'a> {
    text: &'a str,
    at: usize,
    /// There was a line break between two tokens.
    pub(super) broken: bool,
}

/// What is open around a place, a bit each: an object, or an array. Depth costs memory of its own, and no stack.
#[derive(Default)]
struct Open {
    depth: usize,
    /// The innermost ones.
    bits: u64,
    outer: Vec<u64>,
}

impl Open {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth % 64 == 0 {
            self.outer.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.bits >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 && self.depth % 64 == 0 {
            self.bits = self.outer.pop().unwrap_or_default();
        }
    }

    const fn in_object(&self) -> bool {
        self.bits & 1 == 1
    }
}

impl<'a> Walk<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0, broken: false }
    }

    /// The next byte that is no white space, and where it is.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            match *bytes.get(self.at)? {
                b' ' | b'\t' => {}
                b'\n' | b'\r' => self.broken = true,
                byte => return Some(byte),
            }
            self.at += 1;
        }
    }

    /// The same, taken.
    #[inline]
    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Exactly this text.
    #[inline]
    pub(super) fn expect(&mut self, text: &str) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        rest.starts_with(text.as_bytes()).then(|| self.at += text.len())
    }

    /// Whether nothing but white space is left.
    pub(super) fn is_over(&mut self) -> bool {
        self.peek().is_none()
    }

    /// The rest of a string, behind its quote. Answers whether it has escapes.
    #[inline]
    pub(super) fn string(&mut self) -> Option<bool> {
        let bytes = self.text.as_bytes();
        // Names are short.
        match block(bytes, self.at).map(first) {
            Some(None) => self.long_string(false),
            Some(Some(found)) if bytes.get(self.at + found) == Some(&b'"') => {
                self.at += found + 1;
                Some(false)
            }
            _ => self.end_of_string(false),
        }
    }

    #[inline(never)]
    fn long_string(&mut self, mut escaped: bool) -> Option<bool> {
        let bytes = self.text.as_bytes();
        let mut start = self.at;
        while let Some(whole) = block::<STRIDE>(bytes, start) {
            let mut left = bits(whole);
            let mut next = start + STRIDE;
            while left != 0 {
                let place = left.trailing_zeros() as usize;
                match whole.get(place)? {
                    b'"' => {
                        self.at = start + place + 1;
                        return Some(escaped);
                    }
                    b'\\' => {
                        escaped = true;
                        let behind = place + escape(bytes, start + place)?;
                        if behind >= STRIDE {
                            next = start + behind;
                            break;
                        }
                        // What is behind the escape is still to be looked at.
                        left &= u64::MAX << behind;
                    }
                    _ => return None,
                }
            }
            start = next;
        }
        self.at = start;
        self.end_of_string(escaped)
    }

    fn end_of_string(&mut self, mut escaped: bool) -> Option<bool> {
        let bytes = self.text.as_bytes();
        loop {
            self.at = find(bytes, self.at);
            match bytes.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(escaped);
                }
                b'\\' => {
                    escaped = true;
                    self.at += escape(bytes, self.at)?;
                    if block::<STRIDE>(bytes, self.at).is_some() {
                        return self.long_string(escaped);
                    }
                }
                _ => return None,
            }
        }
    }

    fn digits(&mut self) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(())
    }

    /// A number, from its first byte on.
    fn number(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        self.at += usize::from(bytes.get(self.at) == Some(&b'-'));
        if bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        // `01` ends behind the zero, and what follows is no JSON.
        if bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(bytes.get(self.at), Some(b'+' | b'-')));
            self.digits()?;
        }
        Some(())
    }

    /// A key and the colon behind it.
    fn key(&mut self) -> Option<bool> {
        (self.next()? == b'"').then_some(())?;
        let escaped = self.string()?;
        (self.next()? == b':').then_some(escaped)
    }

    /// One value, with the white space in front of it.
    pub(super) fn value(&mut self) -> Option<&'a str> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'"' => {
                self.at += 1;
                self.string()?;
            }
            b'0'..=b'9' => self.number()?,
            _ => self.begin(Open::default())?,
        }
        self.text.get(start..self.at)
    }

    /// A value begins here, with this much open around it.
    fn begin(&mut self, mut open: Open) -> Option<()> {
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    self.string()?;
                }
                bracket @ (b'{' | b'[') => {
                    self.at += 1;
                    open.push(bracket == b'{');
                    // The ASCII codes of the brackets of a pair are two apart.
                    if self.peek()? != bracket + 2 {
                        if bracket == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                    self.at += 1;
                    open.pop();
                }
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.expect("true")?,
                b'f' => self.expect("false")?,
                b'n' => self.expect("null")?,
                _ => return None,
            }
            if self.end(&mut open)? {
                return Some(());
            }
        }
    }

    /// A value has ended: closes what ends with it. Answers whether nothing is open any more; if not, a value follows.
    #[inline]
    fn end(&mut self, open: &mut Open) -> Option<bool> {
        while open.depth > 0 {
            match (self.next()?, open.in_object()) {
                (b',', true) => return self.key().map(|_| false),
                (b',', false) => return Some(false),
                (b'}', true) | (b']', false) => open.pop(),
                _ => return None,
            }
        }
        Some(true)
    }

    /// What follows a value that stands in this many objects, up to the end of the outermost.
    pub(super) fn rest_of_objects(&mut self, depth: usize) -> Option<()> {
        let mut open = Open::default();
        (0..depth).for_each(|_| open.push(true));
        if self.end(&mut open)? { Some(()) } else { self.begin(open) }
    }

    /// Calls `each` with every member of an object, in order: the decoded key, and the text of the value. A key that does
    /// not decode (a lone surrogate) is given as it stands, quotes included.
    pub(super) fn members(&mut self, mut each: impl FnMut(&str, &'a str)) -> Option<()> {
        (self.next()? == b'{').then_some(())?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            self.peek()?;
            let start = self.at;
            (self.next()? == b'"').then_some(())?;
            let escaped = self.string()?;
            let raw = self.text.get(start..self.at)?;
            (self.next()? == b':').then_some(())?;
            let value = self.value()?;
            if escaped {
                each(&string(raw).unwrap_or(raw.into()), value);
            } else {
                each(raw.get(1..raw.len() - 1)?, value);
            }
            match self.next()? {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Calls `each` at the beginning of every element of an array; it has to take one value.
    pub(super) fn elements(&mut self, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        (self.next()? == b'[').then_some(())?;
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            self.peek()?;
            each(self)?;
            match self.next()? {
                b',' => {}
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Where the walk is.
    pub(super) const fn place(&self) -> usize {
        self.at
    }

    /// The text from a place up to here.
    pub(super) fn since(&self, place: usize) -> &'a str {
        self.text.get(place..self.at).unwrap_or_default()
    }

    /// Whether an object begins here.
    pub(super) fn is_at_object(&self) -> bool {
        self.text.as_bytes().get(self.at) == Some(&b'{')
    }

    /// Whether this was the last byte.
    pub(super) const fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Goes back to a place.
    pub(super) const fn back(&mut self, place: usize) {
        self.at = place;
    }
}

/// How long the escape is that begins at `at`.
#[inline]
fn escape(bytes: &[u8], at: usize) -> Option<usize> {
    let one = *bytes.get(at + 1)?;
    if letter(one).is_some() {
        return Some(2);
    }
    if one == b'u' { unicode_escape(bytes, at) } else { None }
}

#[inline(never)]
fn unicode_escape(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit).then_some(6)
}

/// What is JSON, without the white space around it.
pub(super) fn json(text: &str) -> Option<&str> {
    let mut walk = Walk::new(text);
    let value = walk.value()?;
    walk.is_over().then_some(value)
}

#[cfg(test)]
mod tests;
