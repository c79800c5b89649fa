//! Who vouches for a person: an identity provider, the operator, or only admins of the organization.

use jiff::Timestamp;

use crate::id::UserId;

/// Who vouches for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// An identity provider or the operator has confirmed who the person is.
    Confirmed,
    /// Only admins of the organization do.
    Unconfirmed { member_since: Timestamp, admissions: Vec<Admission> },
}

/// Something that an admin has given to a person, and that votes can depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    pub kind: AdmissionKind,
    pub by: UserId,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdmissionKind {
    Membership,
    /// The sign-in link that the person was enrolled with.
    SignInLink,
    /// The role that the person has now.
    Role,
    /// The membership in the group with this name.
    Group(String),
}
