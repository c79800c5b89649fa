//! Clean-ups that failed: when the sweeper repeats them, and when a teardown may be repeated at all.

use jiff::{SignedDuration, Timestamp};

/// How long after a failure the sweeper repeats a teardown: the first, the second and the third time.
pub const REPEAT_AFTER: [SignedDuration; 3] =
    [SignedDuration::from_mins(5), SignedDuration::from_hours(1), SignedDuration::from_hours(24)];

/// When the sweeper repeats a teardown that has just failed. `tries`: how often it has repeated it so far. `None`: it has
/// tried often enough, and a maintainer has to look at it.
pub fn next_try(tries: u32, failed_at: Timestamp) -> Option<Timestamp> {
    let after = REPEAT_AFTER.get(usize::try_from(tries).ok()?)?;
    failed_at.checked_add(*after).ok()
}

/// How an environment stands. `D` names a deployment, `S` a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupFacts<D, S> {
    /// The teardown that failed last, if none has succeeded since.
    pub failed: Option<D>,
    /// What has the work slot.
    pub slot: Option<D>,
    pub holder: Option<S>,
    /// A deployment of a session has begun there after that teardown.
    pub deployed_since: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRepeated<D, S> {
    NotFailed,
    /// Another deployment acts on the environment.
    SlotTaken(D),
    /// Whoever holds it has something deployed there, or took it over with something deployed: repeating the teardown would
    /// destroy that. The teardown at the end of the session cleans up both.
    InUse(S),
}

/// The failed teardown to repeat.
pub fn may_repeat<D, S>(facts: CleanupFacts<D, S>) -> Result<D, NotRepeated<D, S>> {
    match facts {
        CleanupFacts { failed: None, .. } => Err(NotRepeated::NotFailed),
        CleanupFacts { slot: Some(occupant), .. } => Err(NotRepeated::SlotTaken(occupant)),
        CleanupFacts { holder: Some(session), deployed_since: true, .. } => Err(NotRepeated::InUse(session)),
        CleanupFacts { failed: Some(failed), .. } => Ok(failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_repeated_after_five_minutes_an_hour_and_a_day_and_then_no_more() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let tries: Vec<Option<Timestamp>> = (0..5).map(|tries| next_try(tries, at(1_000))).collect();
        assert_eq!(tries, [Some(at(1_300)), Some(at(4_600)), Some(at(87_400)), None, None]);
    }

    #[test]
    fn it_is_repeated_only_where_it_destroys_nobody_s_work() {
        let facts =
            |failed, slot, holder, deployed_since| CleanupFacts { failed, slot, holder, deployed_since };
        for (facts, expected) in [
            (facts(None, None, None, false), Err(NotRepeated::NotFailed)),
            (facts(Some(1), None, None, false), Ok(1)),
            (facts(Some(1), Some(2), None, false), Err(NotRepeated::SlotTaken(2))),
            (facts(Some(1), Some(2), Some('s'), true), Err(NotRepeated::SlotTaken(2))),
            (facts(Some(1), None, Some('s'), false), Ok(1)),
            (facts(Some(1), None, Some('s'), true), Err(NotRepeated::InUse('s'))),
            (facts(Some(1), None, None, true), Ok(1)),
        ] {
            assert_eq!(may_repeat(facts), expected, "{facts:?}");
        }
    }
}
