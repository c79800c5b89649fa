//! The forms in which a secret can appear in a log.

use base64::Engine;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Shorter values and forms are not masked.
pub(super) const MIN_BYTES: usize = 6;

type Encoding = fn(&[u8]) -> Vec<Vec<u8>>;

/// The encodings, the most likely ones first.
pub(super) const ENCODINGS: [Encoding; 2] = [unchanged, base64];

/// Returns the parts of a value that are secret by themselves.
pub(super) fn parts(secret: &[u8]) -> Vec<Vec<u8>> {
    vec![secret.to_vec()]
}

fn unchanged(part: &[u8]) -> Vec<Vec<u8>> {
    vec![part.to_vec()]
}

/// Returns the letters of a part within a longer encoded text. They depend on the number of bytes before it,
/// modulo three. Letters at both ends that also contain bits of neighboring bytes are left out.
fn base64_letters(engine: &GeneralPurpose, part: &[u8]) -> Vec<Vec<u8>> {
    let aligned = |before: usize| {
        let mut padded = vec![0; before];
        padded.extend_from_slice(part);
        let skip = (before * 8).div_ceil(6);
        let keep = padded.len() * 8 / 6;
        engine.encode(&padded).into_bytes()[skip..keep].to_vec()
    };
    (0..3).map(aligned).collect()
}

const ALPHABETS: [&GeneralPurpose; 2] = [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD];

fn base64(part: &[u8]) -> Vec<Vec<u8>> {
    ALPHABETS.into_iter().flat_map(|alphabet| base64_letters(alphabet, part)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;
    use crate::log::{SecretPatterns, mask};

    fn masked(secret: &str, text: &str) -> String {
        let patterns = SecretPatterns::new([("secret", secret.as_bytes())]).unwrap();
        mask(&Arc::new(patterns), text)
    }

    #[test]
    fn base64_is_masked_at_every_position_in_both_alphabets() {
        let secret = "correct horse? battery~~";
        for before in 0..7 {
            for after in 0..4 {
                let text = ["<".repeat(before), secret.to_owned(), ">".repeat(after)].concat();
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    let out = masked(secret, &encoded);
                    // Only the letters of the neighboring bytes are left, and those shared with them.
                    assert!(out.len() - 3 <= (before + after) * 8 / 6 + 6, "{out} of {encoded}");
                    assert!(out.contains("***"), "{encoded}");
                }
            }
        }
    }
}
