//! Typed query parameters. Unknown or invalid ones are rejected by name.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use greenroom_api_types::problem::FieldProblem;
use greenroom_app::failure::Failure;
use greenroom_domain::definition::nearest;
use greenroom_domain::id::UserId;
use greenroom_domain::principal::Principal;
use greenroom_domain::text::{CommitPrefix, InvalidText, is_hidden};
use greenroom_domain::text_enum::TextEnum;
use greenroom_store::pipeline::PipelineName;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;

use crate::http::rules::early_response::EarlyResponse;

pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = EarlyResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, EarlyResponse> {
        let text = parts.uri.query().unwrap_or_default();
        let hidden = form_urlencoded::parse(text.as_bytes()).find_map(|(name, value)| {
            let hidden = name.chars().chain(value.chars()).find(|character| is_hidden(*character));
            hidden.map(|character| (name, character))
        });
        if let Some((name, character)) = hidden {
            let name: String = name.chars().filter(|character| !is_hidden(*character)).collect();
            let name = if name.is_empty() { "query" } else { &name };
            return Err(Failure::field(name, InvalidText::Character(character)).into());
        }
        let deserializer = serde_urlencoded::Deserializer::new(form_urlencoded::parse(text.as_bytes()));
        let parsed = serde_path_to_error::deserialize(deserializer).map_err(|error| {
            let name = error.path().to_string();
            let text = error.inner().to_string().replace("unknown field", "unknown parameter");
            Failure::field(if name == "." { "query" } else { &name }, rephrase(&text))
        })?;
        Ok(Self(parsed))
    }
}

/// Rejects a time that PostgreSQL can't represent.
pub fn check_timestamp(name: &str, given: Option<Timestamp>) -> Result<Option<Timestamp>, Failure> {
    match given {
        Some(time) if !(-4711..=9999).contains(&TimeZone::UTC.to_datetime(time).year()) => {
            Err(Failure::field(name, "must be between the years 4712 BC and 9999"))
        }
        other => Ok(other),
    }
}

/// Rejects control characters, because PostgreSQL can't store NUL, and `%`, a wildcard.
pub fn check_filter(name: &str, text: String) -> Result<String, Failure> {
    if text.chars().any(char::is_control) || text.contains('%') {
        Err(Failure::field(name, "must not contain control characters or `%`"))
    } else {
        Ok(text)
    }
}

/// Parses a parameter with one or several texts of an enum, separated by commas. An unknown one is refused: an empty
/// result would look as if nothing matched.
pub fn parse_names<T: TextEnum>(name: &str, text: &str) -> Result<Vec<T>, Failure> {
    text.split(',').map(|text| text.trim().parse().map_err(|_| unknown_name::<T>(name, text))).collect()
}

fn unknown_name<T: TextEnum>(name: &str, text: &str) -> Failure {
    let names = || T::ALL.iter().map(|value| value.as_str());
    let suggestion = nearest(text, names());
    let hint = suggestion.map(|suggestion| format!("; did you mean `{suggestion}`?")).unwrap_or_default();
    Failure::fields(vec![FieldProblem {
        pointer: name.to_owned(),
        detail: format!("must be one of `{}`{hint}", names().collect::<Vec<_>>().join("`, `")),
        expected: names().map(str::to_owned).collect(),
        suggestion: suggestion.map(str::to_owned),
        ..FieldProblem::default()
    }])
}

/// Parses a parameter that is a commit's id or its beginning.
pub fn parse_commit(text: &str) -> Result<CommitPrefix, Failure> {
    CommitPrefix::new(text).map_err(|error| Failure::field("commitId", error))
}

/// Parses a parameter that names a user: `me` for the caller, or the id.
pub fn parse_user(name: &str, text: &str, principal: &Principal) -> Result<UserId, Failure> {
    if text == "me" {
        return Ok(principal.user_id);
    }
    text.parse().map_err(|_| Failure::field(name, "must be `me`, or a user's id, `usr_…`"))
}

/// Parses a parameter that names a pipeline. One that does not exist matches nothing, as one that the caller
/// may not see.
pub fn parse_pipeline(text: &str) -> Result<PipelineName, Failure> {
    PipelineName::parse(text)
        .ok_or_else(|| Failure::field("pipelineId", "must be a pipeline's id, `pip_…`, or its slug"))
}

/// Rephrases messages of the standard library for users of the API.
fn rephrase(text: &str) -> &str {
    match text {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "must be a whole number"
        }
        "number too large to fit in target type" | "number too small to fit in target type" => {
            "is out of range"
        }
        "provided string was not `true` or `false`" => "must be true or false",
        other => other,
    }
}
