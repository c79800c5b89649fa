//! Holds of lasting environments.

use std::time::Duration;

use greenroom_api_types::lasting_environment::{EnvironmentHold, HeldEnvironment, HoldEnvironment};
use greenroom_api_types::person::Person;
use greenroom_domain::text::Reason;
use greenroom_store::Command;
use greenroom_store::lasting_environment::HoldOutcome;
use greenroom_store::pipeline::PipelineName;
use serde_json::json;

use crate::app::failure::{Code, Failure};

/// The longest time until which an environment can be held.
const LONGEST_HOLD: Duration = Duration::from_secs(24 * 3_600);

/// Holds an environment for the caller.
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
    check(outcome, name)?;
    let principal = command.principal();
    let by = Person { id: principal.user_id.to_string(), name: principal.user_name.clone() };
    let hold = EnvironmentHold { by, reason: request.reason, since: now, until };
    Ok(HeldEnvironment { pipeline_id: pipeline.id.to_string(), name: name.to_owned(), hold: Some(hold) })
}

/// Ends the hold of an environment.
pub async fn end(
    command: &mut Command,
    pipeline: &PipelineName,
    name: &str,
) -> Result<HeldEnvironment, Failure> {
    let pipeline = command.pipeline_for_update(pipeline).await?.ok_or_else(Failure::not_found)?;
    check(command.end_hold(pipeline.id, name).await?, name)?;
    Ok(HeldEnvironment { pipeline_id: pipeline.id.to_string(), name: name.to_owned(), hold: None })
}

fn check(outcome: HoldOutcome, environment: &str) -> Result<(), Failure> {
    match outcome {
        HoldOutcome::Done => Ok(()),
        HoldOutcome::Missing => Err(Failure::not_found()),
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
