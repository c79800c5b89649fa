//! The short way of a plain claim and of a release: one statement that does all of it or nothing. What it leaves alone goes
//! the long way (`app/session.rs`), which also says why not.

use greenroom_domain::environment::Refusal;
use greenroom_domain::id::SessionId;
use greenroom_domain::pipeline::PipelineStatus;
use greenroom_domain::principal::Principal;
use greenroom_domain::text::Reason;
use greenroom_store::grant::{Asked, AtOnce, PlainClaim};
use greenroom_store::{Command, Store};
use uuid::Uuid;

use crate::app::failure::Failure;
use crate::app::refusal::{self, Request};
use crate::app::session::{Ask, How, Place, Shown};

/// Who asks, by which request.
#[derive(Clone, Copy)]
pub struct Asker<'a> {
    pub principal: &'a Principal,
    pub request_id: &'a str,
}

impl<'a> Asker<'a> {
    fn asks_for(self, place: &'a Place) -> Asked<'a> {
        Asked {
            principal: self.principal,
            request_id: self.request_id,
            pipeline: &place.pipeline,
            environment: &place.environment,
        }
    }
}

/// Claims in a transaction of its own.
pub async fn claim(
    store: &Store,
    asker: Asker<'_>,
    place: &Place,
    ask: &Ask,
) -> Result<Option<Shown>, Failure> {
    let Some(claim) = plain(ask) else { return Ok(None) };
    if let Some(granted) = store.grant(asker.asks_for(place), claim).await? {
        return Ok(Some(shown(place, granted)));
    }
    refuse(store, asker, place, ask).await?;
    Ok(None)
}

/// Refuses what another's lease plainly forbids. It takes a look and no lock: however many ask for what is held, they hold
/// up neither each other nor the holder.
async fn refuse(store: &Store, asker: Asker<'_>, place: &Place, ask: &Ask) -> Result<(), Failure> {
    let organization = asker.principal.organization_id;
    let Some(pipeline) = store.pipeline(organization, &place.pipeline).await? else { return Ok(()) };
    let found = store.environment(organization, pipeline.id, &place.environment).await?;
    let Some(environment) = found.filter(|_| pipeline.status != PipelineStatus::Archived) else {
        return Ok(());
    };
    let Some(holder) = &environment.lock.holder else { return Ok(()) };
    // What is wrong with a request is told before what stands in its way.
    let longest = environment.configuration["lease"]["maxSeconds"].as_i64().unwrap_or(0);
    if ask.ttl_seconds.is_some_and(|seconds| !(1..=longest).contains(&seconds)) {
        return Ok(());
    }
    let session = holder.session_id;
    let yours = holder.user_id == asker.principal.user_id;
    let refusal = if yours { Refusal::HeldByYou { session } } else { Refusal::Locked { session } };
    let request = Request { principal: asker.principal, pipeline: &place.pipeline, ask };
    Err(refusal::refused(request, &environment, refusal))
}

/// Claims within a command, which keeps its answer under an Idempotency-Key.
pub async fn claim_in(
    command: &mut Command,
    asker: Asker<'_>,
    place: &Place,
    ask: &Ask,
) -> Result<Option<Shown>, Failure> {
    let Some(claim) = plain(ask) else { return Ok(None) };
    let granted = command.grant(asker.asks_for(place), claim).await?;
    Ok(granted.map(|granted| shown(place, granted)))
}

/// Lets go in a transaction of its own.
pub async fn release(
    store: &Store,
    asker: Asker<'_>,
    place: &Place,
    session: SessionId,
) -> Result<Option<Shown>, Failure> {
    let Some(released) = store.release(asker.asks_for(place), session).await? else { return Ok(None) };
    let deployed = released.deployed;
    let mut shown = shown(place, released);
    if deployed {
        shown.deployments = store.deployments_of_session(asker.principal.organization_id, session).await?;
    }
    Ok(Some(shown))
}

const LEASE_SECONDS: std::ops::RangeInclusive<i64> = 1..=366 * 24 * 3_600;

/// Nothing but the lock is asked for, and nothing about it is wrong.
fn plain(ask: &Ask) -> Option<PlainClaim<'_>> {
    let context = ask.context.as_deref();
    let tidy = context.is_none_or(|text| Reason::new(text).is_ok_and(|reason| reason.as_str() == text));
    // No environment allows a longer lease, and PostgreSQL can't add every number of seconds to a moment.
    let in_range = ask.ttl_seconds.is_none_or(|seconds| LEASE_SECONDS.contains(&seconds));
    let plain = ask.how == How::Plain && ask.commit_id.is_none() && ask.branch.is_none() && tidy && in_range;
    plain.then(|| PlainClaim {
        session: SessionId::from(Uuid::now_v7()),
        context,
        ttl_seconds: ask.ttl_seconds,
    })
}

fn shown(place: &Place, at_once: AtOnce) -> Shown {
    Shown {
        session: at_once.session,
        env_name: place.environment.clone(),
        lock: at_once.lock,
        deployments: Vec::new(),
        displaced: None,
    }
}
