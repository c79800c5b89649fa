//! Clients that read the secrets of all organizations, over and over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use tokio::task::JoinSet;

use crate::fault::key_rotation::organization::TestOrganization;
use crate::scenarios::parts::Parts;

/// What the clients got.
#[derive(Default)]
pub(super) struct ReadResult {
    pub(super) starts: u64,
    /// The number of values.
    pub(super) reads: u64,
    pub(super) failures: Vec<String>,
}

impl ReadResult {
    pub(super) fn add(&mut self, read: anyhow::Result<()>, secrets: usize) {
        self.starts += 1;
        match read {
            Ok(()) => self.reads += secrets as u64,
            Err(error) => self.failures.push(format!("{error:#}")),
        }
    }
}

pub(super) struct Readers {
    is_ending: Arc<AtomicBool>,
    tasks: JoinSet<ReadResult>,
}

impl Readers {
    pub(super) fn start(
        parts: &Arc<Parts>,
        organizations: &Arc<Vec<TestOrganization>>,
        clients: usize,
    ) -> Self {
        let (is_ending, mut tasks) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
        for client in 0..clients {
            let (api, organizations, is_ending) =
                (parts.api.clone(), Arc::clone(organizations), Arc::clone(&is_ending));
            tasks.spawn(async move {
                let mut result = ReadResult::default();
                // Each client begins elsewhere, so that all organizations are read in each phase.
                let first = client * organizations.len() / clients.max(1);
                for organization in organizations.iter().cycle().skip(first) {
                    if is_ending.load(Ordering::Relaxed) {
                        break;
                    }
                    result.add(organization.read(&api).await, organization.secrets());
                }
                result
            });
        }
        Self { is_ending, tasks }
    }

    pub(super) async fn end(mut self) -> anyhow::Result<ReadResult> {
        self.is_ending.store(true, Ordering::Relaxed);
        let mut all = ReadResult::default();
        while let Some(result) = self.tasks.join_next().await {
            let result = result.context("a client broke the harness")?;
            all.starts += result.starts;
            all.reads += result.reads;
            all.failures.extend(result.failures);
        }
        Ok(all)
    }
}
