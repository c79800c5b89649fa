//! Weekly freezes compared with an oracle that walks minute by minute over two years in six zones. The oracle
//! never converts a wall-clock time to an instant: it only reads what the clock shows at each minute.
//!
//! For each minute it has the latest time that the clock has shown so far, and the earliest that it will show from
//! then on. A window has begun when the clock has shown its beginning or a later time; it has ended when the clock
//! will never again show a time before its end. That is the whole rule, for skipped and doubled hours too.

use greenroom_domain::freeze::{Schedule, ScheduleInput, WindowInput};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZoneDatabase;

const DAY: i64 = 24 * 60;
const WEEK: i64 = 7 * DAY;

/// Walked before and after the two years, so that windows and freezes are complete at both ends.
const MARGIN_DAYS: i64 = 40;
const DAYS: i64 = 731;

/// Zones, and the day on which their two years begin. Clocks of Lord Howe are moved by half an hour, those of Apia
/// skipped 2011-12-30, those of Casablanca are moved back for Ramadan, and those of Kolkata are never moved.
const ZONES: [(&str, &str); 6] = [
    ("Europe/Berlin", "2026-01-01T00:00:00Z"),
    ("America/New_York", "2026-01-01T00:00:00Z"),
    ("Australia/Lord_Howe", "2026-01-01T00:00:00Z"),
    ("Pacific/Apia", "2010-12-01T00:00:00Z"),
    ("Africa/Casablanca", "2026-01-01T00:00:00Z"),
    ("Asia/Kolkata", "2026-01-01T00:00:00Z"),
];

/// Most clocks are moved on Sundays, between 00:00 and 03:00.
const SCHEDULES: [&[(&str, &str)]; 10] = [
    &[("fri 16:00", "mon 08:00")],
    // Begins in an hour that is skipped in spring and doubled in autumn.
    &[("sun 02:30", "sun 05:00")],
    &[("sun 02:10", "sun 06:00")],
    // Ends in it.
    &[("sat 22:00", "sun 02:15")],
    // Lies in it.
    &[("sun 02:05", "sun 02:20")],
    // Leaves only that hour.
    &[("sun 03:00", "sun 02:00")],
    &[("sun 01:45", "sun 01:40")],
    // On both sides of it, back to back, and at the end of the week.
    &[
        ("sun 00:00", "sun 02:30"),
        ("sun 02:30", "sun 04:00"),
        ("sun 23:00", "mon 00:00"),
        ("mon 00:00", "mon 01:00"),
    ],
    // The day that Apia skipped was a Friday.
    &[("fri 09:00", "fri 17:00"), ("thu 20:00", "fri 06:00")],
    &[
        ("mon 22:00", "tue 06:00"),
        ("tue 22:00", "wed 06:00"),
        ("wed 12:00", "wed 12:01"),
        ("sat 00:00", "fri 00:00"),
    ],
];

/// What the clock of a zone shows, for each minute.
struct Clock {
    start: i64,
    /// The latest time that it has shown up to this minute, in minutes since a Monday.
    latest: Vec<i64>,
    /// The earliest time that it shows from this minute on.
    earliest: Vec<i64>,
}

impl Clock {
    fn new(zone: &str, from: &str) -> Self {
        let zone = TimeZoneDatabase::bundled().get(zone).unwrap();
        let monday: DateTime = "2001-01-01T00:00".parse().unwrap();
        let start = minute_of(from.parse().unwrap()) - MARGIN_DAYS * DAY;
        let shown = (0..(DAYS + 2 * MARGIN_DAYS) * DAY).map(|minute| {
            let shown = zone.to_datetime(timestamp(start + minute));
            shown.duration_since(monday).as_secs().div_euclid(60)
        });
        let shown: Vec<i64> = shown.collect();
        let mut latest = shown.clone();
        for index in 1..latest.len() {
            latest[index] = latest[index].max(latest[index - 1]);
        }
        let mut earliest = shown;
        for index in (1..earliest.len()).rev() {
            earliest[index - 1] = earliest[index - 1].min(earliest[index]);
        }
        Self { start, latest, earliest }
    }

