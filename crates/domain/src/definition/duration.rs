//! Durations as users write them: `90s`, `10m`, `1h 30m`. Stored as whole seconds.

use jiff::{Span, SpanRelativeTo};

pub(super) const PATTERN: &str = "^[0-9]{1,9}[dhms]( ?[0-9]{1,9}[dhms])*$";

/// Parses a duration to seconds. The friendly format of jiff accepts many more spellings; a single one keeps
/// files readable.
pub(super) fn seconds(text: &str) -> Option<u64> {
    if text.len() > 64 || !is_compact(text) {
        return None;
    }
    let span: Span = text.parse().ok()?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    u64::try_from(duration.as_secs()).ok()
}

/// Returns the shortest spelling of a duration, for messages.
pub(super) fn written(seconds: u64) -> String {
    let units = [(86_400, 'd'), (3_600, 'h'), (60, 'm'), (1, 's')];
    let unit = units.into_iter().find(|(length, _)| seconds >= *length && seconds.is_multiple_of(*length));
    let (length, letter) = unit.unwrap_or((1, 's'));
    // The documentation writes a day as 24 hours everywhere.
    if seconds == 86_400 { "24h".to_owned() } else { format!("{}{letter}", seconds / length) }
}

fn is_compact(text: &str) -> bool {
    let mut digits = 0;
    let mut after_unit = false;
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' if digits < 9 => digits += 1,
            b'd' | b'h' | b'm' | b's' if digits > 0 => {
                digits = 0;
                after_unit = true;
                continue;
            }
            b' ' if after_unit => {}
            _ => return false,
        }
        after_unit = false;
    }
    after_unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() -> Result<(), regex::Error> {
        let pattern = regex::Regex::new(PATTERN)?;
        for (text, expected) in [
            ("90s", Some(90)),
            ("10m", Some(600)),
            ("1h 30m", Some(5_400)),
            ("1h30m", Some(5_400)),
            ("2d", Some(172_800)),
            ("0s", Some(0)),
            ("", None),
            ("30", None),
            ("soon", None),
            ("-5m", None),
            ("5m ago", None),
            ("1.5h", None),
            ("1 h", None),
            ("1h  30m", None),
            ("1h ", None),
            (" 1h", None),
            ("30m 1h", None),
            ("1h 2h", None),
            ("1w", None),
            ("100ms", None),
            ("5 minutes", None),
            ("PT5M", None),
            ("1:30:00", None),
            ("999999999h", None),
            ("9999999999s", None),
            ("５m", None),
        ] {
            assert_eq!(seconds(text), expected, "{text:?}");
            // jiff checks the order and the size of the units; the pattern only has to accept all valid
            // texts.
            assert!(pattern.is_match(text) || expected.is_none(), "{text:?}");
            assert_eq!(pattern.is_match(text), is_compact(text), "{text:?}");
        }
        Ok(())
    }

    #[test]
    fn durations_are_written_in_the_shortest_form() {
        for (seconds, text) in
            [(30, "30s"), (90, "90s"), (600, "10m"), (86_400, "24h"), (604_800, "7d"), (0, "0s")]
        {
            assert_eq!(written(seconds), text);
        }
    }
}
