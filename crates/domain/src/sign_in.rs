//! Who may be enrolled with a sign-in link, and by whom. The operator may enroll every person.

use crate::role::Role;

/// A member for whom an admin wants to make a sign-in link, or whose link is about to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enrollment {
    pub role: Role,
    pub is_requester: bool,
    pub has_signed_in: bool,
    /// The person is a member of another organization too.
    pub is_member_elsewhere: bool,
}

/// Why an admin may not enroll a member. The operator can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnrollmentRefusal {
    #[error("an owner is enrolled by the operator")]
    Owner,
    /// Otherwise a token could get a browser session of its user, which exceeds the token's scopes and expiry.
    #[error("you can't make a sign-in link for yourself")]
    Oneself,
    /// The same for both reasons, because the difference would disclose a membership elsewhere.
    #[error("this person is enrolled already")]
    AlreadyEnrolled,
}

impl Enrollment {
    /// Checks whether an admin of the organization may enroll the member.
    ///
    /// A link lets its bearer sign in as the member. So an admin may make one only for a person whose account
    /// gives access to nothing but what this admin could give: not for owners, nor for people who have signed
    /// in before, nor for members of other organizations.
    pub const fn check(self) -> Result<(), EnrollmentRefusal> {
        if matches!(self.role, Role::Owner) {
            Err(EnrollmentRefusal::Owner)
        } else if self.is_requester {
            Err(EnrollmentRefusal::Oneself)
        } else if self.has_signed_in || self.is_member_elsewhere {
            Err(EnrollmentRefusal::AlreadyEnrolled)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination() {
        for role in Role::ALL {
            for bits in 0..8 {
                let enrollment = Enrollment {
                    role: *role,
                    is_requester: bits & 1 != 0,
                    has_signed_in: bits & 2 != 0,
                    is_member_elsewhere: bits & 4 != 0,
                };
                let allowed = *role != Role::Owner && bits == 0;
                assert_eq!(enrollment.check().is_ok(), allowed, "{enrollment:?}");
            }
        }
    }
}
