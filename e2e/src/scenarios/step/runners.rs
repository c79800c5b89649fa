//! The actions about runners and their pools.

use serde::Deserialize;

use crate::parts::runner::Backend;
use crate::scenarios::runner_settings::one;

step_struct!(
    /// Starts another runner, or one that had ended: with the same name, folder and token.
    StartRunner {
        start_runner: String,
        #[serde(default)]
        backend: Backend,
        #[serde(default = "one")]
        concurrency: u32,
        pool: Option<String>,
    }
);

step_struct!(
    /// Sends SIGKILL to a runner.
    Kill { kill: String }
);
step_struct!(
    /// Sends SIGSTOP to a runner.
    Pause { pause: String }
);
step_struct!(
    /// Sends SIGCONT to a runner.
    Continue { #[serde(rename = "continue")] runner: String }
);
step_struct!(
    /// Sends SIGTERM to a runner.
    Terminate { terminate: String }
);
step_struct!(
    /// Waits until the runner's process ends.
    Ended { ended: String, within: Option<u64> }
);
step_struct!(Revoke { revoke: String });
step_struct!(
    /// Sets the network access of the steps of a pool.
    Pool { pool: String, network: String }
);
