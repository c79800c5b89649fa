//! A request, in parts.

use axum::http::{HeaderMap, Method, Uri};
use serde_json::Value;

use crate::state::RecordedRequest;
use crate::{OWNER, REPOSITORY, TOKEN};

pub(crate) struct Request {
    method: Method,
    path: String,
    query: String,
    authorization: String,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn new(method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Self {
        let header = headers.get("authorization").and_then(|value| value.to_str().ok());
        Self {
            method: method.clone(),
            path: uri.path().to_owned(),
            query: uri.query().unwrap_or_default().to_owned(),
            authorization: header.unwrap_or_default().to_owned(),
            body: serde_json::from_slice(body).unwrap_or_default(),
        }
    }

    pub(crate) fn recorded(&self) -> RecordedRequest {
        RecordedRequest {
            method: self.method.to_string(),
            path: self.path.clone(),
            query: self.query.clone(),
            has_token: self.authorization.contains(TOKEN),
        }
    }

    pub(crate) fn is_authorized(&self, scheme: &str) -> bool {
        self.authorization == format!("{scheme} {TOKEN}")
    }

    /// Returns the method, and the segments of the path below the repository.
    pub(crate) fn route(&self, prefix: &str) -> Option<(&str, Vec<String>)> {
        let path = self.path.strip_prefix(prefix)?.strip_prefix("/repos/")?;
        let mut segments = path.split('/').map(decode);
        let is_known =
            segments.next()?.eq_ignore_ascii_case(OWNER) && segments.next()?.eq_ignore_ascii_case(REPOSITORY);
        is_known.then(|| (self.method.as_str(), segments.collect()))
    }

    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).map(|(_, value)| decode(value)).next()
    }

    pub(crate) fn number(&self, name: &str, default: usize) -> usize {
        self.query(name).and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.body[name].as_str().unwrap_or_default().to_owned()
    }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
