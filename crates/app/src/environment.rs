//! Ephemeral environments: applying a definition to them, and their representation in the API.

use greenroom_api_types::environment::{
    CleanupFailed, Deployed, Environment as Wire, Handover, Holder, Lock, LockStatus, OnSilence, WorkSlot,
};
use greenroom_api_types::session::SessionDeployment;
use greenroom_api_types::token::TokenKind;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::definition::{
    DEFAULT_FORCE_ROLE, DEFAULT_MAX_STAY_SECONDS, Definition, EphemeralSettings, nearest,
};
use greenroom_domain::id::{EnvironmentId, PipelineId};
use greenroom_domain::pipeline::Pipeline;
use greenroom_domain::slug::Slug;
use greenroom_store::Command;
use greenroom_store::environment::{Environment, LockView};
use greenroom_store::environment_definition::DefinedEnvironment;
use uuid::Uuid;

use crate::failure::{Code, Failure};
use crate::web_url::WebUrls;

/// Updates a pipeline's named environments to match its definition.
#[boxed_futures]
pub async fn define(
    command: &mut Command,
    pipeline: PipelineId,
    definition: &Definition,
) -> Result<(), Failure> {
    let defined = definition
        .ephemeral_environments
        .iter()
        .map(|environment| defined(&environment.name, &environment.settings))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(command.define_environments(pipeline, &defined).await?)
}

/// Creates an environment from the template that its name matches, if there is one and its maximum is not
/// reached.
#[boxed_futures]
pub async fn make_from_template(
    command: &mut Command,
    pipeline: &Pipeline,
    name: &str,
) -> Result<(), Failure> {
    let stored = command.pipeline_definition(pipeline).await?;
    let definition: Definition = serde_json::from_value(stored).map_err(Failure::internal)?;
    let valid = name.parse::<Slug>().is_ok();
    let Some(template) = definition.template_for(name).filter(|_| valid) else {
        let names = definition.ephemeral_environments.iter().map(|environment| environment.name.as_str());
        return Err(missing(name, names));
    };
    let environment = defined(name, &template.settings)?;
    let pattern = template.pattern();
    let max = i64::from(template.max);
    if command.create_from_template(pipeline.id, &pattern, max, &environment).await? {
        return Ok(());
    }
    let detail =
        format!("There are {max} environments of `{pattern}` already, and no more are allowed. Release one.");
    Err(Failure::new(Code::TemplateFull, detail).with("template", pattern.into()).with("max", max.into()))
}

/// The failure for a name that no environment of the pipeline has: names the nearest of `known`, if there is one.
pub fn missing<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Failure {
    let Some(suggestion) = nearest(name, known) else { return Failure::not_found() };
    let detail = format!("The pipeline has no environment of this name. Did you mean `{suggestion}`?");
    Failure::new(Code::NotFound, detail).with("suggestion", suggestion.into())
}

fn defined(name: &str, settings: &EphemeralSettings) -> Result<DefinedEnvironment, Failure> {
    let seconds = |seconds: u64| i64::try_from(seconds).map_err(Failure::internal);
    Ok(DefinedEnvironment {
        id: EnvironmentId::from(Uuid::now_v7()),
        name: name.to_owned(),
        labels: settings.labels.clone(),
        url: settings.url_for(name),
        configuration: serde_json::to_value(settings).map_err(Failure::internal)?,
        default_lease_seconds: seconds(settings.lease.default_seconds)?,
        longest_lease_seconds: seconds(settings.lease.max_seconds)?,
        force_role: settings.force.as_ref().map_or(DEFAULT_FORCE_ROLE, |force| force.role),
        force_reason_required: settings.force.is_some_and(|force| force.reason.is_some()),
        handover_grace_seconds: settings.handover.map(|rule| seconds(rule.grace_seconds)).transpose()?,
        max_stay_seconds: seconds(
            settings.queue.map_or(DEFAULT_MAX_STAY_SECONDS, |rule| rule.max_stay_seconds),
        )?,
    })
}

pub fn wire(urls: WebUrls<'_>, environment: Environment, last_deployment: Option<SessionDeployment>) -> Wire {
    Wire {
        web_url: urls.environment(environment.pipeline_id, &environment.name),
        env_name: environment.name,
        url: environment.url,
        labels: environment.labels,
        configuration: environment.configuration,
        lock: lock(&environment.lock),
        cleanup_failed: cleanup_failed(&environment.lock),
        deployed: environment.deployed.map(|deployed| Deployed {
            deployment_id: deployed.deployment_id.to_string(),
            commit_id: deployed.commit_id,
            at: deployed.at,
        }),
        last_deployment,
        free_since: environment.free_since,
        work_slot: environment.work_slot.map(|holder| WorkSlot {
            deployment_id: holder.deployment_id.to_string(),
            purpose: holder.purpose.into(),
            commit_id: holder.commit_id,
        }),
    }
}

/// Returns the environment's failed teardown, if there is one.
pub fn cleanup_failed(view: &LockView) -> Option<CleanupFailed> {
    view.cleanup_failed.as_ref().map(|failed| CleanupFailed {
        deployment_id: failed.deployment_id.to_string(),
        at: failed.at,
        reason: failed.reason.into(),
    })
}

pub fn lock(view: &LockView) -> Lock {
    let holder = view.holder.as_ref();
    Lock {
        status: if holder.is_some() { LockStatus::Locked } else { LockStatus::Free },
        session_id: holder.map(|holder| holder.session_id.to_string()),
        holder: holder.map(|holder| Holder {
            id: holder.user_id.to_string(),
            name: holder.name.clone(),
            kind: kind(&holder.kind),
            token: holder.token.as_ref().map(|token| token.name.clone()),
        }),
        context: holder.and_then(|holder| holder.context.clone()),
        commit_id: holder.and_then(|holder| holder.commit_id.clone()),
        claimed_at: holder.map(|holder| holder.claimed_at),
        expires_at: holder.map(|holder| holder.expires_at),
        max_expires_at: holder.map(|holder| holder.max_expires_at),
        confirm_by: holder.filter(|holder| !holder.confirmed).map(|holder| holder.expires_at),
        fence: holder.map(|holder| holder.fence),
        queue_length: view.queue_length,
        handover: view.handover.as_ref().map(|handover| Handover {
            requested_by: Holder {
                id: handover.user_id.to_string(),
                name: handover.name.clone(),
                kind: kind(&handover.kind),
                token: handover.token_name.clone(),
            },
            context: handover.context.clone(),
            requested_at: handover.requested_at,
            due_at: handover.due_at,
            on_silence: if handover.accepts { OnSilence::Accept } else { OnSilence::Lapse },
            session_id: handover.session_id.to_string(),
        }),
    }
}

pub fn kind(text: &str) -> TokenKind {
    text.parse::<greenroom_domain::token::TokenKind>().map_or(TokenKind::User, TokenKind::from)
}
