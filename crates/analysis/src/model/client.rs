//! Sends prompts to one endpoint, with its limits and retries.

use std::time::Duration;

use greenroom_domain::model::{Endpoint, ModelProtocol};
use greenroom_domain::secret::Secret;
use http::header::RETRY_AFTER;
use http::{HeaderMap, Response, StatusCode};
use tokio::time::{Instant, sleep};

use super::error::{ModelError, ModelFailure};
use super::explanation;
use super::limits::Limits;
use super::prompt::{Prompt, Schema};
use super::retries::Retries;
use super::transport::{Exchange, Transport, TransportError};
use super::usage::Usage;
use super::wire;
use super::{Completion, Explanation, Model};

/// A model that is reached by HTTP.
#[derive(Clone, Debug)]
pub struct HttpModel<T> {
    transport: T,
    endpoint: Endpoint,
}

/// A failed attempt.
struct Failed {
    error: ModelError,
    retry_after: Option<Duration>,
}

impl From<ModelError> for Failed {
    fn from(error: ModelError) -> Self {
        Self { error, retry_after: None }
    }
}

impl<T: Transport> HttpModel<T> {
    pub const fn new(transport: T, endpoint: Endpoint) -> Self {
        Self { transport, endpoint }
    }

    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends one request. What it has used is added to `usage`, whether or not its response can be used.
    async fn attempt(
        &self,
        prompt: &Prompt,
        schema: &Schema,
        key: Option<&Secret>,
        limits: &Limits,
        timeout: Duration,
        usage: &mut Usage,
    ) -> Result<Explanation, Failed> {
        let request = wire::request(&self.endpoint, prompt, schema, key, limits.max_output_tokens)?;
        let exchange = Exchange { timeout, max_response_bytes: limits.max_response_bytes };
        let response = match self.transport.send(request, exchange).await {
            Ok(response) => response,
            Err(error) => {
                if is_charged(error) {
                    usage.add(Usage::upper_bound(prompt, limits));
                }
                return Err(failure(error).into());
            }
        };
        check_status(&response)?;
        let reply = match wire::parse(self.endpoint.protocol(), response.body()) {
            Ok(reply) => reply,
            Err(error) => {
                usage.add(Usage::upper_bound(prompt, limits));
                return Err(error.into());
            }
        };
        usage.add(reply.usage.unwrap_or_else(|| Usage::upper_bound(prompt, limits)));
        if reply.is_refused {
            return Err(ModelError::Refused.into());
        }
        let key = key.and_then(|key| str::from_utf8(key.reveal()).ok());
        explanation::parse(&reply.text, prompt.schema(), key)
            .map_err(|_| ModelError::InvalidExplanation.into())
    }
}

impl<T: Transport> Model for HttpModel<T> {
    async fn explain(
        &self,
        prompt: &Prompt,
        key: Option<&Secret>,
        limits: &Limits,
    ) -> Result<Completion, ModelFailure> {
        let deadline = Instant::now() + limits.deadline;
        let mut retries = Retries::new(limits);
        // Anthropic rejects bounds. Of the others, some do: they get the schema without them in a further attempt.
        let mut has_bounds = self.endpoint.protocol() == ModelProtocol::OpenAi;
        let mut schema = if has_bounds { prompt.schema().clone() } else { prompt.schema().without_bounds() };
        let (mut usage, mut attempts) = (Usage::default(), 0);
        loop {
            let timeout = limits.request_timeout.min(deadline.saturating_duration_since(Instant::now()));
            attempts += 1;
            let failed = match self.attempt(prompt, &schema, key, limits, timeout, &mut usage).await {
                Ok(explanation) => return Ok(Completion { explanation, usage, attempts }),
                Err(failed) => failed,
            };
            if has_bounds && is_rejected_content(failed.error) {
                has_bounds = false;
                schema = schema.without_bounds();
                continue;
            }
            let failure = |error| ModelFailure { error, usage, attempts };
            let Some(delay) = retries.delay(failed.error, failed.retry_after) else {
                return Err(failure(failed.error));
            };
            if Instant::now() + delay >= deadline {
                return Err(failure(ModelError::Deadline));
            }
            sleep(delay).await;
        }
    }
}

/// Returns whether the content of the request was rejected, which may be because of the schema.
const fn is_rejected_content(error: ModelError) -> bool {
    match error {
        ModelError::Rejected(status) => matches!(status.as_u16(), 400 | 422),
        _ => false,
    }
}

/// Returns whether a provider may have charged for a request without a complete response.
const fn is_charged(error: TransportError) -> bool {
    !matches!(error, TransportError::ForbiddenAddress | TransportError::Redirect)
}

const fn failure(error: TransportError) -> ModelError {
    match error {
        TransportError::ForbiddenAddress => ModelError::ForbiddenAddress,
        TransportError::Timeout => ModelError::Timeout,
        TransportError::Redirect => ModelError::Redirect,
        TransportError::TooLarge => ModelError::TooLarge,
        TransportError::Failed => ModelError::Connection,
    }
}

fn check_status(response: &Response<Vec<u8>>) -> Result<(), Failed> {
    let status = response.status();
    let error = match status {
        success if success.is_success() => return Ok(()),
        StatusCode::TOO_MANY_REQUESTS => ModelError::RateLimited(status),
        unavailable if unavailable.is_server_error() => ModelError::Unavailable(status),
        redirect if redirect.is_redirection() => ModelError::Redirect,
        rejected => ModelError::Rejected(rejected),
    };
    Err(Failed { error, retry_after: retry_after(response.headers()) })
}

/// Reads `Retry-After` in seconds. Its other form, a date, is ignored: then the backoff applies.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}
