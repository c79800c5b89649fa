//! Cookies: the one of a browser session, and the one of a sign-in at a provider that is under way.

use axum::http::{HeaderMap, HeaderValue, header};

/// The cookie of a browser session. Browsers accept the prefix only with `Secure`, with the path `/` and
/// without a domain, so no other host can set it.
pub const SESSION: &str = "__Host-greenroom";

/// The cookie of a sign-in at a provider that is under way. `Lax`, because the provider's site sends the browser
/// back.
pub const PENDING: &str = "__Host-greenroom-oidc";

const PENDING_SECONDS: u32 = 10 * 60;
/// Browser sessions end after 14 days at most.
const SESSION_SECONDS: u32 = 14 * 24 * 60 * 60;

/// Returns the value of a cookie. If there are several of that name, none of them counts.
pub fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let fields = headers.get_all(header::COOKIE).iter().filter_map(|field| field.to_str().ok());
    let pairs = fields.flat_map(|field| field.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(found, _)| *found == name).map(|(_, value)| value);
    let first = values.next()?;
    values.next().is_none().then_some(first)
}

/// Returns the `Set-Cookie` field of a new browser session.
pub fn set_session(secret: &str) -> HeaderValue {
    field(SESSION, secret, SESSION_SECONDS, "Strict")
}

/// Returns the `Set-Cookie` field that removes the cookie of a browser session.
pub fn clear_session() -> HeaderValue {
    field(SESSION, "", 0, "Strict")
}

/// Returns the `Set-Cookie` field of a sign-in that is under way.
pub fn set_pending(value: &str) -> HeaderValue {
    field(PENDING, value, PENDING_SECONDS, "Lax")
}

pub fn clear_pending() -> HeaderValue {
    field(PENDING, "", 0, "Lax")
}

/// The values are hexadecimal digits or URL-encoded, so the text is always a valid header field.
fn field(name: &str, value: &str, max_age: u32, same_site: &str) -> HeaderValue {
    let text = format!("{name}={value}; Path=/; Max-Age={max_age}; Secure; HttpOnly; SameSite={same_site}");
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}
