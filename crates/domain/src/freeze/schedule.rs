//! The schedule of a freeze: once, between two instants, or weekly by the wall clock of a zone.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

use super::period::Period;
use super::week_time::InvalidWeekTime;
use super::weekly::{Weekly, Window, WindowInput};
use super::zone::{UnknownZone, Zone};

/// The most windows of one freeze.
pub const MAX_WINDOWS: usize = 50;

/// The times between which a freeze can begin and end. The database stores all of them.
const EARLIEST: DateTime = DateTime::constant(2000, 1, 1, 0, 0, 0, 0);
const LATEST: DateTime = DateTime::constant(2200, 1, 1, 0, 0, 0, 0);

/// Every schedule has pauses: each period that begins also ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    Once(Period),
    Weekly(Weekly),
}

/// A schedule as it is sent and stored: `from` and `to`, or `weekly` and `zone`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleInput {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub weekly: Vec<WindowInput>,
    pub zone: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSchedule {
    #[error("must be set: either `from` and `to`, or `weekly` and `zone`")]
    Empty,
    #[error("can't be set together with `weekly` and `zone`")]
    Both,
    #[error("must be set, because `{0}` is")]
    Missing(&'static str),
    #[error("must be later than `from`")]
    NotAfter,
    #[error("must be between the years 2000 and 2200")]
    Range(&'static str),
    #[error("must have 1 to {MAX_WINDOWS} windows")]
    Count,
    #[error("{error}")]
    Time { pointer: String, error: InvalidWeekTime },
    #[error("must differ from `from`")]
    NoLength { pointer: String },
    #[error("must leave a pause in every week: a freeze without an end would block deployments for ever")]
    WholeWeek,
    #[error("{0}")]
    Zone(UnknownZone),
}

impl InvalidSchedule {
    /// Returns the place of the mistake in a request.
    pub fn pointer(&self) -> &str {
        match self {
            Self::Empty | Self::Both => "/from",
            Self::Missing("from") | Self::NotAfter => "/to",
            Self::Missing("to") => "/from",
            Self::Missing("weekly") | Self::Zone(_) => "/zone",
            Self::Missing(_) | Self::Count | Self::WholeWeek => "/weekly",
            Self::Range(pointer) => pointer,
            Self::Time { pointer, .. } | Self::NoLength { pointer } => pointer,
        }
    }
}

impl Schedule {
    pub fn new(input: &ScheduleInput) -> Result<Self, InvalidSchedule> {
        let is_once = input.from.is_some() || input.to.is_some();
        match (is_once, !input.weekly.is_empty(), &input.zone) {
            (true, false, None) => once(input),
            (false, true, Some(zone)) => weekly(&input.weekly, zone),
            (false, true, None) => Err(InvalidSchedule::Missing("weekly")),
            (false, false, Some(_)) => Err(InvalidSchedule::Missing("zone")),
            (false, false, None) => Err(InvalidSchedule::Empty),
            (true, ..) => Err(InvalidSchedule::Both),
        }
    }

    /// Returns the schedule as it is sent and stored.
    pub fn to_input(&self) -> ScheduleInput {
        match self {
            Self::Once(Period { from, until }) => {
                ScheduleInput { from: Some(*from), to: Some(*until), ..ScheduleInput::default() }
            }
            Self::Weekly(weekly) => ScheduleInput {
                weekly: weekly.windows().iter().map(|window| window.to_input()).collect(),
                zone: Some(weekly.zone().name().to_owned()),
                ..ScheduleInput::default()
            },
        }
    }

    /// Returns when the present freeze ends; `None` if there is none at this time. Windows without a pause
    /// between them count as one.
    pub fn frozen_until(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Once(period) => period.contains(now).then_some(period.until),
            Self::Weekly(weekly) => weekly.frozen_until(now),
        }
    }

    /// Returns the next period that begins after `now`; while frozen, the one after the present.
    pub fn next_period(&self, now: Timestamp) -> Option<Period> {
        match self {
            Self::Once(period) => (now < period.from).then_some(*period),
            Self::Weekly(weekly) => weekly.next_period(now),
        }
    }

    /// Returns when a freeze begins or ends next.
    pub fn next_change(&self, now: Timestamp) -> Option<Timestamp> {
        self.frozen_until(now).or_else(|| self.next_period(now).map(|period| period.from))
    }
}

/// Returns when any of the freezes begins or ends next. Nothing changes before that.
pub fn next_change<'a>(
    schedules: impl IntoIterator<Item = &'a Schedule>,
    now: Timestamp,
) -> Option<Timestamp> {
    schedules.into_iter().filter_map(|schedule| schedule.next_change(now)).min()
}

