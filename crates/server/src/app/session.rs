//! Sessions: claiming, holding, deploying into, letting go of and taking over an environment.

use greenroom_domain::environment::{Command as Change, Effect, Refusal};
use greenroom_domain::id::{DeploymentId, SessionId};
use greenroom_domain::lease::LeaseTerms;
use greenroom_domain::lock::Claim;
use greenroom_domain::pipeline::{Pipeline, PipelineStatus};
use greenroom_domain::policy::Action;
use greenroom_domain::principal::Principal;
use greenroom_domain::session::{SessionEnd, SessionStatus};
use greenroom_domain::text::{Branch, CommitId, Reason};
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

use crate::app::environment;
use crate::app::failure::{Code, Failure};
use crate::app::refusal::{self, Request};

/// Where a session is: an environment of a pipeline.
#[derive(Clone, Debug)]
pub struct Place {
    pub pipeline: PipelineName,
    pub environment: String,
}

/// What a claim asks for.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    pub commit_id: Option<String>,
    /// The branch that the commit is on.
    pub branch: Option<String>,
    pub context: Option<String>,
    pub ttl_seconds: Option<i64>,
    pub how: How,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum How {
    #[default]
    Plain,
    Queue,
    Force,
}

/// A session with all that is shown of it.
#[derive(Clone, Debug)]
pub struct Shown {
    pub session: Session,
    pub env_name: String,
    pub lock: LockView,
    pub deployments: Vec<DeploymentRecord>,
    /// The session that a force claim ended.
    pub displaced: Option<Session>,
}

/// Claims, queues or takes over.
pub async fn claim(command: &mut Command, place: &Place, ask: &Ask) -> Result<Shown, Failure> {
    let texts = Texts::of(ask)?;
    let pipeline = live_pipeline(command, &place.pipeline).await?;
    // Decided before the environment's row is taken: the pipeline's row comes first, here as in an edit of the pipeline.
    if !command.offers_environment(pipeline.id, &place.environment).await? {
        environment::make_from_template(command, &pipeline, &place.environment).await?;
    }
    let places = if ask.how == How::Queue { places(command).await? } else { 0 };
    let mut locked = lock(command, &pipeline, place).await?;
    if ask.how == How::Force {
        allow_force(command, &locked)?;
        if locked.force_reason_required && texts.context.is_none() {
            let detail = "must say why: this environment is taken over by force with a reason only";
            return Err(Failure::field("/context", detail));
        }
    }
    claim_locked(command, &mut locked, (ask, texts), places, &place.pipeline).await
}

/// How many waiting places the principal's user has taken through programs. Before the environment's row is locked.
pub async fn places(command: &mut Command) -> Result<i64, Failure> {
    let (user, kind) = (command.principal().user_id, command.principal().token_kind);
    Ok(if kind == TokenKind::User { 0 } else { command.lock_places_of(user).await? })
}

/// What a claim says in words, checked.
pub struct Texts {
    pub commit_id: Option<CommitId>,
    pub branch: Option<Branch>,
    pub context: Option<Reason>,
}

impl Texts {
    pub fn of(ask: &Ask) -> Result<Self, Failure> {
        let commit_id = ask.commit_id.as_deref().map(CommitId::new).transpose();
        let context = ask.context.as_deref().map(Reason::new).transpose();
        if ask.branch.is_some() && ask.commit_id.is_none() {
            return Err(Failure::field("/branch", "needs `commitId`: it is the branch of a commit"));
        }
        Ok(Self {
            branch: branch_of(ask.branch.as_deref())?,
            commit_id: commit_id.map_err(|error| Failure::field("/commitId", error))?,
            context: context.map_err(|error| Failure::field("/context", error))?,
        })
    }
}

