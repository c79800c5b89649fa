//! What happens between fork and the step's program. The supervisor reads its signals from a file descriptor and so has
//! them blocked, and a child inherits that: the step could not be asked to end. So the child is this program once more,
//! which unblocks them and becomes the step's program. That way no signal is lost in between, and no code is unsafe.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};

use crate::{TROUBLE, say};

/// As shells say it.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

pub(crate) fn run(program: &[OsString]) -> ExitCode {
    let Some((name, arguments)) = program.split_first() else { return ExitCode::from(TROUBLE) };
    // If the supervisor is killed, at least the step's first process does not outlive it.
    let ready = prctl::set_pdeathsig(Signal::SIGKILL).and_then(|()| SigSet::empty().thread_set_mask());
    if let Err(error) = ready {
        say(&format!("the step's signals could not be set up: {error}"));
        return ExitCode::from(TROUBLE);
    }
    let error = Command::new(name).args(arguments).exec();
    say(&format!("{} could not be started: {error}", name.to_string_lossy()));
    ExitCode::from(if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED })
}
