//! The kinds of faults.

mod crowd;
mod inject;

use serde::Serialize;

pub(crate) use inject::Injector;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Fault {
    KillServer,
    PauseServer,
    KillWorker,
    PauseWorker,
    KillPostgres,
    RestartPostgres,
    BlackHoleOne,
    BlackHoleAll,
    Latency,
    Clocks,
    QueueExpires,
}

impl Fault {
    pub(crate) const ALL: [Self; 11] = [
        Self::KillServer,
        Self::PauseServer,
        Self::KillWorker,
        Self::PauseWorker,
        Self::KillPostgres,
        Self::RestartPostgres,
        Self::BlackHoleOne,
        Self::BlackHoleAll,
        Self::Latency,
        Self::Clocks,
        Self::QueueExpires,
    ];
}
