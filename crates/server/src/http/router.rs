//! All routes, and the layers around them.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::{OriginalUri, Request};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::routing::get;
use greenroom_api_types::problem::{FieldProblem, Problem, SuggestedRequest};
use greenroom_app::App;
use greenroom_app::failure::{Code, Failure};
use greenroom_app::next_action::API_ROOT;
use serde_json::Value;
use utoipa::OpenApi;

use crate::http::rules::operations::operations;
use crate::http::rules::problem::problem_response;
use crate::http::rules::record_response::content_hash;
use crate::http::rules::{
    compress, known_path, not_modified, openapi, schema, shared_parts, undeclared_query,
};
use crate::http::{
    analysis, analysis_settings, approval, browser_session, cache, cleanup, definition_schema, deployment,
    deployment_stream, docs, environment, environment_hold, environment_list, environment_pool, event,
    evidence, failure, fix, forge, freeze, give_up, group, handover, health, id_token, lasting_environment,
    live_session, log, log_index, log_search, log_stream, me, member, middleware, notice, oauth, oidc,
    organization, pipeline, pipeline_steps, registry_step, role_grant, runner, runner_pool, secret,
    service_account, session, sign_in, sign_in_link, step_registry, summary, token, transfer, trust_policy,
    version, watch,
};

#[derive(OpenApi)]
#[openapi(components(schemas(Problem, FieldProblem, SuggestedRequest)))]
struct Problems;

// The operations below `/api/v1`, in the order of the document.
operations![
    me::get_me,
    me::get_organization_me,
    browser_session::list_browser_sessions,
    browser_session::end_browser_sessions,
    sign_in::list_sign_in_methods,
    sign_in::sign_in_with_password,
    sign_in::sign_in_with_link,
    sign_in::set_up_installation,
    oidc::start_oidc_sign_in,
    oidc::finish_oidc_sign_in,
    browser_session::sign_out,
    sign_in::change_password,
    organization::get_organization,
    organization::update_organization,
    member::list_members,
    member::add_member,
    member::get_member,
    member::update_member,
    member::remove_member,
    sign_in_link::create_sign_in_link,
    service_account::list_service_accounts,
    service_account::create_service_account,
    service_account::get_service_account,
    service_account::update_service_account,
    service_account::delete_service_account,
    service_account::list_service_account_tokens,
    service_account::create_service_account_token,
    trust_policy::list_trust_policies,
    trust_policy::create_trust_policy,
    trust_policy::delete_trust_policy,
    token::list_api_tokens,
    token::create_api_token,
    token::get_api_token,
    token::revoke_api_token,
    pipeline::list_pipelines,
    pipeline::create_pipeline,
    pipeline::validate_definition,
    pipeline::get_pipeline,
    pipeline::update_pipeline,
    pipeline::archive_pipeline,
    pipeline::stop_pipeline,
    pipeline::resume_pipeline,
    pipeline_steps::update_pipeline_steps,
    pipeline::list_pipeline_versions,
    pipeline::get_pipeline_version,
    cache::list_caches,
    cache::delete_caches,
    environment_list::list_organization_environments,
    lasting_environment::list_organization_lasting_environments,
    lasting_environment::list_lasting_environments,
    lasting_environment::get_lasting_environment,
    lasting_environment::get_lasting_environment_history,
    environment_hold::hold_environment,
    environment_hold::end_environment_hold,
    live_session::list_sessions,
    notice::list_notices,
    notice::mark_notices_read,
    summary::get_summary,
    environment::list_environments,
    environment::get_environment,
    environment::get_history,
    environment::get_queue,
    watch::watch_environment,
    cleanup::repeat_cleanup,
    cleanup::give_up_cleanup,
    environment_pool::claim_from_pool,
    session::claim_session,
    session::get_session,
    session::release_session,
    session::deploy_commit,
    session::renew_session,
    session::heartbeat_session,
    session::force_claim,
    transfer::transfer_session,
    handover::request_handover,
    handover::accept_handover,
    handover::decline_handover,
    deployment::list_deployments,
    deployment::list_pipeline_deployments,
    deployment::create_deployment,
    deployment::get_deployment,
    deployment_stream::stream_deployment,
    deployment::cancel_deployment,
    give_up::give_up_deployment,
    give_up::give_up_stage,
    deployment::get_stage,
    deployment::list_attempts,
    deployment::cancel_stage,
    deployment::retry_stage,
    evidence::get_evidence,
    evidence::get_step_evidence,
    analysis::list_analyses,
    analysis::create_analysis,
    analysis::get_analysis,
    analysis::get_analysis_prompt,
    analysis::give_analysis_feedback,
    fix::list_fix_pull_requests,
    fix::create_fix_pull_request,
    fix::get_fix_pull_request,
    fix::cancel_fix_pull_request,
    failure::list_failures,
    failure::get_failure,
    failure::write_failure_note,
    log::read_log,
    log_index::get_log_index,
    log_search::search_log,
    log_stream::stream_log,
    runner::list_runners,
    runner::create_runner,
    runner::revoke_runner,
    runner_pool::list_runner_pools,
    runner_pool::get_runner_pool,
    runner_pool::update_runner_pool,
    secret::list_secrets,
    secret::create_secret,
    secret::get_secret,
    secret::update_secret,
    secret::delete_secret,
    secret::set_secret_value,
    secret::list_secret_versions,
    secret::activate_secret_version,
    secret::destroy_secret_version,
    secret::list_secret_reads,
    secret::list_deployment_secret_reads,
    role_grant::list_grants,
    role_grant::set_group_grant,
    role_grant::delete_group_grant,
    role_grant::set_user_grant,
    role_grant::delete_user_grant,
    group::list_groups,
    group::create_group,
    group::get_group,
    group::update_group,
    group::delete_group,
    group::list_group_members,
    group::add_group_member,
    group::remove_group_member,
    freeze::list_freezes,
    freeze::create_freeze,
    freeze::get_freeze,
    freeze::update_freeze,
    freeze::delete_freeze,
    step_registry::list_step_registries,
    step_registry::create_step_registry,
    step_registry::resolve_step,
    step_registry::get_step_registry,
    step_registry::update_step_registry,
    step_registry::delete_step_registry,
    step_registry::sync_step_registry,
    registry_step::list_registry_steps,
    registry_step::get_registry_step,
    registry_step::list_registry_step_versions,
    registry_step::get_registry_step_version,
    registry_step::diff_registry_step_versions,
    registry_step::yank_registry_step_version,
    registry_step::list_step_usage,
    forge::list_forges,
    forge::create_forge,
    forge::get_forge,
    forge::update_forge,
    forge::delete_forge,
    analysis_settings::get_analysis_settings,
    analysis_settings::update_analysis_settings,
    approval::list_approvals,
    approval::get_approval,
    approval::approve,
    approval::reject,
    approval::withdraw_vote,
    approval::override_gates,
    event::list_events,
    event::stream_events,
    event::get_event,
    definition_schema::get_definition_schema,
    version::get_version,
];

