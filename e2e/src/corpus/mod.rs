//! `cargo xtask corpus run`: runs the failures in `e2e/corpus` in containers, by a real stack, and keeps their logs for
//! `bench analysis`. The format of cases is documented in `e2e/corpus/README.md`.

pub(crate) mod case;
mod fixture;
mod image;
pub(crate) mod log;
pub(crate) mod noise;
mod record;
mod repository;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::parts::interruption::Interruption;
use crate::parts::output::print_progress;

/// The folder of the corpus in the workspace.
pub(crate) const FOLDER: &str = "e2e/corpus";

#[derive(Debug, Subcommand)]
pub(crate) enum Corpus {
    /// Run the failures again, and keep their logs. Exit code 1: a case did not do what it has to; 2: not carried out.
    Run(RunCorpus),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RunCorpus {
    /// Run only cases whose name contains this text. The option can be repeated.
    #[arg(long)]
    pub(crate) only: Vec<String>,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep the folder with logs and data in .stack.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Number of concurrent cases.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) parallel: u32,
    /// Folder of greenroomd, greenroom-runner and greenroom-entry; this program's own if omitted.
    #[arg(long)]
    pub(crate) bin_dir: Option<PathBuf>,
    /// Path of greenroom-entry, if it is not in that folder.
    #[arg(long)]
    pub(crate) entry: Option<PathBuf>,
}

pub(crate) async fn run(what: Corpus) -> ExitCode {
    let Corpus::Run(options) = what;
    match campaign(&options).await {
        Ok(report) => report.print(options.json),
        Err(error) => {
            print_progress(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

async fn campaign(options: &RunCorpus) -> anyhow::Result<record::Report> {
    let mut cases = case::read_all(FOLDER.as_ref())?;
    if !options.only.is_empty() {
        cases.retain(|case| options.only.iter().any(|text| case.name.contains(text.as_str())));
    }
    let archive = image::find_or_build(FOLDER.as_ref()).await?;
    let mut interruption = Interruption::listen()?;
    let fixture = fixture::CorpusFixture::start(options, &cases, &archive).await?;
    let (fixture, result) = {
        let fixture = std::sync::Arc::new(fixture);
        let result = interruption.or(record::record_all(&fixture, &cases, options.parallel)).await;
        (fixture, result)
    };
    fixture::end(fixture, options.keep).await?;
    result
}
