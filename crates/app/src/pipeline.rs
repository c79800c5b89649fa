//! Pipelines: creating, editing, stopping, resuming, archiving.

use greenroom_api_types::pipeline::{CreatePipeline, StepLockChange, UpdatePipeline};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_domain::pipeline::{self, Archived, Pipeline, PipelineCommand, StopMode};
use greenroom_domain::repository::{Repository, identity, masked};
use greenroom_domain::slug::Slug;
use greenroom_domain::text::{Name, Reason};
use greenroom_store::pipeline::{PipelineEdit, PipelineName};
use greenroom_store::{Command, Store, StoreError};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::definition::Checked;
use crate::environment;
use crate::failure::{Code, Failure};
use crate::precondition::IfMatch;
use crate::protection;
use crate::runner_pool::check_pools;
use crate::step_registry::lock::step_changes;

/// Creates a pipeline. `checked` is the request's definition.
#[boxed_futures]
pub async fn create(
    command: &mut Command,
    request: &CreatePipeline,
    checked: &Checked,
) -> Result<Pipeline, Failure> {
    let name = Name::new(&request.name).map_err(|error| Failure::field("/name", error))?;
    let slug = match &request.slug {
        Some(slug) => slug.parse().map_err(|error| Failure::field("/slug", error))?,
        None => Slug::from_name(name.as_str())
            .ok_or_else(|| Failure::field("/slug", "is required: no slug can be derived from this name"))?,
    };
    let repository = repository(request.repository.as_deref())?;
    let id = PipelineId::from(Uuid::now_v7());
    check_pools(command, id, &checked.definition).await?;
    let made = command.create_pipeline(id, &slug, &name, repository.as_ref(), &checked.stored).await;
    let made = made.map_err(|error| slug_taken(error, slug.as_str()))?;
    environment::define(command, made.id, &checked.definition).await?;
    record_event(command, EventType::PipelineCreated, None, &made, None).await?;
    Ok(made)
}

/// Edits a pipeline. `checked` is the request's definition, if it has one.
#[boxed_futures]
pub async fn update(
    command: &mut Command,
    name: &PipelineName,
    condition: &IfMatch,
    request: &UpdatePipeline,
    checked: Option<&Checked>,
) -> Result<Pipeline, Failure> {
    let new_name =
        request.name.as_deref().map(Name::new).transpose().map_err(|e| Failure::field("/name", e))?;
    let new_slug = request
        .slug
        .as_deref()
        .map(str::parse::<Slug>)
        .transpose()
        .map_err(|e| Failure::field("/slug", e))?;

    let before = locked(command, name, condition).await?;
    // A client that sends back the masked address that it has read does not want to change it.
    let masked_before = before.repository.as_deref().map(masked);
    let given = request.repository.as_ref().filter(|given| given.as_deref() != masked_before.as_deref());
    let new_repository = given.map(|given| repository(given.as_deref())).transpose()?;
    pipeline::apply(before.state(), PipelineCommand::Edit).map_err(archived)?;
    let new_definition = match checked {
        Some(checked) if is_changed(command, &before, checked).await? => Some(checked),
        _ => None,
    };
    let edit = PipelineEdit {
        slug: new_slug.as_ref().map_or(before.slug.as_str(), Slug::as_str),
        name: new_name.as_ref().map_or(before.name.as_str(), Name::as_str),
        repository: match &new_repository {
            Some(given) => given.as_ref().map(Repository::as_str),
            None => before.repository.as_deref(),
        },
    };
    let is_unchanged = edit.slug == before.slug
        && edit.name == before.name
        && edit.repository == before.repository.as_deref()
        && new_definition.is_none();
    if is_unchanged {
        return Ok(before);
    }
    let definition = new_definition.map(|checked| &checked.definition);
    let weakened = protection::check(command, &before, edit.repository, definition).await?;
    if let Some(checked) = new_definition {
        check_pools(command, before.id, &checked.definition).await?;
    }
    let edited = command.edit_pipeline(&before, &edit, new_definition.map(|checked| &checked.stored)).await;
    let after = edited.map_err(|error| slug_taken(error, edit.slug))?;
    if let Some(checked) = new_definition {
        environment::define(command, after.id, &checked.definition).await?;
    }
    let changes = match new_definition {
        Some(checked) => {
            let locked = command.step_lock(before.id, before.definition_version).await?;
            step_changes(&locked, &checked.stored.lock)
        }
        None => Vec::new(),
    };
    record_update(command, (&before, &after), &changes).await?;
    protection::record_event(command, &after, &weakened).await?;
    Ok(after)
}

