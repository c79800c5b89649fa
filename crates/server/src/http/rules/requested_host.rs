//! The host that a request is for. A server that terminates TLS itself refuses browsers that have opened it by another name
//! than its own; behind a proxy, the proxy decides which requests it passes on.

use axum::extract::Request;
use axum::http::{Version, header};
use greenroom_app::failure::{Code, Failure};
use greenroom_app::id_token::{CONFIGURATION_PATH, KEYS_PATH};
use greenroom_app::public_url::OwnOrigins;

use crate::http::rules::class::{METADATA_PATH, TOKEN_PATH};

/// Requests of programs that need no `Authorization`. Their clients may use another name of the server, which its
/// certificate has to have.
const FOR_PROGRAMS: [&str; 4] = [TOKEN_PATH, METADATA_PATH, CONFIGURATION_PATH, KEYS_PATH];

/// A page that a browser gets under a wrong name can do nothing, because its `Origin` is wrong too. This refuses the page
/// itself, and reads with a cookie.
pub fn check(request: &Request, route: &str, own: &OwnOrigins) -> Result<(), Failure> {
    let field = request.headers().get(header::HOST).map(|host| host.to_str().unwrap_or_default());
    let authority = request.uri().authority().map(|authority| authority.as_str());
    if let (Version::HTTP_2, Some(field), Some(authority)) = (request.version(), field, authority)
        && !field.eq_ignore_ascii_case(authority)
    {
        let detail = "`Host` differs from `:authority`. Leave `Host` out.";
        return Err(Failure::new(Code::InvalidHeader, detail));
    }
    if request.headers().contains_key(header::AUTHORIZATION) || FOR_PROGRAMS.contains(&route) {
        return Ok(());
    }
    let host = authority.or(field).unwrap_or_default();
    if !own.is_wrong_host(host) {
        return Ok(());
    }
    let public = own.public();
    let detail = format!(
        "The request is not for a host of this server. Open the dashboard at {public}, or use an API token. If this is the dashboard, the operator \
         has to set `--public-url` to the address in the browser's address bar."
    );
    Err(Failure::new(Code::WrongHost, detail))
}
