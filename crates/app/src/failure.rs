//! Why a request was refused or failed. A failure carries a text for the client and, separately, an error for
//! the log. Only the former is sent to clients.

use std::borrow::Cow;
use std::error::Error;

use greenroom_api_types::problem::FieldProblem;
use greenroom_domain::policy::Denied;
use greenroom_domain::scope::Scope;
use greenroom_store::StoreError;
use greenroom_worker::log_reader::LogReadError;
use greenroom_worker::objects::ObjectsError;
use serde_json::{Map, Value};

use crate::limits::Exceeded;

macro_rules! codes {
    ($($code:ident $name:literal $status:literal $title:literal),* $(,)?) => {
        /// The stable name of a kind of failure, which is the `code` of the problem document that the client
        /// gets. Each has a page in `docs/errors/`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $($code),*
        }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$code),*];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$code => $name),* }
            }

            pub const fn status(self) -> u16 {
                match self { $(Self::$code => $status),* }
            }

            pub const fn title(self) -> &'static str {
                match self { $(Self::$code => $title),* }
            }

            /// Returns the Markdown text of its page.
            pub const fn page(self) -> &'static str {
                match self { $(Self::$code => include_str!(concat!("../../../docs/errors/", $name, ".md"))),* }
            }
        }
    };
}

codes! {
    MalformedJson         "malformed_json"          400 "The body is not JSON",
    InvalidHeader         "invalid_header"          400 "Invalid header",
    Unauthenticated       "unauthenticated"         401 "No valid token",
    SignInFailed          "sign_in_failed"          401 "Sign-in failed",
    AnalysisDisabled      "analysis_disabled"       403 "No model is available",
    Forbidden             "forbidden"               403 "Not allowed",
    TokenExceedsParent    "token_exceeds_parent"    403 "The token would exceed its parent",
    DeployDenied          "deploy_denied"           403 "You may not deploy to this environment",
    ProtectionWeakened    "protection_weakened"     403 "The protection would be weaker",
    ApprovalOwn           "approval_own"            403 "You are behind this deployment",
    ApprovalNotCounted    "approval_not_counted"    403 "Your vote does not count",
    ApprovalNotYours      "approval_not_yours"      403 "No rule names you",
    ApprovalNeedsPerson   "approval_needs_person"   403 "Only people approve",
    ScopeMissing          "scope_missing"           403 "The token lacks a scope",
    TokenLimited          "token_limited"           403 "The token is limited to pipelines",
    CrossSiteRequest      "cross_site_request"      403 "The request comes from another site",
    BrowserSessionRequired "browser_session_required" 403 "An API token can't do this",
    NotFound              "not_found"               404 "Not found",
    ObjectMissing         "object_missing"          404 "Missing from the object store",
    MethodNotAllowed      "method_not_allowed"      405 "Method not allowed",
    RequestTimeout        "request_timeout"         408 "Timed out receiving the request",
    SlugTaken             "slug_taken"              409 "The slug is in use",
    SecretNameTaken       "secret_name_taken"       409 "The name is in use",
    ServiceAccountNameTaken "service_account_name_taken" 409 "The name is in use",
    GroupNameTaken        "group_name_taken"        409 "The name is in use",
    RegistryNameTaken     "registry_name_taken"     409 "The name is in use",
    ForgeNameTaken        "forge_name_taken"        409 "The name is in use",
    NotFailed             "not_failed"              409 "Nothing has failed",
    AnalysisLimit         "analysis_limit"          409 "Too many analyses of this failure",
    FixExists             "fix_exists"              409 "Another fix is live",
    NoEnvironmentForFixes "no_environment_for_fixes" 409 "No environment is named for fixes",
    ForgeNotConnected     "forge_not_connected"     409 "No forge serves the repository",
    TrustPolicyNameTaken  "trust_policy_name_taken" 409 "The name is in use",
    AlreadyMember         "already_member"          409 "Already a member",
    AlreadyEnrolled       "already_enrolled"        409 "The person can sign in already",
    AlreadySetUp          "already_set_up"          409 "The first organization exists",
    LastOwner             "last_owner"              409 "The last owner must stay",
    PipelineArchived      "pipeline_archived"       409 "The pipeline is archived",
    EnvironmentLocked     "environment_locked"      409 "The environment is not free",
    HeldByYou             "held_by_you"             409 "You already hold the environment",
    SessionQueued         "session_queued"          409 "The session is still queued",
    SessionOverridden     "session_overridden"      409 "The session was taken over by force",
    SessionReleased       "session_released"        409 "The session was released",
    SessionExpired        "session_expired"         409 "The session has expired",
    SessionCanceled       "session_canceled"        409 "The session was canceled",
    HandoverPending       "handover_pending"        409 "A hand-over was already requested",
    HandoverNotRequested  "handover_not_requested"  409 "No hand-over was requested",
    AlreadyQueued         "already_queued"          409 "You are already in the queue",
    QueueFull             "queue_full"              409 "The queue is full",
    SessionLimit          "session_limit"           409 "The token holds too many sessions",
    PoolExhausted         "pool_exhausted"          409 "No environment of the pool is free",
    TemplateFull          "template_full"           409 "Too many environments of this template",
    ApprovalChanged       "approval_changed"        409 "What is to be approved has changed",
    ApprovalDecided       "approval_decided"        409 "The approval is decided",
    IdempotencyInProgress "idempotency_in_progress" 409 "The first request is still running",
    JobCanceled           "job_canceled"            409 "The job was canceled",
    FenceOutdated         "fence_outdated"          409 "The environment has a newer holder",
    LogOffset             "log_offset"              409 "Unexpected log offset",
    InvalidState          "invalid_state"           409 "Not possible in this state",
    EvidenceExpired       "evidence_expired"        410 "The evidence has expired",
    LogExpired            "log_expired"             410 "The log has expired",
    JobGone               "job_gone"                410 "The job does not belong to this runner",
    RunnerRevoked         "runner_revoked"          410 "The runner was revoked",
    PreconditionFailed    "precondition_failed"     412 "The record has changed",
    BodyTooLarge          "body_too_large"          413 "The body is too large",
    LogLimitExceeded      "log_limit_exceeded"      413 "The log is too long",
    UriTooLong            "uri_too_long"            414 "The URL is too long",
    UnsupportedMediaType  "unsupported_media_type"  415 "The body must be JSON",
    RangeNotSatisfiable   "range_not_satisfiable"   416 "Range not satisfiable",
    WrongHost             "wrong_host"              421 "The request is for another host",
    InvalidRequest        "invalid_request"         422 "Invalid request",
    InvalidDefinition     "invalid_definition"      422 "Invalid pipeline definition",
    IdempotencyKeyReused  "idempotency_key_reused"  422 "The key was used for another request",
    RateLimited           "rate_limited"            429 "Too many requests",
    BudgetExhausted       "budget_exhausted"        429 "The budget of the model is exhausted",
    Internal              "internal"                500 "Internal error",
    DatabaseUnavailable   "database_unavailable"    503 "Temporarily unavailable",
    ObjectsUnavailable    "objects_unavailable"     503 "Object store unavailable",
    SecretsUnavailable    "secrets_unavailable"     503 "Secrets unavailable",
    Busy                  "busy"                    503 "Timed out waiting for another change",
    Overloaded            "overloaded"              503 "Too many concurrent requests",
    DeadlineExceeded      "deadline_exceeded"       503 "The request timed out",
}

