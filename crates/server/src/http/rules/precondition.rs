//! Reads `If-Match` and formats `ETag`: a record's revision in quotes.

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;

use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::app::failure::{Code, Failure};
use crate::app::precondition::IfMatch;
use crate::http::rules::openapi;

pub fn etag(revision: i64) -> String {
    format!("\"{revision}\"")
}

impl IntoParams for IfMatch {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let text = "The ETag of the record. The request is rejected if the record has changed since.";
        vec![openapi::header("If-Match", text)]
    }
}

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let mut revisions = Vec::new();
        let mut given = false;
        for value in parts.headers.get_all(header::IF_MATCH) {
            given = true;
            let text = value.to_str().map_err(|_| invalid_if_match())?;
            for tag in text.split(',').map(str::trim) {
                if tag == "*" {
                    return Ok(Self::Any);
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
        Ok(if given { Self::Revisions(revisions) } else { Self::Any })
    }
}

fn invalid_if_match() -> Failure {
    Failure::new(Code::InvalidHeader, "`If-Match` must be `*` or the record's ETag in its quotes.")
}
