//! What a person reads while something runs.

use std::io::Write;

/// Standard output is for the result alone.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
