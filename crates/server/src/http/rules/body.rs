//! JSON bodies, limited in size, depth and time. Malformed JSON is `400`; wrong or unknown fields are `422`;
//! an empty body is read as `{}`.

use std::time::Duration;

use axum::extract::{FromRequest, Request};
use axum::http::header;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::app::failure::{Code, Failure};

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
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let content_type = request.headers().get(header::CONTENT_TYPE).cloned();
        let bytes = read(request, MAX_BYTES).await?;
        if bytes.is_empty() {
            return Ok(Self { value: parse(b"{}")?, bytes });
        }
        // Reject other types: a browser's form can send any type but this one to another origin (CSRF).
        let is_json = content_type.is_none_or(|value| {
            let essence = value.to_str().ok().and_then(|text| text.split(';').next());
            essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
        });
        if !is_json {
            return Err(Failure::new(
                Code::UnsupportedMediaType,
                "Send JSON with `Content-Type: application/json`.",
            ));
        }
        Ok(Self { value: parse(&bytes)?, bytes })
    }
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

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    let malformed = |detail: String| Failure::new(Code::MalformedJson, detail);
    if depth(bytes) > MAX_DEPTH {
        return Err(malformed(format!("Nested deeper than {MAX_DEPTH} levels.")));
    }
    // Serde would deserialize an array as a struct's fields in order, which no client intends.
    let is_object = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    if !is_object {
        return match serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
            Ok(_) => Err(Failure::field("", "must be an object")),
            Err(error) => Err(malformed(format!("Not JSON: {error}."))),
        };
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let inner = error.inner();
        if inner.is_data() {
            // The pointer replaces the line and column that serde appends.
            let text = inner.to_string();
            let text = text.split(" at line ").next().unwrap_or(&text);
            let pointer = pointer(error.path());
            match text.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
                Some(field) => Failure::field(&format!("{pointer}/{field}"), "is missing"),
                None => Failure::field(&pointer, text),
            }
        } else {
            malformed(format!("Not JSON: {inner}."))
        }
    })?;
    deserializer.end().map_err(|error| malformed(format!("Not JSON: {error}.")))?;
    Ok(parsed)
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
fn depth(bytes: &[u8]) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Named {
        #[expect(dead_code, reason = "only whether it can be parsed is tested")]
        name: String,
    }

    fn code(text: &str) -> Option<Code> {
        parse::<Named>(text.as_bytes()).err().map(|failure| failure.code)
    }

    #[test]
    fn malformed_json_and_invalid_fields_are_distinguished() {
        assert_eq!(code(r#"{"name": "x"}"#), None);
        assert_eq!(code("{not json"), Some(Code::MalformedJson));
        assert_eq!(code(r#"{"name": "x"} {}"#), Some(Code::MalformedJson));
        assert_eq!(
            code(&format!(r#"{{"name": {}1{}}}"#, "[".repeat(40), "]".repeat(40))),
            Some(Code::MalformedJson)
        );
        assert_eq!(code(r#"["x"]"#), Some(Code::InvalidRequest));
        assert_eq!(code("null"), Some(Code::InvalidRequest));
        assert_eq!(code(r#"{"name": 1}"#), Some(Code::InvalidRequest));
        assert_eq!(code(r#"{"name": "x", "nmae": "y"}"#), Some(Code::InvalidRequest));
        assert_eq!(code("{}"), Some(Code::InvalidRequest));
    }

    #[test]
    fn the_pointer_names_the_invalid_field() {
        let failure = parse::<Named>(br#"{"name": 1}"#).unwrap_err();
        assert_eq!(failure.errors[0].pointer, "/name");
        assert_eq!(failure.errors[0].detail, "invalid type: integer `1`, expected a string");
    }

    #[test]
    fn brackets_in_strings_do_not_count_as_depth() {
        assert_eq!(depth(br#"{"a": "[[[\"[[", "b": [[1]]}"#), 3);
    }
}
