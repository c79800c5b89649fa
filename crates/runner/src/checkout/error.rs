//! Why a checkout failed: a mistake that a retry can't fix, or something that may pass.

use greenroom_api_types::runner::PermanentFailure;

/// A failed checkout. The message is for people who can see the deployment; what git printed goes to the runner's log, because
/// it tells which addresses and ports answer in the runner's network.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct CheckoutError {
    /// What the user has to change; `None` if a retry may help.
    pub failure: Option<PermanentFailure>,
    message: String,
}

impl CheckoutError {
    pub(super) fn transient(message: impl Into<String>) -> Self {
        CheckoutError { failure: None, message: message.into() }
    }

    /// What a checkout reports of a server that can't be reached, and of everything in a private network.
    pub(super) fn could_not_fetch() -> Self {
        Self::transient("could not fetch")
    }

    pub(super) fn commit(message: impl Into<String>) -> Self {
        CheckoutError { failure: Some(PermanentFailure::CommitNotFound), message: message.into() }
    }

    pub(super) fn not_on_branch(message: impl Into<String>) -> Self {
        CheckoutError { failure: Some(PermanentFailure::CommitNotOnBranch), message: message.into() }
    }

    pub(super) fn repository(message: impl Into<String>) -> Self {
        CheckoutError { failure: Some(PermanentFailure::RepositoryUnavailable), message: message.into() }
    }

    /// A fetch that failed with these words of git on its standard error. In a private network a definite answer is not told
    /// from none, because it would tell that something listens there.
    pub(super) fn fetch(error: &GitError, is_private: bool) -> Self {
        tracing::warn!(%error, "could not fetch");
        if is_definite(&error.words) && !is_private {
            return Self::repository(
                "could not fetch: the address is not that of a repository which this runner may read",
            );
        }
        Self::could_not_fetch()
    }
}

/// What became of one call of git.
#[derive(Debug, thiserror::Error)]
#[error("git {verb} failed: {words}")]
pub(super) struct GitError {
    pub(super) verb: String,
    /// The exit code; `None` if git could not be run or was killed.
    pub(super) code: Option<i32>,
    /// What it wrote to its standard error.
    pub(super) words: String,
}

impl From<GitError> for CheckoutError {
    /// Of a call that reaches no server.
    fn from(error: GitError) -> Self {
        CheckoutError::transient(error.to_string())
    }
}

/// Answers that stay the same until somebody changes the repository, its address or the runner's rights.
const DEFINITE: [&str; 14] = [
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

/// Whether the server, or git itself, has given a definite answer. A connection that was not made, a timeout, and a server
/// that is in trouble (5xx, 408, 429) are not: they are tried again.
fn is_definite(words: &str) -> bool {
    if DEFINITE.iter().any(|known| words.contains(known)) {
        return true;
    }
    let status = words.split("The requested URL returned error: ").nth(1).and_then(|rest| rest.get(..3));
    let status = status.and_then(|digits| digits.parse::<u16>().ok());
    status.is_some_and(|status| (300..500).contains(&status) && !matches!(status, 408 | 425 | 429))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_private_network_every_answer_reads_the_same() {
        for words in ["fatal: repository 'http://10.0.0.1/x/' not found", "fatal: Connection refused"] {
            let error = GitError { verb: "fetch".to_owned(), code: Some(128), words: words.to_owned() };
            let error = CheckoutError::fetch(&error, true);
            assert_eq!((error.to_string().as_str(), error.failure), ("could not fetch", None));
        }
    }

    #[test]
    fn definite_answers_and_what_may_pass() {
        for (words, definite) in [
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
            assert_eq!(is_definite(words), definite, "{words}");
        }
    }
}
