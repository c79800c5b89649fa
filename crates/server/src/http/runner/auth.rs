//! Authentication of runners: a runner's token gives access to the jobs of its pool, and each job has its own
//! token.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use greenroom_api_types::runner::JOB_TOKEN_HEADER;
use greenroom_app::App;
use greenroom_app::failure::{Code, Failure};
use greenroom_app::job::refusal::gone;
use greenroom_domain::id::JobId;
use greenroom_domain::token::{SecretKind, TokenHash, TokenSecret};
use greenroom_store::job::{JobCredentials, RunnerPrincipal};

use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::identity::Identity;
use crate::http::rules::path::parse_id;
use crate::http::rules::permit::with_capacity;

/// The runner, authenticated by its token.
pub struct RunnerAuth(pub RunnerPrincipal);

impl FromRequestParts<App> for RunnerAuth {
    type Rejection = EarlyResponse;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, EarlyResponse> {
        match parts.extensions.get::<Identity>() {
            Some(Identity::Runner(runner)) => Ok(Self(RunnerPrincipal::clone(runner))),
            Some(Identity::RevokedRunner) => Err(Failure::new(
                Code::RunnerRevoked,
                "This runner's token was revoked. End its jobs immediately; an admin can make a new runner.",
            )
            .into()),
            identity => {
                Err(identity.and_then(Identity::take_failure).unwrap_or_else(missing_runner_token).into())
            }
        }
    }
}

/// The app with the database connections that the request may use.
pub struct RequestApp(pub App);

impl FromRequestParts<App> for RequestApp {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        Ok(Self(with_capacity(parts, app)))
    }
}

fn missing_runner_token() -> Failure {
    Failure::new(
        Code::Unauthenticated,
        "Send `Authorization: Bearer <RUNNER_TOKEN>`: a token that starts with `grr_`, which an admin makes under /runners.",
    )
}

/// The runner and one of its jobs, authenticated by the tokens of both.
pub struct JobAuth {
    runner: RunnerPrincipal,
    job: JobId,
    secret: TokenHash,
}

impl JobAuth {
    pub const fn credentials(&self) -> JobCredentials<'_> {
        JobCredentials { runner: &self.runner, job: self.job, secret: &self.secret }
    }
}

impl FromRequestParts<App> for JobAuth {
    type Rejection = EarlyResponse;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, EarlyResponse> {
        let RunnerAuth(runner) = RunnerAuth::from_request_parts(parts, app).await?;
        let path = RawPathParams::from_request_parts(parts, app).await.map_err(|_| Failure::not_found())?;
        let job = path.iter().find(|(name, _)| *name == "jobId").map(|(_, text)| text).unwrap_or_default();
        let secret = parts.headers.get(JOB_TOKEN_HEADER).and_then(|value| value.to_str().ok());
        let secret =
            secret.and_then(|text| TokenSecret::read(SecretKind::Job, text).ok()).ok_or_else(gone)?;
        Ok(Self { runner, job: parse_id(job)?, secret: secret.hash() })
    }
}
