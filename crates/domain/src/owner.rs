//! Whose a session is. A session of a person belongs to the person, whichever token or browser is used. A session of a
//! service account belongs to a token that an admin made, and to all tokens that descend from it. Two programs with
//! tokens of their own from an admin never share a lock; two tokens that descend from one token do.

use uuid::Uuid;

use crate::id::{TokenId, UserId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    pub user: UserId,
    /// For a service account: the token that an admin made, from which the token of the request descends. `None` for a
    /// person.
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
}

/// The token of a service account that a session was claimed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceToken {
    /// The token that the session belongs to: this one, or that from which it descends.
    pub owner: TokenId,
    /// The name of the token that claimed the session.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_one_account_are_different_owners() {
        let user = UserId::from(Uuid::from_u128(1));
        let token = |number| Owner { user, token: Some(TokenId::from(Uuid::from_u128(number))) };
        assert_eq!(token(2), token(2));
        assert_ne!(token(2), token(3));
        assert_ne!(token(2), Owner::person(user));
        assert_eq!(token(2).uuid(), Uuid::from_u128(2));
        assert_eq!(Owner::person(user).uuid(), user.uuid());
    }
}
