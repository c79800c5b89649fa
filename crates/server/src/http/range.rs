//! `Range`: one range of bytes, as RFC 9110 has it.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::app::failure::{Code, Failure};

/// From the first byte up to, and without, the last number. `None` if nothing that is there is meant.
pub fn range(value: &HeaderValue, total: u64) -> Result<Option<(u64, u64)>, Failure> {
    let text = value.to_str().ok().and_then(|text| text.strip_prefix("bytes=")).ok_or_else(unreadable)?;
    let (first, last) = text.split_once('-').ok_or_else(unreadable)?;
    let (from, to) = match (first, last) {
        ("", last) => (total.saturating_sub(number(last)?), total),
        (first, "") => (number(first)?, total),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return Err(unreadable());
            }
            (first, last.saturating_add(1).min(total))
        }
    };
    Ok((from < to).then_some((from, to)))
}

/// Only digits: a sign would be read as well.
fn number(text: &str) -> Result<u64, Failure> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // More bytes than can be counted lie behind every end.
    digits.then(|| text.parse().unwrap_or(u64::MAX)).ok_or_else(unreadable)
}

fn unreadable() -> Failure {
    Failure::new(
        Code::InvalidHeader,
        "`Range` must be one range of bytes: `bytes=0-1023`, `bytes=1024-` or `bytes=-1024`.",
    )
}

/// What a range behind the end is answered: how much there is.
pub fn not_satisfiable(total: u64) -> Response {
    let detail = format!("There are {total} bytes, and none where the range begins. Ask for what is there.");
    let failure = Failure::new(Code::RangeNotSatisfiable, detail).with("bytes", total.into());
    let mut response = failure.into_response();
    if let Ok(value) = HeaderValue::from_str(&format!("bytes */{total}")) {
        response.headers_mut().insert(header::CONTENT_RANGE, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        for (text, total, expected) in [
            ("bytes=0-0", 10, Some((0, 1))),
            ("bytes=2-5", 10, Some((2, 6))),
            ("bytes=2-99", 10, Some((2, 10))),
            ("bytes=9-", 10, Some((9, 10))),
            ("bytes=-3", 10, Some((7, 10))),
            ("bytes=-99", 10, Some((0, 10))),
            ("bytes=10-", 10, None),
            ("bytes=10-12", 10, None),
            ("bytes=99999999999999999999-", 10, None),
            ("bytes=-0", 10, None),
            ("bytes=0-", 0, None),
        ] {
            let found = range(&HeaderValue::from_static(text), total).unwrap();
            assert_eq!(found, expected, "{text} of {total}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=5-3",
            "bytes=a-b",
            "bytes=+1-2",
            "lines=1-2",
            "bytes=0-1,4-5",
        ] {
            assert!(range(&HeaderValue::from_static(text), 10).is_err(), "{text}");
        }
    }
}
