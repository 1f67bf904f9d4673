//! What may stand in front of a message and means nothing: white space, a byte order mark, and the escape sequences that
//! a program writes when it takes its standard output for a terminal.

/// `line` without white space around it, and without noise in front.
pub(super) fn without_noise(line: &str) -> &str {
    let mut rest = line.trim_matches(is_white);
    loop {
        let next =
            rest.strip_prefix('\u{feff}').or_else(|| after_escape(rest)).map(|next| next.trim_start_matches(is_white));
        match next {
            Some(next) => rest = next,
            None => return rest,
        }
    }
}

/// What JSON takes for white space.
const fn is_white(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// What follows the escape sequence (ECMA-48) that `text` begins with, if it does. No sequence takes a `{`: a broken one
/// must not take the message with it.
fn after_escape(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('\x1b')?;
    let is_middle = |c: char| (' '..='/').contains(&c);
    if let Some(control) = rest.strip_prefix('[') {
        let end = control.trim_start_matches(|c| ('0'..='?').contains(&c)).trim_start_matches(is_middle);
        return Some(end.strip_prefix(|c: char| ('@'..='~').contains(&c) && !"[{".contains(c)).unwrap_or(end));
    }
    if let Some(command) = rest.strip_prefix([']', 'P', 'X', '^', '_']) {
        // A title and the like: up to BEL or to `ESC \`. Any other escape ends it too.
        let (_, end) = command.split_at(memchr::memchr2(b'\x07', b'\x1b', command.as_bytes())?);
        return Some(end.strip_prefix('\x07').or_else(|| end.strip_prefix("\x1b\\")).unwrap_or(end));
    }
    let end = rest.trim_start_matches(is_middle);
    Some(end.strip_prefix(|c: char| ('0'..='~').contains(&c) && c != '{').unwrap_or(end))
}

#[cfg(test)]
mod tests {
    use super::without_noise;

    #[test]
    fn what_means_nothing_is_taken_off() {
        for line in [
            "{}",
            " \t{}\r\n",
            "\u{feff}{}",
            "\u{feff} \u{feff}{}",
            "\x1b[0m{}",
            "\x1b[?25l\x1b[1;31m {}",
            "\x1b[ q{}",
            "\x1b[200~{}",
            "\x1b[{}",
            "\x1b]0;a title {\x07{}",
            "\x1b]0;a title\x1b\\{}",
            "\x1bP1$r0m\x1b\\{}",
            "\x1b]0;cut short\x1b[0m{}",
            "\x1b7{}",
            "\x1b(B{}",
            "\x1b=\x1b>{}",
            "\x1b{}",
        ] {
            assert_eq!(without_noise(line), "{}", "{line:?}");
        }
    }

    #[test]
    fn the_rest_stays() {
        for (line, expected) in [
            ("", ""),
            (" \r\n", ""),
            ("\x1b[0m", ""),
            ("\x1b", ""),
            ("\x1b]0;without an end {}", "\x1b]0;without an end {}"),
            ("{}\x1b[0m", "{}\x1b[0m"),
            ("{} \u{feff}", "{} \u{feff}"),
            ("✓{}", "✓{}"),
            ("\x1b✓{}", "✓{}"),
            ("\x1b[[1]", "[1]"),
            ("\u{a0}{}", "\u{a0}{}"),
        ] {
            assert_eq!(without_noise(line), expected, "{line:?}");
        }
    }
}
