//! The only process of a container that keeps a network in use. It is made from any image, so that it must not run a program
//! of that image: it would be in the network of the jobs that come after.

use std::process::ExitCode;

use nix::sys::prctl;
use nix::unistd::pause;

use crate::{TROUBLE, say};

/// Until it is killed.
pub(crate) fn run() -> ExitCode {
    if let Err(error) = prctl::set_dumpable(false) {
        say(&format!("the process could not be protected: {error}"));
        return ExitCode::from(TROUBLE);
    }
    loop {
        pause();
    }
}
