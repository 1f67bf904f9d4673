//! How a program is named: by itself, with its arguments to follow, or by a command line.
//!
//! Both adapters have this file: one of them has a link to it.

use std::ffi::OsStr;
use std::io;

use acp_core::process::split_command_line;

use crate::runtime::Command;

/// A command that runs this program, found as the system's shell finds it.
///
/// On Windows that is by the extensions in `PATHEXT`, so that `npx` is `npx.cmd`; elsewhere it is what
/// [`Command::new`] does anyway.
#[must_use]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let program = program.as_ref();
    #[cfg(windows)]
    // What is not found is left to fail under its own name.
    let program = which::which(program).map_or_else(|_| program.to_owned(), Into::into);
    Command::new(program)
}

/// A command from a line of text, such as `npx -y "some agent"`: see [`split_command_line`].
///
/// # Errors
///
/// The line names no program, or has a quote that is not closed; the error says where.
pub fn command_line(line: &str) -> io::Result<Command> {
    let (program, arguments) =
        split_command_line(line).map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
    let mut command = command(program);
    command.args(arguments);
    Ok(command)
}
