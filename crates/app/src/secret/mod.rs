//! Secrets: creating, changing and deleting them. No use case returns a value; steps get them when they start
//! (`app/job`).

pub mod sealing;
pub mod value;
mod view;

use greenroom_api_types::reference_warning::ReferenceWarning;
use greenroom_api_types::secret::{CreateSecret, SecretPolicy, UpdateSecret};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{PipelineId, SecretId};
use greenroom_domain::policy::Action;
use greenroom_domain::principal::Principal;
use greenroom_domain::repository_pattern::RepositoryPattern;
use greenroom_domain::secret::{
    InvalidPolicy, InvalidScope, Policy, Secret, SecretScope, Usage, ValuePlace, is_name, subject,
};
use greenroom_domain::text::Reason as Description;
use greenroom_domain::token_grant::PipelineLimit;
use greenroom_store::pipeline::PipelineName;
use greenroom_store::secret::{NewSecret, NewVersion, SecretRecord};
use greenroom_store::{Command, Store};
use uuid::Uuid;

use crate::failure::{Code, Failure};
use crate::known_names;
use crate::pipeline_role;
use crate::precondition::IfMatch;
use crate::secret::sealing::OrganizationKeys;

pub use crate::secret::view::{read_of_deployment_view, read_view, secret_view, version_view};

/// Creates a secret with its first version, which is active.
#[boxed_futures]
pub async fn create(
    command: &mut Command,
    keys: &OrganizationKeys,
    request: CreateSecret,
) -> Result<SecretRecord, Failure> {
    if !is_name(&request.name) {
        let rule = "must be 1 to 63 characters: a small letter, then small letters, digits or hyphens";
        return Err(Failure::field("/name", rule));
    }
    let scope = scope(command, request.pipeline_id.as_deref(), request.environment).await?;
    allow_edit_in(command, &scope).await?;
    let description = description(request.description.as_deref())?;
    let usage = request.r#use.map(|usage| {
        let kind =
            usage.kind.known().ok_or_else(|| Failure::field("/use/kind", "is not one of the kinds"))?;
        Usage::new(kind, &usage.host).map_err(invalid_policy)
    });
    let usage = usage.transpose()?;
    let policy = policy(command, request.policy, &scope, usage.as_ref()).await?;
    let value = Secret::new(request.value.into_bytes()).map_err(|error| Failure::field("/value", error))?;
    let id = SecretId::from(Uuid::now_v7());
    let sealed = keys.seal(ValuePlace { secret: id, scope: &scope, version: 1 }, &value)?;
    let new = NewSecret {
        id,
        name: &request.name,
        scope: &scope,
        description: description.as_deref(),
        policy: &policy,
        usage: usage.as_ref(),
        value: NewVersion { value: &sealed, bytes: value.len(), is_staged: false },
    };
    let created = command.create_secret(&new).await.map_err(|error| {
        if error.is_taken("secrets_live_name") {
            let detail = format!(
                "There is a secret `{}` in this scope already. Set its value by `PUT …/value`, or choose another name.",
                request.name
            );
            Failure::new(Code::SecretNameTaken, detail)
        } else {
            error.into()
        }
    })?;
    record_event(command, EventType::SecretCreated, None, &created).await?;
    Ok(created)
}

/// Changes a secret's description and policy.
#[boxed_futures]
pub async fn update(
    command: &mut Command,
    id: SecretId,
    condition: &IfMatch,
    request: UpdateSecret,
) -> Result<SecretRecord, Failure> {
    let before = editable(command, id, condition).await?;
    let description = match request.description {
        Some(given) => description(given.as_deref())?,
        None => before.description.clone(),
    };
    let policy = match request.policy {
        Some(given) => policy(command, given, &before.scope, before.usage.as_ref()).await?,
        None => before.policy.clone(),
    };
    if description == before.description && policy == before.policy {
        return Ok(before);
    }
    let updated = command.update_secret(id, description.as_deref(), &policy).await?;
    record_event(command, EventType::SecretUpdated, Some(&before), &updated).await?;
    Ok(updated)
}

/// Deletes a secret and destroys its values. Deleting again changes nothing.
#[boxed_futures]
pub async fn delete(
    command: &mut Command,
    id: SecretId,
    condition: &IfMatch,
) -> Result<SecretRecord, Failure> {
    let before = found(command, id).await?;
    if before.deleted_at.is_some() {
        return Ok(before);
    }
    condition.check(before.revision)?;
    let deleted = command.delete_secret(id).await?;
    record_event(command, EventType::SecretDeleted, Some(&before), &deleted).await?;
    Ok(deleted)
}