/// Claims an environment whose row the command has.
pub async fn claim_locked(
    command: &mut Command,
    locked: &mut LockedEnvironment,
    (ask, Texts { commit_id, branch, context }): (&Ask, Texts),
    places: i64,
    pipeline: &PipelineName,
) -> Result<Shown, Failure> {
    // A commit with the claim is deployed once the lock is granted.
    if commit_id.is_some() {
        command.principal().require(Action::DeploymentRunOwn)?;
    }
    let claim = new_claim(command.principal(), locked, terms(locked, ask.ttl_seconds)?, places);
    let change = match ask.how {
        How::Plain => Change::Claim(claim),
        How::Queue => Change::Queue(claim),
        How::Force => Change::Force(claim),
    };
    let new = NewSession {
        context: context.map(Reason::into_string),
        commit_id: commit_id.as_ref().map(|commit| commit.as_str().to_owned()),
        ..new_session(command.principal())
    };
    let effects = match command.apply(locked, change, &new).await? {
        Ok(effects) => effects,
        Err(refusal) => return Err(refused(command, locked, refusal, (pipeline, ask)).await?),
    };
    let granted = effects
        .iter()
        .any(|effect| matches!(effect, Effect::Granted { session, .. } if *session == claim.session));
    if let Some(commit) = commit_id.filter(|_| granted) {
        let id = DeploymentId::from(Uuid::now_v7());
        command.create_deployment(locked, id, (claim.session, claim.user), commit.as_str()).await?;
        if let Some(branch) = &branch {
            command.name_branch(id, branch.as_str()).await?;
        }
    } else if let Some(branch) = &branch {
        command.name_session_branch(claim.session, branch.as_str()).await?;
    }
    let overridden = effects.iter().find_map(|effect| match effect {
        Effect::Ended { session, end: SessionEnd::Overridden } => Some(*session),
        _ => None,
    });
    let displaced = match overridden {
        Some(session) => command.session(locked.id, session).await?,
        None => None,
    };
    let shown = show(command, locked, claim.session).await?;
    Ok(Shown { displaced, ..shown })
}

/// What a principal asks for, with the rights that it has now.
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

/// A principal's session, as yet without words.
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
    let branch = branch_of(branch)?;
    live_pipeline(command, &place.pipeline).await?;
    let mut locked = hold(command, place, id).await?;
    renew_locked(command, &mut locked, id).await?;
    let (new, user) = (DeploymentId::from(Uuid::now_v7()), command.principal().user_id);
    command.create_deployment(&locked, new, (id, user), commit.as_str()).await?;
    if let Some(branch) = &branch {
        command.name_branch(new, branch.as_str()).await?;
    }
    command.deployment_record(new).await?.ok_or_else(Failure::not_found)
}

fn branch_of(text: Option<&str>) -> Result<Option<Branch>, Failure> {
    text.map(Branch::new).transpose().map_err(|error| Failure::field("/branch", error))
}

pub async fn renew(command: &mut Command, place: &Place, id: SessionId) -> Result<Shown, Failure> {
    let mut locked = hold(command, place, id).await?;
    renew_locked(command, &mut locked, id).await?;
    show(command, &locked, id).await
}

/// Lets go, or leaves the queue. A session that has ended stays as it is.
pub async fn release(command: &mut Command, place: &Place, id: SessionId) -> Result<Shown, Failure> {
    let mut locked = lock_place(command, place).await?;
    let session = command.session(locked.id, id).await?.ok_or_else(Failure::not_found)?;
    let principal = command.principal();
    let own = session.user_id == principal.user_id || planted::is(Bug::ReleaseWithoutOwnerCheck);
    if own {
        principal.require(Action::SessionHold)?;
    } else {
        allow_ending_others(principal)?;
    }
    apply(command, &mut locked, Change::Release(id)).await?;
    show(command, &locked, id).await
}

/// Keeps the place of a waiting session, confirms a granted one. A session that has ended says why.
pub async fn heartbeat(command: &mut Command, place: &Place, id: SessionId) -> Result<Shown, Failure> {
    let mut locked = lock_place(command, place).await?;
    let session = own(command, &locked, id).await?;
    if session.status.is_live() {
        apply(command, &mut locked, Change::Hear(id)).await?;
    }
    // The clock may have ended it in the meantime.
    let shown = show(command, &locked, id).await?;
    if shown.session.status.is_live() { Ok(shown) } else { Err(not_active(command, &locked, id).await?) }
}

