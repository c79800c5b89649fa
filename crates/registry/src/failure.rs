//! Explains why git has failed, by its exit code and its standard error. Pure. The server can influence that text, so
//! it decides only about the reason, and is not a part of it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::bounds::Bounds;
use crate::error::RegistryError;
use crate::source::Source;

/// `prlimit` could not run git.
const COULD_NOT_RUN: [i32; 2] = [126, 127];
const SIGXCPU: i32 = 24;
const SIGXFSZ: i32 = 25;
/// What git prints if a limit has ended one of its processes.
const LIMIT_TEXTS: [&str; 10] = [
    "died of signal 24",
    "died of signal 25",
    // The hard limit of the time.
    "died of signal 9",
    "File too large",
    "Out of memory",
    "out of memory",
    "mmap failed",
    "size_t overflow",
    "unable to create thread",
    "exceeded maximum allowed tree depth",
];
const UNREACHABLE_TEXTS: [&str; 6] = [
    "Failed to connect",
    "Could not connect",
    "Couldn't connect",
    "Connection refused",
    "Connection timed out",
    "Could not resolve host",
];

/// Why a call of git has failed.
pub(crate) enum GitFailure {
    TooMuchOutput,
    /// A limit of memory, time or file size has ended a process.
    Limit,
    Registry(RegistryError),
}

impl From<RegistryError> for GitFailure {
    fn from(error: RegistryError) -> Self {
        Self::Registry(error)
    }
}

impl GitFailure {
    /// Returns `limit` if the call has exceeded a limit.
    pub(crate) fn or_limit(self, limit: RegistryError) -> RegistryError {
        match self {
            Self::TooMuchOutput | Self::Limit => limit,
            Self::Registry(error) => error,
        }
    }
}

pub(crate) fn explain(
    verb: &str,
    status: ExitStatus,
    stderr: &str,
    source: &Source,
    bounds: &Bounds,
) -> GitFailure {
    if status.code().is_some_and(|code| COULD_NOT_RUN.contains(&code)) {
        return RegistryError::Program.into();
    }
    // Lines with this prefix are from the server.
    let own: String =
        stderr.lines().filter(|line| !line.starts_with("remote:")).collect::<Vec<_>>().join("\n");
    let contains_any = |texts: &[&str]| texts.iter().any(|text| own.contains(text));
    if matches!(status.signal(), Some(SIGXCPU | SIGXFSZ))
        || contains_any(&LIMIT_TEXTS)
        || is_index_pack_killed(&own)
    {
        return GitFailure::Limit;
    }
    let verb = match verb {
        "ls-remote" => "ls-remote",
        "fetch" => "fetch",
        "init" => "init",
        "for-each-ref" => "for-each-ref",
        "ls-tree" => "ls-tree",
        _ => "cat-file",
    };
    if !matches!(verb, "ls-remote" | "fetch") {
        return RegistryError::Git { verb, code: status.code() }.into();
    }
    let error = if let Some(check) = malformed_object(&own) {
        RegistryError::Malformed(check)
    } else if contains_any(&["Operation too slow"]) {
        RegistryError::TooSlow(bounds.low_speed_timeout)
    } else if contains_any(&["could not read Username", "could not read Password"]) {
        RegistryError::CredentialRequired
    } else if contains_any(&["Authentication failed"]) {
        RegistryError::CredentialRefused
    } else if let Some(code) = http_status(&own) {
        match code {
            300..=399 => RegistryError::Redirect,
            401 | 403 if source.credential().is_none() => RegistryError::CredentialRequired,
            401 | 403 => RegistryError::CredentialRefused,
            404 => RegistryError::NotFound,
            _ => RegistryError::Status(code),
        }
    } else if contains_any(&["repository '"]) && own.contains("not found") {
        RegistryError::NotFound
    } else if contains_any(&["certificate", "SSL", "TLS", "gnutls", "schannel"]) {
        RegistryError::Certificate
    } else if contains_any(&UNREACHABLE_TEXTS) {
        RegistryError::Unreachable
    } else {
        RegistryError::Protocol
    };
    error.into()
}

/// Returns whether `git index-pack` was killed by a signal. If it fails in another way, it prints an error message, which git
/// prints before this line.
fn is_index_pack_killed(text: &str) -> bool {
    text.lines().filter(|line| line.starts_with("fatal: ") || line.starts_with("error: ")).collect::<Vec<_>>()
        == ["fatal: fetch-pack: invalid index-pack output"]
}

/// Finds the status in `The requested URL returned error: 404`.
fn http_status(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("returned error: ")?;
    rest.get(..3)?.parse().ok()
}

/// Finds the name of the check in `error: object ID: hasDotdot: contains '..'`.
fn malformed_object(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix("error: object ").or_else(|| line.strip_prefix("fatal: object "))?;
        let (_, rest) = rest.split_once(": ")?;
        let (check, _) = rest.split_once(": ")?;
        let is_name =
            !check.is_empty() && check.len() <= 40 && check.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_name.then(|| check.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(code: i32, stderr: &str) -> String {
        let source = Source::new("https://git.example/x", None).unwrap();
        let status = ExitStatus::from_raw(code << 8);
        match explain("fetch", status, stderr, &source, &Bounds::default()) {
            GitFailure::TooMuchOutput => "output".to_owned(),
            GitFailure::Limit => "limit".to_owned(),
            GitFailure::Registry(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn the_reason_is_found_in_what_git_prints() {
        let access = "fatal: unable to access 'https://git.example/x/': ";
        for (stderr, reason) in [
            ("error: index-pack died of signal 25\nfatal: index-pack failed", "limit"),
            ("fatal: fetch-pack: invalid index-pack output", "limit"),
            ("fatal: early EOF\nfatal: fetch-pack: invalid index-pack output", "Protocol"),
            ("fatal: Out of memory, realloc failed (tried to allocate 33554432 bytes)", "limit"),
            (
                "fatal: fsck error in packed object\nerror: object 1a: hasDotdot: contains '..'",
                "Malformed(\"hasDotdot\")",
            ),
            ("error: object 1a: <b>x</b>: contains '..'", "Protocol"),
            (&format!("{access}The requested URL returned error: 302"), "Redirect"),
            (&format!("{access}The requested URL returned error: 503"), "Status(503)"),
            (&format!("{access}Operation too slow. Less than 1000 bytes/sec"), "TooSlow(10s)"),
            (&format!("{access}SSL certificate problem: self-signed certificate"), "Certificate"),
            (&format!("{access}Failed to connect to git.example port 443"), "Unreachable"),
            (
                "fatal: could not read Username for 'https://git.example': terminal prompts disabled",
                "CredentialRequired",
            ),
            ("fatal: Authentication failed for 'https://git.example/x/'", "CredentialRefused"),
            ("fatal: repository 'https://git.example/x/' not found", "NotFound"),
            // A text of the server.
            ("remote: Out of memory\nremote: The requested URL returned error: 404", "Protocol"),
            ("", "Protocol"),
        ] {
            assert_eq!(explained(128, stderr), reason, "{stderr}");
        }
        assert_eq!(explained(127, ""), "Program");
    }
}
