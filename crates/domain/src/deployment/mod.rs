//! Deployments: their plan (`plan`), their state machine (`machine`, `stage`), how an attempt ends (`attempt`), what
//! becomes of them when they are canceled (`cancel`) or retried (`retry`), which of them may start
//! (`start`, `concurrency`), which of their stages may begin in a lasting environment (`gate`), why one is blocked (`waiting`) and their deadlines (`deadline`).

mod attempt;
mod branch;
mod cancel;
mod concurrency;
mod deadline;
mod deploy_rule;
mod gate;
mod machine;
mod plan;
mod replan;
mod retry;
mod rights;
mod stage;
mod start;
mod status;
mod trigger;
mod waiting;

pub use attempt::{AttemptReport, attempt_outcome, step_may_start};
pub use branch::{BranchProof, required_proof};
pub use cancel::{CancelCause, Canceled, CanceledStage, cancel, cancel_stage, give_up_stage};
pub use concurrency::{ConcurrencyLimit, LIMITED_PURPOSES, is_at_work, is_limited};
pub use deadline::{AttemptTimes, Timing, deadline, ends_by};
pub use deploy_rule::{
    Deployer, certain_environments, deploy_rule, describe as describe_deploy_rule, may_deploy,
};
pub use gate::{
    Blocker, Freeze, GateCandidate, GateDecision, Hold, HoldBy, LastingEnvironment, Slot, decide,
};
pub use machine::{AdvanceInput, Deployment, advance, next_advance_at};
pub use plan::{NotPlanned, Plan, PlanInput, PlannedStage, Purpose, plan, stage_keys, variables_of};
pub use replan::check_other_version;
pub use retry::{NotRetried, RetryInput, retry_stage};
pub use rights::{RequiredRight, required_right};
pub use stage::{Job, Stage};
pub use start::{is_held, may_start};
pub use status::{DeploymentStatus, JobStatus, Reason, StageStatus, StepStatus};
pub use trigger::Trigger;
pub use waiting::{ApprovalProgress, BlockerInput, LiveStage, WaitingOn, waiting_on};
