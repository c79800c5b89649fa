//! The table of operations: how each is called, its minimum role and its scope, from `docs/api-design.md`. It
//! is written by hand and does not use `domain::policy`, because it checks it.

use serde_json::Value;

pub use crate::bodies::{DIGEST, OWNER, PIPELINE_ID};
use crate::bodies::{
    aged, agreed, because, commit, definition, described, developer, disagreed, fix, forge, freeze, group,
    helpful, hold, labels, maintainer, member, model_limit, named, network, none, note, overridden, password,
    pipeline, registry, repositories, secret, service_account, set_up, to_owner, trust_policy, until, uses,
    value, wrong_code, wrong_password,
};
use crate::paths::*;
use crate::row::row;
pub use crate::row::{Right, Role, Row, Target};

const PUBLIC: Right = Right::Public;
const TOKEN: Right = Right::AnyToken;
const BROWSER: Right = Right::Browser;
const VIEWER: Right = Right::Least(Role::Viewer);
const DEVELOPER: Right = Right::Least(Role::Developer);
const MAINTAINER: Right = Right::Least(Role::Maintainer);
const ADMIN: Right = Right::Least(Role::Admin);

/// Operations that limit their result to the pipelines of the token.
const NARROWED: [&str; 13] = [
    "list_pipelines",
    "list_organization_environments",
    "list_organization_lasting_environments",
    "list_sessions",
    "list_notices",
    "get_summary",
    "list_deployments",
    "list_events",
    "stream_events",
    "create_api_token",
    "list_secrets",
    "list_approvals",
    "list_failures",
];

/// Operations for which either of two scopes is needed, depending on the body. A token that has neither is
/// referred to the one that lets it do less.
pub const LESSER_SCOPE: [(&str, &str); 1] = [("create_secret", WRITE)];

/// Returns the scopes that a token needs besides that of the row.
pub fn further_scopes(row: &Row) -> &'static [&'static str] {
    // Its session is claimed, and deployed to, with the rights of this token.
    if row.operation == "create_fix_pull_request" { &[HOLD, DEPLOY_OWN] } else { &[] }
}

/// A definition with one ephemeral environment and a lasting one.
pub const WITH_ENVIRONMENT: &str = "environments:\n  production: {}\nephemeralEnvironments:\n  qa-1: { labels: [web] }\nstages:\n  build:\n    steps:\n      - image: busybox\n        run: 'true'\n";

/// A definition with one environment that is cleaned up after a session.
pub const WITH_TEARDOWN: &str = "ephemeralEnvironments:\n  qa-1: { stages: [build], onRelease: [remove] }\nstages:\n  build:\n    steps:\n      - image: busybox\n        run: 'true'\n  remove:\n    steps:\n      - image: busybox\n        run: 'true'\n";

