//! Sends requests.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::header::ACCEPT;
use http::{Request, Response};
use reqwest::redirect::Policy;

use crate::address::AllowList;
use crate::destination::{Destination, InvalidDestination, Scheme};
use crate::error::{ForbiddenAddress, OutboundError};
use crate::lookup::{Access, CheckedResolver, Lookup, SystemLookup};

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
    https: Arc<Channel>,
    http: Arc<Channel>,
}

/// A client for one scheme. It is built for the first request: a machine without certificate authorities can run a
/// server that sends none.
struct Channel {
    access: Access,
    lookup: Arc<dyn Lookup>,
    client: OnceLock<reqwest::Client>,
}

impl Channel {
    fn client(&self) -> Result<&reqwest::Client, OutboundError> {
        match self.client.get() {
            Some(client) => Ok(client),
            None => {
                let client = self.build().map_err(OutboundError::Setup)?;
                Ok(self.client.get_or_init(|| client))
            }
        }
    }

    fn build(&self) -> Result<reqwest::Client, reqwest::Error> {
        let client = reqwest::Client::builder()
            .user_agent(concat!("greenroom/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(CheckedResolver { access: self.access.clone(), lookup: Arc::clone(&self.lookup) })
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            .retry(reqwest::retry::never())
            // The name is resolved and checked for each request.
            .pool_max_idle_per_host(0)
            .http1_only()
            .http1_max_headers(MAX_RESPONSE_HEADERS)
            // A compressed response can be much longer than what is received.
            .no_gzip()
            .no_brotli()
            .no_deflate()
            .no_zstd();
        match self.access.scheme {
            Scheme::Https => client.https_only(true).build(),
            // Needs no certificate authorities.
            Scheme::Http => client.tls_certs_only([]).build(),
        }
    }
}

impl OutboundClient {
    pub fn new(allow: AllowList) -> Self {
        Self::with_lookup(allow, SystemLookup)
    }

    /// A client that resolves names in another way than the operating system.
    pub fn with_lookup(allow: AllowList, lookup: impl Lookup) -> Self {
        let (allow, lookup) = (Arc::new(allow), Arc::new(lookup) as Arc<dyn Lookup>);
        let channel = |scheme| {
            let access = Access { scheme, allow: Arc::clone(&allow) };
            Arc::new(Channel { access, lookup: Arc::clone(&lookup), client: OnceLock::new() })
        };
        Self { https: channel(Scheme::Https), http: channel(Scheme::Http) }
    }

    /// Sends a GET request for JSON.
    pub async fn get_json(&self, url: &str, bounds: Bounds) -> Result<Response<Vec<u8>>, OutboundError> {
        let request = Request::get(url).header(ACCEPT, "application/json").body(Vec::new());
        self.send(request.map_err(|_| InvalidDestination::Syntax)?, bounds).await
    }

    /// Sends a request, and returns the response with its complete body. A redirect is an error.
    pub async fn send(
        &self,
        request: Request<Vec<u8>>,
        bounds: Bounds,
    ) -> Result<Response<Vec<u8>>, OutboundError> {
        let exchange = self.exchange(request, bounds.max_response_bytes);
        match tokio::time::timeout(bounds.timeout, exchange).await {
            Ok(result) => result,
            Err(_) => Err(OutboundError::Timeout(bounds.timeout)),
        }
    }

    async fn exchange(
        &self,
        request: Request<Vec<u8>>,
        max_bytes: usize,
    ) -> Result<Response<Vec<u8>>, OutboundError> {
        let destination = Destination::parse(request.uri())?;
        let channel = match destination.scheme {
            Scheme::Https => &self.https,
            Scheme::Http => &self.http,
        };
        // The library does not call the resolver for a host that is an address.
        if let Some(address) = destination.address {
            channel.access.check(address)?;
        }
        let request = reqwest::Request::try_from(request).map_err(failed)?;
        let mut response = channel.client()?.execute(request).await.map_err(failed)?;
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

/// Finds the reason of the resolver in an error of the library. The address of the request can contain secrets, and
/// is left out.
fn failed(error: reqwest::Error) -> OutboundError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(current) = cause {
        if let Some(forbidden) = current.downcast_ref::<ForbiddenAddress>() {
            return OutboundError::Address(*forbidden);
        }
        cause = current.source();
    }
    OutboundError::Http(error.without_url())
}
