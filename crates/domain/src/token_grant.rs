//! The permissions of a new token: the defaults and limits of its kind, and the limits of the token that
//! creates it.

use jiff::{SignedDuration, Timestamp};

use crate::id::PipelineId;
use crate::owner::MAX_LINEAGE;
pub use crate::pipeline_limit::PipelineLimit;
use crate::scope::Scopes;
use crate::token::TokenKind;

/// The maximum of pipelines that a token can be limited to.
pub const MAX_PIPELINES: usize = 100;
/// How many valid tokens a person can have in an organization.
pub const MAX_TOKENS_PER_PERSON: i64 = 100;
/// The highest number of sessions that a token can be limited to.
pub const MAX_SESSION_LIMIT: u16 = 1000;

const HOURS_PER_DAY: i64 = 24;

/// What a token may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenGrant {
    pub kind: TokenKind,
    pub allow_force: bool,
    pub expires_at: Option<Timestamp>,
    pub scopes: Scopes,
    pub pipelines: PipelineLimit,
    /// How many sessions the token, and those made by it, may hold at a time; `None`: any number.
    pub max_sessions: Option<u16>,
}

impl TokenGrant {
    /// Returns the grant of the first token of an organization: all permissions of its user, without expiry.
    pub const fn of_user() -> Self {
        Self {
            kind: TokenKind::User,
            allow_force: true,
            expires_at: None,
            scopes: Scopes::ALL,
            pipelines: PipelineLimit::All,
            max_sessions: None,
        }
    }
}

/// When a new token expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestedExpiry {
    /// After the default lifetime of its kind, and not later than its parent.
    #[default]
    Default,
    /// Never, if the kind permits that; otherwise after the default lifetime.
    Never,
    At(Timestamp),
}

/// The request for a new token. A field that is `None` gets its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRequest {
    pub kind: TokenKind,
    pub allow_force: Option<bool>,
    pub expiry: RequestedExpiry,
    pub scopes: Option<Scopes>,
    pub pipelines: Option<Vec<PipelineId>>,
    pub max_sessions: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExceedsParent {
    #[error("a token made by a token can't outlive it")]
    Lifetime,
    #[error("a ci or agent token can't make a token of kind `user`")]
    Kind,
    #[error("a token without allowForce can't make one that has it")]
    Force,
    #[error("a token can't make one with scopes that it does not have itself (it has: {has})")]
    Scopes { has: Scopes },
    #[error("a token that is limited to pipelines can't make one that reaches others")]
    Pipelines,
    #[error("a token that may hold {has} sessions at a time can't make one that may hold more")]
    Sessions { has: u16 },
    #[error("{MAX_LINEAGE} tokens made this one, each the next, and no more can follow")]
    Descent,
}

/// Why a token is not created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefusal {
    #[error("must not be empty; leave it out for the defaults of the kind")]
    NoScopes,
    #[error("can't contain `admin` in a token of kind `{kind}`")]
    AdminScope { kind: TokenKind },
    #[error("must name 1 to {MAX_PIPELINES} pipelines; leave it out for all of them")]
    PipelineCount,
    #[error("must be between 1 and {MAX_SESSION_LIMIT}; leave it out for any number of sessions")]
    SessionLimit,
    #[error("must be in the future")]
    ExpiryPast,
    #[error("must be within {max_days} days for a token of kind `{kind}`")]
    ExpiryTooLate { kind: TokenKind, max_days: i64 },
    #[error(transparent)]
    Exceeds(#[from] ExceedsParent),
}

