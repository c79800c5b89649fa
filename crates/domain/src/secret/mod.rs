//! Secrets: values that steps get and that no user can read back. Which of several secrets of one name a step
//! gets, and whether it may have it, is decided here; sealing is the job of the crate `keys`.

mod checkout;
mod choice;
mod policy;
mod scope;
mod sealed;
mod value;
mod version;

pub use self::checkout::Checkout;
pub use self::choice::{Branch, Candidate, Place, Refusal, Rule, choose, choose_credential};
pub use self::policy::{InvalidPolicy, MAX_ENTRIES, Policy, Usage, UsageKind};
pub use self::scope::{InvalidScope, ScopeKind, SecretScope};
pub use self::sealed::{
    CredentialPlace, ForgeCredentialPlace, ModelCredentialPlace, SealedValue, ValuePlace, WrappedKey,
};
pub use self::value::{InvalidValue, MAX_BYTES, MAX_STEP_BYTES, MIN_CHARACTERS, Secret};
pub use self::version::{VersionRefusal, VersionStatus, activated, destroyed};

use crate::id::SecretId;
use crate::slug::{InvalidSlug, Slug};

/// Returns whether a text can be the name of a secret: a slug, which may be a reserved one.
pub fn is_name(text: &str) -> bool {
    !matches!(text.parse::<Slug>(), Err(InvalidSlug::Shape))
}

/// Returns the subject of a secret's events. That of a pipeline's secret begins with the pipeline, so that
/// tokens that are limited to pipelines find it.
pub fn subject(scope: &SecretScope, id: SecretId) -> String {
    match scope.pipeline() {
        Some(pipeline) => format!("pipelines/{pipeline}/secrets/{id}"),
        None => format!("secrets/{id}"),
    }
}
