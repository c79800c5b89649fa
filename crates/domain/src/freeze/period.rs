//! A time that is frozen without a pause.

use jiff::Timestamp;

/// From `from`, to before `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    pub from: Timestamp,
    pub until: Timestamp,
}

impl Period {
    pub fn contains(&self, at: Timestamp) -> bool {
        (self.from..self.until).contains(&at)
    }
}
