//! `greenroom-entry`: the first process of every step. It starts the step's program in a process group of its own, once the
//! runner has shown that the job is still its own, passes signals and the exit code on, reaps orphans, and kills all of it when the runner has fallen silent. It knows neither the
//! network nor the server; all that it hears of the runner is a file whose content changes.

mod alive;
mod arguments;
mod become_program;
mod descendants;
mod hold;
mod supervise;

use std::io::Write;
use std::process::ExitCode;

use crate::arguments::Order;

/// The runner was silent for too long.
const SILENCE: u8 = 250;
/// The entrypoint itself could not do its work.
const TROUBLE: u8 = 251;

fn main() -> ExitCode {
    let order = match arguments::read(std::env::args_os().skip(1)) {
        Ok(order) => order,
        Err(wrong) => {
            say(&wrong);
            return ExitCode::from(TROUBLE);
        }
    };
    match order {
        Order::Become(program) => become_program::run(&program),
        Order::Hold => hold::run(),
        Order::Supervise(step) => match supervise::run(&step) {
            Ok(code) => ExitCode::from(code),
            Err(error) => {
                say(&format!("the step could not be run: {error}"));
                ExitCode::from(TROUBLE)
            }
        },
    }
}

/// Into the step's log. Nobody is helped by a failure to say so, so none is reported.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "greenroom: {text}");
}
