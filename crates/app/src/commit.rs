//! The commit that a request names.

use greenroom_domain::text::CommitId;

use crate::failure::Failure;

/// Parses the field `commitId`. Hooks send it with a line break at its end, and some tools in capital letters.
pub fn parse(text: &str) -> Result<CommitId, Failure> {
    CommitId::new(&text.trim().to_ascii_lowercase()).map_err(|error| {
        let hint = "a branch is not a commit; send its name as `branch`, beside `commitId`";
        Failure::field("/commitId", format!("{error}: {hint}"))
    })
}