impl Code {
    /// Returns whether the code means that the session has ended.
    pub const fn is_session_end(self) -> bool {
        matches!(
            self,
            Self::SessionOverridden | Self::SessionReleased | Self::SessionExpired | Self::SessionCanceled
        )
    }
}

#[derive(Debug)]
pub struct Failure {
    pub code: Code,
    pub detail: Cow<'static, str>,
    pub errors: Vec<FieldProblem>,
    pub extensions: Map<String, Value>,
    /// The limit that the request has exceeded, for the rate limit header fields.
    pub limit: Option<Box<Exceeded>>,
    /// The underlying error, for the log only.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            extensions: Map::new(),
            limit: None,
            source: None,
        }
    }

    /// The same failure for records that do not exist and for records that the token may not see.
    pub fn not_found() -> Self {
        Self::new(
            Code::NotFound,
            "There is nothing here, or nothing that this token may see. Check the ids in the path.",
        )
    }

    pub fn unauthenticated() -> Self {
        Self::new(
            Code::Unauthenticated,
            "Send `Authorization: Bearer <API_TOKEN>` with a token that is neither expired nor revoked, or sign in.",
        )
    }

    /// The token is limited to pipelines, and the record belongs to none.
    pub fn token_limited() -> Self {
        Self::new(
            Code::TokenLimited,
            "This token is limited to pipelines, and this belongs to no pipeline. Use a token without `pipelines`.",
        )
    }

    /// One field of the request is invalid.
    pub fn field(pointer: &str, detail: impl std::fmt::Display) -> Self {
        let problem = FieldProblem {
            pointer: pointer.to_owned(),
            detail: detail.to_string(),
            ..FieldProblem::default()
        };
        Self::fields(vec![problem])
    }

    pub fn fields(errors: Vec<FieldProblem>) -> Self {
        let detail = match errors.as_slice() {
            [one] if one.pointer.is_empty() => sentence(&format!("The body {}", one.detail)),
            [one] => sentence(&format!("`{}` {}", one.pointer, one.detail)),
            more => format!("{} fields are wrong; see `errors`.", more.len()),
        };
        Self { errors, ..Self::new(Code::InvalidRequest, detail) }
    }

    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.extensions.insert(key.to_owned(), value);
        self
    }

    /// Adds the underlying error, for the log.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let failure = Self::new(
            Code::DatabaseUnavailable,
            "The server can't reach its database right now. If this was a change, its outcome is not known: \
             repeat it with the same Idempotency-Key.",
        );
        Self { source: Some(source.into()), ..failure }
    }

    pub fn busy(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let detail = "Others are changing the same thing, and this request gave up waiting for them. Nothing was \
                      changed; try again.";
        Self { source: Some(source.into()), ..Self::new(Code::Busy, detail) }
    }

    pub fn internal(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let failure = Self::new(
            Code::Internal,
            "Something broke on our side. Try again; if it stays, give the requestId to whoever runs this server.",
        );
        Self { source: Some(source.into()), ..failure }
    }
}

