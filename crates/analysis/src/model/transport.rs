//! How a request is sent. The caller implements it with the client for addresses that users name.

use std::time::Duration;

use http::{Request, Response};

/// The bounds of one request. An implementation has to stop reading at the maximum: an endpoint can send without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    pub timeout: Duration,
    pub max_response_bytes: usize,
}

/// Why there is no response. It has no text: that could contain an attacker's, or the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    #[error("the address may not be connected to")]
    ForbiddenAddress,
    #[error("there was no complete response in time")]
    Timeout,
    #[error("the response is a redirect")]
    Redirect,
    #[error("the response is too long")]
    TooLarge,
    #[error("the request failed")]
    Failed,
}

/// Sends requests to addresses that users name: checks every address before it connects, follows no redirect, and
/// enforces the bounds.
pub trait Transport: Send + Sync {
    fn send(
        &self,
        request: Request<Vec<u8>>,
        exchange: Exchange,
    ) -> impl Future<Output = Result<Response<Vec<u8>>, TransportError>> + Send;
}
