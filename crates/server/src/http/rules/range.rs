//! `Range`: one range of bytes (RFC 9110).

use std::ops::Range;

use axum::http::{HeaderValue, header};
use axum::response::Response;
use greenroom_app::failure::{Code, Failure};

use crate::http::rules::problem::problem_response;

/// Returns the positions of the bytes. `None` if no byte is within the range.
pub fn parse_range(value: &HeaderValue, total: u64) -> Result<Option<Range<u64>>, Failure> {
    let text = value.to_str().ok().and_then(|text| text.strip_prefix("bytes=")).ok_or_else(invalid_range)?;
    let (first, last) = text.split_once('-').ok_or_else(invalid_range)?;
    let (from, to) = match (first, last) {
        ("", last) => (total.saturating_sub(parse_number(last)?), total),
        (first, "") => (parse_number(first)?, total),
        (first, last) => {
            let (first, last) = (parse_number(first)?, parse_number(last)?);
            if last < first {
                return Err(invalid_range());
            }
            (first, last.saturating_add(1).min(total))
        }
    };
    Ok((from < to).then_some(from..to))
}

/// Accepts digits only: `parse` would accept a sign as well.
fn parse_number(text: &str) -> Result<u64, Failure> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // A number that does not fit is past the end of every log.
    digits.then(|| text.parse().unwrap_or(u64::MAX)).ok_or_else(invalid_range)
}

fn invalid_range() -> Failure {
    Failure::new(
        Code::InvalidHeader,
        "`Range` must be one range of bytes: `bytes=0-1023`, `bytes=1024-` or `bytes=-1024`.",
    )
}

/// The response to a range past the end: it contains the total size.
pub fn not_satisfiable(total: u64) -> Response {
    let detail = format!(
        "There are {total} bytes, and none where the range begins. Request a range that begins before the end."
    );
    let failure = Failure::new(Code::RangeNotSatisfiable, detail).with("bytes", total.into());
    let mut response = problem_response(failure);
    if let Ok(value) = HeaderValue::from_str(&format!("bytes */{total}")) {
        response.headers_mut().insert(header::CONTENT_RANGE, value);
    }
    response
}
