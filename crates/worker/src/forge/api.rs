//! Sends the requests of both dialects, and turns responses into results.

use std::time::Duration;

use greenroom_domain::forge::{ForgeKind, is_token};
use greenroom_domain::secret::Secret;
use greenroom_outbound::{Bounds, OutboundClient, Requester};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::{ForgeError, Message};
use super::interface::Connection;
use super::text::clean;

const TIMEOUT: Duration = Duration::from_secs(20);
/// A comparison of GitHub contains the patches of up to 300 files.
pub(super) const MAX_COMPARISON_BYTES: usize = 16 << 20;
pub(super) const MAX_LIST_BYTES: usize = 4 << 20;
pub(super) const MAX_RECORD_BYTES: usize = 1 << 20;

const MAX_MESSAGE_CHARACTERS: usize = 200;
const MAX_URL_BYTES: usize = 2048;

/// If a forge limits requests and does not state for how long.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(60);
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// A refusal. GitHub's message is often a general one, with the reason in `errors`.
#[derive(Deserialize)]
struct Problem {
    message: String,
    #[serde(default)]
    errors: Value,
}

impl Problem {
    fn text(self) -> String {
        let reason = &self.errors[0];
        match reason.as_str().or_else(|| reason["message"].as_str()) {
            Some(reason) => format!("{}: {reason}", self.message),
            None => self.message,
        }
    }
}

/// A repository of a forge, and the means to call it.
pub(super) struct Api {
    client: OutboundClient,
    requester: Requester,
    /// The address of the API and the path of the repository.
    base: String,
    pub(super) owner: String,
    pub(super) name: String,
    kind: ForgeKind,
    token: Secret,
}

impl Api {
    pub(super) fn new(
        client: OutboundClient,
        requester: Requester,
        connection: Connection<'_>,
    ) -> Result<Self, ForgeError> {
        let Connection { kind, address, repository, token } = connection;
        if !std::str::from_utf8(token.reveal()).is_ok_and(is_token) {
            return Err(ForgeError::Input("the credential"));
        }
        let (owner, name) = (repository.owner().to_owned(), repository.name().to_owned());
        // Both have only letters, digits and `-_.`.
        let base = format!("{}/repos/{owner}/{name}", address.trim_end_matches('/'));
        Ok(Self { client, requester, base, owner, name, kind, token })
    }

    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        max_bytes: usize,
    ) -> Result<T, ForgeError> {
        let response = self.send(Method::GET, path, None, max_bytes).await?;
        parse(&response)
    }

    pub(super) async fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, ForgeError> {
        let response = self.send(Method::POST, path, Some(body), MAX_RECORD_BYTES).await?;
        parse(&response)
    }

    /// Sends a request to a path below the repository, and returns a response of success.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        max_bytes: usize,
    ) -> Result<Response<Vec<u8>>, ForgeError> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header(AUTHORIZATION, self.authorization()?);
        let request = match self.kind {
            ForgeKind::Github => request
                .header(ACCEPT, "application/vnd.github+json, application/json;q=0.9")
                .header("x-github-api-version", "2022-11-28"),
            ForgeKind::Forgejo => request.header(ACCEPT, "application/json"),
        };
        let request = match body {
            Some(body) => {
                request.header(CONTENT_TYPE, "application/json").body(body.to_string().into_bytes())
            }
            None => request.body(Vec::new()),
        };
        let request = request.map_err(|_| ForgeError::Input("the address"))?;
        let bounds = Bounds { timeout: TIMEOUT, max_response_bytes: max_bytes };
        let response = self.client.send(&self.requester, request, bounds).await?;
        if response.status().is_success() { Ok(response) } else { Err(self.failure(&response)) }
    }

    fn authorization(&self) -> Result<HeaderValue, ForgeError> {
        let scheme = match self.kind {
            ForgeKind::Github => &b"Bearer "[..],
            ForgeKind::Forgejo => b"token ",
        };
        let value = [scheme, self.token.reveal()].concat();
        let mut value = HeaderValue::from_bytes(&value).map_err(|_| ForgeError::Input("the credential"))?;
        // The HTTP library neither prints nor indexes it.
        value.set_sensitive(true);
        Ok(value)
    }

    fn failure(&self, response: &Response<Vec<u8>>) -> ForgeError {
        let status = response.status();
        let is_limited = status == StatusCode::TOO_MANY_REQUESTS
            || status == StatusCode::FORBIDDEN
                && (response.headers().contains_key(RETRY_AFTER)
                    || header(response, "x-ratelimit-remaining") == Some("0"));
        if is_limited {
            return ForgeError::RateLimited { retry_after: retry_after(response) };
        }
        let message = serde_json::from_slice::<Problem>(response.body())
            .map(|problem| Message::new(&self.clean(&problem.text(), MAX_MESSAGE_CHARACTERS)))
            .unwrap_or_default();
        let status_code = status.as_u16();
        match status {
            StatusCode::UNAUTHORIZED => ForgeError::Unauthorized,
            StatusCode::FORBIDDEN => ForgeError::Forbidden { status: status_code, message },
            StatusCode::NOT_FOUND => ForgeError::NotFound,
            _ if status.is_client_error() => ForgeError::Refused { status: status_code, message },
            _ => ForgeError::Server { status: status_code, message },
        }
    }

    /// Cleans a text of the forge.
    pub(super) fn clean(&self, text: &str, max: usize) -> String {
        let token = std::str::from_utf8(self.token.reveal()).unwrap_or_default();
        clean(text, token, max)
    }

    /// Checks an address that people will open.
    pub(super) fn link(&self, url: String) -> Result<String, ForgeError> {
        let is_web = url.starts_with("https://") || url.starts_with("http://");
        if is_web && url.len() <= MAX_URL_BYTES && self.clean(&url, MAX_URL_BYTES) == url {
            Ok(url)
        } else {
            Err(ForgeError::Unexpected("an address is not one of a web page"))
        }
    }

    /// Returns whether a forge's name of a repository, `owner/name`, is that of this one. Forges ignore case.
    pub(super) fn is_this(&self, full_name: &str) -> bool {
        full_name.split_once('/').is_some_and(|(owner, name)| {
            owner.eq_ignore_ascii_case(&self.owner) && name.eq_ignore_ascii_case(&self.name)
        })
    }
}

fn parse<T: DeserializeOwned>(response: &Response<Vec<u8>>) -> Result<T, ForgeError> {
    serde_json::from_slice(response.body()).map_err(|_| ForgeError::Unexpected("its fields"))
}

fn header<'a>(response: &'a Response<Vec<u8>>, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

/// Dates are not read: this machine's clock may differ from the forge's.
fn retry_after(response: &Response<Vec<u8>>) -> Duration {
    let seconds = header(response, RETRY_AFTER.as_str()).and_then(|text| text.trim().parse().ok());
    seconds.map_or(DEFAULT_RETRY_AFTER, Duration::from_secs).min(MAX_RETRY_AFTER)
}
