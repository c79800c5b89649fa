//! The permission for one action, as an extractor: it authenticates, compares the organization in the path,
//! and checks role and scope against the policy. If the role in the organization is not enough, the role on the
//! pipeline in the path counts, which grants may have raised. A handler without it has no access to an organization's
//! data.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use greenroom_app::App;
use greenroom_app::command::Authorize;
use greenroom_app::failure::{Code, Failure};
use greenroom_app::limits::Capacity;
use greenroom_app::web_url::WebUrls;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::browser_session::BrowserPrincipal;
use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_domain::policy::{Act, Denied};
use greenroom_domain::principal::Principal;
use greenroom_domain::role::Role;
use greenroom_domain::role_grant::{MAX_ROLE, could_allow};
use greenroom_domain::scope::Scopes;

use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::identity::Identity;
use crate::http::rules::path::OrganizationPath;
use crate::http::rules::pipeline_limit;
use crate::http::rules::request_id::RequestId;
use crate::http::rules::undeclared_query;

/// A request whose sender is authenticated and a member of the organization in the path. It grants no
/// permission. Handlers use it for operations that every member may call, and for use cases that check the
/// action themselves.
pub struct AuthenticatedRequest {
    pub app: App,
    pub principal: Arc<Principal>,
    pub request_id: RequestId,
    /// The pipeline on which a grant permits the request; `None` if the role in the organization does.
    pub granted_on: Option<PipelineId>,
}

impl AuthenticatedRequest {
    pub fn organization(&self) -> OrganizationId {
        self.principal.organization_id
    }

    /// Returns the addresses of the organization's records.
    pub fn web_urls(&self) -> WebUrls<'_> {
        self.app.web_urls(&self.principal)
    }
}

impl FromRequestParts<App> for AuthenticatedRequest {
    type Rejection = EarlyResponse;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, EarlyResponse> {
        let request = Self::identify(parts, app).await?;
        undeclared_query::check(parts)?;
        Ok(request)
    }
}

impl AuthenticatedRequest {
    async fn identify(parts: &mut Parts, app: &App) -> Result<Self, EarlyResponse> {
        let request_id = RequestId::from_request_parts(parts, app).await?;
        let path = RawPathParams::from_request_parts(parts, app).await.map_err(|_| Failure::not_found())?;
        let organization = path.iter().find(|(name, _)| *name == OrganizationPath::VARIABLE);
        let principal = authenticate(parts, organization.map(|(_, value)| value))?;
        // For later extractors: an Idempotency-Key is bound to ids of this organization.
        parts.extensions.insert(Arc::clone(&principal));
        Ok(Self { app: with_capacity(parts, app), principal, request_id, granted_on: None })
    }
}

/// Permission for the action `A`. `R` is how the operation treats a token that is limited to pipelines.
pub struct Permit<A, R = InPath> {
    request: AuthenticatedRequest,
    types: PhantomData<(A, R)>,
}

/// The default: the operation belongs to the pipeline in its path, or to that of the deployment or secret there.
/// A token that is limited to other pipelines gets `404`. If the path has neither, every token that is
/// limited to some pipelines gets `403`.
pub struct InPath;

/// The operation has no pipeline in its path. A token that is limited to some pipelines may call it, and the
/// operation itself applies the limit, for example by listing only records of these pipelines.
pub struct Narrowed;

/// Like [`Narrowed`], but the pipeline is in the query or in the body. The operation itself requires the action on
/// that pipeline (`app/pipeline_role.rs`); here only those are refused whom no grant could help.
pub struct InRequest;

pub trait PipelineCheck: Send + Sync + 'static {
    const FILTERS_RESULTS: bool;

    /// Checks the caller's role in the organization, before grants are considered. By default this is the action's own
    /// check.
    fn check<A: Act>(role: Role, scopes: Scopes) -> Result<(), Denied> {
        A::check(role, scopes)
    }
}

impl PipelineCheck for InPath {
    const FILTERS_RESULTS: bool = false;
}

impl PipelineCheck for Narrowed {
    const FILTERS_RESULTS: bool = true;
}

impl PipelineCheck for InRequest {
    const FILTERS_RESULTS: bool = true;

    fn check<A: Act>(role: Role, scopes: Scopes) -> Result<(), Denied> {
        A::check(role.max(MAX_ROLE), scopes)
    }
}

impl<A, R> Deref for Permit<A, R> {
    type Target = AuthenticatedRequest;

    fn deref(&self) -> &AuthenticatedRequest {
        &self.request
    }
}

