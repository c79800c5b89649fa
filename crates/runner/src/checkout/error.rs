//! Why a checkout failed: a permanent error, which a retry can't fix, or a transient one.

use greenroom_api_types::runner::PermanentFailure;

use crate::credential::CredentialError;

/// A failed checkout. The message is shown to everyone who can see the deployment. The output of git is
/// written to the runner's log only, because it reveals which addresses and ports are reachable in the
/// runner's network.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct CheckoutError {
    /// `None` if a retry may help.
    pub failure: Option<PermanentFailure>,
    message: String,
    /// What git has reported, for the runner's log only.
    source: Option<GitError>,
}

impl CheckoutError {
    pub(super) fn transient(message: impl Into<String>) -> Self {
        CheckoutError { failure: None, message: message.into(), source: None }
    }

    /// The error for an unreachable server, and for every failure in a private network.
    pub(super) fn could_not_fetch() -> Self {
        Self::transient("could not fetch")
    }

    pub(super) fn commit(message: impl Into<String>) -> Self {
        CheckoutError { failure: Some(PermanentFailure::CommitNotFound), ..Self::transient(message) }
    }

    pub(super) fn not_on_branch(message: impl Into<String>) -> Self {
        CheckoutError { failure: Some(PermanentFailure::CommitNotOnBranch), ..Self::transient(message) }
    }

    pub(super) fn repository(message: impl Into<String>) -> Self {
        CheckoutError { failure: Some(PermanentFailure::RepositoryUnavailable), ..Self::transient(message) }
    }

    pub(super) fn host_not_allowed(submodule: &str) -> Self {
        CheckoutError {
            failure: Some(PermanentFailure::CheckoutHostNotAllowed),
            ..Self::transient(format!(
                "the address of the submodule `{submodule}` is not allowed: it has to be https on a host that `submodules` of the stage lists"
            ))
        }
    }

    /// Classifies a failed fetch by git's standard error. In a private network permanent errors look the same
    /// as others, because they would reveal that a server listens there.
    /// `secret` is the name of the one that was used.
    pub(super) fn fetch(error: GitError, is_private: bool, secret: Option<&str>) -> Self {
        let failed = if is_permanent(&error.stderr) && !is_private {
            let with = secret.map(|name| format!(" with the secret `{name}`")).unwrap_or_default();
            Self::repository(format!(
                "could not fetch: the address is not that of a repository which this runner may read{with}"
            ))
        } else {
            Self::could_not_fetch()
        };
        failed.with_source(error)
    }

    pub(super) fn with_source(self, source: GitError) -> Self {
        CheckoutError { source: Some(source), ..self }
    }
}

impl From<CredentialError> for CheckoutError {
    fn from(error: CredentialError) -> Self {
        CheckoutError { failure: error.failure, ..Self::transient(error.message) }
    }
}

/// A failed call of git.
#[derive(Debug, thiserror::Error)]
#[error("git {verb} failed: {stderr}")]
pub(super) struct GitError {
    pub(super) verb: String,
    /// The exit code; `None` if git could not be run or was killed.
    pub(super) code: Option<i32>,
    /// The standard error of git, or why it could not be run.
    pub(super) stderr: String,
}

impl From<GitError> for CheckoutError {
    /// Converts the error of a call that does not use the network.
    fn from(error: GitError) -> Self {
        CheckoutError::transient(error.to_string())
    }
}

/// Errors that persist until the repository, its address or the runner's access is changed.
const PERMANENT_ERRORS: [&str; 14] = [
    "' not found",
    "not valid: is this a git repository",
    "does not appear to be a git repository",
    "Repository not found",
    "Authentication failed for",
    "could not read Username",
    "could not read Password",
    "Permission denied (",
    "Host key verification failed",
    "' not allowed",
    "is not a git command",
    "unable to find remote helper",
    "URL using bad/illegal format",
    "No host part in the URL",
];

/// Returns whether the server, or git itself, has reported a permanent error. Failed connections, timeouts,
/// and server errors (5xx, 408, 429) are transient and retried.
fn is_permanent(stderr: &str) -> bool {
    if PERMANENT_ERRORS.iter().any(|known| stderr.contains(known)) {
        return true;
    }
    let status = stderr.split("The requested URL returned error: ").nth(1).and_then(|rest| rest.get(..3));
    let status = status.and_then(|digits| digits.parse::<u16>().ok());
    status.is_some_and(|status| (300..500).contains(&status) && !matches!(status, 408 | 425 | 429))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_in_a_private_network_has_the_same_message() {
        for stderr in ["fatal: repository 'http://10.0.0.1/x/' not found", "fatal: Connection refused"] {
            let error = GitError { verb: "fetch".to_owned(), code: Some(128), stderr: stderr.to_owned() };
            let error = CheckoutError::fetch(error, true, Some("key"));
            assert_eq!((error.to_string().as_str(), error.failure), ("could not fetch", None));
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            assert_eq!(cause, Some(format!("git fetch failed: {stderr}")));
        }
    }

    #[test]
    fn permanent_and_transient_errors_are_distinguished() {
        for (stderr, permanent) in [
            ("fatal: repository 'http://git.test/x/' not found", true),
            ("fatal: could not read Username for 'https://git.test': terminal prompts disabled", true),
            ("fatal: Authentication failed for 'https://git.test/x/'", true),
            ("fatal: unable to access 'http://g/': The requested URL returned error: 403", true),
            ("fatal: unable to access 'http://g/': The requested URL returned error: 302", true),
            ("fatal: transport 'file' not allowed", true),
            ("git@git.test: Permission denied (publickey).", true),
            ("fatal: '/srv/x' does not appear to be a git repository", true),
            ("fatal: unable to access 'http://g/': The requested URL returned error: 500", false),
            ("fatal: unable to access 'http://g/': The requested URL returned error: 429", false),
            (
                "fatal: unable to access 'http://g/': Failed to connect to g port 80: Connection refused",
                false,
            ),
            ("fatal: unable to access 'http://g/': Could not resolve host: g", false),
            ("fatal: unable to access 'http://g/': Operation timed out after 1000 milliseconds", false),
            ("ssh: connect to host g port 22: Connection timed out", false),
            ("error: RPC failed; curl 56 Recv failure: Connection reset by peer", false),
        ] {
            assert_eq!(is_permanent(stderr), permanent, "{stderr}");
        }
    }
}
