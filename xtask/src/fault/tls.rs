//! `cargo xtask fault tls`: builds the programs, and floods a server's TLS port while another client works.

use std::process::ExitCode;

use clap::Args;

use crate::program_options::ProgramOptions;
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    /// How many pairs of a window without and a window with floods are compared
    #[arg(long, default_value_t = 6)]
    pairs: u32,
    /// Exit with 1 also if the ratio of latencies exceeds its limit; for `--release` on a machine with nothing else to do
    #[arg(long)]
    gate_latency: bool,
    #[command(flatten)]
    program: ProgramOptions,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let mut arguments = vec!["--pairs".to_owned(), options.pairs.to_string()];
    arguments.extend(options.gate_latency.then(|| "--gate-latency".to_owned()));
    options.program.run(workspace, "fault tls", &arguments)
}
