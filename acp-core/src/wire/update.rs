//! The usual form of a `session/update`, which is what there is most of: no white space, and the members in the order of
//! the documents. One straight pass reads it, and notes where its parts are.

use super::scan::Walk;

pub(super) const HEAD: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":""#;
/// Where the params begin in a line.
const PARAMS: usize = 52;
/// Where the text of the session's id begins in the params.
const SESSION: usize = HEAD.len() - PARAMS;
pub(super) const UPDATE: &str = r#"","update":"#;
pub(super) const KIND: &str = r#"{"sessionUpdate":""#;
pub(super) const TEXT: &str = r#"","content":{"type":"text","text":""#;
/// From where the content of a chunk begins to its text.
const CONTENT: usize = r#"{"type":"text","text":""#.len();
/// Behind the text of a chunk, in the params.
const CLOSE: &str = r#""}}}"#;

/// Where the parts are of params that have the usual form: what was seen once needs no second look. It is nothing but a
/// memory of the text, and no part of what a payload is.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    /// Where the id of the session ends. 0: the form is another.
    session_end: u32,
    /// Where the text begins. 0: it is no chunk of text.
    text: u32,
}

/// The parts of a chunk of text, as they stand.
pub(super) struct Parts<'a> {
    pub(super) kind: &'a [u8],
    pub(super) text: &'a [u8],
    /// All of the content that has the text.
    pub(super) content: &'a [u8],
}

impl Seen {
    pub(super) const NOTHING: Self = Self { session_end: 0, text: 0 };

    /// The id of the session, which has no escapes.
    pub(super) fn session(self, params: &[u8]) -> Option<&[u8]> {
        if self.session_end == 0 {
            return None;
        }
        params.get(SESSION..self.session_end as usize)
    }

    /// The update.
    pub(super) fn update(self, params: &[u8]) -> Option<&[u8]> {
        if self.session_end == 0 {
            return None;
        }
        params.get(self.session_end as usize + UPDATE.len()..params.len().checked_sub(1)?)
    }

    /// The parts of a chunk of text.
    pub(super) fn chunk(self, params: &[u8]) -> Option<Parts<'_>> {
        if self.text == 0 {
            return None;
        }
        let (session_end, text) = (self.session_end as usize, self.text as usize);
        Some(Parts {
            kind: params.get(session_end + UPDATE.len() + KIND.len()..text.checked_sub(TEXT.len())?)?,
            text: params.get(text..params.len().checked_sub(CLOSE.len())?)?,
            content: params.get(text.checked_sub(CONTENT)?..params.len().checked_sub(2)?)?,
        })
    }
}

/// The params of a `session/update` in its usual form. `None`: it has another form, or is none, or no JSON.
pub(super) fn params(line: &str) -> Option<(&str, Seen)> {
    let mut walk = Walk::new(line);
    walk.expect(HEAD)?;
    plain(&mut walk)?;
    let session_end = walk.place() - 1 - PARAMS;
    walk.expect(UPDATE.get(1..)?)?;
    let place = walk.place();
    let mut text = 0;
    if let Some(start) = chunk(&mut walk) {
        if walk.expect("}}}}").is_some() {
            text = start - PARAMS;
        } else {
            // There is more about it.
            walk.rest_of_objects(2)?;
            walk.expect("}}")?;
        }
    } else {
        walk.back(place);
        walk.value()?;
        walk.expect("}}")?;
    }
    let seen = Seen { session_end: u32::try_from(session_end).ok()?, text: u32::try_from(text).ok()? };
    walk.is_at_end().then_some((line.get(PARAMS..line.len() - 1)?, seen))
}

/// The params of a call, if they are an object. Of them is known the session, if its id is the first member and comes once.
pub(super) fn params_of_call<'a>(walk: &mut Walk<'a>) -> Option<(&'a str, Seen)> {
    let start = walk.place();
    let (mut id, mut count) = ("", 0);
    walk.members(|key, value| {
        if key == "sessionId" {
            (id, count) = (value, count + 1);
        }
    })?;
    let params = walk.since(start);
    let mut seen = Seen::NOTHING;
    if count == 1 && params.starts_with(r#"{"sessionId":""#) && !id.contains('\\') {
        // Without its two quotes.
        seen.session_end = u32::try_from(SESSION + id.len() - 2).ok()?;
    }
    Some((params, seen))
}

/// A string without escapes.
fn plain(walk: &mut Walk<'_>) -> Option<()> {
    (!walk.string()?).then_some(())
}

/// The beginning of a chunk of text, up to the end of the text. Answers where the text begins.
fn chunk(walk: &mut Walk<'_>) -> Option<usize> {
    walk.expect(KIND)?;
    plain(walk)?;
    walk.expect(TEXT.get(1..)?)?;
    let start = walk.place();
    walk.string()?;
    Some(start)
}

#[cfg(test)]
mod tests {
    use super::params;

    #[test]
    fn the_usual_form_is_read_and_its_parts_are_known() {
        let head = r#"{"jsonrpc":"2.0","method":"session/update","params":"#;
        let chunk = r#"{"sessionUpdate":"k","content":{"type":"text","text":"a\"b"}}"#;
        let plan = r#"{"sessionUpdate":"plan","entries":[]}"#;
        for (line_params, session, parts) in [
            (alloc::format!(r#"{{"sessionId":"s","update":{chunk}}}"#), Some("s"), Some(("k", r#"a\"b"#))),
            (alloc::format!(r#"{{"sessionId":"","update":{plan}}}"#), Some(""), None),
            (
                r#"{"sessionId":"ü","update":{"sessionUpdate":"","content":{"type":"text","text":""},"messageId":[{}]}}"#
                    .into(),
                Some("ü"),
                None,
            ),
        ] {
            let line = alloc::format!("{head}{line_params}}}");
            let (found, seen) = params(&line).expect("the usual form");
            assert_eq!(found, line_params);
            let found = found.as_bytes();
            assert_eq!(seen.session(found), session.map(str::as_bytes));
            let update = seen.update(found).expect("the update");
            assert!(found.ends_with(&[update, b"}"].concat()) && update.starts_with(br#"{"sessionUpdate":""#));
            let chunk = seen.chunk(found);
            if let Some(chunk) = &chunk {
                assert_eq!(chunk.content, [br#"{"type":"text","text":""#, chunk.text, br#""}"#].concat());
            }
            let seen = chunk.map(|parts| (parts.kind, parts.text));
            assert_eq!(seen, parts.map(|(kind, text)| (kind.as_bytes(), text.as_bytes())));
        }
        for line_params in [
            alloc::format!(r#"{{"sessionId":"s","update":{chunk},"_meta":{{}}}}"#),
            alloc::format!(r#"{{"sessionId":"\u0061","update":{chunk}}}"#),
            alloc::format!(r#"{{"update":{chunk},"sessionId":"s"}}"#),
            alloc::format!(r#"{{"sessionId":"s", "update":{chunk}}}"#),
            r#"{"sessionId":"s","update":{"sessionUpdate":"k","content":{"type":"text","text":"a"}}}x"#.into(),
            r#"{"sessionId":"s","update":{"sessionUpdate":"k","content":{"type":"text","text":"a\x"}}}"#.into(),
        ] {
            assert!(params(&alloc::format!("{head}{line_params}}}")).is_none(), "{line_params}");
        }
    }
}
