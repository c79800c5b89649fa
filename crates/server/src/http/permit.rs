//! The permission to do one thing, as an argument: it authenticates, scopes to the organization in the path, and checks
//! the policy. A handler without it can't reach anything of a tenant's.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::header;
use axum::http::request::Parts;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::policy::Act;
use greenroom_domain::principal::Principal;

use crate::app::App;
use crate::app::at_once::Asker;
use crate::app::failure::Failure;
use crate::http::request_id::RequestId;

pub struct Permit<A> {
    pub app: App,
    pub principal: Arc<Principal>,
    pub request_id: RequestId,
    action: PhantomData<A>,
}

impl<A> Permit<A> {
    pub fn organization(&self) -> OrganizationId {
        self.principal.organization_id
    }

    pub fn asker(&self) -> Asker<'_> {
        Asker { principal: &self.principal, request_id: &self.request_id.0 }
    }
}

impl<A: Act> FromRequestParts<App> for Permit<A> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let request_id = RequestId::from_request_parts(parts, app).await?;
        let principal = authenticate(parts, app).await?;
        let path = RawPathParams::from_request_parts(parts, app).await.map_err(|_| Failure::not_found())?;
        if let Some((_, organization)) = path.iter().find(|(name, _)| *name == "orgId")
            && !principal.is_of(organization)
        {
            return Err(Failure::not_found());
        }
        if !principal.may(A::ACTION) {
            return Err(Failure::forbidden(A::ACTION, principal.role));
        }
        // For what is extracted after it: an Idempotency-Key is bound to ids of this organization.
        parts.extensions.insert(Arc::clone(&principal));
        Ok(Self { app: app.clone(), principal, request_id, action: PhantomData })
    }
}

/// Who is asking, whatever they may do.
pub async fn authenticate(parts: &Parts, app: &App) -> Result<Arc<Principal>, Failure> {
    let header = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = header
        .and_then(|text| text.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .ok_or_else(Failure::unauthenticated)?;
    app.authentication.principal(token).await
}
