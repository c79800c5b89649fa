//! The statuses of an approval. All but `pending` are final.

use crate::text_enum::text_enum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalStatus {
    Pending,
    Approved,
    Rejected,
    /// Not decided in time.
    Expired,
    /// The deployment or its stage ended.
    Canceled,
    /// What was to be approved has changed.
    Invalidated,
    /// A newer deployment was approved for the same stage and environment.
    Superseded,
}

text_enum!(ApprovalStatus {
    Pending = "pending",
    Approved = "approved",
    Rejected = "rejected",
    Expired = "expired",
    Canceled = "canceled",
    Invalidated = "invalidated",
    Superseded = "superseded",
});

impl ApprovalStatus {
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Pending)
    }
}
