//! Trust policies: which tokens of a CI system are exchanged for a token of a service account (RFC 8693). A policy
//! names an issuer, an audience, and claims that are compared exactly.
//!
//! Who signs is verified elsewhere (`greenroom-keys`): what is here decides about claims whose signature is valid.

mod ci_system;
mod claims;
mod exchange;
mod issuer;
mod key_cache;
mod lifetime;
mod policy;
mod token;

pub use self::ci_system::CiSystem;
pub use self::claims::{ExpectedClaims, InvalidClaims, MAX_CLAIMS};
pub use self::exchange::{ExchangeRequest, InvalidExchange, Resource};
pub use self::issuer::{InvalidIssuer, Issuer};
pub use self::key_cache::{
    KEY_MAX_AGE, KEY_TTL, KeyCacheDecision, KeyCacheState, REFETCH_INTERVAL, decide_key_use,
};
pub use self::lifetime::{ExchangedLifetime, InvalidLifetime};
pub use self::policy::{
    Audience, InvalidAudience, MAX_POLICIES, PolicyRejection, TrustPolicy, choose_policy, subject,
};
pub use self::token::{AcceptedToken, CLOCK_SKEW, MAX_LIFETIME, TokenRejection, accept_token};