#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("get_me",                 ("GET", "/me"),         TOKEN,      NONE,       200, Target::Nothing,         none),

    row("list_browser_sessions",  ("GET", BROWSER_SESSIONS), BROWSER, NONE,       200, Target::Nothing,         none),
    row("end_browser_sessions",   ("DELETE", BROWSER_SESSIONS), BROWSER, NONE,    200, Target::Nothing,         none),
    row("change_password",        ("PUT", "/me/password"), BROWSER,   NONE,       200, Target::Nothing,         password),
    row("sign_out",               ("POST", "/auth/sign-out"), BROWSER, NONE,      200, Target::Nothing,         none),
    // Signing in needs no token and ignores one. Without the right input it always fails in the same way.
    row("list_sign_in_methods",   ("GET", "/auth/methods"), PUBLIC,   NONE,       200, Target::Nothing,         none),
    row("sign_in_with_password",  ("POST", "/auth/password"), PUBLIC, NONE,       401, Target::Nothing,         wrong_password),
    row("sign_in_with_link",      ("POST", "/auth/link"), PUBLIC,     NONE,       401, Target::Nothing,         wrong_code),
    // The fixture has organizations already.
    row("set_up_installation",    ("POST", "/auth/setup"), PUBLIC,    NONE,       409, Target::Nothing,         set_up),
    row("start_oidc_sign_in",     ("GET", OIDC_START),    PUBLIC,     NONE,       404, Target::Nothing,         none),
    row("finish_oidc_sign_in",    ("GET", OIDC_CALLBACK), PUBLIC,     NONE,       404, Target::Nothing,         none),

    row("get_organization_me",    ("GET", OWN_ME),        VIEWER,     NONE,       200, Target::Nothing,         none),
    row("get_organization",       ("GET", ORGANIZATION),  VIEWER,     READ,       200, Target::Nothing,         none),
    // Admins change settings and owners the organization itself; its name counts as a setting.
    row("update_organization",    ("PATCH", ORGANIZATION), ADMIN,     ADMINISTER, 200, Target::Nothing,         named),

    row("list_members",           ("GET", MEMBERS),       VIEWER,     READ,       200, Target::Nothing,         none),
    row("add_member",             ("POST", MEMBERS),      ADMIN,      ADMINISTER, 201, Target::Nothing,         member),
    row("get_member",             ("GET", MEMBER),        VIEWER,     READ,       200, Target::Member,          none),
    row("update_member",          ("PATCH", MEMBER),      ADMIN,      ADMINISTER, 200, Target::Member,          developer),
    row("remove_member",          ("DELETE", MEMBER),     ADMIN,      ADMINISTER, 200, Target::Member,          none),

    row("create_sign_in_link",    ("POST", SIGN_IN_LINK), ADMIN,      ADMINISTER, 201, Target::Member,          none),

    row("list_service_accounts",  ("GET", SERVICE_ACCOUNTS), VIEWER,  READ,       200, Target::Nothing,         none),
    row("create_service_account", ("POST", SERVICE_ACCOUNTS), ADMIN,  ADMINISTER, 201, Target::Nothing,         service_account),
    row("get_service_account",    ("GET", SERVICE_ACCOUNT), VIEWER,   READ,       200, Target::ServiceAccount,  none),
    row("update_service_account", ("PATCH", SERVICE_ACCOUNT), ADMIN,  ADMINISTER, 200, Target::ServiceAccount,  developer),
    row("delete_service_account", ("DELETE", SERVICE_ACCOUNT), ADMIN, ADMINISTER, 200, Target::ServiceAccount,  none),
    row("list_service_account_tokens", ("GET", SERVICE_TOKENS), ADMIN, ADMINISTER, 200, Target::ServiceAccount, none),
    row("create_service_account_token", ("POST", SERVICE_TOKENS), ADMIN, ADMINISTER, 201, Target::ServiceAccount, named),
    row("list_trust_policies",    ("GET", TRUST_POLICIES), ADMIN,     ADMINISTER, 200, Target::ServiceAccount,  none),
    row("create_trust_policy",    ("POST", TRUST_POLICIES), ADMIN,    ADMINISTER, 201, Target::ServiceAccount,  trust_policy),
    row("delete_trust_policy",    ("DELETE", TRUST_POLICY), ADMIN,    ADMINISTER, 200, Target::TrustPolicy,     none),

    row("list_api_tokens",        ("GET", TOKENS),        VIEWER,     WRITE,      200, Target::Nothing,         none),
    row("create_api_token",       ("POST", TOKENS),       VIEWER,     WRITE,      201, Target::Nothing,         named),
    row("get_api_token",          ("GET", ONE_TOKEN),     VIEWER,     WRITE,      200, Target::OwnToken,        none),
    row("revoke_api_token",       ("DELETE", ONE_TOKEN),  VIEWER,     WRITE,      200, Target::OwnToken,        none),

    row("list_pipelines",         ("GET", PIPELINES),     VIEWER,     READ,       200, Target::Nothing,         none),
    row("create_pipeline",        ("POST", PIPELINES),    MAINTAINER, WRITE,      201, Target::Nothing,         pipeline),
    row("validate_definition",    ("POST", VALIDATE),     VIEWER,     READ,       200, Target::Nothing,         definition),
    row("get_pipeline",           ("GET", PIPELINE),      VIEWER,     READ,       200, Target::Pipeline,        none),
    row("update_pipeline",        ("PUT", PIPELINE),      MAINTAINER, WRITE,      200, Target::Pipeline,        named),
    row("archive_pipeline",       ("DELETE", PIPELINE),   MAINTAINER, WRITE,      200, Target::Pipeline,        none),
    row("stop_pipeline",          ("POST", STOP),         MAINTAINER, WRITE,      200, Target::Pipeline,        none),
    row("resume_pipeline",        ("POST", RESUME),       MAINTAINER, WRITE,      200, Target::StoppedPipeline, none),
    row("update_pipeline_steps",  ("POST", UPDATE_STEPS), MAINTAINER, WRITE,      200, Target::Pipeline,        none),
    row("list_pipeline_versions", ("GET", VERSIONS),      VIEWER,     READ,       200, Target::Pipeline,        none),
    row("get_pipeline_version",   ("GET", VERSION),       VIEWER,     READ,       200, Target::Pipeline,        none),
    row("list_caches",            ("GET", CACHES),        MAINTAINER, WRITE,      200, Target::Pipeline,        none),
    row("delete_caches",          ("DELETE", CACHES),     MAINTAINER, WRITE,      200, Target::Pipeline,        none),

    row("list_organization_environments", ("GET", ALL_ENVIRONMENTS), VIEWER, READ, 200, Target::Nothing,       none),
    row("list_organization_lasting_environments", ("GET", ALL_LASTING), VIEWER, READ, 200, Target::Nothing,    none),
    row("list_lasting_environments", ("GET", LASTING),    VIEWER,     READ,       200, Target::Pipeline,        none),
    row("get_lasting_environment", ("GET", ONE_LASTING),  VIEWER,     READ,       200, Target::LastingEnvironment, none),
    row("hold_environment",       ("POST", LASTING_HOLD), MAINTAINER, WRITE,      200, Target::LastingEnvironment, hold),
    row("end_environment_hold",   ("DELETE", LASTING_HOLD), MAINTAINER, WRITE,    200, Target::LastingEnvironment, none),
    row("get_lasting_environment_history", ("GET", LASTING_HISTORY), VIEWER, READ, 200, Target::LastingEnvironment, none),
    row("list_sessions",          ("GET", ALL_SESSIONS),  VIEWER,     READ,       200, Target::Nothing,         none),
    row("list_notices",           ("GET", NOTICES),       VIEWER,     READ,       200, Target::Nothing,         none),
    row("mark_notices_read",      ("PUT", NOTICES_READ),  VIEWER,     WRITE,      200, Target::Nothing,         until),
    row("get_summary",            ("GET", SUMMARY),       VIEWER,     READ,       200, Target::Nothing,         none),
    row("list_environments",      ("GET", ENVIRONMENTS),  VIEWER,     READ,       200, Target::Pipeline,        none),
    row("get_environment",        ("GET", ENVIRONMENT),   VIEWER,     READ,       200, Target::Environment,     none),
    row("get_history",            ("GET", HISTORY),       VIEWER,     READ,       200, Target::Environment,     none),
    row("get_queue",              ("GET", QUEUE),         VIEWER,     READ,       200, Target::Environment,     none),
    row("watch_environment",      ("GET", WATCH),         VIEWER,     READ,       200, Target::Environment,     none),
    row("repeat_cleanup",         ("POST", CLEANUP),      MAINTAINER, WRITE,      202, Target::FailedCleanup,   none),
    row("give_up_cleanup",        ("DELETE", CLEANUP),    MAINTAINER, WRITE,      200, Target::FailedCleanup,   because),
    row("claim_from_pool",        ("POST", CLAIM),        DEVELOPER,  HOLD,       201, Target::Environment,     labels),
    row("claim_session",          ("POST", SESSIONS),     DEVELOPER,  HOLD,       201, Target::Environment,     none),
    row("force_claim",            ("POST", FORCE),        DEVELOPER,  HOLD,       201, Target::Environment,     none),
    row("get_session",            ("GET", SESSION),       VIEWER,     READ,       200, Target::Session,         none),
    row("release_session",        ("DELETE", SESSION),    DEVELOPER,  HOLD,       200, Target::Session,         none),
    row("deploy_commit",          ("POST", DEPLOY),       DEVELOPER,  DEPLOY_OWN, 202, Target::Session,         commit),
    row("heartbeat_session",      ("POST", HEARTBEAT),    DEVELOPER,  HOLD,       200, Target::Session,         none),
    row("renew_session",          ("POST", RENEW),        DEVELOPER,  HOLD,       200, Target::Session,         none),
    row("transfer_session",       ("POST", TRANSFER),     DEVELOPER,  HOLD,       201, Target::Session,         to_owner),
    row("request_handover",       ("POST", HANDOVER),     DEVELOPER,  HOLD,       202, Target::OthersSession,   none),
    row("accept_handover",        ("POST", ACCEPT),       DEVELOPER,  HOLD,       200, Target::HandoverSession, none),
    row("decline_handover",       ("POST", DECLINE),      DEVELOPER,  HOLD,       200, Target::HandoverSession, none),

    row("list_deployments",       ("GET", DEPLOYMENTS),   VIEWER,     READ,       200, Target::Nothing,         none),
    row("list_pipeline_deployments", ("GET", PIPELINE_DEPLOYMENTS), VIEWER, READ, 200, Target::Pipeline,      none),
    row("create_deployment",      ("POST", PIPELINE_DEPLOYMENTS), DEVELOPER, START, 202, Target::Pipeline,   commit),
    row("get_deployment",         ("GET", DEPLOYMENT),    VIEWER,     READ,       200, Target::Deployment,      none),
    row("stream_deployment",      ("GET", DEPLOYMENT_STREAM), VIEWER, READ,       200, Target::Deployment,      none),
    row("cancel_deployment",      ("POST", CANCEL),       DEVELOPER,  START,      202, Target::Deployment,      none),
    row("get_stage",              ("GET", STAGE),         VIEWER,     READ,       200, Target::Stage,           none),
    row("list_attempts",          ("GET", ATTEMPTS),      VIEWER,     READ,       200, Target::Stage,           none),
    row("cancel_stage",           ("POST", CANCEL_STAGE), DEVELOPER,  START,      202, Target::Stage,           none),
    row("retry_stage",            ("POST", RETRY_STAGE),  DEVELOPER,  START,      202, Target::EndedStage,      none),
    row("give_up_deployment",     ("POST", GIVE_UP),      ADMIN,      ADMINISTER, 202, Target::Deployment,      because),
    row("give_up_stage",          ("POST", GIVE_UP_STAGE), ADMIN,     ADMINISTER, 202, Target::Stage,           because),
    row("read_log",               ("GET", LOG),           VIEWER,     READ,       200, Target::Step,            none),
    row("get_log_index",          ("GET", LOG_INDEX),     VIEWER,     READ,       200, Target::Step,            none),
    row("search_log",             ("GET", LOG_SEARCH),    VIEWER,     READ,       200, Target::Step,            none),
    row("stream_log",             ("GET", LOG_STREAM),    VIEWER,     READ,       200, Target::Step,            none),
    row("get_evidence",           ("GET", EVIDENCE),      VIEWER,     READ,       200, Target::Deployment,      none),
    row("get_step_evidence",      ("GET", STEP_EVIDENCE), VIEWER,     READ,       200, Target::FailedStep,      none),
    row("list_analyses",          ("GET", ANALYSES),      VIEWER,     READ,       200, Target::Deployment,      none),
    row("create_analysis",        ("POST", ANALYSES),     DEVELOPER,  WRITE,      202, Target::FailedDeployment, none),
    row("get_analysis",           ("GET", ANALYSIS),      VIEWER,     READ,       200, Target::Analysis,        none),
    row("get_analysis_prompt",    ("GET", ANALYSIS_PROMPT), MAINTAINER, READ,     200, Target::ExplainedAnalysis, none),
    row("give_analysis_feedback", ("POST", ANALYSIS_FEEDBACK), DEVELOPER, WRITE,  200, Target::Analysis,        helpful),
    row("list_fix_pull_requests", ("GET", FIXES),         VIEWER,     READ,       200, Target::Analysis,        none),
    row("create_fix_pull_request", ("POST", FIXES),       DEVELOPER,  WRITE,      202, Target::FixableAnalysis, fix),
    row("get_fix_pull_request",   ("GET", FIX),           VIEWER,     READ,       200, Target::Fix,             none),
    row("cancel_fix_pull_request", ("POST", FIX_CANCEL),  MAINTAINER, WRITE,      200, Target::Fix,             none),
    row("list_failures",          ("GET", FAILURES),      VIEWER,     READ,       200, Target::Nothing,         none),
    row("get_failure",            ("GET", FAILURE),       VIEWER,     READ,       200, Target::Failure,         none),
    row("write_failure_note",     ("PUT", FAILURE_NOTE),  DEVELOPER,  WRITE,      200, Target::Failure,         note),
    row("list_runners",           ("GET", RUNNERS),       ADMIN,      ADMINISTER, 200, Target::Nothing,         none),
    row("create_runner",          ("POST", RUNNERS),      ADMIN,      ADMINISTER, 201, Target::Nothing,         named),
    row("revoke_runner",          ("DELETE", RUNNER),     ADMIN,      ADMINISTER, 200, Target::Runner,          none),
    row("list_runner_pools",      ("GET", POOLS),         ADMIN,      ADMINISTER, 200, Target::Nothing,         none),
    row("get_runner_pool",        ("GET", POOL),          ADMIN,      ADMINISTER, 200, Target::RunnerPool,      none),
    row("update_runner_pool",     ("PATCH", POOL),        ADMIN,      ADMINISTER, 200, Target::RunnerPool,      network),

    row("list_secrets",           ("GET", SECRETS),       DEVELOPER,  WRITE,      200, Target::Nothing,         none),
    // One of the whole organization; a maintainer can create those of pipelines.
    row("create_secret",          ("POST", SECRETS),      ADMIN,      ADMINISTER, 201, Target::Nothing,         secret),
    row("get_secret",             ("GET", SECRET),        DEVELOPER,  WRITE,      200, Target::Secret,          none),
    row("update_secret",          ("PATCH", SECRET),      MAINTAINER, WRITE,      200, Target::Secret,          described),
    row("delete_secret",          ("DELETE", SECRET),     MAINTAINER, WRITE,      200, Target::Secret,          none),
    row("set_secret_value",       ("PUT", SECRET_VALUE),  MAINTAINER, WRITE,      200, Target::Secret,          value),
    row("list_secret_versions",   ("GET", SECRET_VERSIONS), DEVELOPER, WRITE,     200, Target::Secret,          none),
    row("activate_secret_version", ("POST", ACTIVATE),    MAINTAINER, WRITE,      200, Target::Secret,          none),
    row("destroy_secret_version", ("POST", DESTROY),      MAINTAINER, WRITE,      200, Target::Secret,          none),
    row("list_secret_reads",      ("GET", SECRET_READS),  MAINTAINER, ADMINISTER, 200, Target::Secret,          none),
    row("list_deployment_secret_reads", ("GET", DEPLOYMENT_READS), MAINTAINER, ADMINISTER, 200, Target::Deployment, none),

    row("list_groups",            ("GET", GROUPS),        VIEWER,     READ,       200, Target::Nothing,         none),
    row("create_group",           ("POST", GROUPS),       ADMIN,      ADMINISTER, 201, Target::Nothing,         group),
    row("get_group",              ("GET", GROUP),         VIEWER,     READ,       200, Target::Group,           none),
    row("update_group",           ("PATCH", GROUP),       ADMIN,      ADMINISTER, 200, Target::Group,           described),
    row("delete_group",           ("DELETE", GROUP),      ADMIN,      ADMINISTER, 200, Target::Group,           none),
    row("list_group_members",     ("GET", GROUP_MEMBERS), VIEWER,     READ,       200, Target::Group,           none),
    row("add_group_member",       ("PUT", GROUP_MEMBER),  ADMIN,      ADMINISTER, 200, Target::GroupMember,     none),
    row("remove_group_member",    ("DELETE", GROUP_MEMBER), ADMIN,    ADMINISTER, 200, Target::GroupMember,     none),
    row("list_grants",            ("GET", GRANTS),        VIEWER,     READ,       200, Target::Pipeline,        none),
    row("set_group_grant",        ("PUT", GROUP_GRANT),   ADMIN,      ADMINISTER, 200, Target::GroupGrant,      maintainer),
    row("delete_group_grant",     ("DELETE", GROUP_GRANT), ADMIN,     ADMINISTER, 200, Target::GroupGrant,      none),
    row("set_user_grant",         ("PUT", USER_GRANT),    ADMIN,      ADMINISTER, 200, Target::UserGrant,       maintainer),
    row("delete_user_grant",      ("DELETE", USER_GRANT), ADMIN,      ADMINISTER, 200, Target::UserGrant,       none),

    row("list_forges",            ("GET", FORGES),        ADMIN,      ADMINISTER, 200, Target::Nothing,         none),
    row("create_forge",           ("POST", FORGES),       ADMIN,      ADMINISTER, 201, Target::Nothing,         forge),
    row("get_forge",              ("GET", FORGE),         ADMIN,      ADMINISTER, 200, Target::Forge,           none),
    row("update_forge",           ("PATCH", FORGE),       ADMIN,      ADMINISTER, 200, Target::Forge,           repositories),
    row("delete_forge",           ("DELETE", FORGE),      ADMIN,      ADMINISTER, 200, Target::Forge,           none),

    row("get_analysis_settings",  ("GET", ANALYSIS_SETTINGS), ADMIN,  ADMINISTER, 200, Target::Nothing,         none),
    row("update_analysis_settings", ("PATCH", ANALYSIS_SETTINGS), ADMIN, ADMINISTER, 200, Target::Nothing,      model_limit),

    row("list_freezes",           ("GET", FREEZES),       VIEWER,     READ,       200, Target::Nothing,         none),
    row("create_freeze",          ("POST", FREEZES),      ADMIN,      ADMINISTER, 201, Target::Nothing,         freeze),
    row("get_freeze",             ("GET", FREEZE),        VIEWER,     READ,       200, Target::Freeze,          none),
    row("update_freeze",          ("PATCH", FREEZE),      ADMIN,      ADMINISTER, 200, Target::Freeze,          because),
    row("delete_freeze",          ("DELETE", FREEZE),     ADMIN,      ADMINISTER, 200, Target::Freeze,          none),

    row("list_step_registries",   ("GET", REGISTRIES),    VIEWER,     READ,       200, Target::Nothing,         none),
    row("create_step_registry",   ("POST", REGISTRIES),   ADMIN,      ADMINISTER, 201, Target::Nothing,         registry),
    row("get_step_registry",      ("GET", REGISTRY),      VIEWER,     READ,       200, Target::Registry,        none),
    row("update_step_registry",   ("PATCH", REGISTRY),    ADMIN,      ADMINISTER, 200, Target::Registry,        aged),
    row("delete_step_registry",   ("DELETE", REGISTRY),   ADMIN,      ADMINISTER, 200, Target::Registry,        none),
    row("sync_step_registry",     ("POST", REGISTRY_SYNC), ADMIN,     ADMINISTER, 202, Target::Registry,        none),
    // There is no such registry.
    row("resolve_step",           ("POST", RESOLVE),      VIEWER,     READ,       422, Target::Nothing,         uses),
    row("list_registry_steps",    ("GET", REGISTRY_STEPS), VIEWER,    READ,       200, Target::Registry,        none),
    row("get_registry_step",      ("GET", REGISTRY_STEP), VIEWER,     READ,       200, Target::RegistryStep,    none),
    row("list_registry_step_versions", ("GET", STEP_VERSIONS), VIEWER, READ,      200, Target::RegistryStep,    none),
    row("get_registry_step_version", ("GET", STEP_VERSION), VIEWER,   READ,       200, Target::RegistryStep,    none),
    row("diff_registry_step_versions", ("GET", STEP_DIFF), VIEWER,    READ,       200, Target::RegistryStep,    none),
    row("yank_registry_step_version", ("POST", STEP_YANK), ADMIN,     ADMINISTER, 200, Target::RegistryStep,    because),
    row("list_step_usage",        ("GET", STEP_USAGE),    VIEWER,     READ,       200, Target::RegistryStep,    none),

    row("list_approvals",         ("GET", APPROVALS),     VIEWER,     READ,       200, Target::Nothing,         none),
    row("get_approval",           ("GET", APPROVAL),      VIEWER,     READ,       200, Target::Approval,        none),
    // The rules of the approval name the caller.
    row("approve",                ("POST", APPROVE),      VIEWER,     WRITE,      200, Target::Approval,        agreed),
    row("reject",                 ("POST", REJECT),       VIEWER,     WRITE,      200, Target::Approval,        disagreed),
    row("withdraw_vote",          ("DELETE", VOTE),       VIEWER,     WRITE,      200, Target::Approval,        none),
    row("override_gates",         ("POST", OVERRIDE),     ADMIN,      ADMINISTER, 202, Target::WaitingStage,    overridden),

    row("list_events",            ("GET", EVENTS),        VIEWER,     READ,       200, Target::Nothing,         none),
    row("stream_events",          ("GET", STREAM),        VIEWER,     READ,       200, Target::Nothing,         none),
    row("get_event",              ("GET", EVENT),         VIEWER,     READ,       200, Target::Event,           none),

    row("get_definition_schema",  ("GET", "/schemas/pipeline-definition.json"), PUBLIC, NONE, 200, Target::Nothing, none),
    row("get_version",            ("GET", "/"),           PUBLIC,     NONE,       200, Target::Nothing,         none),
];

