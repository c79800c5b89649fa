//! The fast path of a plain claim and of a release: a single statement that grants or releases, or changes
//! nothing. Everything else takes the slow path (`claim.rs`, `hold.rs`), which also returns the reason of a
//! refusal.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::environment::Refusal;
use greenroom_domain::id::SessionId;
use greenroom_domain::pipeline::PipelineStatus;
use greenroom_domain::text::Reason;
use greenroom_store::grant::{FastPathResult, GrantRequest, PlainClaim};
use greenroom_store::{Command, Store, StoreError};
use uuid::Uuid;

use crate::command::{CommandRequest, notify};
use crate::failure::Failure;
use crate::pipeline_role;
use crate::session::refusal::{self, RefusedRequest};
use crate::session::view::SessionView;
use crate::session::{ClaimMode, ClaimRequest, Place};

/// A plain claim of one request.
struct Grant<'a> {
    request: GrantRequest<'a>,
    claim: PlainClaim<'a>,
}

/// Grants the claims of a batch, and returns a result for each of them in the same order: `None` if it needs
/// the slow path. Every claim is its own transaction, and every batch has one claim today. Claims of several
/// requests can be granted by one statement here, without a change to any caller.
async fn grant(store: &Store, batch: &[Grant<'_>]) -> Result<Vec<Option<FastPathResult>>, StoreError> {
    let mut results = Vec::with_capacity(batch.len());
    for Grant { request, claim } in batch {
        results.push(store.grant(*request, *claim).await?);
    }
    Ok(results)
}

/// Claims in its own transaction. Returns `None` if the claim needs the slow path.
#[boxed_futures]
pub async fn claim(
    request: &CommandRequest<'_>,
    place: &Place,
    claim: &ClaimRequest,
) -> Result<Option<SessionView>, Failure> {
    let Some(plain) = plain_claim(claim) else { return Ok(None) };
    let batch = [Grant { request: grant_request(request, place), claim: plain }];
    if let Some(granted) = grant(&request.app.store, &batch).await?.into_iter().flatten().next() {
        notify(request.app, false);
        return Ok(Some(session_view(place, granted)));
    }
    refuse(request, place, claim).await?;
    Ok(None)
}

/// Refuses a claim of an environment that is held. It reads without a lock: any number of concurrent claims
/// of a held environment block neither each other nor the holder.
async fn refuse(request: &CommandRequest<'_>, place: &Place, claim: &ClaimRequest) -> Result<(), Failure> {
    let (store, organization) = (&request.app.store, request.principal.organization_id);
    let Some(pipeline) = store.pipeline(organization, &place.pipeline).await? else { return Ok(()) };
    let found = store.environment(organization, pipeline.id, &place.environment).await?;
    let Some(environment) = found.filter(|_| pipeline.status != PipelineStatus::Archived) else {
        return Ok(());
    };
    let Some(holder) = &environment.lock.holder else { return Ok(()) };
    // An invalid request is reported as invalid, whether or not the environment is held: the slow path does
    // that.
    let longest = environment.longest_lease_seconds;
    if claim.ttl_seconds.is_some_and(|seconds| !(1..=longest).contains(&seconds)) {
        return Ok(());
    }
    let session = holder.session_id;
    let yours = request.principal.owns(holder.owner());
    let refusal = if yours { Refusal::HeldByYou { session } } else { Refusal::Locked { session } };
    let role = pipeline_role::role_now(store, request.principal, pipeline.id).await?;
    let refused = RefusedRequest { principal: request.principal, role, pipeline: &place.pipeline, claim };
    Err(refusal::refused(refused, &environment, refusal))
}

/// Claims within a command, which stores its response under an idempotency key. Returns `None` if the claim
/// needs the slow path.
#[boxed_futures]
pub async fn claim_in(
    command: &mut Command,
    request: &CommandRequest<'_>,
    place: &Place,
    claim: &ClaimRequest,
) -> Result<Option<SessionView>, Failure> {
    let Some(plain) = plain_claim(claim) else { return Ok(None) };
    let granted = command.grant(grant_request(request, place), plain).await?;
    Ok(granted.map(|granted| session_view(place, granted)))
}

/// Releases in its own transaction. Returns `None` if the release needs the slow path.
#[boxed_futures]
pub async fn release(
    request: &CommandRequest<'_>,
    place: &Place,
    session: SessionId,
) -> Result<Option<SessionView>, Failure> {
    let store = &request.app.store;
    let Some(released) = store.release(grant_request(request, place), session).await? else {
        return Ok(None);
    };
    notify(request.app, false);
    let deployed = released.deployed;
    let mut view = session_view(place, released);
    if deployed {
        view.deployments = store.deployments_of_session(request.principal.organization_id, session).await?;
    }
    Ok(Some(view))
}

fn grant_request<'a>(request: &'a CommandRequest<'_>, place: &'a Place) -> GrantRequest<'a> {
    GrantRequest {
        principal: request.principal,
        request_id: request.request_id,
        pipeline: &place.pipeline,
        environment: &place.environment,
    }
}

const LEASE_SECONDS: std::ops::RangeInclusive<i64> = 1..=366 * 24 * 3_600;

/// Returns the claim if it requests nothing but the lock and is valid.
fn plain_claim(request: &ClaimRequest) -> Option<PlainClaim<'_>> {
    let context = request.context.as_deref();
    let is_clean = context.is_none_or(|text| Reason::new(text).is_ok_and(|reason| reason.as_str() == text));
    // No environment allows a longer lease, and in PostgreSQL a timestamp plus a huge number of seconds
    // overflows.
    let is_in_range = request.ttl_seconds.is_none_or(|seconds| LEASE_SECONDS.contains(&seconds));
    let is_plain = request.mode == ClaimMode::Plain
        && request.commit_id.is_none()
        && request.branch.is_none()
        && is_clean
        && is_in_range;
    is_plain.then(|| PlainClaim {
        session: SessionId::from(Uuid::now_v7()),
        context,
        ttl_seconds: request.ttl_seconds,
    })
}

fn session_view(place: &Place, result: FastPathResult) -> SessionView {
    SessionView {
        session: result.session,
        pipeline_id: result.pipeline_id,
        env_name: place.environment.clone(),
        lock: result.lock,
        deployments: Vec::new(),
        displaced: None,
    }
}