fn once(input: &ScheduleInput) -> Result<Schedule, InvalidSchedule> {
    let from = instant(input.from, "/from", InvalidSchedule::Missing("to"))?;
    let until = instant(input.to, "/to", InvalidSchedule::Missing("from"))?;
    if from < until { Ok(Schedule::Once(Period { from, until })) } else { Err(InvalidSchedule::NotAfter) }
}

/// Returns the instant in whole microseconds, as the database stores it.
fn instant(
    given: Option<Timestamp>,
    pointer: &'static str,
    missing: InvalidSchedule,
) -> Result<Timestamp, InvalidSchedule> {
    let given = given.ok_or(missing)?;
    let shown = Offset::UTC.to_datetime(given);
    let stored = Timestamp::from_microsecond(given.as_microsecond());
    stored.ok().filter(|_| (EARLIEST..LATEST).contains(&shown)).ok_or(InvalidSchedule::Range(pointer))
}

fn weekly(windows: &[WindowInput], zone: &str) -> Result<Schedule, InvalidSchedule> {
    if windows.len() > MAX_WINDOWS {
        return Err(InvalidSchedule::Count);
    }
    let windows = windows.iter().enumerate().map(|(index, window)| {
        let time = |text: &str, field: &str| {
            text.parse().map_err(|error| {
                let pointer = format!("/weekly/{index}/{field}");
                InvalidSchedule::Time { pointer, error }
            })
        };
        let window = Window { from: time(&window.from, "from")?, to: time(&window.to, "to")? };
        if window.from == window.to {
            return Err(InvalidSchedule::NoLength { pointer: format!("/weekly/{index}/to") });
        }
        Ok(window)
    });
    let windows = windows.collect::<Result<_, _>>()?;
    let zone = Zone::new(zone).map_err(InvalidSchedule::Zone)?;
    Weekly::new(windows, zone).map(Schedule::Weekly).ok_or(InvalidSchedule::WholeWeek)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn windows(windows: &[(&str, &str)]) -> Vec<WindowInput> {
        let windows = windows.iter();
        windows.map(|(from, to)| WindowInput { from: (*from).to_owned(), to: (*to).to_owned() }).collect()
    }

    fn weekly_in(zone: &str, texts: &[(&str, &str)]) -> Schedule {
        let input =
            ScheduleInput { weekly: windows(texts), zone: Some(zone.to_owned()), ..ScheduleInput::default() };
        Schedule::new(&input).unwrap()
    }

    #[test]
    fn a_freeze_of_its_own_time() {
        let input = ScheduleInput {
            from: Some(at("2026-12-23T17:00:00Z")),
            to: Some(at("2027-01-04T08:00:00Z")),
            ..ScheduleInput::default()
        };
        let schedule = Schedule::new(&input).unwrap();
        assert_eq!(schedule.to_input(), input);
        let (from, until) = (at("2026-12-23T17:00:00Z"), at("2027-01-04T08:00:00Z"));
        let before = at("2026-12-23T16:59:59.999Z");
        assert_eq!(schedule.frozen_until(before), None);
        assert_eq!(schedule.next_period(before), Some(Period { from, until }));
        assert_eq!(schedule.next_change(before), Some(from));
        assert_eq!(schedule.frozen_until(from), Some(until));
        assert_eq!(schedule.next_period(from), None);
        assert_eq!(schedule.next_change(from), Some(until));
        assert_eq!(schedule.frozen_until(until), None);
        assert_eq!(schedule.next_change(until), None);
    }

    #[test]
    fn weekends_by_the_wall_clock() {
        let schedule = weekly_in("Europe/Berlin", &[("fri 16:00", "mon 08:00")]);
        assert_eq!(schedule.frozen_until(at("2026-11-17T12:00:00Z")), None);
        let next = schedule.next_period(at("2026-11-17T12:00:00Z"));
        let (from, until) = (at("2026-11-20T15:00:00Z"), at("2026-11-23T07:00:00Z"));
        assert_eq!(next, Some(Period { from, until }));
        assert_eq!(schedule.frozen_until(from), Some(until));
        let next = schedule.next_period(from);
        assert_eq!(next.map(|next| next.from), Some(at("2026-11-27T15:00:00Z")));
        // The clock is moved within this weekend: it begins in winter and ends in summer.
        let (from, until) = (at("2026-03-27T15:00:00Z"), at("2026-03-30T06:00:00Z"));
        assert_eq!(schedule.frozen_until(from), Some(until));
    }

    #[test]
    fn a_pause_that_the_clock_skips_joins_two_weeks() {
        let schedule = weekly_in("Europe/Berlin", &[("sun 03:00", "sun 02:00")]);
        assert_eq!(schedule.frozen_until(at("2026-03-20T12:00:00Z")), Some(at("2026-03-22T01:00:00Z")));
        assert_eq!(schedule.frozen_until(at("2026-03-25T12:00:00Z")), Some(at("2026-04-05T00:00:00Z")));
    }

    #[test]
    fn the_next_change_is_the_earliest_of_all() {
        let weekend = weekly_in("UTC", &[("sat 00:00", "mon 00:00")]);
        let nights = weekly_in("UTC", &[("fri 20:00", "fri 22:00")]);
        let now = at("2026-11-20T12:00:00Z");
        assert_eq!(next_change([&weekend, &nights], now), Some(at("2026-11-20T20:00:00Z")));
        assert_eq!(next_change([&weekend], now), Some(at("2026-11-21T00:00:00Z")));
        assert_eq!(next_change([], now), None);
    }

    #[test]
    fn mistakes_are_found_with_their_place() {
        let (early, late) = (Some(at("2026-01-01T00:00:00Z")), Some(at("2026-01-02T00:00:00Z")));
        let zone = || Some("Europe/Berlin".to_owned());
        let refused = |from, to, weekly: &[(&str, &str)], zone: Option<String>| {
            let input = ScheduleInput { from, to, weekly: windows(weekly), zone };
            Schedule::new(&input).unwrap_err().pointer().to_owned()
        };
        let fine = [("fri 16:00", "mon 08:00")];
        assert_eq!(refused(None, None, &[], None), "/from");
        assert_eq!(refused(early, None, &[], None), "/to");
        assert_eq!(refused(None, late, &[], None), "/from");
        assert_eq!(refused(late, early, &[], None), "/to");
        assert_eq!(refused(early, early, &[], None), "/to");
        assert_eq!(refused(early, late, &fine, zone()), "/from");
        assert_eq!(refused(early, late, &[], zone()), "/from");
        assert_eq!(refused(None, None, &fine, None), "/zone");
        assert_eq!(refused(None, None, &[], zone()), "/weekly");
        assert_eq!(refused(None, None, &fine, Some("Mars/Base".to_owned())), "/zone");
        assert_eq!(refused(None, None, &[("fri 16:00", "fri 16:00")], zone()), "/weekly/0/to");
        assert_eq!(refused(None, None, &[fine[0], ("fri 16", "sat 00:00")], zone()), "/weekly/1/from");
        assert_eq!(refused(None, None, &[("fri 16:00", "sat 25:00")], zone()), "/weekly/0/to");
        assert_eq!(
            refused(None, None, &[("mon 00:00", "tue 00:00"), ("tue 00:00", "mon 00:00")], zone()),
            "/weekly"
        );
        assert_eq!(refused(None, None, &[fine[0]; MAX_WINDOWS + 1], zone()), "/weekly");
        assert_eq!(refused(Some(at("1999-12-31T23:59:59Z")), late, &[], None), "/from");
        assert_eq!(refused(early, Some(at("2200-01-01T00:00:00Z")), &[], None), "/to");
        assert_eq!(refused(Some(Timestamp::MIN), Some(Timestamp::MAX), &[], None), "/from");
        let next = Some(at("2026-01-01T00:00:00.000000001Z"));
        assert_eq!(refused(early, next, &[], None), "/to", "the database stores microseconds");
    }
}
