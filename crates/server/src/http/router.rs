//! All routes, and the layers around them.

use axum::Router;
use axum::http::HeaderValue;
use axum::response::IntoResponse;
use axum::routing::get;
use greenroom_api_types::problem::{FieldProblem, Problem, SuggestedRequest};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::app::failure::{Code, Failure};
use crate::app::next_action::API_ROOT;
use crate::http::rules::{not_modified, openapi, schema};
use crate::http::{
    analysis, analysis_settings, approval, browser_session, cache, cleanup, definition_schema, deployment,
    deployment_stream, docs, environment, environment_hold, environment_list, environment_pool, event,
    evidence, failure, fix, forge, freeze, give_up, group, handover, health, id_token, lasting_environment,
    live_session, log, log_index, log_search, log_stream, me, member, middleware, oauth, oidc, organization,
    pipeline, pipeline_steps, registry_step, role_grant, runner, runner_pool, secret, service_account,
    session, sign_in, sign_in_link, step_registry, summary, token, transfer, trust_policy, version, watch,
};

#[derive(OpenApi)]
#[openapi(components(schemas(Problem, FieldProblem, SuggestedRequest)))]
struct Problems;

/// The routes below `/api/v1`, with their OpenAPI document.
fn api() -> ApiRouter {
    let mut base = openapi::base();
    base.merge(Problems::openapi());
    let (router, document) = OpenApiRouter::with_openapi(base)
        .routes(routes!(me::get_me))
        .routes(routes!(me::get_organization_me))
        .routes(routes!(browser_session::list_browser_sessions, browser_session::end_browser_sessions))
        .routes(routes!(sign_in::list_sign_in_methods))
        .routes(routes!(sign_in::sign_in_with_password))
        .routes(routes!(sign_in::sign_in_with_link))
        .routes(routes!(oidc::start_oidc_sign_in))
        .routes(routes!(oidc::finish_oidc_sign_in))
        .routes(routes!(browser_session::sign_out))
        .routes(routes!(sign_in::change_password))
        .routes(routes!(organization::get_organization, organization::update_organization))
        .routes(routes!(member::list_members, member::add_member))
        .routes(routes!(member::get_member, member::update_member, member::remove_member))
        .routes(routes!(sign_in_link::create_sign_in_link))
        .routes(routes!(service_account::list_service_accounts, service_account::create_service_account))
        .routes(routes!(
            service_account::get_service_account,
            service_account::update_service_account,
            service_account::delete_service_account
        ))
        .routes(routes!(
            service_account::list_service_account_tokens,
            service_account::create_service_account_token
        ))
        .routes(routes!(trust_policy::list_trust_policies, trust_policy::create_trust_policy))
        .routes(routes!(trust_policy::delete_trust_policy))
        .routes(routes!(token::list_api_tokens, token::create_api_token))
        .routes(routes!(token::get_api_token, token::revoke_api_token))
        .routes(routes!(pipeline::list_pipelines, pipeline::create_pipeline))
        .routes(routes!(pipeline::validate_definition))
        .routes(routes!(pipeline::get_pipeline, pipeline::update_pipeline, pipeline::archive_pipeline))
        .routes(routes!(pipeline::stop_pipeline))
        .routes(routes!(pipeline::resume_pipeline))
        .routes(routes!(pipeline_steps::update_pipeline_steps))
        .routes(routes!(pipeline::list_pipeline_versions))
        .routes(routes!(pipeline::get_pipeline_version))
        .routes(routes!(cache::list_caches, cache::delete_caches))
        .routes(routes!(environment_list::list_organization_environments))
        .routes(routes!(lasting_environment::list_organization_lasting_environments))
        .routes(routes!(lasting_environment::list_lasting_environments))
        .routes(routes!(lasting_environment::get_lasting_environment))
        .routes(routes!(lasting_environment::get_lasting_environment_history))
        .routes(routes!(environment_hold::hold_environment, environment_hold::end_environment_hold))
        .routes(routes!(live_session::list_sessions))
        .routes(routes!(summary::get_summary))
        .routes(routes!(environment::list_environments))
        .routes(routes!(environment::get_environment))
        .routes(routes!(environment::get_history))
        .routes(routes!(environment::get_queue))
        .routes(routes!(watch::watch_environment))
        .routes(routes!(cleanup::repeat_cleanup, cleanup::give_up_cleanup))
        .routes(routes!(environment_pool::claim_from_pool))
        .routes(routes!(session::claim_session))
        .routes(routes!(session::get_session, session::release_session))
        .routes(routes!(session::deploy_commit))
        .routes(routes!(session::renew_session))
        .routes(routes!(session::heartbeat_session))
        .routes(routes!(session::force_claim))
        .routes(routes!(transfer::transfer_session))
        .routes(routes!(handover::request_handover))
        .routes(routes!(handover::accept_handover))
        .routes(routes!(handover::decline_handover))
        .routes(routes!(deployment::list_deployments))
        .routes(routes!(deployment::list_pipeline_deployments, deployment::create_deployment))
        .routes(routes!(deployment::get_deployment))
        .routes(routes!(deployment_stream::stream_deployment))
        .routes(routes!(deployment::cancel_deployment))
        .routes(routes!(give_up::give_up_deployment))
        .routes(routes!(give_up::give_up_stage))
        .routes(routes!(deployment::get_stage))
        .routes(routes!(deployment::list_attempts))
        .routes(routes!(deployment::cancel_stage))
        .routes(routes!(deployment::retry_stage))
        .routes(routes!(evidence::get_evidence))
        .routes(routes!(evidence::get_step_evidence))
        .routes(routes!(analysis::list_analyses, analysis::create_analysis))
        .routes(routes!(analysis::get_analysis))
        .routes(routes!(analysis::get_analysis_prompt))
        .routes(routes!(analysis::give_analysis_feedback))
        .routes(routes!(fix::list_fix_pull_requests, fix::create_fix_pull_request))
        .routes(routes!(fix::get_fix_pull_request))
        .routes(routes!(fix::cancel_fix_pull_request))
        .routes(routes!(failure::list_failures))
        .routes(routes!(failure::get_failure))
        .routes(routes!(failure::write_failure_note))
        .routes(routes!(log::read_log))
        .routes(routes!(log_index::get_log_index))
        .routes(routes!(log_search::search_log))
        .routes(routes!(log_stream::stream_log))
        .routes(routes!(runner::list_runners, runner::create_runner))
        .routes(routes!(runner::revoke_runner))
        .routes(routes!(runner_pool::list_runner_pools))
        .routes(routes!(runner_pool::get_runner_pool, runner_pool::update_runner_pool))
        .routes(routes!(secret::list_secrets, secret::create_secret))
        .routes(routes!(secret::get_secret, secret::update_secret, secret::delete_secret))
        .routes(routes!(secret::set_secret_value))
        .routes(routes!(secret::list_secret_versions))
        .routes(routes!(secret::activate_secret_version))
        .routes(routes!(secret::destroy_secret_version))
        .routes(routes!(secret::list_secret_reads))
        .routes(routes!(secret::list_deployment_secret_reads))
        .routes(routes!(role_grant::list_grants))
        .routes(routes!(role_grant::set_group_grant, role_grant::delete_group_grant))
        .routes(routes!(role_grant::set_user_grant, role_grant::delete_user_grant))
        .routes(routes!(group::list_groups, group::create_group))
        .routes(routes!(group::get_group, group::update_group, group::delete_group))
        .routes(routes!(group::list_group_members))
        .routes(routes!(group::add_group_member, group::remove_group_member))
        .routes(routes!(freeze::list_freezes, freeze::create_freeze))
        .routes(routes!(freeze::get_freeze, freeze::update_freeze, freeze::delete_freeze))
        .routes(routes!(step_registry::list_step_registries, step_registry::create_step_registry))
        .routes(routes!(step_registry::resolve_step))
        .routes(routes!(
            step_registry::get_step_registry,
            step_registry::update_step_registry,
            step_registry::delete_step_registry
        ))
        .routes(routes!(step_registry::sync_step_registry))
        .routes(routes!(registry_step::list_registry_steps))
        .routes(routes!(registry_step::get_registry_step))
        .routes(routes!(registry_step::list_registry_step_versions))
        .routes(routes!(registry_step::get_registry_step_version))
        .routes(routes!(registry_step::diff_registry_step_versions))
        .routes(routes!(registry_step::yank_registry_step_version))
        .routes(routes!(registry_step::list_step_usage))
        .routes(routes!(forge::list_forges, forge::create_forge))
        .routes(routes!(forge::get_forge, forge::update_forge, forge::delete_forge))
        .routes(routes!(
            analysis_settings::get_analysis_settings,
            analysis_settings::update_analysis_settings
        ))
        .routes(routes!(approval::list_approvals))
        .routes(routes!(approval::get_approval))
        .routes(routes!(approval::approve))
        .routes(routes!(approval::reject))
        .routes(routes!(approval::withdraw_vote))
        .routes(routes!(approval::override_gates))
        .routes(routes!(event::list_events))
        .routes(routes!(event::stream_events))
        .routes(routes!(event::get_event))
        .routes(routes!(definition_schema::get_definition_schema))
        .routes(routes!(version::get_version))
        .split_for_parts();
    ApiRouter { router, document: openapi::complete(document) }
}

