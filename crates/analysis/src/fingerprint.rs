//! The fingerprint of a failure: equal failures of a step have the same one, whatever ids, times and numbers
//! their logs contain.

use std::fmt;

use sha2::{Digest, Sha256};

/// Raised whenever templates or this hash change, so that old and new fingerprints are never compared.
const VERSION: u8 = 1;
/// How many bytes of the hash are shown. An organization can only produce collisions among its own failures, which
/// would mix up its own history and nothing else.
const HASH_BYTES: usize = 14;

/// `fp_`, the version, and 28 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(String);

impl Fingerprint {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the fingerprint of a failure from the step (its key in the definition, with that of its stage) and the
/// template of the decisive line (`Decisive::template`).
pub fn fingerprint(step_key: &str, decisive_template: &str) -> Fingerprint {
    let mut hash = Sha256::new();
    // The length separates the two texts, so that no other pair has the same bytes.
    hash.update((step_key.len() as u64).to_le_bytes());
    hash.update(step_key);
    hash.update(decisive_template);
    let digits: String = hash.finalize().iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
    Fingerprint(format!("fp_{VERSION}{digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduce::template;

    #[test]
    fn the_fingerprint_is_stable() {
        let fingerprint = fingerprint("deploy/migrate", "error: schema version # expected");
        assert_eq!(fingerprint.as_str(), "fp_1e81c80184316ccc0c3239cff5357");
    }

    #[test]
    fn numbers_and_ids_do_not_change_it_and_the_step_does() {
        let first = template("ERROR: schema version 41 expected, found 40 (3f2c91e)");
        let second = template("ERROR: schema version 7 expected, found 6 (9ab01d2)");
        assert_eq!(fingerprint("migrate", &first), fingerprint("migrate", &second));
        assert_ne!(fingerprint("migrate", &first), fingerprint("seed", &first));
        assert_ne!(fingerprint("ab", "c"), fingerprint("a", "bc"));
    }
}
