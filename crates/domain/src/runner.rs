//! Runners: whether they can be expected to take jobs.

use crate::text_enum::text_enum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunnerStatus {
    /// The runner has sent a request lately.
    Online,
    /// The runner is online, and shuts down when its jobs have ended.
    Draining,
    Offline,
}

text_enum!(RunnerStatus { Online = "online", Draining = "draining", Offline = "offline" });

impl RunnerStatus {
    /// A runner that is gone is offline, also if it was draining before.
    pub const fn of(is_seen: bool, is_draining: bool) -> Self {
        match (is_seen, is_draining) {
            (true, false) => Self::Online,
            (true, true) => Self::Draining,
            (false, _) => Self::Offline,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_that_is_gone_is_offline() {
        assert_eq!(RunnerStatus::of(true, false), RunnerStatus::Online);
        assert_eq!(RunnerStatus::of(true, true), RunnerStatus::Draining);
        assert_eq!(RunnerStatus::of(false, true), RunnerStatus::Offline);
        assert_eq!(RunnerStatus::of(false, false), RunnerStatus::Offline);
    }
}
