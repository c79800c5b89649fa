//! `greenroom-entry`: the first process of every step. It waits until the runner proves that it still holds
//! the job's lease, and has sent the step's secrets by standard input, then starts the step's program in its
//! own process group. It forwards signals and the exit code, reaps orphans, and kills the whole step when the
//! runner has fallen silent. It uses neither the network nor the server: the runner's only sign of life is a
//! file whose content changes.

mod arguments;
mod become_program;
mod descendants;
mod hold;
mod liveness;
mod supervise;
mod values;

use std::io::Write;
use std::process::ExitCode;

use crate::arguments::Mode;

// The runner has the same two exit codes in `backend/mod.rs`.
/// The step was killed because the runner was silent for too long.
const EXIT_SILENCE: u8 = 250;
/// The entrypoint itself failed.
const EXIT_ENTRYPOINT_ERROR: u8 = 251;

fn main() -> ExitCode {
    let mode = match arguments::read(std::env::args_os().skip(1)) {
        Ok(mode) => mode,
        Err(error) => {
            write_log(&error);
            return ExitCode::from(EXIT_ENTRYPOINT_ERROR);
        }
    };
    match mode {
        Mode::Become(program) => become_program::run(&program),
        Mode::Hold => hold::run(),
        Mode::Supervise(step) => match supervise::run(&step) {
            Ok(code) => ExitCode::from(code),
            Err(error) => {
                write_log(&format!("the step could not be run: {error}"));
                ExitCode::from(EXIT_ENTRYPOINT_ERROR)
            }
        },
    }
}

/// Writes a line to the step's log. A failure is ignored: there is no other place to report it.
fn write_log(text: &str) {
    let _ = writeln!(std::io::stderr(), "greenroom: {text}");
}
