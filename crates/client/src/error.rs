//! Errors of a call, classified by what the caller can do.

use std::time::Duration;

use greenroom_api_types::problem::Problem;

pub type Result<T> = std::result::Result<T, Error>;

/// The code of a rejection without a problem of our server: a proxy has sent the response.
pub const UNEXPECTED_RESPONSE: &str = "unexpected_answer";
/// The code with which the server rejects every request of a runner whose token was revoked.
pub const RUNNER_REVOKED: &str = "runner_revoked";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The token was revoked, or the job no longer belongs to this runner: the work has to stop.
    #[error("the server has taken it back: {detail}")]
    Gone {
        /// Stable code of the problem: [`RUNNER_REVOKED`], or why the job is gone.
        code: String,
        detail: String,
    },
    /// The server rejected the request; a retry would not help.
    #[error("{code}: {detail}")]
    Refused {
        status: u16,
        /// Stable code of the problem.
        code: String,
        detail: String,
        /// Additional data for programs, by code.
        extensions: serde_json::Map<String, serde_json::Value>,
    },
    /// The server could not be reached or could not process the request: retry later.
    #[error("the server cannot be reached: {reason}")]
    Unavailable {
        reason: String,
        /// How long to wait before a retry, as requested by the server.
        retry_after: Option<Duration>,
        /// The status of the response, if there was one. A `500` is an error of the server itself, which the
        /// same request may cause again.
        status: Option<u16>,
    },
    /// A local error: a file could not be read or written, or a URL is invalid.
    #[error("{}", with_causes(action, source.as_deref().map(|cause| cause as _)))]
    Local {
        /// What failed.
        action: String,
        source: Option<Cause>,
    },
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

impl Error {
    /// Returns whether the runner's token was revoked. A response of a proxy does not count.
    pub fn is_runner_revoked(&self) -> bool {
        matches!(self, Error::Gone { code, .. } if code == RUNNER_REVOKED)
    }

    /// Returns the code of the problem, if the server has rejected the request.
    pub fn refusal(&self) -> Option<&str> {
        match self {
            Error::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    pub(crate) fn local(action: impl Into<String>, source: impl Into<Cause>) -> Self {
        Error::Local { action: action.into(), source: Some(source.into()) }
    }

    /// A local error without another error as its cause.
    pub(crate) fn local_message(message: impl Into<String>) -> Self {
        Error::Local { action: message.into(), source: None }
    }

    pub(crate) fn unavailable(reason: impl Into<String>) -> Self {
        Error::Unavailable { reason: reason.into(), retry_after: None, status: None }
    }

    /// Converts a response without a success status. `body` is a problem if it comes from our server, and can
    /// be anything if it comes from a proxy.
    pub(crate) fn from_response(status: u16, retry_after: Option<Duration>, body: &[u8]) -> Self {
        let problem: Option<Problem> = serde_json::from_slice(body).ok();
        let detail =
            problem.as_ref().map_or_else(|| format!("status {status}"), |problem| problem.detail.clone());
        match status {
            410 => {
                let code = problem.map_or_else(|| UNEXPECTED_RESPONSE.to_owned(), |problem| problem.code);
                Error::Gone { code, detail }
            }
            408 | 429 | 500.. => Error::Unavailable { reason: detail, retry_after, status: Some(status) },
            _ => {
                let (code, extensions) = match problem {
                    Some(problem) => (problem.code, problem.extensions),
                    None => (UNEXPECTED_RESPONSE.to_owned(), serde_json::Map::new()),
                };
                Error::Refused { status, code, detail, extensions }
            }
        }
    }
}

impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Self {
        // Remove the URL: it may contain a password.
        let error = error.without_url();
        if error.is_builder() {
            return Error::local("the request could not be made", error);
        }
        let reason = if error.is_timeout() {
            "no response in time".to_owned()
        } else {
            with_causes(&error, std::error::Error::source(&error))
        };
        Error::unavailable(reason)
    }
}

/// Returns a text, then the error that caused it and the causes of that error, on one line.
fn with_causes(
    text: impl std::fmt::Display,
    mut cause: Option<&(dyn std::error::Error + 'static)>,
) -> String {
    let mut text = text.to_string();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(code: &str) -> Vec<u8> {
        serde_json::to_vec(&serde_json::json!({
            "type": "/docs/errors/x", "title": "X", "status": 409, "detail": "so it is", "code": code,
            "requestId": "req_1", "expected": 7,
        }))
        .unwrap()
    }

    #[test]
    fn gone_does_not_need_a_problem() {
        assert!(
            matches!(Error::from_response(410, None, &problem("job_gone")), Error::Gone { detail, .. } if detail == "so it is")
        );
        assert!(matches!(Error::from_response(410, None, b""), Error::Gone { .. }));
    }

    #[test]
    fn only_the_server_itself_revokes_a_runner() {
        assert!(Error::from_response(410, None, &problem(RUNNER_REVOKED)).is_runner_revoked());
        for (status, body) in [(410, problem("job_gone")), (410, Vec::new()), (401, problem(RUNNER_REVOKED))]
        {
            assert!(!Error::from_response(status, None, &body).is_runner_revoked(), "{status}");
        }
    }

    #[test]
    fn temporary_failures_are_unavailable() {
        for status in [408, 429, 500, 502, 503, 504, 599] {
            let error = Error::from_response(status, Some(Duration::from_secs(3)), b"<html>");
            let Error::Unavailable { retry_after, status: kept, .. } = error else { panic!("{status}") };
            assert_eq!((retry_after, kept), (Some(Duration::from_secs(3)), Some(status)));
        }
    }

    #[test]
    fn a_local_error_has_the_text_of_its_cause_and_the_cause_itself() {
        let cause = std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        let error = Error::local("the archive could not be read", cause);
        assert_eq!(error.to_string(), "the archive could not be read: no such file");
        let source =
            std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
        assert_eq!(source.map(std::io::Error::kind), Some(std::io::ErrorKind::NotFound));
        assert_eq!(Error::local_message("the token is empty").to_string(), "the token is empty");
    }

    #[test]
    fn a_refusal_keeps_its_extensions() {
        let Error::Refused { status, code, detail, extensions } =
            Error::from_response(409, None, &problem("log_offset"))
        else {
            panic!("not refused")
        };
        assert_eq!((status, code.as_str(), detail.as_str()), (409, "log_offset", "so it is"));
        assert_eq!(extensions["expected"], 7);
    }

    #[test]
    fn a_refusal_of_a_proxy_has_a_code() {
        for status in [301, 401, 404, 413] {
            assert_eq!(Error::from_response(status, None, b"<html>").refusal(), Some(UNEXPECTED_RESPONSE));
        }
    }
}
