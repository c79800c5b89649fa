//! Sessions: claiming, holding, deploying to, releasing and taking over an environment.

use greenroom_domain::environment::{Effect, LockCommand, Refusal};
use greenroom_domain::id::{DeploymentId, SessionId};
use greenroom_domain::lease::LeaseTerms;
use greenroom_domain::lock::Claim;
use greenroom_domain::pipeline::{Pipeline, PipelineStatus};
use greenroom_domain::policy::Action;
use greenroom_domain::principal::Principal;
use greenroom_domain::session::{SessionEnd, SessionStatus};
use greenroom_domain::text::{CommitId, Reason};
use greenroom_domain::token::TokenKind;
use greenroom_store::Command;
use greenroom_store::deployment::DeploymentRecord;
use greenroom_store::environment::LockView;
use greenroom_store::lock::{LockedEnvironment, NewSession};
use greenroom_store::pipeline::PipelineName;
use greenroom_store::planted::{self, Bug};
use greenroom_store::session::Session;
use jiff::SignedDuration;
use uuid::Uuid;

use crate::app::claim_request::parse_branch;
pub use crate::app::claim_request::{ClaimMode, ClaimRequest, ValidatedClaim};
use crate::app::environment;
use crate::app::failure::{Code, Failure};
use crate::app::refusal::{self, RefusedRequest};

/// The environment of a session, as the path of a request names it.
#[derive(Clone, Debug)]
pub struct Place {
    pub pipeline: PipelineName,
    pub environment: String,
}

/// A session with everything that the API returns about it.
#[derive(Clone, Debug)]
pub struct SessionView {
    pub session: Session,
    pub env_name: String,
    pub lock: LockView,
    pub deployments: Vec<DeploymentRecord>,
    /// The session that a force claim ended.
    pub displaced: Option<Session>,
}

/// Claims an environment, queues for it or takes it over, on the slow path.
pub async fn claim(
    command: &mut Command,
    place: &Place,
    request: &ClaimRequest,
) -> Result<SessionView, Failure> {
    let validated = ValidatedClaim::new(request)?;
    let pipeline = live_pipeline(command, &place.pipeline).await?;
    // The pipeline's row is locked before the environment's, here as in an edit of the pipeline, so that they
    // can't deadlock.
    if !command.is_environment_offered(pipeline.id, &place.environment).await? {
        environment::make_from_template(command, &pipeline, &place.environment).await?;
    }
    let places = if request.mode == ClaimMode::Queue { lock_places(command).await? } else { 0 };
    let mut locked = lock(command, &pipeline, place).await?;
    if request.mode == ClaimMode::Force {
        allow_force(command, &locked)?;
        if locked.force_reason_required && validated.context.is_none() {
            let detail = "must say why: this environment is taken over by force with a reason only";
            return Err(Failure::field("/context", detail));
        }
    }
    claim_locked(command, &mut locked, (request, validated), places, &place.pipeline).await
}

/// Locks and counts the queue places of the user's `ci` and `agent` tokens. Precedes the lock of the
/// environment.
pub async fn lock_places(command: &mut Command) -> Result<i64, Failure> {
    let (user, kind) = (command.principal().user_id, command.principal().token_kind);
    Ok(if kind == TokenKind::User { 0 } else { command.lock_queue_places_of(user).await? })
}

/// Claims an environment whose row the command has locked.
pub async fn claim_locked(
    command: &mut Command,
    locked: &mut LockedEnvironment,
    (request, ValidatedClaim { commit_id, branch, context }): (&ClaimRequest, ValidatedClaim),
    places: i64,
    pipeline: &PipelineName,
) -> Result<SessionView, Failure> {
    // A commit with the claim is deployed once the lock is granted.
    if commit_id.is_some() {
        command.principal().require(Action::DeploymentRunOwn)?;
    }
    let claim = new_claim(command.principal(), locked, lease_terms(locked, request.ttl_seconds)?, places);
    let lock_command = match request.mode {
        ClaimMode::Plain => LockCommand::Claim(claim),
        ClaimMode::Queue => LockCommand::Queue(claim),
        ClaimMode::Force => LockCommand::Force(claim),
    };
    let new = NewSession {
        context: context.map(Reason::into_string),
        commit_id: commit_id.as_ref().map(|commit| commit.as_str().to_owned()),
        ..new_session(command.principal())
    };
    let effects = match command.apply(locked, lock_command, &new).await? {
        Ok(effects) => effects,
        Err(refusal) => return Err(refused(command, locked, refusal, (pipeline, request)).await?),
    };
    let granted = effects
        .iter()
        .any(|effect| matches!(effect, Effect::Granted { session, .. } if *session == claim.session));
    if let Some(commit) = commit_id.filter(|_| granted) {
        let id = DeploymentId::from(Uuid::now_v7());
        command.create_deployment(locked, id, (claim.session, claim.user), commit.as_str()).await?;
        if let Some(branch) = &branch {
            command.set_branch(id, branch.as_str()).await?;
        }
    } else if let Some(branch) = &branch {
        command.set_session_branch(claim.session, branch.as_str()).await?;
    }
    let overridden = effects.iter().find_map(|effect| match effect {
        Effect::Ended { session, end: SessionEnd::Overridden } => Some(*session),
        _ => None,
    });
    let displaced = match overridden {
        Some(session) => command.session(locked.id, session).await?,
        None => None,
    };
    let view = read_view(command, locked, claim.session).await?;
    Ok(SessionView { displaced, ..view })
}

