//! Views of failures with their evidence.

use greenroom_api_types::evidence::{
    CommitChanges, DecisiveLine, DefinitionChange, EvidenceItem, FailureChanges, FailureEvidence, GoodRun,
    ImageChange, KnownFailure, ListedCommit, LogSummary, RunnerChange, Verdict,
};
use greenroom_api_types::failure::{FailureEnd, FailureNote};
use greenroom_api_types::person::Person;
use greenroom_domain::failure::{CommitList, Evidence, EvidenceStatus, LogSummary as LogFacts};
use greenroom_domain::principal::Principal;
use greenroom_store::failure as store;
use greenroom_store::failure::{CollectedRecord, FailureRecord};

use crate::App;
use crate::failure::Failure;

/// What is read besides the failure itself.
pub(super) struct FailureContext {
    known: Option<store::KnownFailure>,
    changes: Option<store::FailureChanges>,
}

impl FailureContext {
    pub(super) async fn read(
        app: &App,
        principal: &Principal,
        failure: &FailureRecord,
    ) -> Result<Self, Failure> {
        let Some(collected) = &failure.collected else { return Ok(Self { known: None, changes: None }) };
        let organization = principal.organization_id;
        let (fingerprint, before) = (&collected.fingerprint, Some(failure.failed_at));
        let known = app.store.known_failure(organization, fingerprint, before, &principal.pipelines).await?;
        let changes = app.store.failure_changes(organization, failure).await?;
        Ok(Self { known, changes })
    }
}

pub(super) fn failure_view(failure: FailureRecord, context: FailureContext, lines: u64) -> FailureEvidence {
    let status = evidence_status(&failure);
    let (collected, evidence) = match failure.collected {
        Some(CollectedRecord { ref evidence, .. }) => (failure.collected.clone(), evidence.clone()),
        None => (None, None),
    };
    let mut evidence = evidence.unwrap_or_default();
    let commits = evidence.commits.take().unwrap_or_default();
    let decisive = evidence.decisive.as_ref();
    let known = context.known.zip(collected.as_ref()).map(|(known, collected)| KnownFailure {
        fingerprint: collected.fingerprint.clone(),
        count: known.count,
        first_at: known.first_at,
        last_at: known.last_at,
        ended_by: known.ended_by.map(end_view),
        note: known.note.map(note_view),
    });
    let (last_good, changes) =
        context.changes.map(|changes| changes_view(&failure.commit_id, changes, commits)).unzip();
    let (items, left_out) = select_items(&evidence, lines);
    FailureEvidence {
        id: failure.id.to_string(),
        status: status.into(),
        stage: failure.stage_key,
        attempt: failure.attempt,
        step: failure.step,
        step_run_id: failure.step_run_id.map(|step| step.to_string()),
        environment: Some(failure.place).filter(|place| !place.is_empty()),
        commit_id: failure.commit_id,
        branch: failure.branch,
        created_by: Person {
            id: failure.created_by.to_string(),
            name: failure.created_by_name.unwrap_or_default(),
        },
        exit_code: failure.exit_code,
        reason: failure.reason.into(),
        detail: failure.detail,
        failed_at: failure.failed_at,
        category: collected.as_ref().map(|collected| collected.category.into()),
        decisive: decisive.map(|decisive| item_id(decisive.item)),
        decisive_line: decisive
            .map(|decisive| DecisiveLine { line: decisive.line, text: decisive.text.clone() }),
        verdict: collected.map(|collected| Verdict {
            kind: collected.verdict.into(),
            because: collected.because.into_iter().map(Into::into).collect(),
            last_good,
        }),
        evidence: items,
        log: evidence.log.map(|log| log_view(log, left_out)),
        known,
        changes,
    }
}

pub(super) fn log_view(log: LogFacts, left_out: u64) -> LogSummary {
    LogSummary {
        lines: log.lines,
        bytes: log.bytes,
        new_lines: log.new_lines,
        silent_seconds: log.silent_seconds,
        baselines: log.baselines.iter().map(ToString::to_string).collect(),
        omitted_lines: log.omitted_lines + left_out,
        skipped_bytes: log.skipped_bytes,
    }
}

pub(super) fn evidence_status(failure: &FailureRecord) -> EvidenceStatus {
    match failure.collected {
        Some(_) => EvidenceStatus::Ready,
        None => EvidenceStatus::Collecting,
    }
}

/// Returns the first items that have at most this many lines together, and at least one. Also returns how many new
/// lines were left out.
pub(super) fn select_items(evidence: &Evidence, max_lines: u64) -> (Vec<EvidenceItem>, u64) {
    let (mut selected, mut lines, mut left_out) = (Vec::new(), 0, 0);
    for (index, item) in evidence.items.iter().enumerate() {
        let own_lines = item.text.lines().count().max(1) as u64;
        if !selected.is_empty() && lines + own_lines > max_lines {
            left_out += if item.is_new { own_lines } else { 0 };
            continue;
        }
        lines += own_lines;
        selected.push(EvidenceItem {
            id: item_id(index),
            from_line: item.from_line,
            to_line: item.to_line,
            from_byte: item.from_byte,
            to_byte: item.to_byte,
            new: item.is_new,
            repeats: item.repeats,
            text: item.text.clone(),
        });
    }
    (selected, left_out)
}

pub(super) fn item_id(index: usize) -> String {
    format!("E{}", index + 1)
}

pub(super) fn end_view(end: store::FailureEnd) -> FailureEnd {
    FailureEnd {
        kind: end.kind.into(),
        deployment_id: end.deployment_id.to_string(),
        commit_id: end.commit_id,
        at: end.at,
    }
}

pub(super) fn note_view(note: store::FailureNote) -> FailureNote {
    FailureNote {
        text: note.text,
        written_by: Person { id: note.written_by.to_string(), name: note.written_by_name },
        written_at: note.written_at,
    }
}

fn changes_view(
    commit_id: &str,
    changes: store::FailureChanges,
    listed: CommitList,
) -> (GoodRun, FailureChanges) {
    let good = changes.last_good;
    let commits = (good.commit_id != commit_id).then(|| CommitChanges {
        status: listed.status.into(),
        from: good.commit_id.clone(),
        to: commit_id.to_owned(),
        total: listed.total,
        list: listed
            .commits
            .into_iter()
            .map(|commit| ListedCommit { commit_id: commit.id, title: commit.title })
            .collect(),
        files: listed.files,
    });
    let last_good = GoodRun {
        deployment_id: good.deployment_id.to_string(),
        commit_id: good.commit_id,
        environment: Some(good.place).filter(|place| !place.is_empty()),
        at: good.at,
    };
    let images = changes.images.into_iter();
    let changes = FailureChanges {
        definition: changes.definition.map(|definition| DefinitionChange {
            from: definition.from,
            to: definition.to,
            stages: definition.stages,
        }),
        images: images
            .map(|image| ImageChange { step: image.step, from: image.from, to: image.to })
            .collect(),
        runner: changes.runner.map(|(from, to)| RunnerChange { from, to }),
        commits,
    };
    (last_good, changes)
}
