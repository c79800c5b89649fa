//! Time zones by their IANA name, from the database that is compiled in. The system's database is never read:
//! all servers have to decide the same.

use std::sync::LazyLock;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ToSpan};

use crate::definition::nearest;

static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The first Monday of 1970. Wall-clock minutes are counted from its 00:00.
const MONDAY: DateTime = DateTime::constant(1970, 1, 5, 0, 0, 0, 0);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    name: String,
    time_zone: TimeZone,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a time zone such as `Europe/Berlin`{}", did_you_mean(.suggestion.as_deref()))]
pub struct UnknownZone {
    name: String,
    suggestion: Option<String>,
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

impl Zone {
    pub fn new(name: &str) -> Result<Self, UnknownZone> {
        let found = DATABASE.get(name).ok().filter(|time_zone| !time_zone.is_unknown());
        let Some(time_zone) = found else {
            let known: Vec<_> = DATABASE.available().collect();
            let suggestion = nearest(name, known.iter().map(|known| known.as_str()));
            return Err(UnknownZone { name: name.to_owned(), suggestion: suggestion.map(str::to_owned) });
        };
        // The look-up ignores case; the name is kept as the database spells it.
        let name = time_zone.iana_name().unwrap_or(name).to_owned();
        Ok(Self { name, time_zone })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what the wall clock shows, in whole minutes since [`MONDAY`].
    pub(super) fn wall_minute(&self, at: Timestamp) -> i64 {
        let shown = self.time_zone.to_datetime(at);
        shown.duration_since(MONDAY).as_secs().div_euclid(60)
    }

    /// Returns when the wall clock shows this minute for the first time. If it never does, because the clock is
    /// moved forward over it, returns when the clock is moved.
    pub(super) fn first(&self, wall_minute: i64) -> Option<Timestamp> {
        let shown = MONDAY.checked_add(wall_minute.minutes()).ok()?;
        match self.time_zone.to_ambiguous_timestamp(shown).offset() {
            AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
                offset.to_timestamp(shown).ok()
            }
            AmbiguousOffset::Gap { after, .. } => self.end_of_gap(shown, after),
        }
    }

    /// Returns when the wall clock has passed this minute: from then on it shows no earlier time any more. So of a
    /// time that it shows twice, this is the second, unless the clock is moved back to exactly that time.
    pub(super) fn passed(&self, wall_minute: i64) -> Option<Timestamp> {
        let shown = MONDAY.checked_add(wall_minute.minutes()).ok()?;
        match self.time_zone.to_ambiguous_timestamp(shown).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(shown).ok(),
            AmbiguousOffset::Fold { before, after } => {
                let second = after.to_timestamp(shown).ok()?;
                let is_moved_then = self.time_zone.to_offset(second.checked_sub(1.second()).ok()?) == before;
                if is_moved_then { before.to_timestamp(shown).ok() } else { Some(second) }
            }
            AmbiguousOffset::Gap { after, .. } => self.end_of_gap(shown, after),
        }
    }

    /// Returns when the clock is moved over the skipped time `shown`.
    fn end_of_gap(&self, shown: DateTime, after: jiff::tz::Offset) -> Option<Timestamp> {
        // With the offset that holds after the gap, a skipped time is before it, by less than the gap's length.
        let before_gap = after.to_timestamp(shown).ok()?;
        let mut changes = self.time_zone.following(before_gap);
        changes.find(|change| change.offset() == after).map(|change| change.timestamp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_found_by_name_and_suggested() {
        assert_eq!(Zone::new("europe/berlin").unwrap().name(), "Europe/Berlin");
        assert_eq!(Zone::new("UTC").unwrap().name(), "UTC");
        let error = Zone::new("Europe/Berln").unwrap_err();
        assert!(error.to_string().ends_with("did you mean `Europe/Berlin`?"), "{error}");
        for wrong in ["", "Etc/Unknown", "+02:00", "CET-1CEST", "../../etc/passwd"] {
            assert!(Zone::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn skipped_and_doubled_minutes() {
        let wall = |shown: &str| {
            let shown: DateTime = shown.parse().unwrap();
            shown.duration_since(MONDAY).as_secs() / 60
        };
        let table = [
            ("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z"),
            ("Europe/Berlin", "2026-03-29T03:00", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z"),
            ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"),
            ("Europe/Berlin", "2026-10-25T02:00", "2026-10-25T00:00:00Z", "2026-10-25T00:00:00Z"),
            ("Europe/Berlin", "2026-10-25T03:00", "2026-10-25T02:00:00Z", "2026-10-25T02:00:00Z"),
            ("Europe/Berlin", "2060-03-28T02:30", "2060-03-28T01:00:00Z", "2060-03-28T01:00:00Z"),
            ("Australia/Lord_Howe", "2026-10-04T02:10", "2026-10-03T15:30:00Z", "2026-10-03T15:30:00Z"),
            ("Australia/Lord_Howe", "2026-04-05T01:45", "2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"),
            ("Pacific/Apia", "2011-12-30T12:00", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"),
            ("UTC", "2026-03-29T02:30", "2026-03-29T02:30:00Z", "2026-03-29T02:30:00Z"),
        ];
        for (zone, shown, first, passed) in table {
            let zone = Zone::new(zone).unwrap();
            let (first, passed) = (first.parse().unwrap(), passed.parse().unwrap());
            let found = (zone.first(wall(shown)), zone.passed(wall(shown)));
            assert_eq!(found, (Some(first), Some(passed)), "{} {shown}", zone.name());
        }
    }
}
