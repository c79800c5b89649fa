//! The fast path of a plain claim and of a release: a single statement that grants or releases, or changes
//! nothing. Everything else takes the slow path (`app/session.rs`), which also returns the reason of a
//! refusal.

use greenroom_domain::environment::Refusal;
use greenroom_domain::id::SessionId;
use greenroom_domain::pipeline::PipelineStatus;
use greenroom_domain::principal::Principal;
use greenroom_domain::text::Reason;
use greenroom_store::grant::{FastPathResult, GrantRequest, PlainClaim};
use greenroom_store::{Command, Store};
use uuid::Uuid;

use crate::app::failure::Failure;
use crate::app::refusal::{self, RefusedRequest};
use crate::app::session::{ClaimMode, ClaimRequest, Place, SessionView};

/// Who sends a request, and the id of that request.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub principal: &'a Principal,
    pub request_id: &'a str,
}

impl<'a> Caller<'a> {
    fn grant_request(self, place: &'a Place) -> GrantRequest<'a> {
        GrantRequest {
            principal: self.principal,
            request_id: self.request_id,
            pipeline: &place.pipeline,
            environment: &place.environment,
        }
    }
}

/// Claims in its own transaction. Returns `None` if the claim needs the slow path.
pub async fn claim(
    store: &Store,
    caller: Caller<'_>,
    place: &Place,
    request: &ClaimRequest,
) -> Result<Option<SessionView>, Failure> {
    let Some(claim) = plain_claim(request) else { return Ok(None) };
    if let Some(granted) = store.grant(caller.grant_request(place), claim).await? {
        return Ok(Some(session_view(place, granted)));
    }
    refuse(store, caller, place, request).await?;
    Ok(None)
}

/// Refuses a claim of an environment that is held. It reads without a lock: any number of concurrent claims
/// of a held environment block neither each other nor the holder.
async fn refuse(
    store: &Store,
    caller: Caller<'_>,
    place: &Place,
    request: &ClaimRequest,
) -> Result<(), Failure> {
    let organization = caller.principal.organization_id;
    let Some(pipeline) = store.pipeline(organization, &place.pipeline).await? else { return Ok(()) };
    let found = store.environment(organization, pipeline.id, &place.environment).await?;
    let Some(environment) = found.filter(|_| pipeline.status != PipelineStatus::Archived) else {
        return Ok(());
    };
    let Some(holder) = &environment.lock.holder else { return Ok(()) };
    // An invalid request is reported as invalid, whether or not the environment is held: the slow path does
    // that.
    let longest = environment.configuration["lease"]["maxSeconds"].as_i64().unwrap_or(0);
    if request.ttl_seconds.is_some_and(|seconds| !(1..=longest).contains(&seconds)) {
        return Ok(());
    }
    let session = holder.session_id;
    let yours = holder.user_id == caller.principal.user_id;
    let refusal = if yours { Refusal::HeldByYou { session } } else { Refusal::Locked { session } };
    let refused = RefusedRequest { principal: caller.principal, pipeline: &place.pipeline, claim: request };
    Err(refusal::refused(refused, &environment, refusal))
}

/// Claims within a command, which stores its response under an Idempotency-Key. Returns `None` if the claim
/// needs the slow path.
pub async fn claim_in(
    command: &mut Command,
    caller: Caller<'_>,
    place: &Place,
    request: &ClaimRequest,
) -> Result<Option<SessionView>, Failure> {
    let Some(claim) = plain_claim(request) else { return Ok(None) };
    let granted = command.grant(caller.grant_request(place), claim).await?;
    Ok(granted.map(|granted| session_view(place, granted)))
}

/// Releases in its own transaction. Returns `None` if the release needs the slow path.
pub async fn release(
    store: &Store,
    caller: Caller<'_>,
    place: &Place,
    session: SessionId,
) -> Result<Option<SessionView>, Failure> {
    let Some(released) = store.release(caller.grant_request(place), session).await? else { return Ok(None) };
    let deployed = released.deployed;
    let mut view = session_view(place, released);
    if deployed {
        view.deployments = store.deployments_of_session(caller.principal.organization_id, session).await?;
    }
    Ok(Some(view))
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
        env_name: place.environment.clone(),
        lock: result.lock,
        deployments: Vec::new(),
        displaced: None,
    }
}
