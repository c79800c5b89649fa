//! Claiming an environment: on the fast path if the claim allows it, else on the slow path, which also
//! returns the reason of a refusal.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::environment::{Effect, LockCommand};
use greenroom_domain::id::{DeploymentId, SessionId, TokenId};
use greenroom_domain::lease::LeaseTerms;
use greenroom_domain::lock::Claim;
use greenroom_domain::policy::Action;
use greenroom_domain::principal::Principal;
use greenroom_domain::role::Role;
use greenroom_domain::session::SessionEnd;
use greenroom_domain::text::Reason;
use greenroom_domain::token::TokenKind;
use greenroom_store::Command;
use greenroom_store::deployment::NewSessionDeployment;
use greenroom_store::lock::{LockedEnvironment, NewSession};
use greenroom_store::pipeline::PipelineName;
use jiff::SignedDuration;
use uuid::Uuid;

use crate::command::{CommandRequest, Interruption, Replayable};
use crate::environment;
use crate::failure::{Code, Failure};
use crate::pipeline_role;
use crate::session::locked::{live_pipeline, lock, refused};
use crate::session::view::{Render, SessionView, read_view};
use crate::session::{ClaimMode, ClaimRequest, Place, ValidatedClaim, fast_path, outcome};
use crate::trace;

/// Claims an environment, queues for it or takes it over. Chooses between the fast and the slow path.
pub async fn claim<R: Replayable>(
    request: &CommandRequest<'_>,
    place: &Place,
    claim: &ClaimRequest,
    render: Render<R>,
) -> Result<R, Interruption> {
    if request.key.is_none()
        && let Some(result) = fast_path::claim(request, place, claim).await.transpose()
    {
        return Ok(render(request.web_urls(), outcome::counted(result)?)?);
    }
    let mut command = request.open().await?;
    match outcome::counted(claim_in(&mut command, request, place, claim).await) {
        Ok(view) => command.finish(render(request.web_urls(), view)?).await,
        // The refusal reports the lock after expired leases were settled, so the settling is committed first.
        Err(refused) if reports_lock(refused.code) => {
            command.commit().await?;
            Err(refused.into())
        }
        Err(failure) => Err(failure.into()),
    }
}

/// Returns what a claim would return, and changes nothing.
pub async fn preview<R>(
    request: &CommandRequest<'_>,
    place: &Place,
    claim: &ClaimRequest,
    render: Render<R>,
) -> Result<R, Interruption> {
    let mut command = request.open().await?;
    let view = claim_on_slow_path(&mut command, place, claim).await?;
    Ok(render(request.web_urls(), view)?)
}

/// Claims within a command. With an idempotency key, the fast path is a part of the command, because the
/// response is stored in its transaction; without one, the claim has tried the fast path before.
async fn claim_in(
    command: &mut Command,
    request: &CommandRequest<'_>,
    place: &Place,
    claim: &ClaimRequest,
) -> Result<SessionView, Failure> {
    if request.key.is_some()
        && let Some(view) = fast_path::claim_in(command, request, place, claim).await?
    {
        return Ok(view);
    }
    claim_on_slow_path(command, place, claim).await
}

/// Refusals that report the settled lock or queue.
fn reports_lock(code: Code) -> bool {
    matches!(code, Code::EnvironmentLocked | Code::HeldByYou | Code::AlreadyQueued | Code::QueueFull)
}

/// Claims an environment, queues for it or takes it over, on the slow path.
#[boxed_futures]
pub async fn claim_on_slow_path(
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
        allow_force(command, &locked).await?;
        if locked.force_reason_required && validated.context.is_none() {
            let detail = "must say why: this environment is taken over by force with a reason only";
            return Err(Failure::field("/context", detail));
        }
    }
    claim_locked(command, &mut locked, request, validated, places, &place.pipeline).await
}

