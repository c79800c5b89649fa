//! Pipelines: creating, editing, stopping, resuming, archiving, and checking definitions.

use greenroom_api_types::pipeline::{CreatePipeline, UpdatePipeline};
use greenroom_api_types::problem::FieldProblem;
use greenroom_domain::definition::{self, Definition, Diagnostic};
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::PipelineId;
use greenroom_domain::pipeline::{self, Archived, Command as Change, Pipeline, StopMode};
use greenroom_domain::slug::Slug;
use greenroom_domain::text::{Name, Reason, Repository};
use greenroom_store::pipeline::{CheckedDefinition, PipelineEdit, PipelineName};
use greenroom_store::{Command, StoreError};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::app::environment;
use crate::app::failure::{Code, Failure};
use crate::app::precondition::IfMatch;

pub async fn create(command: &mut Command, request: &CreatePipeline) -> Result<Pipeline, Failure> {
    let name = Name::new(&request.name).map_err(|error| Failure::field("/name", error))?;
    let slug = match &request.slug {
        Some(slug) => slug.parse().map_err(|error| Failure::field("/slug", error))?,
        None => Slug::from_name(name.as_str()).ok_or_else(|| {
            Failure::field("/slug", "is needed, because the name has nothing to make one of")
        })?,
    };
    let repository = repository(request.repository.as_deref())?;
    let (definition, parsed) = check(&request.definition)?;
    let id = PipelineId::from(Uuid::now_v7());
    let made = command.create_pipeline(id, &slug, &name, repository.as_ref(), &definition).await;
    let made = made.map_err(|error| slug_taken(error, slug.as_str()))?;
    environment::define(command, made.id, &parsed).await?;
    tell(command, EventType::PipelineCreated, None, &made, None).await?;
    Ok(made)
}

pub async fn update(
    command: &mut Command,
    name: &PipelineName,
    condition: &IfMatch,
    request: &UpdatePipeline,
) -> Result<Pipeline, Failure> {
    let new_name =
        request.name.as_deref().map(Name::new).transpose().map_err(|e| Failure::field("/name", e))?;
    let new_slug = request
        .slug
        .as_deref()
        .map(str::parse::<Slug>)
        .transpose()
        .map_err(|e| Failure::field("/slug", e))?;
    let new_repository = request.repository.as_ref().map(|given| repository(given.as_deref())).transpose()?;
    let new_definition = request.definition.as_deref().map(check).transpose()?;

    let before = locked(command, name, condition).await?;
    pipeline::apply(before.state(), Change::Edit).map_err(archived)?;
    let new_definition = match new_definition {
        Some((definition, parsed)) if definition.digest != command.pipeline_digest(&before).await? => {
            Some((definition, parsed))
        }
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
    let same = edit.slug == before.slug
        && edit.name == before.name
        && edit.repository == before.repository.as_deref()
        && new_definition.is_none();
    if same {
        return Ok(before);
    }
    let edited =
        command.edit_pipeline(&before, &edit, new_definition.as_ref().map(|(checked, _)| checked)).await;
    let after = edited.map_err(|error| slug_taken(error, edit.slug))?;
    if let Some((_, parsed)) = &new_definition {
        environment::define(command, after.id, parsed).await?;
    }
    tell(command, EventType::PipelineUpdated, Some(&before), &after, None).await?;
    Ok(after)
}

/// Stops, resumes or archives. A command that changes nothing tells nothing.
pub async fn change(
    command: &mut Command,
    name: &PipelineName,
    condition: &IfMatch,
    change: Change,
    reason: Option<&str>,
) -> Result<Pipeline, Failure> {
    let reason = reason.map(Reason::new).transpose().map_err(|error| Failure::field("/reason", error))?;
    let before = locked(command, name, condition).await?;
    let to = pipeline::apply(before.state(), change).map_err(archived)?;
    // The same stop for another reason is told; the same stop again is not.
    let new_reason = reason.as_ref().map(Reason::as_str);
    let other_reason = matches!(to, pipeline::State::Stopped(_))
        && new_reason.is_some_and(|reason| {
            before.stop.as_ref().is_some_and(|stop| stop.reason.as_deref() != Some(reason))
        });
    if to == before.state() && !other_reason {
        return Ok(before);
    }
    let event_type = match to {
        pipeline::State::Active => EventType::PipelineResumed,
        pipeline::State::Stopped(_) => EventType::PipelineStopped,
        pipeline::State::Archived => EventType::PipelineArchived,
    };
    let after = command.move_pipeline(&before, to, new_reason).await?;
    match to {
        pipeline::State::Stopped(StopMode::Cancel) => {
            command.cancel_deployments_of_pipeline(after.id, false).await?;
        }
        pipeline::State::Archived => {
            command.cancel_deployments_of_pipeline(after.id, true).await?;
            command.drop_caches(after.id).await?;
        }
        // What a stop held back, or a drain let run, is looked at anew.
        pipeline::State::Active | pipeline::State::Stopped(_) => {
            command.wake_deployments_of_pipeline(after.id).await?;
        }
    }
    tell(command, event_type, Some(&before), &after, reason.map(Reason::into_string)).await?;
    Ok(after)
}

/// What is wrong with a definition, or what the server makes of it.
pub fn validate(source: &str) -> Result<Definition, Vec<FieldProblem>> {
    definition::parse(source).map_err(|wrong| wrong.into_iter().map(field_problem).collect())
}

fn check(source: &str) -> Result<(CheckedDefinition, Definition), Failure> {
    let parsed = validate(source).map_err(|errors| {
        let place = |error: &FieldProblem| {
            format!(
                "line {}, column {}: {}",
                error.line.unwrap_or(0),
                error.column.unwrap_or(0),
                error.detail
            )
        };
        let detail = match errors.as_slice() {
            [] => "The definition could not be read.".to_owned(),
            [one] => format!("In {}", place(one)),
            [first, ..] => format!("{} things are wrong; the first is in {}", errors.len(), place(first)),
        };
        Failure { errors, ..Failure::new(Code::InvalidDefinition, detail) }
    })?;
    let digest = format!("sha256:{:x}", Sha256::digest(source.as_bytes()));
    let definition = serde_json::to_value(&parsed).map_err(Failure::internal)?;
    Ok((CheckedDefinition { source: source.to_owned(), definition, digest }, parsed))
}

fn field_problem(diagnostic: Diagnostic) -> FieldProblem {
    FieldProblem {
        pointer: diagnostic.pointer,
        detail: diagnostic.message,
        line: Some(diagnostic.line),
        column: Some(diagnostic.column),
        expected: diagnostic.expected,
        suggestion: diagnostic.suggestion,
    }
}

fn repository(given: Option<&str>) -> Result<Option<Repository>, Failure> {
    given.map(Repository::new).transpose().map_err(|error| Failure::field("/repository", error))
}

async fn locked(
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

async fn tell(
    command: &mut Command,
    event_type: EventType,
    before: Option<&Pipeline>,
    after: &Pipeline,
    reason: Option<String>,
) -> Result<(), Failure> {
    let event = NewEvent {
        event_type,
        subject: format!("pipelines/{}", after.id),
        before: before.map(told),
        after: Some(told(after)),
        reason,
    };
    Ok(command.tell(event).await?)
}

fn told(pipeline: &Pipeline) -> Value {
    json!({
        "id": pipeline.id,
        "slug": pipeline.slug,
        "name": pipeline.name,
        "repository": pipeline.repository,
        "status": pipeline.status,
        "stopMode": pipeline.stop.as_ref().map(|stop| stop.mode),
        "definitionVersion": pipeline.definition_version,
    })
}