/// A session that has to be the principal's own.
async fn own(command: &mut Command, locked: &LockedEnvironment, id: SessionId) -> Result<Session, Failure> {
    let session = command.session(locked.id, id).await?.ok_or_else(Failure::not_found)?;
    if session.user_id == command.principal().user_id { Ok(session) } else { Err(not_own()) }
}

/// The refusal of what only a session's own user may do.
pub fn not_own() -> Failure {
    let detail =
        "Only the session's own user may do this. Claim the environment yourself, or ask its holder.";
    Failure::new(Code::Forbidden, detail)
}

/// The environment, locked, for its holder to act on. A session that is not active says why.
pub async fn hold(command: &mut Command, place: &Place, id: SessionId) -> Result<LockedEnvironment, Failure> {
    let locked = lock_place(command, place).await?;
    let session = own(command, &locked, id).await?;
    if session.status != SessionStatus::Active {
        return Err(not_active(command, &locked, id).await?);
    }
    Ok(locked)
}

/// Why a session can't be acted in.
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
    match command.apply(locked, Change::Renew(id), &NewSession::default()).await? {
        Ok(_) => Ok(()),
        Err(_) => Err(not_active(command, locked, id).await?),
    }
}

pub async fn apply(
    command: &mut Command,
    locked: &mut LockedEnvironment,
    change: Change,
) -> Result<(), Failure> {
    match command.apply(locked, change, &NewSession::default()).await? {
        Ok(_) => Ok(()),
        Err(refusal) => {
            let pipeline = PipelineName::Id(locked.pipeline_id);
            Err(refused(command, locked, refusal, (&pipeline, &Ask::default())).await?)
        }
    }
}

/// Why a request was refused, with what its sender can do instead.
pub async fn refused(
    command: &mut Command,
    locked: &LockedEnvironment,
    refusal: Refusal,
    (pipeline, ask): (&PipelineName, &Ask),
) -> Result<Failure, Failure> {
    let environment = command.environment(locked.id).await?.ok_or_else(Failure::not_found)?;
    let request = Request { principal: command.principal(), pipeline, ask };
    Ok(refusal::refused(request, &environment, refusal))
}

pub async fn show(
    command: &mut Command,
    locked: &LockedEnvironment,
    id: SessionId,
) -> Result<Shown, Failure> {
    let environment = command.environment(locked.id).await?.ok_or_else(Failure::not_found)?;
    Ok(Shown {
        session: command.session(locked.id, id).await?.ok_or_else(Failure::not_found)?,
        env_name: environment.name,
        lock: environment.lock,
        deployments: command.deployments_of(id).await?,
        displaced: None,
    })
}

/// The environment, locked.
pub async fn lock_place(command: &mut Command, place: &Place) -> Result<LockedEnvironment, Failure> {
    let pipeline = pipeline(command, &place.pipeline).await?;
    lock(command, &pipeline, place).await
}

/// Archived ones too: what is held in them can still be let go of.
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

/// Ending another's session takes the environment from its holder as force does, so it needs the same of the token.
fn allow_ending_others(principal: &Principal) -> Result<(), Failure> {
    principal.require(Action::SessionEndAny)?;
    if !principal.token_allow_force {
        let detail = "Ending another's session needs a token that may take environments over by force. Use one made with \
                      `allowForce: true`, or ask the holder.";
        return Err(Failure::new(Code::Forbidden, detail));
    }
    Ok(())
}

pub fn terms(locked: &LockedEnvironment, ttl: Option<i64>) -> Result<LeaseTerms, Failure> {
    let seconds = ttl.unwrap_or(locked.default_lease_seconds);
    if !(1..=locked.longest_lease_seconds).contains(&seconds) {
        return Err(Failure::field(
            "/ttlSeconds",
            format!("must be between 1 and {}", locked.longest_lease_seconds),
        ));
    }
    Ok(LeaseTerms {
        length: SignedDuration::from_secs(seconds),
        longest: SignedDuration::from_secs(locked.longest_lease_seconds),
    })
}
