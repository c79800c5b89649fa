//! Which site a browser's request comes from, by `Origin` and `Sec-Fetch-Site`. The session cookie counts only
//! for requests of the dashboard's own pages (CSRF).

use axum::http::{HeaderMap, HeaderName, Method, header};

use crate::app::failure::{Code, Failure};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOrigin {
    /// One of the dashboard's own pages, or the person: an address that was typed in.
    Own,
    /// Another site. `same-site` counts as one: an environment on a sibling host may run any code.
    Foreign,
    /// Neither header was sent, so it is no browser of the last years.
    Unknown,
}

impl RequestOrigin {
    /// `public_origin` is the origin at which browsers reach this server.
    pub fn of(headers: &HeaderMap, public_origin: &str) -> Self {
        let (Ok(origin), Ok(site)) = (only(headers, &header::ORIGIN), only(headers, &SEC_FETCH_SITE)) else {
            return Self::Foreign;
        };
        if origin == Some(public_origin) {
            return Self::Own;
        }
        match (site, origin) {
            (Some("same-origin" | "none"), _) => Self::Own,
            (Some(_), _) => Self::Foreign,
            (None, Some(origin)) => {
                let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
                let is_own = host.is_some() && host == only(headers, &header::HOST).ok().flatten();
                if is_own { Self::Own } else { Self::Foreign }
            }
            (None, None) => Self::Unknown,
        }
    }
}

/// Returns the value of a header field; an error if there are several or it is not text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

/// Checks whether the session cookie of a request counts: `false` if it has to be ignored. Reads of other sites
/// are treated as requests without a cookie, so that links to the dashboard's pages work; changes are refused.
pub fn cookie_counts(method: &Method, headers: &HeaderMap, public_origin: &str) -> Result<bool, Failure> {
    let origin = RequestOrigin::of(headers, public_origin);
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(origin != RequestOrigin::Foreign);
    }
    if origin == RequestOrigin::Own { Ok(true) } else { Err(cross_site()) }
}

pub fn cross_site() -> Failure {
    Failure::new(
        Code::CrossSiteRequest,
        "A cookie counts only for requests of the dashboard's own pages. Use the dashboard, or an API token.",
    )
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const PUBLIC: &str = "https://greenroom.example.com";

    fn of(fields: &[(&'static str, &'static str)]) -> RequestOrigin {
        let fields = fields
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let mut headers: HeaderMap = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("10.0.0.1:7420"));
        fields.for_each(|(name, value)| {
            headers.append(name, value);
        });
        RequestOrigin::of(&headers, PUBLIC)
    }

    #[test]
    fn only_own_pages_are_own() {
        use RequestOrigin::{Foreign, Own, Unknown};
        for (fields, expected) in [
            (&[] as &[_], Unknown),
            (&[("origin", "https://greenroom.example.com")], Own),
            (&[("origin", "https://greenroom.example.com"), ("sec-fetch-site", "same-origin")], Own),
            (&[("sec-fetch-site", "same-origin")], Own),
            (&[("sec-fetch-site", "none")], Own),
            (&[("sec-fetch-site", "same-site")], Foreign),
            (&[("sec-fetch-site", "cross-site")], Foreign),
            (&[("sec-fetch-site", "same-site"), ("origin", "http://10.0.0.1:7420")], Foreign),
            (&[("origin", "http://10.0.0.1:7420")], Own),
            (&[("origin", "http://10.0.0.1:7421")], Foreign),
            (&[("origin", "https://evil.example")], Foreign),
            (&[("origin", "https://greenroom.example.com.evil.example")], Foreign),
            (&[("origin", "null")], Foreign),
            (&[("origin", "")], Foreign),
            (&[("origin", "https://greenroom.example.com"), ("origin", "https://evil.example")], Foreign),
            (&[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")], Foreign),
        ] {
            assert_eq!(of(fields), expected, "{fields:?}");
        }
    }

    #[test]
    fn a_change_needs_an_own_page_and_a_foreign_read_loses_its_cookie() {
        let counts = |method: Method, site: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            if let Some(site) = site {
                headers.insert(SEC_FETCH_SITE, HeaderValue::from_static(site));
            }
            cookie_counts(&method, &headers, PUBLIC).ok()
        };
        assert_eq!(counts(Method::GET, Some("cross-site")), Some(false));
        assert_eq!(counts(Method::GET, None), Some(true));
        assert_eq!(counts(Method::POST, Some("same-origin")), Some(true));
        assert_eq!(counts(Method::POST, Some("same-site")), None);
        assert_eq!(counts(Method::DELETE, None), None);
    }
}
