//! Weekly windows by the wall clock of a zone. A window lasts from the first moment at which the clock shows its
//! beginning until the clock shows no time before its end any more. So of an hour that the clock shows twice, both
//! are covered, and a boundary in an hour that the clock skips counts at the end of that hour.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::period::Period;
use super::week_time::{MINUTES_PER_DAY, MINUTES_PER_WEEK, WeekTime};
use super::zone::Zone;

/// Clocks are moved by a day at most (Pacific/Apia, 2011). A window that is further away than this by the wall
/// clock is no candidate.
const MAX_CLOCK_CHANGE: i64 = 2 * MINUTES_PER_DAY;

/// How many weeks are searched for the next window. A window that lies in a skipped hour is missing in that week.
const WEEKS_SEARCHED: i64 = 4;

/// The most windows that follow each other without a pause, when clocks are moved over the pauses.
const MAX_JOINED: usize = 8;

/// A window as it is written. An end that is not after the beginning is in the following week.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowInput {
    pub from: String,
    pub to: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub from: WeekTime,
    pub to: WeekTime,
}

/// Windows that repeat every week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weekly {
    windows: Vec<Window>,
    /// The same as `windows`, where those that overlap or touch are joined.
    joined: Vec<Span>,
    zone: Zone,
}

/// A part of the week by the wall clock, in minutes. It may extend into the following week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    /// Since Monday, 00:00.
    start: i64,
    length: i64,
}

impl Weekly {
    /// `None` if the windows cover the whole week.
    pub(super) fn new(windows: Vec<Window>, zone: Zone) -> Option<Self> {
        let joined = join(&windows)?;
        Some(Self { windows, joined, zone })
    }

    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Returns when the window, or the windows without a pause between them, end in which `now` is.
    pub(super) fn frozen_until(&self, now: Timestamp) -> Option<Timestamp> {
        let mut until = None;
        // Windows that are apart by the wall clock can touch when the clock is moved over the pause.
        for _ in 0..MAX_JOINED {
            match self.end_of_window(until.unwrap_or(now)) {
                Some(end) => until = Some(end),
                None => break,
            }
        }
        until
    }

    /// Returns the next period that begins after `now`; while frozen, the one after the present.
    pub(super) fn next_period(&self, now: Timestamp) -> Option<Period> {
        let after = self.frozen_until(now).unwrap_or(now);
        let week = self.zone.wall_minute(after).div_euclid(MINUTES_PER_WEEK);
        let first_of = |span: &Span| {
            let periods = (week - 1..=week + WEEKS_SEARCHED).filter_map(|week| self.period(*span, week));
            periods.map(|period| period.from).find(|from| *from > after)
        };
        let from = self.joined.iter().filter_map(first_of).min()?;
        Some(Period { from, until: self.frozen_until(from)? })
    }

    /// Returns the latest end of the windows in which `at` is.
    fn end_of_window(&self, at: Timestamp) -> Option<Timestamp> {
        let shown = self.zone.wall_minute(at);
        let week = shown.div_euclid(MINUTES_PER_WEEK);
        let candidates =
            (week - 2..=week + 1).flat_map(|week| self.joined.iter().map(move |span| (*span, week)));
        candidates
            .filter(|(span, week)| {
                let start = week * MINUTES_PER_WEEK + span.start;
                let reach = start - MAX_CLOCK_CHANGE..start + span.length + MAX_CLOCK_CHANGE;
                reach.contains(&shown)
            })
            .filter_map(|(span, week)| self.period(span, week))
            .filter(|period| period.contains(at))
            .map(|period| period.until)
            .max()
    }

    /// Returns a window in one week; `None` if the clock skips all of it.
    fn period(&self, span: Span, week: i64) -> Option<Period> {
        let start = week * MINUTES_PER_WEEK + span.start;
        let from = self.zone.first(start)?;
        let until = self.zone.passed(start + span.length)?;
        (from < until).then_some(Period { from, until })
    }
}

