//! The kinds of faults.

use serde::Serialize;

macro_rules! faults {
    ($($(#[$meta:meta])* $name:ident),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "camelCase")]
        pub(crate) enum Fault {
            $($(#[$meta])* $name),*
        }

        impl Fault {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name),*];
        }
    };
}

faults! {
    KillRunner,
    PauseRunner,
    /// Longer than the job's lease: the job is given to another runner, and then this runner resumes.
    PauseRunnerLong,
    KillWorker,
    PauseWorker,
    KillServer,
    PauseServer,
    KillTemporal,
    PauseTemporal,
    KillPostgres,
    PausePostgres,
    /// The first process of the step itself, or its container's.
    KillStep,
    CutServerFromPostgres,
    CutWorkerFromPostgres,
    CutServerFromTemporal,
    CutWorkerFromTemporal,
    CutRunnerFromServer,
}

impl Fault {
    /// Only a long step shows whether anything ends the work of a runner that is gone.
    pub(crate) fn needs_long_work(self) -> bool {
        matches!(self, Self::KillRunner | Self::PauseRunnerLong)
    }

    /// Returns the faults whose name contains any of the given texts, ignoring case. Without texts, returns all
    /// faults.
    pub(crate) fn named(texts: &[String]) -> Vec<Self> {
        let has = |fault: &&Self| {
            let name = format!("{fault:?}").to_lowercase();
            texts.is_empty() || texts.iter().any(|text| name.contains(&text.to_lowercase()))
        };
        Self::ALL.iter().filter(has).copied().collect()
    }
}
