//! Freezes: times at which no stage begins in lasting environments. A freeze has a reach (which pipelines and
//! environments) and a schedule (when). What runs when a freeze begins goes on.

mod period;
mod reach;
mod schedule;
mod week_time;
mod weekly;
mod zone;

pub use self::period::Period;
pub use self::reach::{InvalidReach, MAX_ENTRIES, Reach};
pub use self::schedule::{InvalidSchedule, MAX_WINDOWS, Schedule, ScheduleInput, next_change};
pub use self::week_time::{InvalidWeekTime, WeekTime};
pub use self::weekly::{Weekly, Window, WindowInput};
pub use self::zone::{UnknownZone, Zone};

use crate::id::FreezeId;

/// Returns the subject of a freeze's events.
pub fn subject(id: FreezeId) -> String {
    format!("freezes/{id}")
}
