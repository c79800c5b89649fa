//! `/auth/…`: signing in with a browser.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::browser_session::EndedBrowserSessions;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::me::Me;
use greenroom_api_types::sign_in::{ChangePassword, LinkSignIn, PasswordSignIn, SetUp, SignInMethods};
use greenroom_app::App;
use greenroom_app::browser_session::sign_in_failed;
use greenroom_app::failure::Failure;
use greenroom_app::sign_in::{link, password, setup};
use greenroom_domain::browser_session::SignInSecret;

use crate::http::rules::body::Body;
use crate::http::rules::cookie;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::permit::BrowserRequest;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, PublicProblems};
use crate::http::rules::sign_in_request::{ClientIp, SignInRequest};

/// Requests without a valid token are not counted against a memory limit, so they must be small.
const MAX_BYTES: usize = 4 * 1024;

/// List the ways to sign in
///
/// The list is the operator's setting, the same for all organizations, and changes only when the server is
/// restarted. It needs no token.
#[utoipa::path(get, path = "/auth/methods", tag = "sign-in", security(()),
    responses((status = 200, body = Data<SignInMethods>), PublicProblems))]
pub async fn list_sign_in_methods(State(app): State<App>) -> Json<Data<SignInMethods>> {
    Json(Data { data: app.sign_in.methods() })
}

/// Sign in with an e-mail address and a password
///
/// The response sets the cookie of a new browser session, which ends after 12 hours without a request and after
/// 14 days at most. A session that the browser had before ends. After 10 failed attempts within 15 minutes,
/// further ones for the same account from the same address are rejected. Every failure is the same `401`.
#[utoipa::path(post, path = "/auth/password", tag = "sign-in", security(()),
    request_body = PasswordSignIn,
    responses((status = 200, body = Data<Me>), CommandProblems, BodyProblems))]
pub async fn sign_in_with_password(
    request: SignInRequest,
    body: Body<PasswordSignIn, MAX_BYTES>,
) -> Result<Response, EarlyResponse> {
    let secret = password::sign_in(&request.app, &body.value, request.address, &request.browser()).await?;
    Ok(signed_in(&request.app, &secret).await?)
}

/// Sign in with a sign-in link
///
/// A link is valid for 15 minutes and can be used once. The response sets the cookie of a new browser session, as
/// for a password. A link of the operator also resets the account: the password and all other browser sessions
/// become invalid. Every failure is the same `401`.
#[utoipa::path(post, path = "/auth/link", tag = "sign-in", security(()),
    request_body = LinkSignIn,
    responses((status = 200, body = Data<Me>), CommandProblems, BodyProblems))]
pub async fn sign_in_with_link(
    request: SignInRequest,
    body: Body<LinkSignIn, MAX_BYTES>,
) -> Result<Response, EarlyResponse> {
    let secret = link::sign_in(&request.app, &body.value.code, &request.browser()).await?;
    Ok(signed_in(&request.app, &secret).await?)
}

/// Create the first organization of this installation, and sign in as its owner
///
/// A daemon that starts on a database without any organization prints a link with the code. It is valid for 15 minutes
/// and can be used once; each start makes a new one, which voids the one before. The response sets the cookie of a
/// new browser session, as for a password. As soon as an organization exists this is refused (`409`), with every
/// code; without the right code it is `401`. After 50 attempts within 15 minutes, further ones from the same address
/// are rejected. If the response was lost, repeating the request is `409` too.
#[utoipa::path(post, path = "/auth/setup", tag = "sign-in", security(()),
    request_body = SetUp,
    responses((status = 200, body = Data<Me>), CommandProblems, BodyProblems))]
pub async fn set_up_installation(
    request: SignInRequest,
    body: Body<SetUp, MAX_BYTES>,
) -> Result<Response, EarlyResponse> {
    let secret = setup::set_up(&request.app, &body.value, request.address, &request.browser()).await?;
    Ok(signed_in(&request.app, &secret).await?)
}

/// Set or change your password
///
/// The present password is required if you have one. All of your other browser sessions end in the same
/// transaction, and a sign-in link that was not used becomes invalid. Only a browser session may send this
/// request, no API token. Repeating the request fails if the password was changed.
#[utoipa::path(put, path = "/me/password", tag = "identity", security(("browser" = [])),
    request_body = ChangePassword,
    responses((status = 200, body = Data<EndedBrowserSessions>), CommandProblems, BodyProblems))]
pub async fn change_password(
    request: BrowserRequest,
    address: ClientIp,
    body: Body<ChangePassword, MAX_BYTES>,
) -> Result<Json<Data<EndedBrowserSessions>>, EarlyResponse> {
    let BrowserRequest { app, browser, request_id } = &request;
    let ended = password::change(app, browser, &body.value, address.0, &request_id.0).await?;
    Ok(Json(Data { data: ended.into_iter().collect() }))
}

/// Returns the person who has signed in, and sets the cookie of the new session.
async fn signed_in(app: &App, secret: &SignInSecret) -> Result<Response, Failure> {
    let browser = app.store.authenticate_browser(&secret.hash()).await?;
    let me = browser.as_ref().and_then(Me::of_browser).ok_or_else(sign_in_failed)?;
    let cookie = cookie::set_session(secret.reveal());
    Ok(([(header::SET_COOKIE, cookie)], Json(Data { data: me })).into_response())
}
