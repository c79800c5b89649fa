//! Decides when the keys of an issuer are requested again. An attacker can send any number of tokens with invented key
//! ids; the issuer must not notice them.

use std::time::Duration;

/// For how long keys are used without a request.
pub const KEY_TTL: Duration = Duration::from_secs(300);
/// For how long keys are used while requests fail. After that they are not: the issuer may have withdrawn one.
pub const KEY_MAX_AGE: Duration = Duration::from_secs(3_600);
/// At most one request per issuer in this time, whether or not it succeeded.
pub const REFETCH_INTERVAL: Duration = Duration::from_secs(60);

/// What is cached for an issuer. Ages are measured by a monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyCacheState {
    /// The age of the keys. `None`: there are none.
    pub keys: Option<Duration>,
    /// The time since the last request. `None`: there was none.
    pub last_request: Option<Duration>,
    /// Whether the keys contain the one that the token names.
    pub has_key: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyCacheDecision {
    UseCached,
    Request,
    /// The token is rejected without a request.
    Reject,
}

/// Called before a request, and again after one, with its result.
pub fn decide_key_use(state: KeyCacheState) -> KeyCacheDecision {
    let is_known = |max_age: Duration| state.has_key && state.keys.is_some_and(|age| age < max_age);
    let may_request = state.last_request.is_none_or(|age| age >= REFETCH_INTERVAL);
    if is_known(KEY_TTL) {
        KeyCacheDecision::UseCached
    } else if may_request {
        KeyCacheDecision::Request
    } else if is_known(KEY_MAX_AGE) {
        KeyCacheDecision::UseCached
    } else {
        KeyCacheDecision::Reject
    }
}

#[cfg(test)]
mod tests {
    use super::KeyCacheDecision::*;
    use super::*;

    #[test]
    fn an_unknown_key_is_requested_once_a_minute() {
        for (keys, last_request, has_key, decision) in [
            (None, None, false, Request),
            (Some(0), Some(0), true, UseCached),
            (Some(299), Some(299), true, UseCached),
            (Some(300), Some(300), true, Request),
            // Replaced keys: found after a minute at most.
            (Some(10), Some(10), false, Reject),
            (Some(59), Some(59), false, Reject),
            (Some(60), Some(60), false, Request),
            // The last request failed.
            (Some(100), Some(40), false, Reject),
            (Some(400), Some(59), true, UseCached),
            (Some(400), Some(60), true, Request),
            (Some(3_599), Some(0), true, UseCached),
            (Some(3_600), Some(0), true, Reject),
            (None, Some(59), false, Reject),
            (None, Some(60), false, Request),
        ] {
            let state = KeyCacheState {
                keys: keys.map(Duration::from_secs),
                last_request: last_request.map(Duration::from_secs),
                has_key,
            };
            assert_eq!(decide_key_use(state), decision, "{state:?}");
        }
    }
}
