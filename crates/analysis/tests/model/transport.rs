//! The product's HTTP client as a transport.

use greenroom_analysis::model::{Exchange, Transport, TransportError};
use greenroom_outbound::{AllowList, Bounds, OutboundClient, OutboundError};
use http::{Request, Response};

pub struct Outbound(OutboundClient);

impl Outbound {
    pub fn new(networks: &str) -> Self {
        let networks = networks.split_whitespace().map(|network| network.parse().unwrap());
        Self(OutboundClient::new(AllowList::new(networks)))
    }
}

impl Transport for Outbound {
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
