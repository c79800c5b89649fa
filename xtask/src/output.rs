//! The only module that prints: results to stdout, progress and errors to stderr.

use std::fmt::Display;
use std::io::{self, Write};

/// Prints a result of the command.
pub(crate) fn print(text: impl Display) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{text}")
}

/// Prints progress or an error. A failure to write it is ignored: there is no other place to report it.
pub(crate) fn progress(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "xtask: {text}");
}
