//! What is remembered of failures: lists, all failures with one fingerprint, and notes.

use greenroom_api_types::failure::{Failure as FailureView, FailureHistory, FailureNote, WriteFailureNote};
use greenroom_api_types::person::Person;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::principal::Principal;
use greenroom_domain::text::Note;
use greenroom_store::Command;
use greenroom_store::failure::{FailureFilter, FailureRecord};
use greenroom_store::page::{Page, PageResult, Total};
use greenroom_store::pipeline::PipelineName;

use super::view::{end_view, evidence_status, note_view};
use crate::App;
use crate::failure::Failure;

const MAX_NOTE_CHARACTERS: usize = 2_000;
const NEWEST: i64 = 20;

/// Returns all failures with one fingerprint that the token has access to.
#[boxed_futures]
pub async fn history(app: &App, principal: &Principal, fingerprint: &str) -> Result<FailureHistory, Failure> {
    let (organization, within) = (principal.organization_id, &principal.pipelines);
    let known = app.store.known_failure(organization, fingerprint, None, within).await?;
    let known = known.ok_or_else(Failure::not_found)?;
    let filter = FailureFilter {
        fingerprint: Some(fingerprint.to_owned()),
        within: within.clone(),
        ..FailureFilter::default()
    };
    let newest = app.store.failure_records(organization, &filter, Page { limit: NEWEST, offset: 0 }).await?;
    Ok(FailureHistory {
        fingerprint: fingerprint.to_owned(),
        count: known.count,
        first_at: known.first_at,
        last_at: known.last_at,
        ended_by: known.ended_by.map(end_view),
        note: known.note.map(note_view),
        failures: newest.rows.into_iter().map(failure_view).collect(),
    })
}

/// Returns failures, newest first; those of one pipeline if it is named.
#[boxed_futures]
pub async fn list(
    app: &App,
    principal: &Principal,
    pipeline: Option<PipelineName>,
    mut filter: FailureFilter,
    page: Page,
) -> Result<PageResult<FailureRecord>, Failure> {
    let organization = principal.organization_id;
    if let Some(name) = pipeline {
        let Some(found) = app.store.pipeline(organization, &name).await? else {
            return Ok(PageResult { rows: Vec::new(), total: Total::exactly(0) });
        };
        filter.pipeline = Some(found.id);
    }
    Ok(app.store.failure_records(organization, &filter, page).await?)
}

/// Writes the note about a fingerprint, or deletes it. Returns the note.
#[boxed_futures]
pub async fn write_note(
    command: &mut Command,
    fingerprint: &str,
    request: &WriteFailureNote,
) -> Result<Option<FailureNote>, Failure> {
    let text = Note::<MAX_NOTE_CHARACTERS>::optional(&request.text);
    let text = text.map_err(|error| Failure::field("/text", error))?;
    let text = text.as_ref().map(Note::as_str).unwrap_or_default();
    let written = command.write_failure_note(fingerprint, text).await?;
    Ok(written.ok_or_else(Failure::not_found)?.map(note_view))
}

pub fn failure_view(failure: FailureRecord) -> FailureView {
    let status = evidence_status(&failure);
    let collected = failure.collected;
    FailureView {
        id: failure.id.to_string(),
        status: status.into(),
        pipeline_id: failure.pipeline_id.to_string(),
        deployment_id: failure.deployment_id.to_string(),
        stage: failure.stage_key,
        attempt: failure.attempt,
        step: failure.step,
        environment: Some(failure.place).filter(|place| !place.is_empty()),
        commit_id: failure.commit_id,
        created_by: Person {
            id: failure.created_by.to_string(),
            name: failure.created_by_name.unwrap_or_default(),
        },
        failed_at: failure.failed_at,
        category: collected.as_ref().map(|collected| collected.category.into()),
        verdict: collected.as_ref().map(|collected| collected.verdict.into()),
        fingerprint: collected.as_ref().map(|collected| collected.fingerprint.clone()),
        line: collected.map(|collected| collected.decisive),
    }
}
