//! The only place that prints: answers to stdout, talk to stderr.

use std::fmt::Display;
use std::io::{self, Write};

/// What was asked for.
pub(crate) fn answer(text: impl Display) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{text}")
}

/// What is going on meanwhile. Nobody is helped by a failure to say so, so none is reported.
pub(crate) fn progress(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "xtask: {text}");
}
