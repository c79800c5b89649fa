//! Freezes: creating, changing and ending them. Whether one holds is decided where a stage begins (`store/freeze`).

mod view;

use greenroom_api_types::freeze::{CreateFreeze, FreezeWindow, UpdateFreeze};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::freeze::{Reach, Schedule, ScheduleInput, WindowInput, subject};
use greenroom_domain::id::{FreezeId, PipelineId};
use greenroom_domain::text::{Name, Reason};
use greenroom_domain::token_grant::PipelineLimit;
use greenroom_store::Command;
use greenroom_store::freeze::{FreezeContent, FreezeRecord};
use jiff::Timestamp;
use uuid::Uuid;

use crate::failure::{Code, Failure};
use crate::known_names;

pub use crate::freeze::view::{etag_suffix, freeze_view};
use crate::precondition::IfMatch;

/// A freeze, and the time of the database at which it was read.
pub type FreezeAt = (FreezeRecord, Timestamp);

#[boxed_futures]
pub async fn create(command: &mut Command, request: CreateFreeze) -> Result<FreezeAt, Failure> {
    let schedule = ScheduleInput {
        from: request.from,
        to: request.to,
        weekly: windows(request.weekly),
        zone: request.zone,
    };
    let content = FreezeContent {
        name: name(&request.name)?,
        reason: reason(&request.reason)?,
        reach: reach(command, pipelines(&request.pipelines)?, request.environments, None).await?,
        schedule: checked(&schedule)?,
    };
    let created = command.create_freeze(FreezeId::from(Uuid::now_v7()), &content).await?;
    record_event(command, EventType::FreezeCreated, None, created).await
}

#[boxed_futures]
pub async fn update(
    command: &mut Command,
    id: FreezeId,
    condition: &IfMatch,
    request: UpdateFreeze,
) -> Result<FreezeAt, Failure> {
    let before = command.freeze_for_update(id).await?.ok_or_else(Failure::not_found)?;
    if before.ended_at.is_some() {
        return Err(Failure::new(Code::InvalidState, "The freeze was ended. Create a new one."));
    }
    condition.check(before.revision)?;
    let content = changed(command, &before, request).await?;
    if content == content_of(&before) {
        let now = command.now().await?;
        return Ok((before, now));
    }
    let updated = command.update_freeze(id, &content).await?;
    record_event(command, EventType::FreezeUpdated, Some(&before), updated).await
}

/// Ends a freeze. Ending it again changes nothing.
#[boxed_futures]
pub async fn end(command: &mut Command, id: FreezeId, condition: &IfMatch) -> Result<FreezeAt, Failure> {
    let before = command.freeze_for_update(id).await?.ok_or_else(Failure::not_found)?;
    if before.ended_at.is_some() {
        let now = command.now().await?;
        return Ok((before, now));
    }
    condition.check(before.revision)?;
    let ended = command.end_freeze(id).await?;
    record_event(command, EventType::FreezeEnded, Some(&before), ended).await
}

/// Returns the content of a freeze with the changes of a request.
async fn changed(
    command: &mut Command,
    before: &FreezeRecord,
    request: UpdateFreeze,
) -> Result<FreezeContent, Failure> {
    let named = match &request.pipelines {
        Some(texts) => pipelines(texts)?,
        None => before.reach.pipelines().to_vec(),
    };
    let environments = request.environments.unwrap_or_else(|| before.reach.environments().to_vec());
    let stored = before.schedule.to_input();
    let schedule = ScheduleInput {
        from: request.from.unwrap_or(stored.from),
        to: request.to.unwrap_or(stored.to),
        weekly: request.weekly.map_or(stored.weekly, windows),
        zone: request.zone.unwrap_or(stored.zone),
    };
    Ok(FreezeContent {
        name: request.name.as_deref().map_or_else(|| Ok(before.name.clone()), name)?,
        reason: request.reason.as_deref().map_or_else(|| Ok(before.reason.clone()), reason)?,
        reach: reach(command, named, environments, Some(&before.reach)).await?,
        schedule: checked(&schedule)?,
    })
}

fn content_of(freeze: &FreezeRecord) -> FreezeContent {
    FreezeContent {
        name: freeze.name.clone(),
        reason: freeze.reason.clone(),
        reach: freeze.reach.clone(),
        schedule: freeze.schedule.clone(),
    }
}

fn name(text: &str) -> Result<String, Failure> {
    Name::new(text).map(Name::into_string).map_err(|error| Failure::field("/name", error))
}

fn reason(text: &str) -> Result<String, Failure> {
    Reason::new(text).map(Reason::into_string).map_err(|error| Failure::field("/reason", error))
}

fn pipelines(texts: &[String]) -> Result<Vec<PipelineId>, Failure> {
    let ids = texts
        .iter()
        .enumerate()
        .map(|(at, text)| text.parse().map_err(|error| Failure::field(&format!("/pipelines/{at}"), error)));
    ids.collect()
}

fn windows(windows: Vec<FreezeWindow>) -> Vec<WindowInput> {
    windows.into_iter().map(|FreezeWindow { from, to }| WindowInput { from, to }).collect()
}

fn checked(input: &ScheduleInput) -> Result<Schedule, Failure> {
    Schedule::new(input).map_err(|invalid| Failure::field(invalid.pointer(), &invalid))
}

/// Returns the reach. All of its pipelines must be the organization's, and each of its environments must be one of them: a freeze
/// of a mistyped name would be active and stop no deployment. What the freeze has named before may have been removed since.
async fn reach(
    command: &mut Command,
    pipelines: Vec<PipelineId>,
    environments: Vec<String>,
    before: Option<&Reach>,
) -> Result<Reach, Failure> {
    let reach =
        Reach::new(pipelines, environments).map_err(|invalid| Failure::field(invalid.pointer(), &invalid))?;
    let named = PipelineLimit::new(Some(reach.pipelines().to_vec()));
    if let Some(unknown) = command.unknown_pipeline(&named).await? {
        return Err(Failure::field(
            "/pipelines",
            format!("{unknown} is not a pipeline of this organization"),
        ));
    }
    let kept = before.filter(|before| before.pipelines() == reach.pipelines());
    let kept = kept.map(Reach::environments).unwrap_or_default();
    let new: Vec<&String> = reach.environments().iter().filter(|name| !kept.contains(name)).collect();
    if new.is_empty() {
        return Ok(reach);
    }
    let known = command.known_names(reach.pipelines()).await?;
    match known.unknown_lasting(new).into_iter().next() {
        Some(unknown) => {
            let kind = if reach.pipelines().is_empty() {
                "lasting environment of any pipeline"
            } else {
                "lasting environment of these pipelines"
            };
            Err(known_names::refusal(unknown, kind, &known.lasting, "/environments"))
        }
        None => Ok(reach),
    }
}

async fn record_event(
    command: &mut Command,
    event_type: EventType,
    before: Option<&FreezeRecord>,
    after: FreezeRecord,
) -> Result<FreezeAt, Failure> {
    let now = command.now().await?;
    let payload = |freeze: &FreezeRecord| serde_json::to_value(freeze_view(freeze.clone(), now)).ok();
    command
        .record_event(NewEvent {
            event_type,
            subject: subject(after.id),
            before: before.and_then(payload),
            after: payload(&after),
            reason: None,
        })
        .await?;
    Ok((after, now))
}
