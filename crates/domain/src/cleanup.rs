//! Failed clean-ups: when a background task retries a teardown, and when a teardown may be repeated at all.

use jiff::{SignedDuration, Timestamp};

/// The delay after a failure before a teardown is retried automatically: for the first, the second and the
/// third retry.
pub const RETRY_DELAYS: [SignedDuration; 3] =
    [SignedDuration::from_mins(5), SignedDuration::from_hours(1), SignedDuration::from_hours(24)];

/// Returns when a teardown that has just failed is retried automatically, after `retries` earlier retries.
/// `None`: there are no more retries, and a maintainer has to intervene.
pub fn next_retry_at(retries: u32, failed_at: Timestamp) -> Option<Timestamp> {
    let after = RETRY_DELAYS.get(usize::try_from(retries).ok()?)?;
    failed_at.checked_add(*after).ok()
}

/// The state of an environment. `D` identifies a deployment, `S` a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupState<D, S> {
    /// The teardown that failed last, if none has succeeded since.
    pub failed: Option<D>,
    /// The deployment that has the work slot, which means that it acts on the environment.
    pub slot_holder: Option<D>,
    pub holder: Option<S>,
    /// A deployment of a session has started after the failed teardown.
    pub deployed_since: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRepeated<D, S> {
    NotFailed,
    /// Another deployment acts on the environment.
    SlotTaken(D),
    /// The holder has deployed something, or took over the environment with something deployed. Repeating the
    /// teardown would destroy that. The teardown at the end of the session cleans up both.
    InUse(S),
}

/// Returns the failed teardown to repeat.
pub fn teardown_to_repeat<D, S>(state: CleanupState<D, S>) -> Result<D, NotRepeated<D, S>> {
    match state {
        CleanupState { failed: None, .. } => Err(NotRepeated::NotFailed),
        CleanupState { slot_holder: Some(occupant), .. } => Err(NotRepeated::SlotTaken(occupant)),
        CleanupState { holder: Some(session), deployed_since: true, .. } => Err(NotRepeated::InUse(session)),
        CleanupState { failed: Some(failed), .. } => Ok(failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_follow_after_five_minutes_an_hour_and_a_day() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let retries: Vec<Option<Timestamp>> =
            (0..5).map(|retries| next_retry_at(retries, at(1_000))).collect();
        assert_eq!(retries, [Some(at(1_300)), Some(at(4_600)), Some(at(87_400)), None, None]);
    }

    #[test]
    fn a_teardown_is_repeated_only_if_it_destroys_no_deployment() {
        let state = |failed, slot_holder, holder, deployed_since| CleanupState {
            failed,
            slot_holder,
            holder,
            deployed_since,
        };
        for (state, expected) in [
            (state(None, None, None, false), Err(NotRepeated::NotFailed)),
            (state(Some(1), None, None, false), Ok(1)),
            (state(Some(1), Some(2), None, false), Err(NotRepeated::SlotTaken(2))),
            (state(Some(1), Some(2), Some('s'), true), Err(NotRepeated::SlotTaken(2))),
            (state(Some(1), None, Some('s'), false), Ok(1)),
            (state(Some(1), None, Some('s'), true), Err(NotRepeated::InUse('s'))),
            (state(Some(1), None, None, true), Ok(1)),
        ] {
            assert_eq!(teardown_to_repeat(state), expected, "{state:?}");
        }
    }
}
