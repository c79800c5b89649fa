//! A fix that a worker has leased.

use std::time::Duration;

use greenroom_domain::id::OrganizationId;
use jiff::Timestamp;

use super::read::FixRecord;

/// How long a worker may take. If it crashes, the fix is due again after this time.
pub const FIX_LEASE: Duration = Duration::from_secs(90);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueFix {
    pub organization_id: OrganizationId,
    pub fix: FixRecord,
    pub tries: u32,
    pub is_overdue: bool,
    /// Also identifies the lease.
    pub leased_until: Timestamp,
}
