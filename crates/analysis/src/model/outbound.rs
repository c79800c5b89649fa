//! The outbound client as the transport of requests to a model.

use greenroom_outbound::{Bounds, OutboundClient, OutboundError};
use http::{Request, Response};

use super::transport::{Exchange, Transport, TransportError};

/// Sends requests to models. Addresses are checked, redirects are not followed, and responses are bounded.
#[derive(Clone)]
pub struct OutboundTransport(OutboundClient);

impl OutboundTransport {
    pub const fn new(client: OutboundClient) -> Self {
        Self(client)
    }
}

impl Transport for OutboundTransport {
    async fn send(
        &self,
        request: Request<Vec<u8>>,
        exchange: Exchange,
    ) -> Result<Response<Vec<u8>>, TransportError> {
        let Exchange { timeout, max_response_bytes } = exchange;
        self.0.send(request, Bounds { timeout, max_response_bytes }).await.map_err(|error| match error {
            OutboundError::Destination(_) | OutboundError::Address(_) => TransportError::ForbiddenAddress,
            OutboundError::Timeout(_) => TransportError::Timeout,
            OutboundError::Redirect(_) => TransportError::Redirect,
            OutboundError::TooLarge(_) => TransportError::TooLarge,
            OutboundError::Setup(_) | OutboundError::Http(_) => TransportError::Failed,
        })
    }
}
