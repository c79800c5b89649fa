//! `/me/browser-sessions` and `/auth/sign-out`

use axum::Json;
use axum::http::header;
use axum::response::IntoResponse;
use greenroom_api_types::browser_session::{BrowserSession, EndedBrowserSessions};
use greenroom_api_types::envelope::Data;
use greenroom_app::browser_session;
use greenroom_app::failure::Failure;
use greenroom_domain::id::BrowserSessionId;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::cookie;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::path::parse_id;
use crate::http::rules::permit::BrowserRequest;
use crate::http::rules::problem_responses::{CommandProblems, ReadProblems};
use crate::http::rules::query::Query;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EndQuery {
    /// The session to end.
    session_id: Option<String>,
    /// End all of your sessions except the one that sends the request. Has to be true if there is no `sessionId`.
    #[param(default = false)]
    all: Option<bool>,
    /// If true, return which sessions would end, and change nothing.
    #[param(default = false)]
    dry_run: Option<bool>,
}

impl EndQuery {
    /// Returns the session to end, or `None` for all others.
    fn session(&self) -> Result<Option<BrowserSessionId>, Failure> {
        match (&self.session_id, self.all.unwrap_or(false)) {
            (Some(session), false) => Ok(Some(parse_id(session)?)),
            (None, true) => Ok(None),
            (Some(_), true) => Err(Failure::field("all", "can't be used together with `sessionId`")),
            (None, false) => Err(Failure::field(
                "all",
                "must be true if all other sessions are to end; else send `sessionId`",
            )),
        }
    }
}

/// List the browsers in which you are signed in, newest first
///
/// The list contains valid sessions only: a session ends 14 days after the sign-in, when it was not used for
/// 12 hours, when you sign out, and when you change your password in another one. Only a browser session may
/// send this request, no API token.
#[utoipa::path(get, path = "/me/browser-sessions", tag = "identity", security(("browser" = [])),
    responses((status = 200, body = Data<Vec<BrowserSession>>), ReadProblems))]
pub async fn list_browser_sessions(
    request: BrowserRequest,
) -> Result<Json<Data<Vec<BrowserSession>>>, EarlyResponse> {
    let current = request.browser.session_id;
    let sessions = request.app.store.browser_sessions(request.browser.user_id).await?;
    let data = sessions.into_iter().map(|session| BrowserSession::new(session, current)).collect();
    Ok(Json(Data { data }))
}

/// End one of your browser sessions, or with `all=true` all others
///
/// Requests of the ended sessions are rejected within one second on every server, and their streams end.
/// Repeating the request changes nothing: a session that is not yours or has ended already is not in the
/// response. Only a browser session may send this request, no API token.
#[utoipa::path(delete, path = "/me/browser-sessions", tag = "identity", security(("browser" = [])),
    params(EndQuery),
    responses((status = 200, body = Data<EndedBrowserSessions>), CommandProblems))]
pub async fn end_browser_sessions(
    request: BrowserRequest,
    query: Query<EndQuery>,
) -> Result<Json<Data<EndedBrowserSessions>>, EarlyResponse> {
    let BrowserRequest { app, browser, request_id } = &request;
    let (user, current) = (browser.user_id, browser.session_id);
    let ended = match query.0.session()? {
        named if query.0.dry_run == Some(true) => {
            let live = app.store.browser_sessions(user).await?.into_iter().map(|session| session.id);
            live.filter(|id| named.map_or(*id != current, |named| *id == named)).collect()
        }
        None => browser_session::end_others(app, user, current, &request_id.0).await?,
        Some(session) => {
            let has_ended = browser_session::end(app, user, session, &request_id.0).await?;
            has_ended.then_some(session).into_iter().collect()
        }
    };
    Ok(Json(Data { data: ended.into_iter().collect() }))
}

/// Sign out: end the browser session that sends the request
///
/// The session is rejected within one second on every server, and its streams end. API tokens that were made
/// in it stay valid. Sessions that it has claimed go on; those that wait in a queue are not granted.
#[utoipa::path(post, path = "/auth/sign-out", tag = "sign-in", security(("browser" = [])),
    responses((status = 200, body = Data<EndedBrowserSessions>), CommandProblems))]
pub async fn sign_out(request: BrowserRequest) -> Result<impl IntoResponse, EarlyResponse> {
    let BrowserRequest { app, browser, request_id } = &request;
    browser_session::end(app, browser.user_id, browser.session_id, &request_id.0).await?;
    let data = EndedBrowserSessions::from_iter([browser.session_id]);
    Ok(([(header::SET_COOKIE, cookie::clear_session())], Json(Data { data })))
}
