//! Which site a browser's request comes from, by `Origin` and `Sec-Fetch-Site`. The session cookie counts only
//! for requests of the dashboard's own pages (CSRF).

use axum::http::{HeaderMap, HeaderName, Method, header};
use greenroom_app::failure::{Code, Failure};
use greenroom_app::public_url::OwnOrigins;

pub const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

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
    /// An `Origin` decides by itself: it is one of ours, or the request is foreign. `Host` proves nothing, because the pages of a
    /// name that leads to this server send that name in both.
    pub fn of(headers: &HeaderMap, own: &OwnOrigins) -> Self {
        let (Ok(origin), Ok(site)) = (only(headers, &header::ORIGIN), only(headers, &SEC_FETCH_SITE)) else {
            return Self::Foreign;
        };
        let is_own_site = site.is_none_or(|site| matches!(site, "same-origin" | "none"));
        match origin {
            _ if !is_own_site => Self::Foreign,
            Some(origin) if own.contains(origin) => Self::Own,
            Some(_) => Self::Foreign,
            None if site.is_some() => Self::Own,
            None => Self::Unknown,
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
pub fn cookie_counts(method: &Method, headers: &HeaderMap, own: &OwnOrigins) -> Result<bool, Failure> {
    let origin = RequestOrigin::of(headers, own);
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(origin != RequestOrigin::Foreign);
    }
    if origin == RequestOrigin::Own { Ok(true) } else { Err(cross_site(own)) }
}

pub fn cross_site(own: &OwnOrigins) -> Failure {
    let public = own.public();
    let detail = format!(
        "A cookie counts only for requests of the dashboard's own pages. Open the dashboard at {public}, or use an API token. \
         If this is the dashboard, the operator has to set `--public-url` to the address in the browser's address bar."
    );
    Failure::new(Code::CrossSiteRequest, detail)
}
