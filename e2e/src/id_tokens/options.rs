//! The options of the id tokens' run.

use std::path::PathBuf;

use clap::Args;

/// The server reads its signing keys again after a minute. A new one is first published, then used.
const KEY_REPLACEMENT_SECONDS: u64 = 150;

#[derive(Clone, Debug, Args)]
pub(crate) struct IdTokens {
    /// How long the step exchanges its tokens.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(30..=3_600))]
    pub(super) seconds: u64,
    /// How long a token is valid.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(10..=3_600))]
    pub(super) token_seconds: u64,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    pub(super) json: bool,
    /// Keep the folder with logs and data in .stack.
    #[arg(long)]
    pub(super) keep: bool,
    /// Folder of greenroomd, greenroom-runner and greenroom-entry; this program's own if omitted.
    #[arg(long)]
    pub(super) bin_dir: Option<PathBuf>,
    /// Path of greenroom-entry, if it is not in that folder.
    #[arg(long)]
    pub(super) entry: Option<PathBuf>,
}

impl IdTokens {
    /// Returns how many times a token has to be renewed at least: it must be replaced before it expires.
    pub(super) const fn least_refreshes(&self) -> u64 {
        (self.seconds - 1) / self.token_seconds
    }

    /// When the signing key is replaced, if the step runs long enough to get tokens of both keys.
    pub(super) const fn key_replacement_at(&self) -> Option<u64> {
        let at = self.seconds / 3;
        if self.seconds - at > KEY_REPLACEMENT_SECONDS + self.token_seconds { Some(at) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;

    fn parsed(arguments: &[&str]) -> IdTokens {
        let command = IdTokens::augment_args(Command::new("id-tokens").no_binary_name(true));
        IdTokens::from_arg_matches(&command.get_matches_from(arguments)).unwrap()
    }

    #[test]
    fn only_a_long_run_replaces_the_signing_key() {
        let short = parsed(&[]);
        assert_eq!((short.least_refreshes(), short.key_replacement_at()), (2, None));
        let long = parsed(&["--seconds", "1500", "--token-seconds", "600"]);
        assert_eq!((long.least_refreshes(), long.key_replacement_at()), (2, Some(500)));
    }
}
