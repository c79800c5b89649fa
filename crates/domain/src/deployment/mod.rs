//! Deployments: what is planned (`plan`), how it goes on (`machine`), and what a live one waits for (`waiting`) and until
//! when (`deadline`).

mod branch;
mod deadline;
mod machine;
mod plan;
mod retry;
mod rights;
mod status;
mod waiting;

pub use branch::{BranchProof, required_proof};
pub use deadline::{AttemptTimes, deadline, ends_by};
pub use machine::{Cancel, Deployment, Facts, Job, Stage, Timing, advance, next_look};
pub use plan::{NotPlanned, Plan, PlannedStage, Purpose, Scene, plan, variables_of};
pub use retry::{NotRetried, cancel_stage, give_up_stage, retry_stage};
pub use rights::{RequiredRight, required_right};
pub use status::{DeploymentStatus, JobStatus, Reason, StageStatus};
pub use waiting::{LiveStage, Surroundings, WaitingOn, waiting_on};