/// Ends a text with one full stop, unless it ends with a question.
fn sentence(text: &str) -> String {
    let text = text.trim_end_matches('.');
    if text.ends_with('?') { text.to_owned() } else { format!("{text}.") }
}

impl From<Denied> for Failure {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Role { action, role } => {
                Self::new(Code::Forbidden, format!("{denied}. Ask an admin of the organization."))
                    .with("action", action.name().into())
                    .with("requiredRole", action.least_role().as_str().into())
                    .with("role", role.as_str().into())
            }
            Denied::Scope { action, scopes } => {
                Self::new(Code::ScopeMissing, format!("{denied}. Use a token that has this scope."))
                    .with("action", action.name().into())
                    .with("requiredScope", action.scope().as_str().into())
                    .with("scopes", scopes.iter().map(Scope::as_str).collect())
            }
        }
    }
}

impl From<Exceeded> for Failure {
    fn from(exceeded: Exceeded) -> Self {
        let name = exceeded.name();
        metrics::counter!("greenroom_requests_limited_total", "limit" => name.clone()).increment(1);
        let failure = Self::new(Code::RateLimited, exceeded.detail())
            .with("limit", name.into())
            .with("retryAfterSeconds", exceeded.retry_after_seconds().into());
        Self { limit: Some(Box::new(exceeded)), ..failure }
    }
}

impl From<ObjectsError> for Failure {
    fn from(error: ObjectsError) -> Self {
        match error {
            ObjectsError::Missing(_) => Self::new(
                Code::ObjectMissing,
                "This was kept, and is not in the server's store of logs and artifacts any more. Whoever runs the server can say \
                 whether that store was emptied, or restored from an older backup than the database.",
            )
            .with_source(error),
            ObjectsError::Unavailable(_) => Self::new(
                Code::ObjectsUnavailable,
                "The server can't reach its store of logs and artifacts right now. Try again in a moment.",
            )
            .with_source(error),
            ObjectsError::TooLarge(max_bytes) => {
                Self::new(Code::BodyTooLarge, format!("An archive may have {max_bytes} bytes at most."))
            }
            ObjectsError::BodyIdle(timeout) => {
                let seconds = timeout.as_secs();
                Self::new(Code::RequestTimeout, format!("Nothing of the body came for {seconds} seconds."))
            }
            ObjectsError::BodyInterrupted => Self::new(Code::RequestTimeout, "The body broke off."),
        }
    }
}

impl From<LogReadError> for Failure {
    fn from(error: LogReadError) -> Self {
        match error {
            LogReadError::Store(error) => error.into(),
            LogReadError::Objects(error) => error.into(),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => Self::unavailable(error),
            StoreError::Busy(_) | StoreError::Unsettled => Self::busy(error),
            _ => Self::internal(error),
        }
    }
}
