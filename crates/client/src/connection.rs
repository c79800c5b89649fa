//! The connection to one server with one token, with timeouts. Redirects are not followed: they would send
//! the token elsewhere.

use std::time::Duration;

use bytes::Bytes;
use greenroom_api_types::envelope::Data;
use reqwest::header::{HeaderValue, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;

use crate::{Error, Result};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of an error response that is read.
const MAX_PROBLEM_BYTES: usize = 64 * 1024;
/// The timeout of calls with little data and a fast response.
pub(crate) const SHORT_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Clone, Debug)]
pub struct Settings {
    /// The URL of the API, with its `/api/v1`.
    pub base: String,
    pub token: String,
    /// Sent as `User-Agent`.
    pub program: String,
}

#[derive(Clone, Debug)]
pub struct Connection {
    client: reqwest::Client,
    base: Url,
    authorization: HeaderValue,
}

impl Connection {
    pub fn new(settings: &Settings) -> Result<Self> {
        let base = Url::parse(&settings.base).map_err(|error| Error::local("the server's address", error))?;
        if base.cannot_be_a_base() || !matches!(base.scheme(), "http" | "https") {
            return Err(Error::local_message("the server's address has to start with http:// or https://"));
        }
        let mut authorization =
            HeaderValue::from_str(&format!("Bearer {}", settings.token)).map_err(|_| {
                Error::local_message("the token contains characters that are not allowed in a header")
            })?;
        authorization.set_sensitive(true);
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(settings.program.as_str())
            .build()?;
        Ok(Connection { client, base, authorization })
    }

    /// Creates a request to a path of these segments. Each is escaped, so that it stays one segment.
    pub(crate) fn request(&self, method: Method, path: &[&str], timeout: Duration) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        self.client
            .request(method, url)
            .header(reqwest::header::AUTHORIZATION, self.authorization.clone())
            .timeout(timeout)
    }
}

/// Sends a request. A response without a success status becomes an error.
pub(crate) async fn send(request: RequestBuilder) -> Result<Response> {
    let response = request.send().await?;
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status().as_u16();
    let retry_after = retry_after(&response);
    Err(Error::from_response(status, retry_after, &read_problem(response).await))
}

pub(crate) async fn read<T: DeserializeOwned>(response: Response) -> Result<T> {
    let body = response.bytes().await?;
    // The response was cut off, or came from a proxy: a retry may succeed.
    let data: Data<T> = serde_json::from_slice(&body)
        .map_err(|error| Error::unavailable(format!("the response cannot be read: {error}")))?;
    Ok(data.data)
}

/// Reads a response with secrets. The error of the parser is left out, because it may quote the response.
pub(crate) async fn read_secret<T: DeserializeOwned>(response: Response) -> Result<T> {
    let body = response.bytes().await?;
    let data: Data<T> = serde_json::from_slice(&body)
        .map_err(|_| Error::unavailable("the response cannot be read".to_owned()))?;
    Ok(data.data)
}

/// Returns `None` for `204`.
pub(crate) async fn read_optional<T: DeserializeOwned>(response: Response) -> Result<Option<T>> {
    if response.status() == StatusCode::NO_CONTENT {
        return Ok(None);
    }
    read(response).await.map(Some)
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Reads the body up to its maximum size. Errors are ignored: the status is sufficient without the body.
async fn read_problem(mut response: Response) -> Bytes {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        if body.len() + chunk.len() > MAX_PROBLEM_BYTES {
            break;
        }
        body.extend_from_slice(&chunk);
    }
    body.into()
}