struct ApiRouter {
    router: Router<App>,
    document: utoipa::openapi::OpenApi,
}

/// The document of the complete API, as it is served and as it is committed in `openapi/api.json`.
pub fn document() -> utoipa::openapi::OpenApi {
    api().document
}

/// All routes of a server: the API, its documentation and the probes.
pub fn router(app: App) -> Router {
    let ApiRouter { router, document } = api();
    let document = serde_json::to_string(&document).unwrap_or_default();
    // Clients request the list with and without a trailing slash.
    let list = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/";
    let api = router.route(list, get(environment::list_environments)).route(
        "/openapi.json",
        get(async move || ([("content-type", "application/json")], document.clone())),
    );
    let api = api.layer(axum::middleware::from_fn(not_modified::not_modified)).merge(runner::job::routes());
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
        .fallback(async || Failure::not_found().into_response())
        .with_state(app.clone())
        .merge(pages)
        .merge(dashboard.unwrap_or_default())
        .method_not_allowed_fallback(async || {
            Failure::new(Code::MethodNotAllowed, "This address does not answer to this method. See /docs.")
                .into_response()
        })
        .layer(axum::middleware::from_fn_with_state(app.clone(), middleware::handle))
        // Outside of the limits: a server under load is still alive.
        .merge(health::probes(app.health.clone(), app.draining.clone()))
}
