//! Why there is no explanation. No error contains text of the provider, because that is an attacker's, nor the key.

use http::StatusCode;

use super::usage::Usage;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("the address of the model's endpoint may not be connected to")]
    ForbiddenAddress,
    #[error("the key contains characters that a header can't contain")]
    InvalidKey,
    #[error("the model's endpoint did not respond in time")]
    Timeout,
    #[error("the deadline of the explanation has passed")]
    Deadline,
    #[error("the model's endpoint responded with a redirect, which is not followed")]
    Redirect,
    #[error("the response of the model's endpoint is too long")]
    TooLarge,
    #[error("the connection to the model's endpoint failed")]
    Connection,
    #[error("the model's endpoint limits the rate of requests (status {})", .0.as_u16())]
    RateLimited(StatusCode),
    #[error("the model's endpoint is not available (status {})", .0.as_u16())]
    Unavailable(StatusCode),
    #[error("the model's endpoint rejected the request (status {})", .0.as_u16())]
    Rejected(StatusCode),
    #[error("the response is not of the endpoint's protocol")]
    InvalidResponse,
    #[error("the model's text does not match the schema")]
    InvalidExplanation,
    #[error("the model refused to respond")]
    Refused,
}

/// An error, with what was used until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct ModelFailure {
    pub error: ModelError,
    pub usage: Usage,
    pub attempts: u32,
}
