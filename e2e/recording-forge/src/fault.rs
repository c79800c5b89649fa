//! How the forge fails.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Which requests fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppliesTo {
    Everything,
    /// Those that change something.
    Writes,
}

impl AppliesTo {
    pub(crate) fn includes(self, method: &Method) -> bool {
        self == Self::Everything || method == Method::POST
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Does what was requested, and responds with 500.
    FailAfter,
    /// Does what was requested, and responds after this time.
    SlowAfter(Duration),
    /// Does nothing, and responds with this: status, headers, body.
    Respond(u16, Vec<(String, String)>, Vec<u8>),
}

impl Fault {
    pub fn fail_before() -> Self {
        Self::message(500, "boom")
    }

    pub fn unauthorized() -> Self {
        Self::message(401, "Bad credentials")
    }

    pub fn rate_limited(seconds: u64) -> Self {
        let header = ("retry-after".to_owned(), seconds.to_string());
        Self::Respond(429, vec![header], json!({ "message": "slow down" }).to_string().into_bytes())
    }

    pub fn redirect(to: &str) -> Self {
        Self::Respond(302, vec![("location".to_owned(), to.to_owned())], Vec::new())
    }

    pub fn message(status: u16, message: &str) -> Self {
        Self::Respond(status, Vec::new(), json!({ "message": message }).to_string().into_bytes())
    }

    pub(crate) const fn is_before(&self) -> bool {
        matches!(self, Self::Respond(..))
    }
}

/// Sends what the forge has done, or what it does instead.
pub(crate) async fn respond(fault: Option<Fault>, done: Option<(u16, Value)>) -> Response {
    let (status, body) = done.unwrap_or((500, Value::Null));
    match fault {
        Some(Fault::Respond(status, headers, body)) => {
            let mut response = (StatusCode::from_u16(status).unwrap(), body).into_response();
            for (name, value) in headers {
                let name = axum::http::HeaderName::try_from(name).unwrap();
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            return response;
        }
        Some(Fault::FailAfter) => {
            return (StatusCode::INTERNAL_SERVER_ERROR, r#"{"message":"boom"}"#).into_response();
        }
        Some(Fault::SlowAfter(delay)) => tokio::time::sleep(delay).await,
        None => {}
    }
    let headers = [("content-type", "application/json")];
    (StatusCode::from_u16(status).unwrap(), headers, body.to_string()).into_response()
}
