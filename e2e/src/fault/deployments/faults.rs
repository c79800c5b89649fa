//! Which faults there are.

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
    /// For longer than the job stays the runner's: it is given away, and then the runner wakes up.
    PauseRunnerLong,
    KillWorker,
    PauseWorker,
    KillServer,
    PauseServer,
    KillTemporal,
    PauseTemporal,
    KillPostgres,
    PausePostgres,
    /// The step's own first process, or its container's.
    KillStep,
    CutServerFromPostgres,
    CutWorkerFromPostgres,
    CutServerFromTemporal,
    CutWorkerFromTemporal,
    CutRunnerFromServer,
}

impl Fault {
    /// Who ends what goes on without its runner shows only in a step that would go on for long.
    pub(crate) fn wants_long_work(self) -> bool {
        matches!(self, Self::KillRunner | Self::PauseRunnerLong)
    }

    /// Those whose names have one of these words in them; all if there is none.
    pub(crate) fn named(words: &[String]) -> Vec<Self> {
        let has = |fault: &&Self| {
            let name = format!("{fault:?}").to_lowercase();
            words.is_empty() || words.iter().any(|word| name.contains(&word.to_lowercase()))
        };
        Self::ALL.iter().filter(has).copied().collect()
    }
}
