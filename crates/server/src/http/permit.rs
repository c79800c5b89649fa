//! The permission to do one thing, as an argument: it authenticates, compares the organization in the path, and checks the
//! policy, role and scope. A handler without it can't reach anything of a tenant's.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::policy::Act;
use greenroom_domain::principal::Principal;

use crate::app::App;
use crate::app::at_once::Asker;
use crate::app::failure::Failure;
use crate::http::identity::Identity;
use crate::http::pipeline_limit;
use crate::http::request_id::RequestId;
use crate::limits::Capacity;

/// Who sends the request: authenticated, and a member of the organization in the path. It permits nothing yet: for what
/// every token may do, and for use cases that require the action themselves.
pub struct Caller {
    pub app: App,
    pub principal: Arc<Principal>,
    pub request_id: RequestId,
}

impl Caller {
    pub fn organization(&self) -> OrganizationId {
        self.principal.organization_id
    }

    pub fn asker(&self) -> Asker<'_> {
        Asker { principal: &self.principal, request_id: &self.request_id.0 }
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let request_id = RequestId::from_request_parts(parts, app).await?;
        let principal = authenticate(parts)?;
        let path = RawPathParams::from_request_parts(parts, app).await.map_err(|_| Failure::not_found())?;
        if let Some((_, organization)) = path.iter().find(|(name, _)| *name == "orgId")
            && !principal.is_of(organization)
        {
            return Err(Failure::not_found());
        }
        // For what is extracted after it: an Idempotency-Key is bound to ids of this organization.
        parts.extensions.insert(Arc::clone(&principal));
        Ok(Self { app: with_capacity(parts, app), principal, request_id })
    }
}

/// `R` is how the operation treats a token that is limited to pipelines.
pub struct Permit<A, R = InPath> {
    caller: Caller,
    types: PhantomData<(A, R)>,
}

/// The pipeline is in the path; a token that is limited to others gets `404`. Without one in the path it is refused.
pub struct InPath;

/// The operation belongs to no single pipeline and narrows what it answers to those of the token by itself.
pub struct Narrowed;

pub trait Reach: Send + Sync + 'static {
    const NARROWS_ITSELF: bool;
}

impl Reach for InPath {
    const NARROWS_ITSELF: bool = false;
}

impl Reach for Narrowed {
    const NARROWS_ITSELF: bool = true;
}

impl<A, R> Deref for Permit<A, R> {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl<A: Act, R: Reach> FromRequestParts<App> for Permit<A, R> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let caller = Caller::from_request_parts(parts, app).await?;
        A::check(caller.principal.role, caller.principal.scopes)?;
        if !R::NARROWS_ITSELF {
            pipeline_limit::check(&caller, parts).await?;
        }
        Ok(Self { caller, types: PhantomData })
    }
}

/// The app with the database connections that the request may use.
pub fn with_capacity(parts: &Parts, app: &App) -> App {
    app.with(parts.extensions.get().copied().unwrap_or(Capacity::General))
}

/// Who is asking, whatever they may do.
fn authenticate(parts: &Parts) -> Result<Arc<Principal>, Failure> {
    match parts.extensions.get::<Identity>() {
        Some(Identity::User(principal)) => Ok(Arc::clone(principal)),
        Some(identity) => Err(identity.take_failure().unwrap_or_else(Failure::unauthenticated)),
        None => Err(Failure::internal("a request whose sender was not looked for")),
    }
}
