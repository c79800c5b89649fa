//! The tokens that a request has used.

use super::limits::Limits;
use super::prompt::Prompt;

/// A provider can report any number. More than this is not believed, so that sums can be stored.
const MAX_REPORTED_TOKENS: u64 = 10_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Whether a part of it is our upper bound, because the provider has reported nothing.
    pub is_estimated: bool,
}

impl Usage {
    pub(super) fn reported(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens: input_tokens.min(MAX_REPORTED_TOKENS),
            output_tokens: output_tokens.min(MAX_REPORTED_TOKENS),
            is_estimated: false,
        }
    }

    /// Returns the most that a request can have used of which no complete response was received.
    pub(super) fn upper_bound(prompt: &Prompt, limits: &Limits) -> Self {
        Self {
            input_tokens: prompt.bytes() as u64,
            output_tokens: limits.max_output_tokens.into(),
            is_estimated: true,
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.is_estimated |= other.is_estimated;
    }

    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}
