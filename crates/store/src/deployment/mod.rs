//! Deployments: how they come to be, go on and end, and how they are read. The domain's machine decides; what is here holds
//! the rows, asks it, and writes down what it said.

mod advance;
mod ask;
mod cleanup;
mod environment_end;
mod expiry;
mod give_up;
mod in_session;
mod job_record;
mod list;
mod named_branch;
mod ownership;
mod person;
mod planning;
mod pool_restriction;
mod record;
mod room;
mod slot;
mod stage_record;
mod stages;

pub(crate) use self::advance::TIMING;
pub use self::ask::{Asked, CANCEL_GRACE_SECONDS};
pub use self::job_record::{JobRecord, StepRecord};
pub use self::list::DeploymentFilter;
pub use self::ownership::{LockedDeployment, SessionOwner};
pub use self::person::PersonRecord;
pub(crate) use self::pool_restriction::restriction;
pub use self::record::DeploymentRecord;
pub use self::stage_record::StageRecord;
pub(crate) use advance::Advanced;
