//! Reads `If-Match`: revisions of a record in quotes.

use std::ops::Deref;

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use greenroom_app::failure::{Code, Failure};
use greenroom_app::precondition::IfMatch;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::openapi;

/// The header as a parameter of a handler.
pub struct Precondition(IfMatch);

impl Deref for Precondition {
    type Target = IfMatch;

    fn deref(&self) -> &IfMatch {
        &self.0
    }
}

impl IntoParams for Precondition {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let text = "The ETag of the record. The request is rejected if the record has changed since.";
        vec![openapi::header("If-Match", text)]
    }
}

impl<S: Sync> FromRequestParts<S> for Precondition {
    type Rejection = EarlyResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, EarlyResponse> {
        let mut revisions = Vec::new();
        let mut given = false;
        for value in parts.headers.get_all(header::IF_MATCH) {
            given = true;
            let text = value.to_str().map_err(|_| invalid_if_match())?;
            for tag in text.split(',').map(str::trim) {
                if tag == "*" {
                    return Ok(Self(IfMatch::Any));
                }
                // A weak tag is valid syntax, but never matches: `If-Match` uses strong comparison.
                let (tag, weak) = tag.strip_prefix("W/").map_or((tag, false), |tag| (tag, true));
                let strong = tag
                    .strip_prefix('"')
                    .and_then(|tag| tag.strip_suffix('"'))
                    .ok_or_else(invalid_if_match)?;
                // The suffix after a dot is not part of the revision.
                let revision = strong.split_once('.').map_or(strong, |(revision, _)| revision);
                revisions.extend(revision.parse::<i64>().ok().filter(|_| !weak));
            }
        }
        Ok(Self(if given { IfMatch::Revisions(revisions) } else { IfMatch::Any }))
    }
}

fn invalid_if_match() -> Failure {
    Failure::new(Code::InvalidHeader, "`If-Match` must be `*` or the record's ETag in its quotes.")
}
