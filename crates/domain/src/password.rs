//! Passwords, as far as they can be checked without computing anything.

use std::fmt;

/// A shorter one is guessed too easily, whatever it consists of.
pub const MIN_LENGTH: usize = 12;
pub const MAX_LENGTH: usize = 128;

/// The text of a password. It has neither `Display` nor `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPassword {
    #[error("must have {} characters at least", MIN_LENGTH)]
    TooShort,
    #[error("must have {} characters at most", MAX_LENGTH)]
    TooLong,
    #[error("must not contain control characters")]
    Control,
}

impl Password {
    /// Checks a new password. Spaces count: nothing is trimmed.
    pub fn new(text: &str) -> Result<Self, InvalidPassword> {
        let length = text.chars().count();
        if length < MIN_LENGTH {
            Err(InvalidPassword::TooShort)
        } else if length > MAX_LENGTH {
            Err(InvalidPassword::TooLong)
        } else if text.chars().any(char::is_control) {
            Err(InvalidPassword::Control)
        } else {
            Ok(Self(text.to_owned()))
        }
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_and_characters() {
        assert_eq!(Password::new("short"), Err(InvalidPassword::TooShort));
        assert_eq!(Password::new(&"x".repeat(11)), Err(InvalidPassword::TooShort));
        assert!(Password::new(&"ä".repeat(12)).is_ok());
        assert!(Password::new(&"x".repeat(128)).is_ok());
        assert_eq!(Password::new(&"x".repeat(129)), Err(InvalidPassword::TooLong));
        assert_eq!(Password::new("twelve\ncharacters"), Err(InvalidPassword::Control));
    }

    #[test]
    fn debug_hides_the_password() {
        assert_eq!(format!("{:?}", Password::new("correct horse battery").unwrap()), "Password(…)");
    }
}
