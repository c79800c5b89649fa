//! `/auth/oidc/{provider}/…`: a browser goes to an OpenID provider and comes back.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use greenroom_app::failure::{Code, Failure};
use greenroom_app::sign_in::oidc::{self, Pending, Returned};
use greenroom_app::sign_in::provider::Provider;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::cookie;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::path::{PathParams, ProviderPath};
use crate::http::rules::problem_responses::ReadProblems;
use crate::http::rules::query::Query;
use crate::http::rules::sign_in_request::Navigation;

/// Where a browser is sent whose sign-in has failed. The reason is in the log only.
const FAILED: &str = "/sign-in?error=sign_in_failed";

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StartQuery {
    /// The page to show after the sign-in: a path of this server.
    #[serde(rename = "return")]
    return_to: Option<String>,
}

/// Providers send further parameters, such as `session_state`, so unknown ones are ignored.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CallbackQuery {
    /// The authorization code.
    code: Option<String>,
    /// The state of the sign-in that this browser has begun.
    state: Option<String>,
    /// The issuer, if the provider states it.
    iss: Option<String>,
}

/// Go to an OpenID provider to sign in
///
/// This is for browsers: the response is a redirect to the provider, and a cookie that is valid for 10 minutes
/// and that the provider's response is compared with. A provider that does not exist is `404`.
#[utoipa::path(get, path = "/auth/oidc/{provider}/start", tag = "sign-in", security(()),
    params(ProviderPath, StartQuery),
    responses((status = 303, description = "To the provider"), ReadProblems))]
pub async fn start_oidc_sign_in(
    request: Navigation,
    path: PathParams<ProviderPath>,
    query: Query<StartQuery>,
) -> Result<Response, EarlyResponse> {
    let provider = find(&request, &path.0)?;
    match oidc::start(provider, query.0.return_to.as_deref().unwrap_or("/")).await {
        Ok((url, pending)) => Ok(redirect(&url, &[cookie::set_pending(&pending.to_cookie())])?),
        Err(failure) if failure.code == Code::SignInFailed => Ok(redirect(FAILED, &[])?),
        Err(failure) => Err(failure.into()),
    }
}

/// Come back from an OpenID provider, and be signed in
///
/// This is for browsers: the response is a redirect to a page of the dashboard. It sets the cookie of a new browser
/// session if the provider has confirmed who the person is. The first time, that is by the verified e-mail address
/// of a member; from then on by the provider's own id of the person alone. A sign-in can be finished once and
/// within 10 minutes.
#[utoipa::path(get, path = "/auth/oidc/{provider}/callback", tag = "sign-in", security(()),
    params(ProviderPath, CallbackQuery),
    responses((status = 303, description = "To the dashboard"), ReadProblems))]
pub async fn finish_oidc_sign_in(
    request: Navigation,
    path: PathParams<ProviderPath>,
    query: Query<CallbackQuery>,
) -> Result<Response, EarlyResponse> {
    let (provider, Navigation(request)) = (find(&request, &path.0)?, &request);
    let CallbackQuery { code, state, iss } = &query.0;
    let returned = Returned { code: code.as_deref(), state: state.as_deref(), issuer: iss.as_deref() };
    let pending = Pending::from_cookie(request.pending.as_deref().unwrap_or_default());
    match oidc::finish(&request.app, provider, &pending, &returned, &request.browser()).await {
        Ok(secret) => {
            let cookies = [cookie::set_session(secret.reveal()), cookie::clear_pending()];
            Ok(redirect(&pending.return_to, &cookies)?)
        }
        Err(failure) if failure.code == Code::SignInFailed => {
            Ok(redirect(FAILED, &[cookie::clear_pending()])?)
        }
        Err(failure) => Err(failure.into()),
    }
}

fn find<'a>(request: &'a Navigation, path: &ProviderPath) -> Result<&'a Provider, Failure> {
    request.0.app.sign_in.provider(&path.provider).ok_or_else(Failure::not_found)
}

fn redirect(to: &str, cookies: &[HeaderValue]) -> Result<Response, Failure> {
    let location = HeaderValue::from_str(to).map_err(Failure::internal)?;
    let cookies = cookies.iter().map(|cookie| (header::SET_COOKIE, cookie.clone()));
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)], AppendHeaders(cookies)).into_response())
}