/// Makes a claim with the rights that the principal has now.
pub fn new_claim(principal: &Principal, locked: &LockedEnvironment, terms: LeaseTerms, places: i64) -> Claim {
    Claim {
        session: SessionId::from(Uuid::now_v7()),
        user: principal.user_id,
        kind: principal.token_kind,
        terms,
        can_force: principal.role >= locked.force_role && principal.token_allow_force,
        places,
    }
}

/// Makes a session of the principal, without context and commit.
pub fn new_session(principal: &Principal) -> NewSession {
    NewSession {
        user_name: principal.user_name.clone(),
        user_kind: principal.token_kind.to_string(),
        token_id: Some(principal.token_id),
        ..NewSession::default()
    }
}

/// Accepts a deployment, and renews the lease.
pub async fn deploy(
    command: &mut Command,
    place: &Place,
    id: SessionId,
    (commit_id, branch): (&str, Option<&str>),
) -> Result<DeploymentRecord, Failure> {
    let commit = CommitId::new(commit_id).map_err(|error| Failure::field("/commitId", error))?;
    let branch = parse_branch(branch)?;
    live_pipeline(command, &place.pipeline).await?;
    let mut locked = lock_held(command, place, id).await?;
    renew_locked(command, &mut locked, id).await?;
    let (new, user) = (DeploymentId::from(Uuid::now_v7()), command.principal().user_id);
    command.create_deployment(&locked, new, (id, user), commit.as_str()).await?;
    if let Some(branch) = &branch {
        command.set_branch(new, branch.as_str()).await?;
    }
    command.deployment_record(new).await?.ok_or_else(Failure::not_found)
}

pub async fn renew(command: &mut Command, place: &Place, id: SessionId) -> Result<SessionView, Failure> {
    let mut locked = lock_held(command, place, id).await?;
    renew_locked(command, &mut locked, id).await?;
    read_view(command, &locked, id).await
}

/// Releases the environment, or leaves the queue. An ended session is not changed.
pub async fn release(command: &mut Command, place: &Place, id: SessionId) -> Result<SessionView, Failure> {
    let mut locked = lock_place(command, place).await?;
    let session = command.session(locked.id, id).await?.ok_or_else(Failure::not_found)?;
    let principal = command.principal();
    let is_own = session.user_id == principal.user_id || planted::is(Bug::ReleaseWithoutOwnerCheck);
    if is_own {
        principal.require(Action::SessionHold)?;
    } else {
        allow_ending_others(principal)?;
    }
    apply(command, &mut locked, LockCommand::Release(id)).await?;
    read_view(command, &locked, id).await
}

/// Keeps the place of a waiting session, and confirms a granted one. Fails with the reason if the session has
/// ended.
pub async fn heartbeat(command: &mut Command, place: &Place, id: SessionId) -> Result<SessionView, Failure> {
    let mut locked = lock_place(command, place).await?;
    let session = own_session(command, &locked, id).await?;
    if session.status.is_live() {
        apply(command, &mut locked, LockCommand::Heartbeat(id)).await?;
    }
    // It may have expired in the meantime.
    let view = read_view(command, &locked, id).await?;
    if view.session.status.is_live() { Ok(view) } else { Err(not_active(command, &locked, id).await?) }
}

/// Reads a session, which must be the principal's own.
async fn own_session(
    command: &mut Command,
    locked: &LockedEnvironment,
    id: SessionId,
) -> Result<Session, Failure> {
    let session = command.session(locked.id, id).await?.ok_or_else(Failure::not_found)?;
    if session.user_id == command.principal().user_id { Ok(session) } else { Err(not_own()) }
}

/// The failure of an action that only the session's own user may do.
pub fn not_own() -> Failure {
    let detail =
        "Only the session's own user may do this. Claim the environment yourself, or ask its holder.";
    Failure::new(Code::Forbidden, detail)
}

/// Locks the environment for an action of its holder. Fails with the reason if the session is not active.
pub async fn lock_held(
    command: &mut Command,
    place: &Place,
    id: SessionId,
) -> Result<LockedEnvironment, Failure> {
    let locked = lock_place(command, place).await?;
    let session = own_session(command, &locked, id).await?;
    if session.status != SessionStatus::Active {
        return Err(not_active(command, &locked, id).await?);
    }
    Ok(locked)
}

/// Returns why a session is not active.
pub async fn not_active(
    command: &mut Command,
    locked: &LockedEnvironment,
    id: SessionId,
) -> Result<Failure, Failure> {
    let session = command.session(locked.id, id).await?.ok_or_else(Failure::not_found)?;
    let environment = command.environment(locked.id).await?.ok_or_else(Failure::not_found)?;
    Ok(refusal::not_active(&session, &environment))
}