/// A definition with the same text is the same one: only `update_steps` moves its steps to other versions. One that was saved before
/// steps were locked is saved again, with its lock.
async fn is_changed(command: &mut Command, before: &Pipeline, checked: &Checked) -> Result<bool, Failure> {
    if checked.stored.source != command.pipeline_source(before).await? {
        return Ok(true);
    }
    let current = command.current_definition(before).await?;
    Ok(current.locked_steps.len() != checked.definition.locked_steps.len())
}

/// Makes a version of the definition with the same text and the steps of registries that its references mean now. `seen` is the
/// version whose text was checked. Returns the pipeline and what changed; nothing is saved if nothing changed.
#[boxed_futures]
pub async fn update_steps(
    command: &mut Command,
    name: &PipelineName,
    condition: &IfMatch,
    (seen, checked): (i32, &Checked),
) -> Result<(Pipeline, Vec<StepLockChange>), Failure> {
    let before = locked(command, name, condition).await?;
    pipeline::apply(before.state(), PipelineCommand::Edit).map_err(archived)?;
    if before.definition_version != seen {
        let detail = "Another request saved the definition at the same time. Try again.";
        return Err(Failure::new(Code::Busy, detail));
    }
    let changes = step_changes(&command.step_lock(before.id, seen).await?, &checked.stored.lock);
    if changes.is_empty() {
        return Ok((before, changes));
    }
    let edit =
        PipelineEdit { slug: &before.slug, name: &before.name, repository: before.repository.as_deref() };
    let after = command.edit_pipeline(&before, &edit, Some(&checked.stored)).await?;
    record_update(command, (&before, &after), &changes).await?;
    Ok((after, changes))
}

/// Records that a pipeline was edited, with the steps of registries whose versions changed.
async fn record_update(
    command: &mut Command,
    (before, after): (&Pipeline, &Pipeline),
    changes: &[StepLockChange],
) -> Result<(), Failure> {
    let mut payload = event_payload(after);
    if !changes.is_empty()
        && let Value::Object(fields) = &mut payload
    {
        fields.insert("stepChanges".to_owned(), serde_json::to_value(changes).map_err(Failure::internal)?);
    }
    let event = NewEvent {
        event_type: EventType::PipelineUpdated,
        subject: format!("pipelines/{}", after.id),
        before: Some(event_payload(before)),
        after: Some(payload),
        reason: None,
    };
    Ok(command.record_event(event).await?)
}