/// Joins windows that overlap or touch. `None` if they cover the whole week.
fn join(windows: &[Window]) -> Option<Vec<Span>> {
    let is_covered = |minute: i64| {
        windows.iter().map(Window::span).any(|span| {
            let since_start = (minute - span.start).rem_euclid(MINUTES_PER_WEEK);
            since_start < span.length
        })
    };
    // Whether a minute is covered changes at the boundaries of windows only.
    let boundaries = windows.iter().flat_map(|window| [window.from.minute(), window.to.minute()]);
    let mut boundaries: Vec<i64> = boundaries.collect();
    boundaries.sort_unstable();
    boundaries.dedup();
    // Begins after a pause, so that no part is cut at the end of the week.
    let pause = boundaries.iter().position(|minute| !is_covered(*minute))?;
    boundaries.rotate_left(pause);
    let mut joined: Vec<Span> = Vec::new();
    let mut start = None;
    let ends = boundaries.iter().cycle().skip(1);
    for (minute, end) in boundaries.iter().zip(ends) {
        if is_covered(*minute) {
            let start = *start.get_or_insert(*minute);
            if !is_covered(*end) {
                joined.push(Span { start, length: (end - start).rem_euclid(MINUTES_PER_WEEK) });
            }
        } else {
            start = None;
        }
    }
    Some(joined)
}

impl Window {
    pub(super) fn to_input(self) -> WindowInput {
        WindowInput { from: self.from.to_string(), to: self.to.to_string() }
    }

    fn span(&self) -> Span {
        let length = (self.to.minute() - self.from.minute()).rem_euclid(MINUTES_PER_WEEK);
        Span { start: self.from.minute(), length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(windows: &[(&str, &str)]) -> Option<Vec<(i64, i64)>> {
        let parsed = windows.iter().map(|(from, to)| Window { from: time(from), to: time(to) });
        let spans = join(&parsed.collect::<Vec<_>>())?;
        let mut spans: Vec<_> = spans.iter().map(|span| (span.start, span.length)).collect();
        spans.sort_unstable();
        Some(spans)
    }

    fn time(text: &str) -> WeekTime {
        text.parse().unwrap()
    }

    #[test]
    fn windows_that_overlap_or_touch_are_joined() {
        let (day, hour) = (MINUTES_PER_DAY, 60);
        let weekend = Some(vec![(4 * day + 16 * hour, 2 * day + 16 * hour)]);
        assert_eq!(joined(&[("fri 16:00", "mon 08:00")]), weekend);
        assert_eq!(joined(&[("mon 00:00", "mon 08:00"), ("fri 16:00", "mon 00:00")]), weekend);
        assert_eq!(joined(&[("sun 00:00", "mon 08:00"), ("fri 16:00", "sun 12:00")]), weekend);
        assert_eq!(joined(&[("sat 10:00", "sat 11:00"), ("fri 16:00", "mon 08:00")]), weekend);
        assert_eq!(
            joined(&[("wed 10:00", "wed 12:00"), ("mon 01:00", "mon 02:00"), ("wed 12:00", "wed 13:00")]),
            Some(vec![(hour, hour), (2 * day + 10 * hour, 3 * hour)])
        );
        assert_eq!(joined(&[("mon 08:00", "mon 07:59")]), Some(vec![(8 * hour, 7 * day - 1)]));
        assert_eq!(joined(&[("mon 00:00", "thu 00:00"), ("thu 00:00", "mon 00:00")]), None);
        assert_eq!(joined(&[("tue 00:00", "sun 00:00"), ("sat 00:00", "wed 00:00")]), None);
    }

    /// The boundaries of joined windows, compared with all minutes of the week.
    #[test]
    fn joining_keeps_every_minute() {
        let texts = ["mon 00:00", "mon 00:01", "wed 12:00", "sat 23:59", "sun 23:59"];
        let pairs = texts.iter().flat_map(|from| texts.iter().map(move |to| (*from, *to)));
        let windows: Vec<_> = pairs.filter(|(from, to)| from != to).collect();
        for first in &windows {
            for second in &windows {
                let chosen = [*first, *second].map(|(from, to)| Window { from: time(from), to: time(to) });
                let covers = |spans: &[Span], minute: i64| {
                    spans.iter().any(|span| {
                        [minute, minute + MINUTES_PER_WEEK]
                            .iter()
                            .any(|at| (span.start..span.start + span.length).contains(at))
                    })
                };
                let separate = chosen.each_ref().map(Window::span);
                let joined = join(&chosen);
                for minute in (0..MINUTES_PER_WEEK).filter(|minute| minute % 60 <= 1 || minute % 60 == 59) {
                    let expected = covers(&separate, minute);
                    let found = joined.as_ref().is_none_or(|spans| covers(spans, minute));
                    assert_eq!(found, expected, "{first:?} {second:?} {minute}");
                }
            }
        }
    }
}
