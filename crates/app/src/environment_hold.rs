//! Holds of lasting environments.

use std::time::Duration;

use greenroom_api_types::lasting_environment::{EnvironmentHold, HeldEnvironment, HoldEnvironment};
use greenroom_api_types::person::Person;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::PipelineId;
use greenroom_domain::text::Reason;
use greenroom_store::Command;
use greenroom_store::lasting_environment::HoldOutcome;
use greenroom_store::pipeline::PipelineName;
use serde_json::json;

use crate::failure::{Code, Failure};

/// The longest time until which an environment can be held.
const LONGEST_HOLD: Duration = Duration::from_secs(24 * 3_600);

/// Holds an environment for the caller.
#[boxed_futures]
pub async fn hold(
    command: &mut Command,
    pipeline: &PipelineName,
    name: &str,
    request: HoldEnvironment,
) -> Result<HeldEnvironment, Failure> {
    let reason = Reason::new(&request.reason).map_err(|error| Failure::field("/reason", error))?;
    let (until, now) = (request.until, command.now().await?);
    if until <= now {
        return Err(Failure::field("/until", "must be in the future"));
    }
    if until.duration_since(now).unsigned_abs() > LONGEST_HOLD {
        return Err(Failure::field("/until", "must be at most 24 hours from now"));
    }
    let pipeline = command.pipeline_for_update(pipeline).await?.ok_or_else(Failure::not_found)?;
    let outcome = command.hold_environment(pipeline.id, name, (reason.as_str(), until)).await?;
    check(command, pipeline.id, name, outcome).await?;
    let principal = command.principal();
    let by = Person { id: principal.user_id.to_string(), name: principal.user_name.clone() };
    let hold = EnvironmentHold { by, reason: request.reason, since: now, until };
    Ok(HeldEnvironment { pipeline_id: pipeline.id.to_string(), name: name.to_owned(), hold: Some(hold) })
}

/// Ends the hold of an environment.
#[boxed_futures]
pub async fn end(
    command: &mut Command,
    pipeline: &PipelineName,
    name: &str,
) -> Result<HeldEnvironment, Failure> {
    let pipeline = command.pipeline_for_update(pipeline).await?.ok_or_else(Failure::not_found)?;
    let outcome = command.end_hold(pipeline.id, name).await?;
    check(command, pipeline.id, name, outcome).await?;
    Ok(HeldEnvironment { pipeline_id: pipeline.id.to_string(), name: name.to_owned(), hold: None })
}

async fn check(
    command: &mut Command,
    pipeline: PipelineId,
    environment: &str,
    outcome: HoldOutcome,
) -> Result<(), Failure> {
    match outcome {
        HoldOutcome::Done => Ok(()),
        HoldOutcome::Missing => {
            let known = command.known_names(&[pipeline]).await?;
            let missing = known.unknown_lasting([environment]).into_iter().next();
            Err(missing.and_then(|missing| missing.suggestion).map_or_else(Failure::not_found, |suggestion| {
                let detail =
                    format!("The pipeline has no lasting environment of this name. Did you mean `{suggestion}`?");
                Failure::new(Code::NotFound, detail).with("suggestion", suggestion.into())
            }))
        }
        HoldOutcome::HeldByOther { by, name, reason, until } => Err(Failure::new(
            Code::InvalidState,
            format!(
                "{name} holds `{environment}` until {until}: {reason}. Ask them to end the hold, or an admin to end or take \
                 it over."
            ),
        )
        .with("heldBy", json!({ "id": by.to_string(), "name": name }))
        .with("until", json!(until))),
    }
}
