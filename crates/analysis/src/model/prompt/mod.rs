//! What is sent to a model: constant instructions, data, and a JSON Schema made for this request. Pure.

mod context;
mod data;
mod instructions;
mod schema;

pub use self::context::{Change, ChangeKind, EvidenceItem, FailureContext, InvalidItem};
pub use self::data::{MAX_DATA_BYTES, PromptCounts};
pub use self::instructions::PROMPT_VERSION;
pub(super) use self::schema::{MAX_CAUSE_CHARACTERS, MAX_NEXT, MAX_NEXT_CHARACTERS, Schema};

use sha2::{Digest, Sha256};

use self::data::Data;
use self::instructions::INSTRUCTIONS;

/// A complete prompt. Nothing else about a failure leaves the process.
#[derive(Clone, Debug)]
pub struct Prompt {
    data: Data,
    schema: Schema,
    schema_json: String,
}

impl Prompt {
    pub fn new(context: &FailureContext) -> Result<Self, InvalidItem> {
        context.check()?;
        let data = Data::render(context);
        let schema = Schema::new(&context.categories, &data.evidence_ids, &data.change_ids);
        let schema_json = serde_json::to_string(&schema).unwrap_or_default();
        Ok(Self { data, schema, schema_json })
    }

    /// Returns our part, which is the same in all prompts of a version.
    pub const fn instructions(&self) -> &'static str {
        INSTRUCTIONS
    }

    /// Returns the fenced data.
    pub fn data(&self) -> &str {
        &self.data.text
    }

    /// Returns the JSON Schema of the response. An endpoint that does not support bounds on lengths gets it without them.
    pub fn schema_json(&self) -> &str {
        &self.schema_json
    }

    /// Returns everything that leaves the process, for display.
    pub fn text(&self) -> String {
        format!("{}\n\n{}\n\n{}\n", self.instructions(), self.data(), self.schema_json())
    }

    /// Returns the SHA-256 of [`Self::text`], in hexadecimal digits.
    pub fn hash(&self) -> String {
        hash(&self.text())
    }

    /// Returns the SHA-256 of the instructions, in hexadecimal digits.
    pub fn instructions_hash() -> String {
        hash(INSTRUCTIONS)
    }

    pub fn counts(&self) -> PromptCounts {
        self.data.counts
    }

    /// Returns the length of everything that leaves the process.
    pub fn bytes(&self) -> usize {
        self.text().len()
    }

    pub(super) const fn schema(&self) -> &Schema {
        &self.schema
    }
}

fn hash(text: &str) -> String {
    format!("{:x}", Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
