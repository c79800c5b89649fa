//! Id tokens: what a step proves about itself to a relying party, such as a cloud, without a stored secret.

mod claims;
mod signing_key;

pub use self::claims::{Claims, StepIdentity, TokenEnvironment, Validity};
pub use self::signing_key::{PublicKey, SealedSigningKey};
