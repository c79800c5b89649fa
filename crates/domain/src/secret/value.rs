//! The plain value of a secret. It can't be printed, logged or serialized, and its memory is overwritten when
//! it is dropped.

use zeroize::Zeroizing;

/// A shorter value can't be masked in logs: it would be found everywhere. Bytes that aren't UTF-8 count as one
/// character each.
pub const MIN_CHARACTERS: usize = 6;
pub const MAX_BYTES: usize = 64 * 1024;
/// The most that all secrets of one step have together.
pub const MAX_STEP_BYTES: usize = 256 * 1024;

/// A plain value. It has neither `Debug` nor `Display` nor `Serialize`, and no `Clone`, so that every copy is
/// visible in the code as a call of [`Secret::reveal`].
pub struct Secret(Zeroizing<Vec<u8>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidValue {
    #[error(
        "must have at least {MIN_CHARACTERS} characters and at most {MAX_BYTES} bytes: a shorter value could not be masked in logs"
    )]
    Length,
    #[error("must not contain NUL: it can't be the value of an environment variable")]
    Nul,
}

impl Secret {
    pub fn new(bytes: Vec<u8>) -> Result<Self, InvalidValue> {
        let value = Self::from_opened(Zeroizing::new(bytes));
        let characters = str::from_utf8(&value.0).map_or(value.0.len(), |text| text.chars().count());
        if characters < MIN_CHARACTERS || value.0.len() > MAX_BYTES {
            return Err(InvalidValue::Length);
        }
        if value.0.contains(&0) {
            return Err(InvalidValue::Nul);
        }
        Ok(value)
    }

    /// Takes a value that was checked when it was sealed.
    pub const fn from_opened(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self(bytes)
    }

    pub fn reveal(&self) -> &[u8] {
        &self.0
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_can_be_masked_and_fits_into_a_variable() {
        for (bytes, expected) in [
            (vec![b'x'; MIN_CHARACTERS - 1], Some(InvalidValue::Length)),
            (vec![b'x'; MIN_CHARACTERS], None),
            (vec![b'x'; MAX_BYTES], None),
            (vec![b'x'; MAX_BYTES + 1], Some(InvalidValue::Length)),
            (b"hunter\x002".to_vec(), Some(InvalidValue::Nul)),
            ("(\u{bc}>v\u{f9}".as_bytes().to_vec(), Some(InvalidValue::Length)),
            ("pässwort\n".as_bytes().to_vec(), None),
            (vec![0xff; 10], None),
        ] {
            assert_eq!(Secret::new(bytes).err(), expected);
        }
    }
}