/// Returns a secret that the caller may edit, locked.
async fn found(command: &mut Command, id: SecretId) -> Result<SecretRecord, Failure> {
    let secret = command.secret_for_update(id).await?.ok_or_else(Failure::not_found)?;
    allow_edit_in(command, &secret.scope).await?;
    Ok(secret)
}

/// Returns a secret that is not deleted and that the caller may edit, locked.
async fn editable(command: &mut Command, id: SecretId, condition: &IfMatch) -> Result<SecretRecord, Failure> {
    let secret = found(command, id).await?;
    if secret.deleted_at.is_some() {
        return Err(Failure::new(Code::InvalidState, "The secret was deleted. Create a new one."));
    }
    condition.check(secret.revision)?;
    Ok(secret)
}

/// Checks the permission to list the secrets of a pipeline or, without one, all of them.
#[boxed_futures]
pub async fn allow_list(
    store: &Store,
    principal: &Principal,
    pipeline: Option<PipelineId>,
) -> Result<(), Failure> {
    match pipeline {
        Some(pipeline) => pipeline_role::require_now(store, principal, pipeline, Action::SecretRead).await,
        None => Ok(principal.require(Action::SecretRead)?),
    }
}

/// Checks the permission for a new secret before anything else: a key may have to be made for it. The command
/// checks it again.
#[boxed_futures]
pub async fn allow_create(
    store: &Store,
    principal: &Principal,
    request: &CreateSecret,
) -> Result<(), Failure> {
    let Some(text) = &request.pipeline_id else {
        principal.require(Action::SecretEditOrganization)?;
        return match principal.pipelines {
            PipelineLimit::All => Ok(()),
            PipelineLimit::Only(_) => Err(Failure::token_limited()),
        };
    };
    let pipeline = match PipelineName::parse(text) {
        Some(name) => store.pipeline(principal.organization_id, &name).await?,
        None => None,
    };
    match pipeline {
        Some(pipeline) => pipeline_role::require_now(store, principal, pipeline.id, Action::SecretEdit).await,
        // That there is no such pipeline is reported to those who may edit secrets of any.
        None => Ok(principal.require(Action::SecretEdit)?),
    }
}

/// Checks the permission to edit a secret before a key is made for it. The command checks it again.
#[boxed_futures]
pub async fn allow_edit(store: &Store, principal: &Principal, scope: &SecretScope) -> Result<(), Failure> {
    match scope.pipeline() {
        None => Ok(principal.require(Action::SecretEditOrganization)?),
        Some(pipeline) => pipeline_role::require_now(store, principal, pipeline, Action::SecretEdit).await,
    }
}

/// Requires the permission to edit a secret. Those of the whole organization are an admin's.
async fn allow_edit_in(command: &mut Command, scope: &SecretScope) -> Result<(), Failure> {
    match scope.pipeline() {
        None => Ok(command.principal().require(Action::SecretEditOrganization)?),
        Some(pipeline) => pipeline_role::require(command, pipeline, Action::SecretEdit).await,
    }
}

/// Returns the scope of a new secret. For a token that is limited to pipelines, others do not exist.
async fn scope(
    command: &mut Command,
    pipeline: Option<&str>,
    environment: Option<String>,
) -> Result<SecretScope, Failure> {
    let limit = command.principal().pipelines.clone();
    let pipeline = match pipeline {
        None => None,
        Some(text) => {
            let unknown = || Failure::field("/pipelineId", "is not a pipeline of this organization");
            let name = PipelineName::parse(text).ok_or_else(unknown)?;
            let found: Option<PipelineId> = command.pipeline_id(&name).await?;
            Some(found.filter(|id| limit.contains(*id)).ok_or_else(unknown)?)
        }
    };
    SecretScope::new(pipeline, environment).map_err(|invalid| match invalid {
        InvalidScope::EnvironmentWithoutPipeline | InvalidScope::EnvironmentName(_) => {
            Failure::field("/environment", invalid)
        }
    })
}

fn description(given: Option<&str>) -> Result<Option<String>, Failure> {
    let text = given.map(Description::new).transpose();
    let text = text.map_err(|error| Failure::field("/description", error))?;
    Ok(text.map(Description::into_string))
}

