//! The paths of the operations, as the API describes them.

pub const NONE: &str = "";
pub const READ: &str = "read";
pub const HOLD: &str = "hold";
pub const DEPLOY_OWN: &str = "deploy";
pub const START: &str = "start";
pub const WRITE: &str = "write";
pub const ADMINISTER: &str = "admin";
pub const OWN_ME: &str = "/organizations/{orgId}/me";
pub const NOTICES: &str = "/organizations/{orgId}/me/notices";
pub const NOTICES_READ: &str = "/organizations/{orgId}/me/notices/read";
pub const ORGANIZATION: &str = "/organizations/{orgId}";
pub const MEMBERS: &str = "/organizations/{orgId}/members";
pub const MEMBER: &str = "/organizations/{orgId}/members/{userId}";
pub const SIGN_IN_LINK: &str = "/organizations/{orgId}/members/{userId}/sign-in-link";
pub const BROWSER_SESSIONS: &str = "/me/browser-sessions";
pub const OIDC_START: &str = "/auth/oidc/{provider}/start";
pub const OIDC_CALLBACK: &str = "/auth/oidc/{provider}/callback";
pub const TOKENS: &str = "/organizations/{orgId}/api-tokens";
pub const ONE_TOKEN: &str = "/organizations/{orgId}/api-tokens/{tokenId}";
pub const SERVICE_ACCOUNTS: &str = "/organizations/{orgId}/service-accounts";
pub const SERVICE_ACCOUNT: &str = "/organizations/{orgId}/service-accounts/{serviceAccountId}";
pub const SERVICE_TOKENS: &str = "/organizations/{orgId}/service-accounts/{serviceAccountId}/api-tokens";
pub const TRUST_POLICIES: &str = "/organizations/{orgId}/service-accounts/{serviceAccountId}/trust-policies";
pub const TRUST_POLICY: &str =
    "/organizations/{orgId}/service-accounts/{serviceAccountId}/trust-policies/{policyId}";
pub const PIPELINES: &str = "/organizations/{orgId}/pipelines";
pub const VALIDATE: &str = "/organizations/{orgId}/pipelines/validate";
pub const PIPELINE: &str = "/organizations/{orgId}/pipelines/{pipelineId}";
pub const STOP: &str = "/organizations/{orgId}/pipelines/{pipelineId}/stop";
pub const RESUME: &str = "/organizations/{orgId}/pipelines/{pipelineId}/resume";
pub const UPDATE_STEPS: &str = "/organizations/{orgId}/pipelines/{pipelineId}/update-steps";
pub const VERSIONS: &str = "/organizations/{orgId}/pipelines/{pipelineId}/versions";
pub const CACHES: &str = "/organizations/{orgId}/pipelines/{pipelineId}/caches";
pub const VERSION: &str = "/organizations/{orgId}/pipelines/{pipelineId}/versions/{version}";
pub const ALL_ENVIRONMENTS: &str = "/organizations/{orgId}/ephemeral-environments";
pub const ALL_LASTING: &str = "/organizations/{orgId}/environments";
pub const LASTING: &str = "/organizations/{orgId}/pipelines/{pipelineId}/environments";
pub const ONE_LASTING: &str = "/organizations/{orgId}/pipelines/{pipelineId}/environments/{environmentName}";
pub const LASTING_HISTORY: &str =
    "/organizations/{orgId}/pipelines/{pipelineId}/environments/{environmentName}/history";
pub const ALL_SESSIONS: &str = "/organizations/{orgId}/sessions";
pub const SUMMARY: &str = "/organizations/{orgId}/summary";
pub const ENVIRONMENTS: &str = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments";
pub const ENVIRONMENT: &str =
    "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}";
pub const HISTORY: &str =
    "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/history";
pub const QUEUE: &str =
    "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/queue";
pub const CLEANUP: &str =
    "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/cleanup";
pub const CLAIM: &str = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/claim";
pub const WATCH: &str =
    "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/events";
pub const FORCE: &str =
    "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/force-claim";
pub const SESSIONS: &str =
    "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions";
pub const SESSION: &str =
    "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}";
