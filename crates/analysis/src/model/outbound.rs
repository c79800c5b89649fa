//! The outbound client as the transport of requests to a model.

use greenroom_outbound::{Bounds, OutboundClient, OutboundError, Requester};
use http::{Request, Response};

use super::transport::{Exchange, Transport, TransportError};

/// Sends requests to models, on behalf of one requester. Addresses are checked, redirects are not followed, and responses are bounded.
#[derive(Clone)]
pub struct OutboundTransport {
    client: OutboundClient,
    requester: Requester,
}

impl OutboundTransport {
    pub const fn new(client: OutboundClient, requester: Requester) -> Self {
        Self { client, requester }
    }
}

impl Transport for OutboundTransport {
    async fn send(
        &self,
        request: Request<Vec<u8>>,
        exchange: Exchange,
    ) -> Result<Response<Vec<u8>>, TransportError> {
        let Exchange { timeout, max_response_bytes } = exchange;
        let bounds = Bounds { timeout, max_response_bytes };
        self.client.send(&self.requester, request, bounds).await.map_err(|error| match error {
            OutboundError::Destination(_) | OutboundError::Address(_) => TransportError::ForbiddenAddress,
            OutboundError::Timeout(_) => TransportError::Timeout,
            OutboundError::Redirect(_) => TransportError::Redirect,
            OutboundError::TooLarge(_) => TransportError::TooLarge,
            OutboundError::Lookup(_) | OutboundError::Setup(_) | OutboundError::Http(_) => {
                TransportError::Failed
            }
        })
    }
}