    /// Whether each minute is frozen.
    fn frozen(&self, windows: &[(&str, &str)]) -> Vec<bool> {
        let windows: Vec<_> = windows.iter().map(|(from, to)| (week_minute(from), week_minute(to))).collect();
        let is_frozen = |(latest, earliest): (&i64, &i64)| {
            windows.iter().any(|(from, to)| {
                let length = (to - from).rem_euclid(WEEK);
                // The last time that this window has begun, and where it ends.
                let begun = latest - (latest - from).rem_euclid(WEEK);
                begun + length > *earliest
            })
        };
        self.latest.iter().zip(&self.earliest).map(is_frozen).collect()
    }
}

fn timestamp(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).unwrap()
}

fn minute_of(timestamp: Timestamp) -> i64 {
    timestamp.as_second() / 60
}

fn week_minute(text: &str) -> i64 {
    let day = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].iter().position(|day| text.starts_with(day));
    let number = |range: std::ops::Range<usize>| text[range].parse::<i64>().unwrap();
    i64::try_from(day.unwrap()).unwrap() * DAY + number(4..6) * 60 + number(7..9)
}

fn schedule(zone: &str, windows: &[(&str, &str)]) -> Schedule {
    let windows = windows.iter();
    let windows =
        windows.map(|(from, to)| WindowInput { from: (*from).to_owned(), to: (*to).to_owned() }).collect();
    let input = ScheduleInput { weekly: windows, zone: Some(zone.to_owned()), ..ScheduleInput::default() };
    Schedule::new(&input).unwrap()
}

/// Returns, for each minute, the next one at which it is frozen or not frozen other than now.
fn changes(frozen: &[bool]) -> Vec<usize> {
    let mut changes = vec![frozen.len(); frozen.len()];
    for index in (1..frozen.len()).rev() {
        changes[index - 1] = if frozen[index - 1] == frozen[index] { changes[index] } else { index };
    }
    changes
}

fn compare(clock: &Clock, zone: &str) {
    for windows in SCHEDULES {
        let schedule = schedule(zone, windows);
        let frozen = clock.frozen(windows);
        let changes = changes(&frozen);
        let first = usize::try_from(MARGIN_DAYS * DAY).unwrap();
        let last = first + usize::try_from(DAYS * DAY).unwrap();
        // Every hour, and the minutes before and at every change.
        let hours = (first..last).step_by(60);
        let around = (first..last).filter(|minute| frozen[*minute] != frozen[*minute - 1]);
        for minute in hours.chain(around.flat_map(|minute| [minute - 1, minute])) {
            let at = |minute: usize| timestamp(clock.start + i64::try_from(minute).unwrap());
            let expected = frozen[minute].then(|| at(changes[minute]));
            let now = at(minute);
            assert_eq!(schedule.frozen_until(now), expected, "{zone} {windows:?} at {now}");
            // The next change takes longer to find.
            if minute % 360 == 0 || frozen[minute] != frozen[minute - 1] {
                let next = schedule.next_change(now);
                assert_eq!(next, Some(at(changes[minute])), "{zone} {windows:?} after {now}");
            }
        }
    }
}

/// Returns by how much the clock is moved forward, if it is.
fn jumps(clock: &Clock) -> Vec<i64> {
    let jumps = clock.latest.windows(2).map(|pair| pair[1] - pair[0] - 1).filter(|jump| *jump > 0);
    let mut jumps: Vec<_> = jumps.collect();
    jumps.sort_unstable();
    jumps.dedup();
    jumps
}

/// A test per zone, which also checks that its clock is moved within the two years by these minutes.
macro_rules! zones {
    ($($name:ident = $index:literal moved by $jumps:expr),* $(,)?) => {$(
        #[test]
        fn $name() {
            let (zone, from) = ZONES[$index];
            let clock = Clock::new(zone, from);
            assert_eq!(jumps(&clock), $jumps);
            compare(&clock, zone);
        }
    )*};
}

zones! {
    berlin = 0 moved by [60],
    new_york = 1 moved by [60],
    lord_howe = 2 moved by [30],
    apia = 3 moved by [60, 1440],
    casablanca = 4 moved by [60],
    kolkata = 5 moved by [0_i64; 0],
}
