//! A command line of a configuration file or a prompt, split into words as a POSIX shell splits it. No shell runs: there
//! are no variables, no patterns, no redirections, and `NAME=value` is a word like any other.

use alloc::{string::String, vec::Vec};

/// Why a command line names no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandLineError {
    /// There is no word in it.
    #[error("the command line names no program")]
    Empty,
    /// A quote is opened and never closed.
    #[error("the command line has no closing {quote} for the one at byte {at}")]
    Unclosed {
        /// Which: `'` or `"`.
        quote: char,
        /// Where it is opened, in bytes from 0.
        at: usize,
    },
}

/// Splits a command line into the program and its arguments.
///
/// Words are split at blanks; `'…'` and `"…"` hold them together; a backslash takes the special meaning of what follows,
/// so that a path of Windows wants single quotes; a `#` at the start of a word begins a comment.
///
/// # Errors
///
/// It has no word, or a quote that is not closed; the error says which, and where.
///
/// ```
/// use acp_core::process::{CommandLineError, split_command_line};
///
/// let (program, arguments) = split_command_line(r#"npx -y "some agent" --flag='a b'"#)?;
/// assert_eq!((program.as_str(), arguments.as_slice()), ("npx", &["-y", "some agent", "--flag=a b"].map(String::from)[..]));
/// assert_eq!(split_command_line("npx 'oh"), Err(CommandLineError::Unclosed { quote: '\'', at: 4 }));
/// # Ok::<_, CommandLineError>(())
/// ```
pub fn split_command_line(line: &str) -> Result<(String, Vec<String>), CommandLineError> {
    match shell_words::split(line) {
        Ok(words) => {
            let mut words = words.into_iter();
            let program = words.next().ok_or(CommandLineError::Empty)?;
            Ok((program, words.collect()))
        }
        // Only a quote that is never closed is an error. It is opened where the longest good beginning ends.
        Err(_) => {
            let mut places = line.char_indices().rev();
            let opened =
                places.find(|(at, _)| line.get(..*at).is_some_and(|before| shell_words::split(before).is_ok()));
            let (at, quote) = opened.unwrap_or((0, '\''));
            Err(CommandLineError::Unclosed { quote, at })
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::{CommandLineError, split_command_line};

    #[test]
    fn a_quote_that_is_not_closed_is_named_with_its_place() {
        for (line, quote, at) in [
            ("'", '\'', 0),
            ("a \"b", '"', 2),
            ("a 'b' \"c 'd'", '"', 6),
            ("é\"b\\\"", '"', 2),
            ("a\\\" 'b", '\'', 4),
            ("it's", '\'', 2),
            ("# it's no quote in a comment\nb \"", '"', 31),
        ] {
            assert_eq!(split_command_line(line), Err(CommandLineError::Unclosed { quote, at }), "{line}");
        }
        let said = split_command_line("npx \"a").expect_err("it is open").to_string();
        assert_eq!(said, "the command line has no closing \" for the one at byte 4");
    }

    #[test]
    fn a_line_without_words_names_no_program() {
        for line in ["", " \t\n", "# nothing"] {
            assert_eq!(split_command_line(line), Err(CommandLineError::Empty), "{line:?}");
        }
    }

    #[test]
    fn no_shell_runs() {
        let (program, arguments) = split_command_line(r#"A=b $HOME *.rs "a\"b" '\' "" c\ d | e"#).expect("words");
        assert_eq!(program, "A=b");
        assert_eq!(arguments, ["$HOME", "*.rs", "a\"b", "\\", "", "c d", "|", "e"]);
    }
}
