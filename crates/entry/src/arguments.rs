//! Parses the command line by hand, because a parser library would be most of this program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const USAGE: &str = "usage: greenroom-entry --alive FILE --silence SECONDS [--values FOLDER] -- PROGRAM [ARGUMENT …], or --hold";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Supervise(Step),
    /// Replaces this process by the step's program: see [`crate::become_program`].
    Become(Vec<OsString>),
    /// Does nothing until it is killed: see [`crate::hold`].
    Hold,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The liveness file, which the runner changes as long as it holds the job's lease.
    pub(crate) liveness_file: PathBuf,
    /// How long the liveness file may stay unchanged before the step is killed.
    pub(crate) silence: Duration,
    /// If set, values are read from standard input, and this is the folder for those that are files.
    pub(crate) values: Option<PathBuf>,
    /// Never empty.
    pub(crate) program: Vec<OsString>,
}

pub(crate) const BECOME: &str = "--become";

pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Mode, String> {
    let mut arguments = arguments.into_iter();
    let (mut liveness_file, mut silence, mut values, mut become_it) = (None, None, None, false);
    loop {
        let Some(argument) = arguments.next() else {
            return Err(format!("no program is given; {USAGE}"));
        };
        match argument.to_str() {
            Some("--") => break,
            Some(BECOME) => become_it = true,
            Some("--hold") => return Ok(Mode::Hold),
            Some("--alive") => liveness_file = arguments.next().map(PathBuf::from),
            Some("--silence") => silence = arguments.next().as_deref().and_then(seconds),
            Some("--values") => values = arguments.next().map(PathBuf::from),
            _ => return Err(format!("unknown argument: {}; {USAGE}", argument.to_string_lossy())),
        }
    }
    let program: Vec<OsString> = arguments.collect();
    if program.is_empty() {
        return Err(format!("no program is given; {USAGE}"));
    }
    if become_it {
        return Ok(Mode::Become(program));
    }
    let liveness_file = liveness_file.ok_or_else(|| format!("--alive is missing; {USAGE}"))?;
    let silence =
        silence.ok_or_else(|| format!("--silence is missing, or not a number of seconds; {USAGE}"))?;
    Ok(Mode::Supervise(Step { liveness_file, silence, values, program }))
}

/// Parses a positive number of seconds. Tests use fractions.
fn seconds(text: &std::ffi::OsStr) -> Option<Duration> {
    let seconds: f64 = text.to_str()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().filter(|silence| !silence.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Mode, String> {
        read(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_step_has_a_liveness_file_a_silence_timeout_and_a_program() {
        let step = |values: Option<&str>| {
            Ok(Mode::Supervise(Step {
                liveness_file: "/c/alive".into(),
                silence: Duration::from_secs(20),
                values: values.map(PathBuf::from),
                program: ["/bin/sh", "-e", "--", "x"].map(OsString::from).to_vec(),
            }))
        };
        assert_eq!(parse("--alive /c/alive --silence 20 -- /bin/sh -e -- x"), step(None));
        assert_eq!(parse("--alive /c/alive --silence 20 --values /s -- /bin/sh -e -- x"), step(Some("/s")));
    }

    #[test]
    fn hold_needs_no_other_argument() {
        assert_eq!(parse("--hold"), Ok(Mode::Hold));
    }

    #[test]
    fn a_missing_or_invalid_argument_is_an_error() {
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
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
