//! What can go wrong with a call, told apart by what the caller can do.

use std::time::Duration;

use greenroom_api_types::problem::Problem;

pub type Result<T> = std::result::Result<T, Error>;

/// The code of a refusal that is no problem of our server: something in between has answered.
pub const UNEXPECTED_ANSWER: &str = "unexpected_answer";
/// The code with which the server rejects every request of a runner whose token was revoked.
pub const RUNNER_REVOKED: &str = "runner_revoked";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The token was revoked, or the job is no longer this runner's: stop the work.
    #[error("the server has taken it back: {detail}")]
    Gone {
        /// Stable name of the problem: [`RUNNER_REVOKED`], or that of what became of the job.
        code: String,
        detail: String,
    },
    /// The server understood, and says no; asking again would not help.
    #[error("{code}: {detail}")]
    Refused {
        status: u16,
        /// Stable name of the problem.
        code: String,
        detail: String,
        /// What a program needs to go on; differs per code.
        extensions: serde_json::Map<String, serde_json::Value>,
    },
    /// Nobody could be reached, or nobody who could answer: try again later.
    #[error("the server cannot be reached: {reason}")]
    Unavailable {
        reason: String,
        /// How long the server asks to be left alone.
        retry_after: Option<Duration>,
        /// The status of the response, if there was one. A `500` is an error of the server itself, which the same
        /// request may cause again.
        status: Option<u16>,
    },
    /// Something on this machine: a file could not be read or written, or an address makes no sense.
    #[error("{0}")]
    Local(String),
}

impl Error {
    /// Whether the runner's token was revoked. Only the server itself can tell: what something in between answers does not count.
    pub fn is_runner_revoked(&self) -> bool {
        matches!(self, Error::Gone { code, .. } if code == RUNNER_REVOKED)
    }

    /// The problem's name, if the server has refused.
    pub fn refusal(&self) -> Option<&str> {
        match self {
            Error::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    pub(crate) fn local(doing: &str, error: impl std::fmt::Display) -> Self {
        Error::Local(format!("{doing}: {error}"))
    }

    pub(crate) fn unavailable(reason: impl Into<String>) -> Self {
        Error::Unavailable { reason: reason.into(), retry_after: None, status: None }
    }

    /// From an answer that is no success. `body` is a problem if it came from our server, and anything if it came from
    /// something in between.
    pub(crate) fn from_answer(status: u16, retry_after: Option<Duration>, body: &[u8]) -> Self {
        let problem: Option<Problem> = serde_json::from_slice(body).ok();
        let detail =
            problem.as_ref().map_or_else(|| format!("status {status}"), |problem| problem.detail.clone());
        match status {
            410 => {
                let code = problem.map_or_else(|| UNEXPECTED_ANSWER.to_owned(), |problem| problem.code);
                Error::Gone { code, detail }
            }
            408 | 429 | 500.. => Error::Unavailable { reason: detail, retry_after, status: Some(status) },
            _ => {
                let (code, extensions) = match problem {
                    Some(problem) => (problem.code, problem.extensions),
                    None => (UNEXPECTED_ANSWER.to_owned(), serde_json::Map::new()),
                };
                Error::Refused { status, code, detail, extensions }
            }
        }
    }
}

impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Self {
        // The address stays out of it: it may hold a password.
        let error = error.without_url();
        if error.is_builder() {
            return Error::local("the request could not be made", Chain(&error));
        }
        let reason =
            if error.is_timeout() { "no answer in time".to_owned() } else { Chain(&error).to_string() };
        Error::unavailable(reason)
    }
}

/// An error with its causes, on one line.
struct Chain<'a>(&'a dyn std::error::Error);

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(formatter, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
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
    fn gone_is_gone_with_or_without_words() {
        assert!(
            matches!(Error::from_answer(410, None, &problem("job_gone")), Error::Gone { detail, .. } if detail == "so it is")
        );
        assert!(matches!(Error::from_answer(410, None, b""), Error::Gone { .. }));
    }

    #[test]
    fn only_the_server_itself_revokes_a_runner() {
        assert!(Error::from_answer(410, None, &problem(RUNNER_REVOKED)).is_runner_revoked());
        for (status, body) in [(410, problem("job_gone")), (410, Vec::new()), (401, problem(RUNNER_REVOKED))]
        {
            assert!(!Error::from_answer(status, None, &body).is_runner_revoked(), "{status}");
        }
    }

    #[test]
    fn what_may_pass_is_unavailable() {
        for status in [408, 429, 500, 502, 503, 504, 599] {
            let error = Error::from_answer(status, Some(Duration::from_secs(3)), b"<html>");
            let Error::Unavailable { retry_after, status: kept, .. } = error else { panic!("{status}") };
            assert_eq!((retry_after, kept), (Some(Duration::from_secs(3)), Some(status)));
        }
    }

    #[test]
    fn a_refusal_keeps_what_a_program_needs() {
        let Error::Refused { status, code, detail, extensions } =
            Error::from_answer(409, None, &problem("log_offset"))
        else {
            panic!("not refused")
        };
        assert_eq!((status, code.as_str(), detail.as_str()), (409, "log_offset", "so it is"));
        assert_eq!(extensions["expected"], 7);
    }

    #[test]
    fn a_refusal_of_somebody_in_between_has_a_name_too() {
        for status in [301, 401, 404, 413] {
            assert_eq!(Error::from_answer(status, None, b"<html>").refusal(), Some(UNEXPECTED_ANSWER));
        }
    }
}
