//! The only process of a container that keeps a network in use. The container is created from the image of
//! some job. No program of that image may run in it, because it would be in the network of later jobs.

use std::process::ExitCode;

use nix::sys::prctl;
use nix::unistd::pause;

use crate::{EXIT_ENTRYPOINT_ERROR, write_log};

/// Sleeps until the process is killed.
pub(crate) fn run() -> ExitCode {
    if let Err(error) = prctl::set_dumpable(false) {
        write_log(&format!("the process could not be protected: {error}"));
        return ExitCode::from(EXIT_ENTRYPOINT_ERROR);
    }
    loop {
        pause();
    }
}
