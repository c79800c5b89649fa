//! Collects the evidence of one failure.

use greenroom_analysis::fingerprint;
use greenroom_analysis::reduce::template;
use greenroom_analysis::rules::{Clues, categorize};
use greenroom_domain::failure::{DecisiveLine, Evidence, EvidenceItem};
use greenroom_domain::id::{JobId, StepRunId};
use greenroom_store::failure::{Collected, DueFailure, FailedAttempt, Findings};
use greenroom_store::{Store, StoreError, with_db_timeout};

use super::log::Extent;
use super::read::ComparedLog;
use crate::log_reader::{LogReadError, LogReader};
use crate::objects::{Objects, ObjectsError};

/// After this many tries, the evidence is stored without the log.
const MAX_TRIES: u32 = 12;
const MAX_DECISIVE_BYTES: usize = 240;

#[derive(Debug, thiserror::Error)]
pub(super) enum CollectError {
    #[error(transparent)]
    Log(#[from] LogReadError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Collects the evidence of a failure, unless that was done before, and decides its verdict. Returns the last good attempt
/// if evidence was stored and there is one: the commits since then can be listed.
pub(super) async fn collect(
    store: &Store,
    objects: &Objects,
    due: &DueFailure,
) -> Result<Option<JobId>, CollectError> {
    let stored = match due.is_collected {
        true => with_db_timeout(store.stored_fingerprint(due)).await?,
        false => None,
    };
    let (findings, fingerprint, good_job) = match stored {
        Some((fingerprint, good_job)) => (None, fingerprint, good_job),
        None => {
            let findings = find(store, objects, due).await?;
            let fingerprint = findings.fingerprint.clone();
            (Some(findings), fingerprint, with_db_timeout(store.good_job_before(due)).await?)
        }
    };
    let history = with_db_timeout(store.failure_history(due, &fingerprint, good_job)).await?;
    let collected = Collected { findings, verdict: history.verdict(), good_job };
    // If the lease was lost, another worker has done the same.
    let is_stored = with_db_timeout(store.store_failure(due, &collected)).await?;
    Ok(good_job.filter(|_| is_stored && collected.findings.is_some()))
}

async fn find(store: &Store, objects: &Objects, due: &DueFailure) -> Result<Findings, CollectError> {
    let failed = &due.attempt;
    let read = match failed.step_run_id {
        Some(step) => read_log(LogReader { store, objects }, due, step).await,
        None => Ok(None),
    };
    let read = match read {
        Ok(read) => read,
        // The log is lost, or was not available for long.
        Err(LogReadError::Objects(ObjectsError::Missing(_))) => None,
        Err(_) if due.tries >= MAX_TRIES => None,
        Err(error) => return Err(error.into()),
    };
    let step = format!("{}/{}", failed.stage_key, failed.step.as_deref().unwrap_or_default());
    let evidence = read.filter(|evidence| evidence.decisive.is_some()).unwrap_or_else(|| without_log(failed));
    let decisive = evidence.decisive.as_ref().map(|decisive| decisive.text.as_str()).unwrap_or_default();
    let block = evidence.decisive.as_ref().and_then(|decisive| evidence.items.get(decisive.item));
    let category = categorize(&Clues {
        reason: Some(failed.reason),
        exit_code: failed.exit_code,
        decisive,
        block: block.map(|item| item.text.as_str()).unwrap_or_default(),
    });
    Ok(Findings {
        category,
        fingerprint: fingerprint(&step, &template(decisive)).as_str().to_owned(),
        decisive: first_bytes(decisive, MAX_DECISIVE_BYTES).to_owned(),
        evidence,
    })
}

/// Reads the log of the failed step; `None` if it has none.
async fn read_log(
    reader: LogReader<'_>,
    due: &DueFailure,
    step: StepRunId,
) -> Result<Option<Evidence>, LogReadError> {
    let (organization, deployment) = (due.organization_id, due.attempt.deployment_id);
    let state = with_db_timeout(reader.store.log_state(organization, deployment, step)).await?;
    let Some(state) = state.filter(|state| state.bytes > 0 && state.expired_at.is_none()) else {
        return Ok(None);
    };
    let log = ComparedLog {
        organization,
        compared: due.attempt.compared(step),
        bytes: state.bytes,
        extent: Extent::Failed,
    };
    Ok(Some(log.read(reader).await?))
}

fn first_bytes(text: &str, max_bytes: usize) -> &str {
    let end = (0..=max_bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The evidence of a failure without a log: its reason, and the runner's or server's explanation.
fn without_log(failed: &FailedAttempt) -> Evidence {
    let text = match failed.detail.as_deref().map(str::trim).filter(|detail| !detail.is_empty()) {
        Some(detail) => detail.to_owned(),
        None => failed.reason.as_str().replace('_', " "),
    };
    let first_line = text.lines().next().unwrap_or_default().to_owned();
    let item = EvidenceItem { is_new: true, repeats: 1, text, ..EvidenceItem::default() };
    let decisive = DecisiveLine { item: 0, line: 0, text: first_line };
    Evidence { items: vec![item], decisive: Some(decisive), log: None, commits: None }
}