impl<A: Act, R: PipelineCheck> FromRequestParts<App> for Permit<A, R> {
    type Rejection = EarlyResponse;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, EarlyResponse> {
        let rules =
            PermitRules { check: R::check::<A>, check_action: A::check, filters_results: R::FILTERS_RESULTS };
        Ok(Self { request: rules.permit(parts, app).await?, types: PhantomData })
    }
}

/// The rules of a permit without its types, so that what checks them is compiled once and not for every action.
struct PermitRules {
    /// The extractor's check, which is applied to the caller's role in the organization. It is the action's own, except for
    /// `InRequest`: there it rejects only callers whom no grant could help.
    check: Authorize,
    /// The action's own check. If `check` has rejected the caller's role in the organization, and the operation belongs to
    /// the pipeline in its path (`InPath`), this is applied to the caller's role on that pipeline.
    check_action: Authorize,
    filters_results: bool,
}

#[boxed_futures]
impl PermitRules {
    pub async fn permit(&self, parts: &mut Parts, app: &App) -> Result<AuthenticatedRequest, EarlyResponse> {
        let mut request = AuthenticatedRequest::identify(parts, app).await?;
        if let Err(denied) = (self.check)(request.principal.role, request.principal.scopes) {
            request.granted_on = Some(self.granted_on(&request, parts, denied).await?);
        }
        if !self.filters_results {
            pipeline_limit::check(&request.app, &request.principal, parts).await?;
        }
        undeclared_query::check(parts)?;
        Ok(request)
    }

    /// Returns the pipeline in the path, if the caller's role there is enough. The command checks it again.
    async fn granted_on(
        &self,
        request: &AuthenticatedRequest,
        parts: &mut Parts,
        denied: Denied,
    ) -> Result<PipelineId, Failure> {
        let Principal { organization_id, user_id, role, scopes, .. } = *request.principal;
        if self.filters_results || !could_allow(self.check_action, role, scopes) {
            return Err(denied.into());
        }
        let pipeline = pipeline_limit::pipeline_of_path(&request.app, organization_id, parts).await?;
        let pipeline = pipeline.ok_or(denied)?;
        let role = request.app.store.role_on_pipeline(organization_id, pipeline, (user_id, role)).await?;
        (self.check_action)(role, scopes)?;
        Ok(pipeline)
    }
}

/// Returns the app with the database connections that the request may use.
pub fn with_capacity(parts: &Parts, app: &App) -> App {
    app.with(parts.extensions.get().copied().unwrap_or(Capacity::General))
}

/// Returns the authenticated user as a member of the organization in the path, without any permission check.
fn authenticate(parts: &Parts, organization: Option<&str>) -> Result<Arc<Principal>, Failure> {
    match parts.extensions.get::<Identity>() {
        Some(Identity::User(principal)) => {
            let is_own = organization.is_none_or(|organization| principal.is_of(organization));
            if is_own { Ok(Arc::clone(principal)) } else { Err(Failure::not_found()) }
        }
        Some(Identity::Browser(browser)) => {
            let member = organization.and_then(|organization| browser.member_of(organization));
            member.map(Arc::clone).ok_or_else(Failure::not_found)
        }
        Some(identity) => Err(identity.take_failure().unwrap_or_else(Failure::unauthenticated)),
        None => Err(Failure::internal("a request whose sender was not identified")),
    }
}

/// The caller of an operation that belongs to no organization, such as `/me`. It grants no permission.
pub enum Caller {
    Token(Arc<Principal>),
    Browser(Arc<BrowserPrincipal>),
}

impl FromRequestParts<App> for Caller {
    type Rejection = EarlyResponse;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, EarlyResponse> {
        let caller = match parts.extensions.get::<Identity>() {
            Some(Identity::Browser(browser)) => Self::Browser(Arc::clone(browser)),
            _ => authenticate(parts, None).map(Self::Token)?,
        };
        undeclared_query::check(parts)?;
        Ok(caller)
    }
}

/// A person who is signed in with a browser: for operations that no token may call.
pub struct BrowserRequest {
    pub app: App,
    pub browser: Arc<BrowserPrincipal>,
    pub request_id: RequestId,
}

impl FromRequestParts<App> for BrowserRequest {
    type Rejection = EarlyResponse;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, EarlyResponse> {
        let request_id = RequestId::from_request_parts(parts, app).await?;
        match Caller::from_request_parts(parts, app).await? {
            Caller::Browser(browser) => Ok(Self { app: with_capacity(parts, app), browser, request_id }),
            Caller::Token(_) => Err(Failure::new(
                Code::BrowserSessionRequired,
                "An API token can't do this, whatever its scopes. Sign in with a browser.",
            )
            .into()),
        }
    }
}
