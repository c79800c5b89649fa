//! Whose a session is. A session of a person belongs to the person, whichever token or browser is used. A session of a
//! service account belongs to the token that claimed it, and to all tokens that descend from that one. So two programs
//! with different tokens never share a lock, unless one has made the token of the other.

use uuid::Uuid;

use crate::id::{TokenId, UserId};

/// How many tokens a chain has at most in which each was made by the one before.
pub const MAX_LINEAGE: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    pub user: UserId,
    /// For a service account: the token that claimed the session, or that sends the request. `None` for a person.
    pub token: Option<TokenId>,
}

impl Owner {
    pub const fn person(user: UserId) -> Self {
        Self { user, token: None }
    }

    /// Returns the id that distinguishes this owner from all others: ids of users and of tokens never coincide.
    pub fn uuid(self) -> Uuid {
        self.token.map_or_else(|| self.user.uuid(), TokenId::uuid)
    }

    /// Returns whether a session is this caller's own. `lineage` has the tokens from which the caller's token descends.
    pub fn owns(self, session: Self, lineage: &[TokenId]) -> bool {
        let is_of_ancestor = || session.token.is_some_and(|token| lineage.contains(&token));
        session == self || session.user == self.user && self.token.is_some() && is_of_ancestor()
    }
}

/// The token of a service account that a session was claimed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceToken {
    pub id: TokenId,
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_belongs_to_a_token_and_its_descendants() {
        let user = UserId::from(Uuid::from_u128(1));
        let id = |number| TokenId::from(Uuid::from_u128(number));
        let of = |number| Owner { user, token: Some(id(number)) };
        // 2 made 3 and 5; 3 made 4; 6 was made by an admin, as 2 was.
        let callers = [(2, vec![2]), (3, vec![2, 3]), (4, vec![2, 3, 4]), (5, vec![2, 5]), (6, vec![6])];
        for (session, own) in
            [(2, vec![2, 3, 4, 5]), (3, vec![3, 4]), (4, vec![4]), (5, vec![5]), (6, vec![6])]
        {
            for (caller, lineage) in &callers {
                let lineage: Vec<_> = lineage.iter().copied().map(id).collect();
                let owns = of(*caller).owns(of(session), &lineage);
                assert_eq!(owns, own.contains(caller), "{caller} acts in a session of {session}");
                assert!(!of(*caller).owns(Owner::person(user), &lineage));
                assert!(!Owner::person(user).owns(of(session), &lineage));
                let other = Owner { user: UserId::from(Uuid::from_u128(7)), ..of(*caller) };
                assert!(!other.owns(of(session), &lineage), "a token of another account");
            }
        }
        assert!(Owner::person(user).owns(Owner::person(user), &[]));
        assert_eq!((of(2).uuid(), Owner::person(user).uuid()), (Uuid::from_u128(2), user.uuid()));
    }
}