pub const DEPLOY: &str = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/deploy";
pub const HEARTBEAT: &str = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/heartbeat";
pub const RENEW: &str = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/renew";
pub const HANDOVER: &str = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/request-handover";
pub const ACCEPT: &str = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/handover/accept";
pub const DECLINE: &str = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/handover/decline";
pub const TRANSFER: &str = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/transfer";
pub const DEPLOYMENTS: &str = "/organizations/{orgId}/deployments";
pub const PIPELINE_DEPLOYMENTS: &str = "/organizations/{orgId}/pipelines/{pipelineId}/deployments";
pub const DEPLOYMENT: &str = "/organizations/{orgId}/deployments/{deploymentId}";
pub const DEPLOYMENT_STREAM: &str = "/organizations/{orgId}/deployments/{deploymentId}/stream";
pub const CANCEL: &str = "/organizations/{orgId}/deployments/{deploymentId}/cancel";
pub const STAGE: &str = "/organizations/{orgId}/deployments/{deploymentId}/stages/{stageKey}";
pub const ATTEMPTS: &str = "/organizations/{orgId}/deployments/{deploymentId}/stages/{stageKey}/attempts";
pub const CANCEL_STAGE: &str = "/organizations/{orgId}/deployments/{deploymentId}/stages/{stageKey}/cancel";
pub const RETRY_STAGE: &str = "/organizations/{orgId}/deployments/{deploymentId}/stages/{stageKey}/retry";
pub const GIVE_UP: &str = "/organizations/{orgId}/deployments/{deploymentId}/give-up";
pub const GIVE_UP_STAGE: &str = "/organizations/{orgId}/deployments/{deploymentId}/stages/{stageKey}/give-up";
pub const EVIDENCE: &str = "/organizations/{orgId}/deployments/{deploymentId}/evidence";
pub const STEP_EVIDENCE: &str =
    "/organizations/{orgId}/deployments/{deploymentId}/steps/{stepRunId}/evidence";
pub const ANALYSES: &str = "/organizations/{orgId}/deployments/{deploymentId}/analyses";
pub const ANALYSIS: &str = "/organizations/{orgId}/analyses/{analysisId}";
pub const ANALYSIS_PROMPT: &str = "/organizations/{orgId}/analyses/{analysisId}/prompt";
pub const ANALYSIS_FEEDBACK: &str = "/organizations/{orgId}/analyses/{analysisId}/feedback";
pub const FIXES: &str = "/organizations/{orgId}/analyses/{analysisId}/fix-pull-requests";
pub const FIX: &str = "/organizations/{orgId}/fix-pull-requests/{fixId}";
pub const FIX_CANCEL: &str = "/organizations/{orgId}/fix-pull-requests/{fixId}/cancel";
pub const FAILURES: &str = "/organizations/{orgId}/failures";
pub const FAILURE: &str = "/organizations/{orgId}/failures/{fingerprint}";
pub const FAILURE_NOTE: &str = "/organizations/{orgId}/failures/{fingerprint}/note";
pub const LOG: &str = "/organizations/{orgId}/deployments/{deploymentId}/steps/{stepRunId}/logs";
pub const LOG_INDEX: &str = "/organizations/{orgId}/deployments/{deploymentId}/steps/{stepRunId}/logs/index";
pub const LOG_SEARCH: &str =
    "/organizations/{orgId}/deployments/{deploymentId}/steps/{stepRunId}/logs/search";
pub const LOG_STREAM: &str =
    "/organizations/{orgId}/deployments/{deploymentId}/steps/{stepRunId}/logs/stream";
