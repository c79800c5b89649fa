//! What all requests that sign in have in common: they need no token, and come from the dashboard's own pages.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use greenroom_app::App;
use greenroom_app::browser_session::Browser;
use greenroom_app::limits::PeerAddress;
use greenroom_domain::browser_session::BrowserPrincipal;

use crate::http::rules::cookie;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::identity::Identity;
use crate::http::rules::permit::with_capacity;
use crate::http::rules::request_id::RequestId;
use crate::http::rules::request_origin::{RequestOrigin, cross_site};

pub struct SignInRequest {
    pub app: App,
    pub address: IpAddr,
    pub request_id: RequestId,
    user_agent: String,
    /// The person who is signed in with this browser already.
    previous: Option<Arc<BrowserPrincipal>>,
    /// The cookie of a sign-in at a provider that is under way.
    pub pending: Option<String>,
}

impl SignInRequest {
    pub fn browser(&self) -> Browser<'_> {
        Browser {
            user_agent: &self.user_agent,
            previous: self.previous.as_deref(),
            request_id: &self.request_id.0,
        }
    }
}

/// The address of the client, behind trusted proxies too.
pub struct ClientIp(pub IpAddr);

impl FromRequestParts<App> for ClientIp {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let peer = parts.extensions.get::<PeerAddress>().copied();
        Ok(Self(app.limits.client_address(peer, &parts.headers).0))
    }
}

impl FromRequestParts<App> for SignInRequest {
    type Rejection = EarlyResponse;

    /// Refuses requests of other sites, which could sign a person in to the account of an attacker.
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, EarlyResponse> {
        let own = &app.sign_in.own_origins;
        if RequestOrigin::of(&parts.headers, own) == RequestOrigin::Foreign {
            return Err(cross_site(own).into());
        }
        let Navigation(request) = Navigation::from_request_parts(parts, app).await?;
        Ok(request)
    }
}

/// A page load that belongs to a sign-in. A provider's site may be its origin, so the handler has to compare the
/// state of the sign-in.
pub struct Navigation(pub SignInRequest);

impl FromRequestParts<App> for Navigation {
    type Rejection = EarlyResponse;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, EarlyResponse> {
        let request_id = RequestId::from_request_parts(parts, app).await?;
        let Ok(ClientIp(address)) = ClientIp::from_request_parts(parts, app).await;
        let user_agent = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
        let user_agent = user_agent.unwrap_or_default().to_owned();
        let previous = match parts.extensions.get::<Identity>() {
            Some(Identity::Browser(browser)) => Some(Arc::clone(browser)),
            _ => None,
        };
        let pending = cookie::value(&parts.headers, cookie::PENDING).map(str::to_owned);
        let app = with_capacity(parts, app);
        Ok(Self(SignInRequest { app, address, request_id, user_agent, previous, pending }))
    }
}
