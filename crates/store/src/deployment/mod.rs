//! Deployments: creating, advancing, ending and reading them. This module locks the rows, runs the domain's
//! machine, which decides, and writes the result.

mod action;
mod advance;
mod cleanup;
mod definition;
mod environment_end;
mod event_view;
mod expiry;
pub(crate) mod final_statuses;
mod gates;
mod give_up;
mod in_session;
mod input_refusal;
mod job_record;
pub(crate) mod list;
mod named_branch;
pub(crate) mod new_deployment;
mod ownership;
mod person;
pub(crate) mod planning;
mod pool_restriction;
mod record;
mod room;
mod secret_check;
mod slot;
mod stage_columns;
mod stage_record;
mod stage_row;
mod stages;

pub use self::action::{ActionOutcome, CANCEL_GRACE_SECONDS, RetryOptions};
pub(crate) use self::advance::{LockedDeployment, TIMING};
pub(crate) use self::gates::Gates;
pub use self::job_record::{JobRecord, StepRecord};
pub use self::list::DeploymentFilter;
pub use self::new_deployment::{NewPipelineDeployment, NewSessionDeployment};
pub use self::ownership::{DeploymentOwnership, SessionOwner};
pub(crate) use self::person::PersonColumns;
pub use self::person::PersonRecord;
pub(crate) use self::pool_restriction::restriction;
pub use self::record::DeploymentRecord;
pub use self::stage_record::StageRecord;
pub(crate) use self::stage_row::StageRow;
pub(crate) use advance::Advanced;
