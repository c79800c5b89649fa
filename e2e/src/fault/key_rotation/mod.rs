//! `fault key-rotation`: the master key of secrets is replaced, and data keys as well, while steps of many organizations
//! start and get their secrets. No read may fail, and each has to return the right values.

mod organization;
mod readers;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::fault::key_rotation::organization::TestOrganization;
use crate::fault::key_rotation::readers::Readers;
use crate::parts::key_file::new_key;
use crate::parts::output::print_progress;
use crate::scenarios::Scenarios;
use crate::scenarios::parts::Parts;

/// Longer than the campaign, so that no job has to send heartbeats.
const LEASE_SECONDS: u64 = 600;
/// How long steps start in each phase.
const PHASE: Duration = Duration::from_secs(3);
/// How many organizations are prepared at a time.
const PREPARED_AT_A_TIME: usize = 6;

#[derive(Clone, Debug, Args)]
pub(crate) struct KeyRotation {
    /// Number of secrets of all organizations together; at most 100 in each.
    #[arg(long, default_value_t = 10_000)]
    secrets: usize,
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    organizations: u32,
    /// Number of clients that read.
    #[arg(long, default_value_t = 8)]
    clients: usize,
    /// How many organizations also get a new data key.
    #[arg(long, default_value_t = 5)]
    reseal: usize,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    json: bool,
    /// Keep the folder with logs and data in .stack.
    #[arg(long)]
    keep: bool,
    /// Folder of greenroomd, greenroom-runner and greenroom-entry; this program's own if omitted.
    #[arg(long)]
    bin_dir: Option<PathBuf>,
    /// Path of the entrypoint, if it is elsewhere.
    #[arg(long)]
    entry: Option<PathBuf>,
}

struct Rotated {
    organizations: usize,
    secrets: usize,
    rewrapped: i64,
    resealed: i64,
    starts: u64,
    reads: u64,
    failures: Vec<String>,
}

pub(crate) async fn run(options: KeyRotation) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let mut settings =
        Scenarios::alone(options.bin_dir.clone(), options.entry.clone(), options.keep, "warn".to_owned());
    settings.lease_seconds = LEASE_SECONDS;
    settings.limits_off = true;
    let parts = Arc::new(Parts::start(&settings, false).await?);
    let rotated = rotate(&parts, &options).await;
    Arc::into_inner(parts).context("the stack is still in use")?.end(options.keep).await?;
    let rotated = rotated?;
    let report = json!({
        "organizations": rotated.organizations,
        "secrets": rotated.secrets,
        "starts": rotated.starts,
        "reads": rotated.reads,
        "failed": rotated.failures.len(),
        "failures": rotated.failures.iter().take(5).collect::<Vec<_>>(),
        "rewrappedKeys": rotated.rewrapped,
        "resealedValues": rotated.resealed,
        "seconds": started.elapsed().as_secs(),
    });
    let text = if options.json { report.to_string() } else { format!("{report:#}") };
    writeln!(std::io::stdout(), "{text}")?;
    // All data keys, and at least the first signing key if there is one.
    let is_void = rotated.reads == 0 || rotated.rewrapped < rotated.organizations as i64;
    Ok(match (rotated.failures.is_empty(), is_void) {
        (true, false) => ExitCode::SUCCESS,
        (true, true) => ExitCode::from(3),
        (false, _) => ExitCode::FAILURE,
    })
}

async fn rotate(parts: &Arc<Parts>, options: &KeyRotation) -> anyhow::Result<Rotated> {
    let count = options.organizations as usize;
    let per_organization = options.secrets.div_ceil(count);
    print_progress(&format!("creating {per_organization} secrets in each of {count} organizations"));
    let organizations = Arc::new(prepare(parts, count, per_organization).await?);
    let old = parts.key_line()?;
    let new = new_key("rotated");
    let readers = Readers::start(parts, &organizations, options.clients);
    tokio::time::sleep(PHASE).await;

    // The procedure of docs/operations.md.
    print_progress("the new master key is first, and the old one is still there");
    parts.reload_keys(&[new.clone(), old]).await?;
    tokio::time::sleep(PHASE).await;
    let rewrapped = parts.admin_with_keys(&["rewrap-keys"]).await?["rewrapped"].as_i64().unwrap_or_default();
    print_progress(&format!("{rewrapped} keys are wrapped again; the old master key is removed"));
    parts.reload_keys(&[new]).await?;
    tokio::time::sleep(PHASE).await;
    let mut resealed = 0;
    for organization in organizations.iter().take(options.reseal) {
        let made = parts.admin_with_keys(&["reseal", "--organization", organization.slug()]).await?;
        resealed += made["resealed"].as_i64().unwrap_or_default();
    }
    print_progress(&format!("{resealed} values are sealed again"));
    tokio::time::sleep(PHASE).await;
    let mut result = readers.end().await?;
    // Every organization, with the new key alone.
    for organization in organizations.iter() {
        result.add(organization.read(&parts.api).await, per_organization);
    }
    Ok(Rotated {
        organizations: count,
        secrets: count * per_organization,
        rewrapped,
        resealed,
        starts: result.starts,
        reads: result.reads,
        failures: result.failures,
    })
}

async fn prepare(parts: &Arc<Parts>, count: usize, secrets: usize) -> anyhow::Result<Vec<TestOrganization>> {
    let (slots, mut tasks) = (Arc::new(Semaphore::new(PREPARED_AT_A_TIME)), JoinSet::new());
    for number in 0..count {
        let (parts, slots) = (Arc::clone(parts), Arc::clone(&slots));
        tasks.spawn(async move {
            let _slot = slots.acquire_owned().await;
            TestOrganization::make(&parts, number, secrets).await
        });
    }
    let mut made = Vec::with_capacity(count);
    while let Some(organization) = tasks.join_next().await {
        made.push(organization.context("an organization broke the harness")??);
    }
    Ok(made)
}
