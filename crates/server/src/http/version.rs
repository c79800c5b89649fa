//! `/`: what this server is. Public: a client reads it before it has a token, and it contains no
//! organization's data.

use axum::Json;
use axum::extract::State;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::version::Version;
use greenroom_app::App;

use crate::http::rules::problem_responses::PublicProblems;

/// Sorted; `web_urls` comes after them.
const FEATURES: [&str; 9] = [
    "browser_sign_in",
    "deployment_stream",
    "events_with_state",
    "lease_remaining",
    "log_search",
    "organization_lists",
    "repository_lookup",
    "runner_status",
    "summary",
];

/// View the version of the server
///
/// The response is public, and changes only when the server is restarted. During an upgrade, servers of two
/// versions can respond in turn.
#[utoipa::path(get, path = "/", tag = "documents", security(()),
    responses((status = 200, body = Data<Version>), PublicProblems))]
pub async fn get_version(State(app): State<App>) -> Json<Data<Version>> {
    let web_urls = app.sign_in.configured_url.is_some().then_some("web_urls");
    Json(Data {
        data: Version {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("GREENROOM_COMMIT").map(str::to_owned),
            features: FEATURES.into_iter().chain(web_urls).map(str::to_owned).collect(),
        },
    })
}
