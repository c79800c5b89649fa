//! Sends requests.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::header::ACCEPT;
use http::{Request, Response};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;

use crate::allow_list::AllowList;
use crate::destination::{Destination, InvalidDestination, Scheme};
use crate::error::OutboundError;
use crate::lookup::{Lookup, SystemLookup};
use crate::pin::checked_addresses;
use crate::purpose::Purpose;
use crate::requester::Requester;

const MAX_RESPONSE_HEADERS: usize = 64;

/// The bounds of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// From the look-up of the name to the last byte of the response.
    pub timeout: Duration,
    pub max_response_bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(15), max_response_bytes: 64 << 10 }
    }
}

/// The HTTP client for addresses that users and operators name. See the crate's documentation. Cheap to clone.
#[derive(Clone)]
pub struct OutboundClient {
    allow: Arc<AllowList>,
    lookup: Arc<dyn Lookup>,
}

/// The HTTP library connects to these addresses, whatever the name is. It does not call this for hosts that are addresses.
struct PinnedResolver(Vec<IpAddr>);

impl Resolve for PinnedResolver {
    fn resolve(&self, _: Name) -> Resolving {
        // The library replaces the port by that of the address.
        let addresses: Vec<_> = self.0.iter().map(|address| SocketAddr::new(*address, 0)).collect();
        Box::pin(async move { Ok(Box::new(addresses.into_iter()) as Addrs) })
    }
}

/// Builds the client of one request, which can connect to the checked addresses only. No connection is kept for another
/// request, so that nothing is gained by keeping the client.
fn build(scheme: Scheme, addresses: Vec<IpAddr>) -> Result<reqwest::Client, reqwest::Error> {
    let client = reqwest::Client::builder()
        .user_agent(concat!("greenroom/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(PinnedResolver(addresses))
        .redirect(Policy::none())
        .referer(false)
        .no_proxy()
        .retry(reqwest::retry::never())
        .pool_max_idle_per_host(0)
        .http1_only()
        .http1_max_headers(MAX_RESPONSE_HEADERS)
        // A compressed response can be much longer than what is received.
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd();
    match scheme {
        Scheme::Https => client.https_only(true).build(),
        // Needs no certificate authorities.
        Scheme::Http => client.tls_certs_only([]).build(),
    }
}

impl OutboundClient {
    pub fn new(allow: AllowList) -> Self {
        Self::with_lookup(allow, SystemLookup)
    }

    /// A client that resolves names in another way than the operating system.
    pub fn with_lookup(allow: AllowList, lookup: impl Lookup) -> Self {
        Self { allow: Arc::new(allow), lookup: Arc::new(lookup) }
    }

    /// Returns whether organizations can reach different destinations, for this purpose.
    pub fn depends_on_organization(&self, purpose: Purpose) -> bool {
        self.allow.depends_on_organization(purpose)
    }

    /// Sends a GET request for JSON.
    pub async fn get_json(
        &self,
        requester: &Requester,
        url: &str,
        bounds: Bounds,
    ) -> Result<Response<Vec<u8>>, OutboundError> {
        let request = Request::get(url).header(ACCEPT, "application/json").body(Vec::new());
        self.send(requester, request.map_err(|_| InvalidDestination::Syntax)?, bounds).await
    }

    /// Sends a request, and returns the response with its complete body. A redirect is an error.
    pub async fn send(
        &self,
        requester: &Requester,
        request: Request<Vec<u8>>,
        bounds: Bounds,
    ) -> Result<Response<Vec<u8>>, OutboundError> {
        let exchange = self.exchange(requester, request, bounds.max_response_bytes);
        match tokio::time::timeout(bounds.timeout, exchange).await {
            Ok(result) => result,
            Err(_) => Err(OutboundError::Timeout(bounds.timeout)),
        }
    }

    async fn exchange(
        &self,
        requester: &Requester,
        request: Request<Vec<u8>>,
        max_bytes: usize,
    ) -> Result<Response<Vec<u8>>, OutboundError> {
        let destination = Destination::parse(request.uri())?;
        let (uri, lookup) = (request.uri(), self.lookup.as_ref());
        let addresses = checked_addresses(uri, &destination, &self.allow, lookup, requester).await?;
        let client = build(destination.scheme, addresses).map_err(OutboundError::Setup)?;
        let request = reqwest::Request::try_from(request).map_err(failed)?;
        let mut response = client.execute(request).await.map_err(failed)?;
        let status = response.status();
        if status.is_redirection() {
            return Err(OutboundError::Redirect(status));
        }
        let headers = std::mem::take(response.headers_mut());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > max_bytes {
                return Err(OutboundError::TooLarge(max_bytes));
            }
            body.extend_from_slice(&chunk);
        }
        let mut received = Response::new(body);
        *received.status_mut() = status;
        *received.headers_mut() = headers;
        Ok(received)
    }
}

/// The address of the request can contain secrets, and is left out.
fn failed(error: reqwest::Error) -> OutboundError {
    OutboundError::Http(error.without_url())
}