async fn renew_locked(
    command: &mut Command,
    locked: &mut LockedEnvironment,
    id: SessionId,
) -> Result<(), Failure> {
    match command.apply(locked, LockCommand::Renew(id), &NewSession::default()).await? {
        Ok(_) => Ok(()),
        Err(_) => Err(not_active(command, locked, id).await?),
    }
}

pub async fn apply(
    command: &mut Command,
    locked: &mut LockedEnvironment,
    lock_command: LockCommand,
) -> Result<(), Failure> {
    match command.apply(locked, lock_command, &NewSession::default()).await? {
        Ok(_) => Ok(()),
        Err(refusal) => {
            let pipeline = PipelineName::Id(locked.pipeline_id);
            Err(refused(command, locked, refusal, (&pipeline, &ClaimRequest::default())).await?)
        }
    }
}

/// Returns why a claim was refused, with what the caller can do instead.
pub async fn refused(
    command: &mut Command,
    locked: &LockedEnvironment,
    refusal: Refusal,
    (pipeline, claim): (&PipelineName, &ClaimRequest),
) -> Result<Failure, Failure> {
    let environment = command.environment(locked.id).await?.ok_or_else(Failure::not_found)?;
    let request = RefusedRequest { principal: command.principal(), pipeline, claim };
    Ok(refusal::refused(request, &environment, refusal))
}

pub async fn read_view(
    command: &mut Command,
    locked: &LockedEnvironment,
    id: SessionId,
) -> Result<SessionView, Failure> {
    let environment = command.environment(locked.id).await?.ok_or_else(Failure::not_found)?;
    Ok(SessionView {
        session: command.session(locked.id, id).await?.ok_or_else(Failure::not_found)?,
        env_name: environment.name,
        lock: environment.lock,
        deployments: command.deployments_of(id).await?,
        displaced: None,
    })
}

pub async fn lock_place(command: &mut Command, place: &Place) -> Result<LockedEnvironment, Failure> {
    let pipeline = pipeline(command, &place.pipeline).await?;
    lock(command, &pipeline, place).await
}

/// Finds a pipeline, archived or not: environments of an archived one can still be released.
pub async fn pipeline(command: &mut Command, name: &PipelineName) -> Result<Pipeline, Failure> {
    command.pipeline(name).await?.ok_or_else(Failure::not_found)
}

pub async fn live_pipeline(command: &mut Command, name: &PipelineName) -> Result<Pipeline, Failure> {
    let pipeline = pipeline(command, name).await?;
    if pipeline.status == PipelineStatus::Archived {
        let detail = "An archived pipeline's environments can't be claimed or deployed to any more.";
        return Err(Failure::new(Code::PipelineArchived, detail));
    }
    Ok(pipeline)
}

async fn lock(
    command: &mut Command,
    pipeline: &Pipeline,
    place: &Place,
) -> Result<LockedEnvironment, Failure> {
    command.lock_environment(pipeline.id, &place.environment).await?.ok_or_else(Failure::not_found)
}

fn allow_force(command: &Command, locked: &LockedEnvironment) -> Result<(), Failure> {
    let principal = command.principal();
    if principal.role < locked.force_role {
        let detail = format!(
            "Taking `{}` over by force needs the role {} or higher; yours is {}. Queue for it, or ask its holder.",
            locked.name, locked.force_role, principal.role
        );
        return Err(Failure::new(Code::Forbidden, detail)
            .with("requiredRole", locked.force_role.as_str().into())
            .with("role", principal.role.as_str().into()));
    }
    if !principal.token_allow_force {
        let detail =
            "This token may not take environments over by force. Use one made with `allowForce: true`.";
        return Err(Failure::new(Code::Forbidden, detail));
    }
    Ok(())
}

/// Ending another user's session takes the environment from its holder like force does, so it needs the same
/// token right.
fn allow_ending_others(principal: &Principal) -> Result<(), Failure> {
    principal.require(Action::SessionEndAny)?;
    if !principal.token_allow_force {
        let detail = "Ending another's session needs a token that may take environments over by force. Use one made with \
                      `allowForce: true`, or ask the holder.";
        return Err(Failure::new(Code::Forbidden, detail));
    }
    Ok(())
}

pub fn lease_terms(locked: &LockedEnvironment, ttl: Option<i64>) -> Result<LeaseTerms, Failure> {
    let seconds = ttl.unwrap_or(locked.default_lease_seconds);
    if !(1..=locked.longest_lease_seconds).contains(&seconds) {
        return Err(Failure::field(
            "/ttlSeconds",
            format!("must be between 1 and {}", locked.longest_lease_seconds),
        ));
    }
    Ok(LeaseTerms {
        length: SignedDuration::from_secs(seconds),
        max_length: SignedDuration::from_secs(locked.longest_lease_seconds),
    })
}