impl TokenRequest {
    /// Fills in the defaults and checks the limits of the kind and of the token that creates this one
    /// (`None`: an operator). A default is narrowed to what the parent has; an explicit value that exceeds
    /// the parent is rejected.
    pub fn resolve(self, parent: Option<&TokenGrant>, now: Timestamp) -> Result<TokenGrant, TokenRefusal> {
        if parent.is_some_and(|parent| parent.kind != TokenKind::User) && self.kind == TokenKind::User {
            return Err(ExceedsParent::Kind.into());
        }
        let may_force = parent.is_none_or(|parent| parent.allow_force);
        if self.allow_force == Some(true) && !may_force {
            return Err(ExceedsParent::Force.into());
        }
        Ok(TokenGrant {
            kind: self.kind,
            allow_force: self.allow_force.unwrap_or(self.kind.allows_force_by_default() && may_force),
            expires_at: self.resolve_expiry(parent.and_then(|parent| parent.expires_at), now)?,
            scopes: self.resolve_scopes(parent.map_or(Scopes::ALL, |parent| parent.scopes))?,
            pipelines: self
                .resolve_pipelines(parent.map_or(&PipelineLimit::All, |parent| &parent.pipelines))?,
            max_sessions: self.resolve_max_sessions(parent.and_then(|parent| parent.max_sessions))?,
        })
    }

    fn resolve_scopes(&self, parent: Scopes) -> Result<Scopes, TokenRefusal> {
        let Some(scopes) = self.scopes else {
            let scopes = self.kind.default_scopes().intersection(parent);
            return if scopes.is_empty() {
                Err(ExceedsParent::Scopes { has: parent }.into())
            } else {
                Ok(scopes)
            };
        };
        if scopes.is_empty() {
            Err(TokenRefusal::NoScopes)
        } else if !scopes.difference(self.kind.permitted_scopes()).is_empty() {
            Err(TokenRefusal::AdminScope { kind: self.kind })
        } else if !scopes.difference(parent).is_empty() {
            Err(ExceedsParent::Scopes { has: parent }.into())
        } else {
            Ok(scopes)
        }
    }

    fn resolve_pipelines(&self, parent: &PipelineLimit) -> Result<PipelineLimit, TokenRefusal> {
        let Some(pipelines) = &self.pipelines else { return Ok(parent.clone()) };
        if pipelines.is_empty() || pipelines.len() > MAX_PIPELINES {
            return Err(TokenRefusal::PipelineCount);
        }
        let limit = PipelineLimit::new(Some(pipelines.clone()));
        if limit.is_within(parent) { Ok(limit) } else { Err(ExceedsParent::Pipelines.into()) }
    }

    /// A token that was made by a limited one is limited too, so a token without a limit has none above it.
    fn resolve_max_sessions(&self, parent: Option<u16>) -> Result<Option<u16>, TokenRefusal> {
        let Some(stated) = self.max_sessions else { return Ok(parent) };
        let stated = u16::try_from(stated).ok().filter(|stated| (1..=MAX_SESSION_LIMIT).contains(stated));
        let stated = stated.ok_or(TokenRefusal::SessionLimit)?;
        match parent {
            Some(has) if stated > has => Err(ExceedsParent::Sessions { has }.into()),
            _ => Ok(Some(stated)),
        }
    }

    fn resolve_expiry(
        &self,
        parent: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, TokenRefusal> {
        let lifetime = self.kind.lifetime();
        let stated = match (self.expiry, lifetime.max_days) {
            (RequestedExpiry::At(stated), _) => stated,
            (RequestedExpiry::Never, None) => {
                return if parent.is_none() { Ok(None) } else { Err(ExceedsParent::Lifetime.into()) };
            }
            (RequestedExpiry::Never | RequestedExpiry::Default, _) => {
                let default = after(now, lifetime.default_days);
                return Ok(match (default, parent) {
                    (Some(default), Some(parent)) => Some(default.min(parent)),
                    (default, parent) => default.or(parent),
                });
            }
        };
        if stated <= now {
            return Err(TokenRefusal::ExpiryPast);
        }
        if let Some(max_days) = lifetime.max_days
            && after(now, max_days).is_some_and(|latest| stated > latest)
        {
            return Err(TokenRefusal::ExpiryTooLate { kind: self.kind, max_days });
        }
        if parent.is_some_and(|parent| stated > parent) {
            return Err(ExceedsParent::Lifetime.into());
        }
        Ok(Some(stated))
    }
}

/// Returns `None` beyond the last representable time.
fn after(now: Timestamp, days: i64) -> Option<Timestamp> {
    now.checked_add(SignedDuration::from_hours(days * HOURS_PER_DAY)).ok()
}

#[cfg(test)]
#[path = "token_grant_tests.rs"]
mod tests;
