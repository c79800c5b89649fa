//! Runs between fork and the step's program. The supervisor reads signals from a file descriptor and
//! therefore blocks them, and a child inherits the signal mask: SIGTERM would never reach the step. So the
//! supervisor starts this program a second time; that process unblocks the signals and then executes the
//! step's program. No signal is lost in between, and no unsafe code is needed.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};

use crate::{EXIT_ENTRYPOINT_ERROR, write_log};

/// The same exit codes that shells use.
const EXIT_NOT_FOUND: u8 = 127;
const EXIT_NOT_EXECUTABLE: u8 = 126;

pub(crate) fn run(program: &[OsString]) -> ExitCode {
    let Some((name, arguments)) = program.split_first() else { return ExitCode::from(EXIT_ENTRYPOINT_ERROR) };
    // If the supervisor is killed, the kernel kills at least the step's first process.
    let ready = prctl::set_pdeathsig(Signal::SIGKILL).and_then(|()| SigSet::empty().thread_set_mask());
    if let Err(error) = ready {
        write_log(&format!("the step's signals could not be set up: {error}"));
        return ExitCode::from(EXIT_ENTRYPOINT_ERROR);
    }
    let error = Command::new(name).args(arguments).exec();
    write_log(&format!("{} could not be started: {error}", name.to_string_lossy()));
    ExitCode::from(if error.kind() == ErrorKind::NotFound { EXIT_NOT_FOUND } else { EXIT_NOT_EXECUTABLE })
}
