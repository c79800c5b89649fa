//! A time of the week by the wall clock: `fri 16:00`.

use std::fmt;
use std::str::FromStr;

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

pub(super) const MINUTES_PER_DAY: i64 = 24 * 60;
pub(super) const MINUTES_PER_WEEK: i64 = 7 * MINUTES_PER_DAY;

/// A weekday and a time of day, to the minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WeekTime {
    /// Minutes since Monday, 00:00.
    minute: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a day and a time such as `fri 16:00` (mon tue wed thu fri sat sun, 00:00 to 23:59)")]
pub struct InvalidWeekTime(String);

impl WeekTime {
    pub(super) const fn minute(self) -> i64 {
        self.minute
    }
}

impl FromStr for WeekTime {
    type Err = InvalidWeekTime;

    fn from_str(text: &str) -> Result<Self, InvalidWeekTime> {
        parse(text).ok_or_else(|| InvalidWeekTime(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<WeekTime> {
    let (day, time) = text.split_once(' ')?;
    let (hour, minute) = time.split_once(':')?;
    let day = DAYS.iter().position(|name| *name == day)?;
    let (hour, minute) = (two_digits(hour, 23)?, two_digits(minute, 59)?);
    Some(WeekTime { minute: i64::try_from(day).ok()? * MINUTES_PER_DAY + hour * 60 + minute })
}

fn two_digits(text: &str, max: i64) -> Option<i64> {
    let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && *number <= max)
}

impl fmt::Display for WeekTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = usize::try_from(self.minute / MINUTES_PER_DAY).ok().and_then(|day| DAYS.get(day));
        let (hour, minute) = (self.minute % MINUTES_PER_DAY / 60, self.minute % 60);
        write!(f, "{} {hour:02}:{minute:02}", day.unwrap_or(&"mon"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_in_one_way() {
        for text in ["mon 00:00", "fri 16:00", "sun 23:59"] {
            assert_eq!(text.parse::<WeekTime>().unwrap().to_string(), text);
        }
        assert_eq!("tue 01:02".parse::<WeekTime>().unwrap().minute(), 24 * 60 + 62);
        for wrong in [
            "",
            "fri",
            "16:00",
            "fri 16",
            "fri 24:00",
            "fri 16:60",
            "Fri 16:00",
            "fri  16:00",
            "fri 6:00",
            "fri +6:00",
            "friday 16:00",
            "fri 16:00:00",
            " fri 16:00",
        ] {
            assert_eq!(wrong.parse::<WeekTime>(), Err(InvalidWeekTime(wrong.to_owned())));
        }
    }
}