/// Locks and counts the queue places of the user's `ci` and `agent` tokens. Precedes the lock of the
/// environment.
#[boxed_futures]
pub async fn lock_places(command: &mut Command) -> Result<i64, Failure> {
    let (user, kind) = (command.principal().user_id, command.principal().token_kind);
    Ok(if kind == TokenKind::User { 0 } else { command.lock_queue_places_of(user).await? })
}

/// Claims an environment whose row the command has locked.
#[boxed_futures]
pub async fn claim_locked(
    command: &mut Command,
    locked: &mut LockedEnvironment,
    request: &ClaimRequest,
    ValidatedClaim { commit_id, branch, context }: ValidatedClaim,
    places: i64,
    pipeline: &PipelineName,
) -> Result<SessionView, Failure> {
    // A commit with the claim is deployed once the lock is granted.
    if commit_id.is_some() {
        pipeline_role::require(command, locked.pipeline_id, Action::DeploymentRunOwn).await?;
    }
    let lineage = command.principal().lineage.clone();
    let terms = lease_terms(locked, request.ttl_seconds)?;
    let claim = new_claim(command, &lineage, locked, terms, places).await?;
    let claim = Claim { is_at_session_limit: command.is_at_session_limit(locked.id).await?, ..claim };
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
        Err(refusal) => return Err(refused(command, locked, refusal, pipeline, request).await?),
    };
    let granted = effects
        .iter()
        .any(|effect| matches!(effect, Effect::Granted { session, .. } if *session == claim.session));
    if let Some(commit) = commit_id.filter(|_| granted) {
        let id = DeploymentId::from(Uuid::now_v7());
        let new = NewSessionDeployment {
            session: claim.session,
            created_by: claim.owner.user,
            commit_id: commit.as_str(),
        };
        command.create_deployment(locked, id, new).await?;
        trace::record(command, id).await?;
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
#[boxed_futures]
pub async fn new_claim<'a>(
    command: &mut Command,
    lineage: &'a [TokenId],
    locked: &LockedEnvironment,
    terms: LeaseTerms,
    places: i64,
) -> Result<Claim<'a>, Failure> {
    let role = role_for_force(command, locked).await?;
    let principal = command.principal();
    Ok(Claim {
        session: SessionId::from(Uuid::now_v7()),
        owner: principal.owner(),
        lineage,
        kind: principal.token_kind,
        terms,
        max_stay: locked.max_stay,
        can_force: role >= locked.force_role && principal.token_allow_force,
        places,
        is_at_session_limit: false,
    })
}

/// Returns the role that counts for force. That on the pipeline is looked up only if the one in the organization is not
/// enough.
async fn role_for_force(command: &mut Command, locked: &LockedEnvironment) -> Result<Role, Failure> {
    let role = command.principal().role;
    if role >= locked.force_role { Ok(role) } else { Ok(command.own_role_on(locked.pipeline_id).await?) }
}

/// Makes a session of the principal, without context and commit.
pub fn new_session(principal: &Principal) -> NewSession {
    NewSession {
        user_name: principal.user_name.clone(),
        user_kind: principal.token_kind.to_string(),
        credential: Some(principal.credential),
        token_name: principal.service_token.as_ref().map(|token| token.name.clone()),
        ..NewSession::default()
    }
}

async fn allow_force(command: &mut Command, locked: &LockedEnvironment) -> Result<(), Failure> {
    let role = role_for_force(command, locked).await?;
    if role < locked.force_role {
        let detail = format!(
            "Taking `{}` over by force needs the role {} or higher; yours is {}. Queue for it, or ask its holder.",
            locked.name, locked.force_role, role
        );
        return Err(Failure::new(Code::Forbidden, detail)
            .with("requiredRole", locked.force_role.as_str().into())
            .with("role", role.as_str().into()));
    }
    if !command.principal().token_allow_force {
        let detail =
            "This token may not take environments over by force. Use one made with `allowForce: true`.";
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
