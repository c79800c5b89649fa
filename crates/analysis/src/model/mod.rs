//! What a model concludes from the evidence of a failure. A model is optional: evidence and verdict exist without it.
//!
//! The text of logs, titles, file names and definitions is an attacker's. The model reads it and may follow it, so
//! nothing is done because of what it returns: an [`Explanation`] selects ids that we have given to it, and its
//! sentences are shown as plain text. It has no tools, no memory, and no secret in its prompt.
//!
//! - [`Prompt`]: constant instructions, at most 24 KiB of data, and a JSON Schema made for this request. Secrets are
//!   masked once more (`text/mask.rs`), and each text is fenced by a marker that it can't contain.
//! - [`HttpModel`]: sends it to one endpoint, OpenAI-compatible or Anthropic's, with limits and retries.
//! - [`Transport`]: how a request is sent. [`OutboundTransport`] sends it by the client that the caller hands in, which checks
//!   addresses, follows no redirect, and bounds time and length.

mod client;
mod error;
mod explanation;
mod limits;
mod outbound;
mod prompt;
mod retries;
mod text;
mod transport;
mod usage;
mod wire;

pub use self::client::HttpModel;
pub use self::error::{ModelError, ModelFailure};
pub use self::limits::Limits;
pub use self::outbound::OutboundTransport;
pub use self::prompt::{
    Change, ChangeKind, EvidenceItem, FailureContext, InvalidItem, MAX_DATA_BYTES, PROMPT_VERSION, Prompt,
    PromptCounts,
};
pub use self::transport::{Exchange, Transport, TransportError};
pub use self::usage::Usage;

pub use greenroom_domain::model::{Confidence, Explanation};
use greenroom_domain::secret::Secret;

/// What an endpoint has returned for a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    pub explanation: Explanation,
    /// Of all attempts together.
    pub usage: Usage,
    /// How many times it was tried.
    pub attempts: u32,
}

/// A model that explains failures.
pub trait Model {
    /// Sends a prompt. The key is used for this call alone: it is neither stored nor part of an error.
    fn explain(
        &self,
        prompt: &Prompt,
        key: Option<&Secret>,
        limits: &Limits,
    ) -> impl Future<Output = Result<Completion, ModelFailure>> + Send;
}