impl Row {
    /// Returns whether the path names a pipeline.
    pub fn is_of_pipeline(&self) -> bool {
        ["{pipelineId}", "{deploymentId}", "{secretId}", "{approvalId}", "{analysisId}", "{fixId}"]
            .iter()
            .any(|variable| self.path.contains(variable))
    }

    pub fn is_vote(&self) -> bool {
        ["approve", "reject", "withdraw_vote"].contains(&self.operation)
    }

    pub fn narrows(&self) -> bool {
        NARROWED.contains(&self.operation)
    }

    /// Returns whether only the holder of the session may do this.
    pub fn is_holders(&self) -> bool {
        matches!(self.target, Target::Session | Target::HandoverSession) && self.right == DEVELOPER
    }

    /// Returns the path with an organization and the id of a record: one segment of `id` for each variable.
    pub fn path(&self, organization: &str, id: &str) -> String {
        let mut path = self.path.replace("{orgId}", organization).replace("{version}", "1");
        for name in id.split('/') {
            if let (Some(from), Some(to)) = (path.find('{'), path.find('}')) {
                path.replace_range(from..=to, name);
            }
        }
        // The operations that need a query parameter.
        if matches!(self.operation, "delete_caches" | "end_browser_sessions") {
            path += "?all=true";
        }
        if self.path == LOG_SEARCH {
            path.push_str("?q=text");
        }
        path
    }

    pub fn body(&self, name: &str) -> Option<Value> {
        Some((self.body)(name)).filter(|body| !body.is_null())
    }
}
