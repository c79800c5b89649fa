//! Why a runner's request about a job is refused.

use crate::failure::{Code, Failure};

pub fn fence_outdated() -> Failure {
    Failure::new(
        Code::FenceOutdated,
        "The environment has passed on to another session. Start no further step, and complete the job.",
    )
}

pub fn gone() -> Failure {
    Failure::new(
        Code::JobGone,
        "The job is not this runner's, or not any more. End everything that belongs to it at once.",
    )
}
