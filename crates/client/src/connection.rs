//! One server, one token, and the time limits. Redirects are not followed: they would carry the token elsewhere.

use std::time::Duration;

use bytes::Bytes;
use greenroom_api_types::envelope::Data;
use reqwest::header::{HeaderValue, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// Who does not answer a connection within this time is not there.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Of an answer that is refused, this much is read at most.
const PROBLEM_LIMIT: usize = 64 * 1024;
/// For calls that carry little and are answered at once.
pub(crate) const SHORT_LIMIT: Duration = Duration::from_secs(15);

#[derive(Clone, Debug)]
pub struct Settings {
    /// The API's address, with its `/api/v1`.
    pub base: String,
    pub token: String,
    /// Said to the server as `User-Agent`.
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
            return Err(Error::Local(
                "the server's address has to begin with http:// or https://".to_owned(),
            ));
        }
        let mut authorization = HeaderValue::from_str(&format!("Bearer {}", settings.token))
            .map_err(|_| Error::Local("the token has letters that no token has".to_owned()))?;
        authorization.set_sensitive(true);
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_LIMIT)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(settings.program.as_str())
            .build()?;
        Ok(Connection { client, base, authorization })
    }

    /// A request to a path of these segments; each is escaped, so that it stays one segment.
    pub(crate) fn request(&self, method: Method, path: &[&str], limit: Duration) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        self.client
            .request(method, url)
            .header(reqwest::header::AUTHORIZATION, self.authorization.clone())
            .timeout(limit)
    }
}

/// Sends it; whatever is no success becomes an error.
pub(crate) async fn send(request: RequestBuilder) -> Result<Response> {
    let answer = request.send().await?;
    if answer.status().is_success() {
        return Ok(answer);
    }
    let status = answer.status().as_u16();
    let retry_after = retry_after(&answer);
    Err(Error::from_answer(status, retry_after, &beginning(answer).await))
}

pub(crate) async fn read<T: DeserializeOwned>(answer: Response) -> Result<T> {
    let body = answer.bytes().await?;
    // An answer cut short, or by something in between: it may be right the next time.
    let data: Data<T> = serde_json::from_slice(&body)
        .map_err(|error| Error::unavailable(format!("the answer cannot be read: {error}")))?;
    Ok(data.data)
}

/// None for `204`.
pub(crate) async fn read_if_any<T: DeserializeOwned>(answer: Response) -> Result<Option<T>> {
    if answer.status() == StatusCode::NO_CONTENT {
        return Ok(None);
    }
    read(answer).await.map(Some)
}

fn retry_after(answer: &Response) -> Option<Duration> {
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// As much of the body as came, if that was not too much: the status says enough without it.
async fn beginning(mut answer: Response) -> Bytes {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        if body.len() + chunk.len() > PROBLEM_LIMIT {
            break;
        }
        body.extend_from_slice(&chunk);
    }
    body.into()
}