/// Builds the document of the complete API, as it is served and as it is committed in `openapi/api.json`.
pub fn document() -> Value {
    let mut document = openapi::base();
    document.merge(Problems::openapi());
    document.merge(Operations::openapi());
    let mut document = serde_json::to_value(openapi::complete(document)).unwrap_or_default();
    shared_parts::share(&mut document);
    document
}

/// The document as JSON, and its `ETag`: built when it is requested for the first time.
static DOCUMENT: LazyLock<(String, String)> = LazyLock::new(|| {
    let text = document().to_string();
    let tag = format!("\"{}\"", content_hash(text.as_bytes()));
    (text, tag)
});

/// All routes of a server: the API, its documentation and the probes.
pub fn router(app: App) -> Router {
    // A layer of a router runs after the route was found, so the address is rewritten by one around it.
    let rewrite = axum::middleware::map_request(known_path::rewrite);
    Router::new().fallback_service(known_routes(app)).layer(rewrite)
}

fn known_routes(app: App) -> Router {
    let api = routes().route(
        "/openapi.json",
        get(async || {
            let (text, tag) = &*DOCUMENT;
            ([("content-type", "application/json"), ("etag", tag.as_str())], text.as_str())
        }),
    );
    let api = api.layer(axum::middleware::from_fn(async |request: Request, next: Next| {
        undeclared_query::find(&WITHOUT_QUERY, request, next).await
    }));
    let api = api.layer(axum::middleware::from_fn(not_modified::not_modified));
    let api = api.layer(axum::middleware::from_fn(compress::compress)).merge(runner::job::routes());
    let api = api.layer(axum::middleware::from_fn_with_state(app.health.clone(), schema::require));
    let oauth =
        oauth::routes().layer(axum::middleware::from_fn_with_state(app.health.clone(), schema::require));
    let dashboard = greenroom_dashboard::router();
    let pages = if dashboard.is_none() { docs::router().merge(docs::front_page()) } else { docs::router() };
    let pages =
        pages.layer(axum::middleware::map_response(async |mut response: axum::response::Response| {
            let (name, value) = docs::CONTENT_SECURITY_POLICY;
            response.headers_mut().insert(name, HeaderValue::from_static(value));
            response
        }));
    Router::new()
        .nest(API_ROOT, api)
        .merge(id_token::routes())
        .merge(oauth)
        // The document has this operation at `/`, below the address of the API.
        .route(&format!("{API_ROOT}/"), get(version::get_version))
        .fallback(async |method: Method, OriginalUri(uri): OriginalUri, headers: HeaderMap| {
            let is_page = !uri.path().starts_with(API_ROOT);
            let page = is_page.then(|| greenroom_dashboard::missing_page(&method, &headers)).flatten();
            page.unwrap_or_else(|| problem_response(Failure::not_found()))
        })
        .with_state(app.clone())
        .merge(pages)
        .merge(dashboard.unwrap_or_default())
        .method_not_allowed_fallback(async || {
            problem_response(Failure::new(Code::MethodNotAllowed, "This address does not answer to this method. See /docs."))
        })
        .layer(axum::middleware::from_fn_with_state(app.clone(), middleware::handle))
        // Outside of the limits: a server under load is still alive.
        .merge(health::probes(app.health.clone(), app.draining.clone()))
}
