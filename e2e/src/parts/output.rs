//! Progress output for a person.

use std::io::Write;

/// Prints to standard error; standard output is for the result alone.
pub(crate) fn print_progress(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
