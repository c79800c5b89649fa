//! Service accounts: users of one organization that are programs. They have a role and tokens like a member, but no
//! e-mail address, and can't sign in.

use jiff::Timestamp;

use crate::id::UserId;
use crate::role::Role;
use crate::token::TokenKind;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    pub id: UserId,
    pub name: String,
    pub description: Option<String>,
    pub role: Role,
    pub revision: i64,
    pub created_at: Timestamp,
    pub created_by: UserId,
    pub updated_at: Timestamp,
}

/// Why a service account, or a token of one, is not created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidServiceAccount {
    #[error("can't be `owner`: only persons own an organization")]
    Owner,
    #[error("must be `ci` or `agent`: tokens of kind `user` belong to persons")]
    UserToken,
}

/// Returns the subject of an account's events: its path below the organization.
pub fn subject(id: UserId) -> String {
    format!("service-accounts/{id}")
}

pub fn check_role(role: Role) -> Result<Role, InvalidServiceAccount> {
    if role == Role::Owner { Err(InvalidServiceAccount::Owner) } else { Ok(role) }
}

pub fn check_token_kind(kind: TokenKind) -> Result<TokenKind, InvalidServiceAccount> {
    if kind == TokenKind::User { Err(InvalidServiceAccount::UserToken) } else { Ok(kind) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_account_is_neither_an_owner_nor_a_person() {
        for role in Role::ALL {
            assert_eq!(check_role(*role).is_err(), *role == Role::Owner, "{role}");
        }
        for kind in TokenKind::ALL {
            assert_eq!(check_token_kind(*kind).is_err(), *kind == TokenKind::User, "{kind}");
        }
    }
}