pub const RUNNERS: &str = "/organizations/{orgId}/runners";
pub const RUNNER: &str = "/organizations/{orgId}/runners/{runnerId}";
pub const POOLS: &str = "/organizations/{orgId}/runner-pools";
pub const POOL: &str = "/organizations/{orgId}/runner-pools/{poolName}";
pub const SECRETS: &str = "/organizations/{orgId}/secrets";
pub const SECRET: &str = "/organizations/{orgId}/secrets/{secretId}";
pub const SECRET_VALUE: &str = "/organizations/{orgId}/secrets/{secretId}/value";
pub const SECRET_VERSIONS: &str = "/organizations/{orgId}/secrets/{secretId}/versions";
pub const ACTIVATE: &str = "/organizations/{orgId}/secrets/{secretId}/versions/{version}/activate";
pub const DESTROY: &str = "/organizations/{orgId}/secrets/{secretId}/versions/{version}/destroy";
pub const SECRET_READS: &str = "/organizations/{orgId}/secrets/{secretId}/reads";
pub const DEPLOYMENT_READS: &str = "/organizations/{orgId}/deployments/{deploymentId}/secret-reads";
pub const LASTING_HOLD: &str =
    "/organizations/{orgId}/pipelines/{pipelineId}/environments/{environmentName}/hold";
pub const GROUPS: &str = "/organizations/{orgId}/groups";
pub const GROUP: &str = "/organizations/{orgId}/groups/{groupId}";
pub const GROUP_MEMBERS: &str = "/organizations/{orgId}/groups/{groupId}/members";
pub const GROUP_MEMBER: &str = "/organizations/{orgId}/groups/{groupId}/members/{userId}";
pub const GRANTS: &str = "/organizations/{orgId}/pipelines/{pipelineId}/grants";
pub const GROUP_GRANT: &str = "/organizations/{orgId}/pipelines/{pipelineId}/grants/groups/{groupId}";
pub const USER_GRANT: &str = "/organizations/{orgId}/pipelines/{pipelineId}/grants/users/{userId}";
pub const REGISTRIES: &str = "/organizations/{orgId}/step-registries";
pub const REGISTRY: &str = "/organizations/{orgId}/step-registries/{registryId}";
pub const REGISTRY_SYNC: &str = "/organizations/{orgId}/step-registries/{registryId}/sync";
pub const RESOLVE: &str = "/organizations/{orgId}/step-registries/resolve";
pub const REGISTRY_STEPS: &str = "/organizations/{orgId}/step-registries/{registryId}/steps";
pub const REGISTRY_STEP: &str = "/organizations/{orgId}/step-registries/{registryId}/steps/{stepName}";
pub const STEP_USAGE: &str = "/organizations/{orgId}/step-registries/{registryId}/steps/{stepName}/usage";
pub const STEP_VERSIONS: &str =
    "/organizations/{orgId}/step-registries/{registryId}/steps/{stepName}/versions";
pub const STEP_VERSION: &str =
    "/organizations/{orgId}/step-registries/{registryId}/steps/{stepName}/versions/{stepVersion}";
pub const STEP_DIFF: &str =
    "/organizations/{orgId}/step-registries/{registryId}/steps/{stepName}/versions/{stepVersion}/diff";
pub const STEP_YANK: &str =
    "/organizations/{orgId}/step-registries/{registryId}/steps/{stepName}/versions/{stepVersion}/yank";
pub const FORGES: &str = "/organizations/{orgId}/forges";
pub const FORGE: &str = "/organizations/{orgId}/forges/{forgeName}";
pub const ANALYSIS_SETTINGS: &str = "/organizations/{orgId}/analysis-settings";
pub const FREEZES: &str = "/organizations/{orgId}/freezes";
pub const FREEZE: &str = "/organizations/{orgId}/freezes/{freezeId}";
pub const APPROVALS: &str = "/organizations/{orgId}/approvals";
pub const APPROVAL: &str = "/organizations/{orgId}/approvals/{approvalId}";
pub const APPROVE: &str = "/organizations/{orgId}/approvals/{approvalId}/approve";
pub const REJECT: &str = "/organizations/{orgId}/approvals/{approvalId}/reject";
pub const VOTE: &str = "/organizations/{orgId}/approvals/{approvalId}/vote";
pub const OVERRIDE: &str = "/organizations/{orgId}/deployments/{deploymentId}/stages/{stageKey}/override";
pub const EVENTS: &str = "/organizations/{orgId}/events";
pub const STREAM: &str = "/organizations/{orgId}/events/stream";
pub const EVENT: &str = "/organizations/{orgId}/events/{eventId}";