/// Stops, resumes or archives a pipeline. A command that changes nothing records no event.
#[boxed_futures]
pub async fn change_status(
    command: &mut Command,
    name: &PipelineName,
    condition: &IfMatch,
    pipeline_command: PipelineCommand,
    reason: Option<&str>,
) -> Result<Pipeline, Failure> {
    let reason = reason.map(Reason::new).transpose().map_err(|error| Failure::field("/reason", error))?;
    let before = locked(command, name, condition).await?;
    let to = pipeline::apply(before.state(), pipeline_command).map_err(archived)?;
    // Stopping a stopped pipeline records an event only if the reason is another one.
    let new_reason = reason.as_ref().map(Reason::as_str);
    let has_other_reason = matches!(to, pipeline::State::Stopped(_))
        && new_reason.is_some_and(|reason| {
            before.stop.as_ref().is_some_and(|stop| stop.reason.as_deref() != Some(reason))
        });
    if to == before.state() && !has_other_reason {
        return Ok(before);
    }
    let event_type = match to {
        pipeline::State::Active => EventType::PipelineResumed,
        pipeline::State::Stopped(_) => EventType::PipelineStopped,
        pipeline::State::Archived => EventType::PipelineArchived,
    };
    let after = command.set_pipeline_state(&before, to, new_reason).await?;
    match to {
        pipeline::State::Stopped(StopMode::Cancel) => {
            command.cancel_deployments_of_pipeline(after.id, false).await?;
        }
        pipeline::State::Archived => {
            command.cancel_deployments_of_pipeline(after.id, true).await?;
            command.drop_caches(after.id).await?;
        }
        // A stop, another mode of a stop, and a resume change which deployments may continue. So their
        // workflows are woken up.
        pipeline::State::Active | pipeline::State::Stopped(_) => {
            command.wake_deployments_of_pipeline(after.id).await?;
        }
    }
    record_event(command, event_type, Some(&before), &after, reason.map(Reason::into_string)).await?;
    Ok(after)
}

/// Returns the pipelines of a repository, however its address is spelled; `None` if no address is given.
#[boxed_futures]
pub async fn of_repository(
    store: &Store,
    organization: OrganizationId,
    address: Option<&str>,
) -> Result<Option<Vec<PipelineId>>, Failure> {
    let Some(address) = address else { return Ok(None) };
    let expected = "must be a repository's address: https://host/path, ssh://git@host/path or git@host:path";
    let wanted = identity(address).ok_or_else(|| Failure::field("repository", expected))?;
    let all = store.repositories(organization).await?.into_iter();
    let same = all.filter(|(_, stored)| identity(stored).as_deref() == Some(wanted.as_str()));
    Ok(Some(same.map(|(id, _)| id).collect()))
}

fn repository(given: Option<&str>) -> Result<Option<Repository>, Failure> {
    given.map(Repository::new).transpose().map_err(|error| Failure::field("/repository", error))
}

#[boxed_futures]
pub async fn locked(
    command: &mut Command,
    name: &PipelineName,
    condition: &IfMatch,
) -> Result<Pipeline, Failure> {
    let pipeline = command.pipeline_for_update(name).await?.ok_or_else(Failure::not_found)?;
    condition.check(pipeline.revision)?;
    Ok(pipeline)
}

fn archived(_: Archived) -> Failure {
    Failure::new(
        Code::PipelineArchived,
        "An archived pipeline is not changed any more. Create a new one; its slug is free.",
    )
}

fn slug_taken(error: StoreError, slug: &str) -> Failure {
    if error.is_taken("pipelines_live_slug") {
        let detail =
            format!("Another pipeline of this organization has the slug `{slug}`. Choose another one.");
        Failure::new(Code::SlugTaken, detail).with("slug", slug.into())
    } else {
        error.into()
    }
}

async fn record_event(
    command: &mut Command,
    event_type: EventType,
    before: Option<&Pipeline>,
    after: &Pipeline,
    reason: Option<String>,
) -> Result<(), Failure> {
    let event = NewEvent {
        event_type,
        subject: format!("pipelines/{}", after.id),
        before: before.map(event_payload),
        after: Some(event_payload(after)),
        reason,
    };
    Ok(command.record_event(event).await?)
}

fn event_payload(pipeline: &Pipeline) -> Value {
    json!({
        "id": pipeline.id,
        "slug": pipeline.slug,
        "name": pipeline.name,
        "repository": pipeline.repository.as_deref().map(masked),
        "status": pipeline.status,
        "stopMode": pipeline.stop.as_ref().map(|stop| stop.mode),
        "definitionVersion": pipeline.definition_version,
    })
}