async fn policy(
    command: &mut Command,
    given: Option<SecretPolicy>,
    scope: &SecretScope,
    usage: Option<&Usage>,
) -> Result<Policy, Failure> {
    let SecretPolicy { pipelines, environments, pools, branches, repositories } = given.unwrap_or_default();
    let pipelines = pipelines.map(|texts| {
        let ids = texts.iter().enumerate().map(|(at, text)| {
            text.parse().map_err(|error| Failure::field(&format!("/policy/pipelines/{at}"), error))
        });
        ids.collect::<Result<Vec<PipelineId>, _>>()
    });
    let repositories = repositories.map(|texts| {
        let patterns = texts.iter().enumerate().map(|(at, text)| {
            let pattern = RepositoryPattern::new(text);
            pattern.map_err(|error| Failure::field(&format!("/policy/repositories/{at}"), error))
        });
        patterns.collect::<Result<Vec<_>, _>>()
    });
    let (pipelines, repositories) = (pipelines.transpose()?, repositories.transpose()?);
    let policy = Policy { pipelines, environments, pools, branches, repositories };
    let policy = policy.checked(scope, usage).map_err(invalid_policy)?;
    let named = PipelineLimit::new(policy.pipelines.clone());
    if let Some(unknown) = command.unknown_pipeline(&named).await? {
        let detail = format!("{unknown} is not a pipeline of this organization");
        return Err(Failure::field("/policy/pipelines", detail));
    }
    Ok(policy)
}

/// Returns the names in the scope and the policy of a secret that match nothing yet. They are accepted: a secret may be there
/// before its environment is, and a stage that does not get it fails with the reason. Also warns of a credential for every
/// repository of a host.
#[boxed_futures]
pub async fn warnings(
    command: &mut Command,
    secret: &SecretRecord,
) -> Result<Vec<ReferenceWarning>, Failure> {
    let policy = &secret.policy;
    let environment = secret.scope.environment();
    if environment.is_none()
        && policy.environments.is_none()
        && policy.pools.is_none()
        && policy.branches.is_none()
    {
        return Ok(all_repositories(secret).into_iter().collect());
    }
    let pipelines = match secret.scope.pipeline() {
        Some(pipeline) => vec![pipeline],
        None => policy.pipelines.clone().unwrap_or_default(),
    };
    let known = command.known_names(&pipelines).await?;
    let environment = known.unknown_environments(environment);
    let environments = known.unknown_environments(policy.environments.iter().flatten());
    let pools = known.unknown_pools(policy.pools.iter().flatten());
    let branches = known.doubtful_branches(policy.branches.iter().flatten());
    let mut found = known_names::warnings(environment, "environment", "/environment");
    found.extend(known_names::warnings(environments, "environment", "/policy/environments"));
    found.extend(known_names::warnings(pools, "pool", "/policy/pools"));
    found.extend(known_names::warnings(branches, "branch that the definition names", "/policy/branches"));
    found.extend(all_repositories(secret));
    Ok(found)
}

/// Warns of a checkout credential of the whole organization that is not limited to repositories.
fn all_repositories(secret: &SecretRecord) -> Option<ReferenceWarning> {
    let usage = secret.usage.as_ref()?;
    let message = format!(
        "a member who may edit one of the pipelines can fetch every repository of {} that this credential can read; name \
         those that it is for in `repositories`, such as `{}/acme`",
        usage.host, usage.host
    );
    usage.is_for_all_repositories(&secret.scope, &secret.policy).then(|| ReferenceWarning {
        code: "all_repositories".to_owned(),
        message,
        path: "/policy/repositories".to_owned(),
        suggestion: None,
    })
}

fn invalid_policy(invalid: InvalidPolicy) -> Failure {
    Failure::field(invalid.pointer(), &invalid)
}

async fn record_event(
    command: &mut Command,
    event_type: EventType,
    before: Option<&SecretRecord>,
    after: &SecretRecord,
) -> Result<(), Failure> {
    let payload = |secret: &SecretRecord| serde_json::to_value(secret_view(secret.clone())).ok();
    command
        .record_event(NewEvent {
            event_type,
            subject: subject(&after.scope, after.id),
            before: before.and_then(payload),
            after: payload(after),
            reason: None,
        })
        .await?;
    Ok(())
}
