//! JSON bodies, limited in size, depth and time. Malformed JSON is `400`; wrong or unknown fields are `422`;
//! an empty body is read as `{}`.

use std::time::Duration;

use axum::extract::{FromRequest, Request};
use axum::http::header;
use bytes::Bytes;
use greenroom_app::failure::{Code, Failure};
use greenroom_boxed_futures::boxed_futures;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::http::rules::early_response::EarlyResponse;

const DEFAULT_MAX_BYTES: usize = 256 * 1024;
const MAX_DEPTH: usize = 32;
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// A definition of 1 MiB, with room for JSON's escape sequences.
pub const MAX_DEFINITION_BYTES: usize = 2 * 1024 * 1024;

pub struct Body<T, const MAX_BYTES: usize = DEFAULT_MAX_BYTES> {
    pub value: T,
    /// The body as received: an Idempotency-Key is bound to it.
    pub bytes: Bytes,
}

impl<T: DeserializeOwned, S: Send + Sync, const MAX_BYTES: usize> FromRequest<S> for Body<T, MAX_BYTES> {
    type Rejection = EarlyResponse;

    async fn from_request(request: Request, _: &S) -> Result<Self, EarlyResponse> {
        let bytes = read_json(request, MAX_BYTES).await?;
        let value = parse(if bytes.is_empty() { b"{}" } else { &bytes })?;
        Ok(Self { value, bytes })
    }
}

/// Reads a body that is empty or of the type JSON. With an `Authorization` field, it is taken for JSON whatever its type
/// is: `curl --data` names that of a form.
#[boxed_futures]
pub async fn read_json(request: Request, max_bytes: usize) -> Result<Bytes, Failure> {
    let content_type = request.headers().get(header::CONTENT_TYPE).cloned();
    let may_be_form = !request.headers().contains_key(header::AUTHORIZATION);
    let bytes = read(request, max_bytes).await?;
    // Without that field, reject other types: a browser's form can send any type but this one to another origin (CSRF), and
    // no form can send the field.
    let is_json = content_type.is_none_or(|value| {
        let essence = value.to_str().ok().and_then(|text| text.split(';').next());
        essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
    });
    if may_be_form && !bytes.is_empty() && !is_json {
        return Err(Failure::new(
            Code::UnsupportedMediaType,
            "Send JSON with `Content-Type: application/json`.",
        ));
    }
    Ok(bytes)
}

pub async fn read(request: Request, max_bytes: usize) -> Result<Bytes, Failure> {
    let body = Limited::new(request.into_body(), max_bytes);
    match tokio::time::timeout(READ_TIMEOUT, body.collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(Failure::new(Code::BodyTooLarge, format!("The body may have {max_bytes} bytes at most.")))
        }
        Ok(Err(_)) => Err(Failure::new(Code::MalformedJson, "The body broke off. Send the request again.")),
        Err(_) => Err(Failure::new(Code::RequestTimeout, "The body did not arrive within 10 seconds.")),
    }
}

pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    check_is_object(bytes)?;
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| invalid(error.path(), error.inner()))?;
    deserializer.end().map_err(|error| not_json(&error))?;
    Ok(parsed)
}

fn check_is_object(bytes: &[u8]) -> Result<(), Failure> {
    if depth(bytes) > MAX_DEPTH {
        return Err(malformed(format!("Nested deeper than {MAX_DEPTH} levels.")));
    }
    // Serde would deserialize an array as a struct's fields in order, which no client intends.
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
        return Ok(());
    }
    match serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
        Ok(_) => Err(Failure::field("", "must be an object")),
        Err(error) => Err(not_json(&error)),
    }
}

fn invalid(path: &serde_path_to_error::Path, error: &serde_json::Error) -> Failure {
    if !error.is_data() {
        return not_json(error);
    }
    // The pointer replaces the line and column that serde appends.
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or(&text);
    let pointer = pointer(path);
    match text.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        Some(field) => Failure::field(&format!("{pointer}/{field}"), "is missing"),
        None => Failure::field(&pointer, text),
    }
}

fn not_json(error: &serde_json::Error) -> Failure {
    malformed(format!("Not JSON: {error}."))
}

fn malformed(detail: String) -> Failure {
    Failure::new(Code::MalformedJson, detail)
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => pointer += &format!("/{index}"),
            Segment::Map { key } | Segment::Enum { variant: key } => {
                pointer += &format!("/{}", key.replace('~', "~0").replace('/', "~1"));
            }
            Segment::Unknown => {}
        }
    }
    pointer
}

/// Returns the nesting depth of brackets outside of strings. Does not check that the text is JSON.
pub fn depth(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
