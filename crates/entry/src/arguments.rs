//! The command line, read by hand: a parser would be most of this program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const USAGE: &str =
    "usage: greenroom-entry --alive FILE --silence SECONDS -- PROGRAM [ARGUMENT …], or --hold";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Supervise(Step),
    /// How this program starts the step's: see [`crate::become_program`].
    Become(Vec<OsString>),
    /// Does nothing until it is killed: see [`crate::hold`].
    Hold,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The file that the runner changes as long as it may let the step run.
    pub(crate) alive: PathBuf,
    /// For how long it may stay the same.
    pub(crate) silence: Duration,
    /// Never empty.
    pub(crate) program: Vec<OsString>,
}

pub(crate) const BECOME: &str = "--become";

pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Order, String> {
    let mut arguments = arguments.into_iter();
    let (mut alive, mut silence, mut become_it) = (None, None, false);
    loop {
        let Some(argument) = arguments.next() else {
            return Err(format!("no program is named; {USAGE}"));
        };
        match argument.to_str() {
            Some("--") => break,
            Some(BECOME) => become_it = true,
            Some("--hold") => return Ok(Order::Hold),
            Some("--alive") => alive = arguments.next().map(PathBuf::from),
            Some("--silence") => silence = arguments.next().as_deref().and_then(seconds),
            _ => return Err(format!("unknown: {}; {USAGE}", argument.to_string_lossy())),
        }
    }
    let program: Vec<OsString> = arguments.collect();
    if program.is_empty() {
        return Err(format!("no program is named; {USAGE}"));
    }
    if become_it {
        return Ok(Order::Become(program));
    }
    let alive = alive.ok_or_else(|| format!("--alive is missing; {USAGE}"))?;
    let silence = silence.ok_or_else(|| format!("--silence is missing, or no number of seconds; {USAGE}"))?;
    Ok(Order::Supervise(Step { alive, silence, program }))
}

/// Whole seconds, or fractions of one for tests.
fn seconds(text: &std::ffi::OsStr) -> Option<Duration> {
    let seconds: f64 = text.to_str()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().filter(|silence| !silence.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(line: &str) -> Result<Order, String> {
        read(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_step_has_a_file_a_bound_and_a_program() {
        let step = Step {
            alive: "/c/alive".into(),
            silence: Duration::from_secs(20),
            program: ["/bin/sh", "-e", "--", "x"].map(OsString::from).to_vec(),
        };
        assert_eq!(from("--alive /c/alive --silence 20 -- /bin/sh -e -- x"), Ok(Order::Supervise(step)));
    }

    #[test]
    fn a_holder_needs_nothing_more() {
        assert_eq!(from("--hold"), Ok(Order::Hold));
    }

    #[test]
    fn without_any_of_them_nothing_is_started() {
        for line in [
            "",
            "--",
            "--alive /c --silence 20",
            "--alive /c --silence 20 --",
            "--silence 20 -- /bin/sh",
            "--alive /c -- /bin/sh",
            "--alive /c --silence never -- /bin/sh",
            "--alive /c --silence 0 -- /bin/sh",
            "--alive /c --silence -1 -- /bin/sh",
            "/bin/sh",
        ] {
            assert!(from(line).is_err(), "{line}");
        }
    }
}
