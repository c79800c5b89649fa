//! How long a token that was made by an exchange is valid.

use jiff::{SignedDuration, Timestamp};

const MIN_SECONDS: i64 = 60;
const MAX_SECONDS: i64 = 3_600;

/// The lifetime that a policy gives to tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangedLifetime(SignedDuration);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be between {MIN_SECONDS} and {MAX_SECONDS}")]
pub struct InvalidLifetime;

impl ExchangedLifetime {
    /// The longest one: jobs that take longer exchange again, with the earlier token as `actor_token`.
    pub const DEFAULT: Self = Self(SignedDuration::from_secs(MAX_SECONDS));

    pub fn from_seconds(seconds: i64) -> Result<Self, InvalidLifetime> {
        let is_valid = (MIN_SECONDS..=MAX_SECONDS).contains(&seconds);
        if is_valid { Ok(Self(SignedDuration::from_secs(seconds))) } else { Err(InvalidLifetime) }
    }

    pub const fn seconds(self) -> i64 {
        self.0.as_secs()
    }

    /// Returns when a token that is made now expires. It does not depend on the token that was exchanged, which is
    /// valid for minutes in most CI systems.
    pub fn expiry(self, now: Timestamp) -> Timestamp {
        now.saturating_add(self.0).unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_has_bounds() {
        for (seconds, is_valid) in
            [(60, true), (3_600, true), (59, false), (3_601, false), (0, false), (-1, false)]
        {
            assert_eq!(ExchangedLifetime::from_seconds(seconds).is_ok(), is_valid, "{seconds}");
        }
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let expiry = ExchangedLifetime::DEFAULT.expiry(now);
        assert_eq!(expiry.duration_since(now), SignedDuration::from_hours(1));
    }
}
