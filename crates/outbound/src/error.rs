//! Why a request was not sent, or its response was rejected.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use crate::address::ForbiddenNetwork;
use crate::destination::InvalidDestination;

/// An address that may not be connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForbiddenAddress {
    #[error(
        "{address} may not be connected to ({reason}), unless --outbound-allow allows its network for this"
    )]
    Network { address: IpAddr, reason: ForbiddenNetwork },
    #[error("{0} is an address of this machine, and --outbound-allow does not allow it for this")]
    Own(IpAddr),
    #[error("plain http is possible only to a loopback address in --outbound-allow, not to {0}")]
    PlainHttp(IpAddr),
}

/// Why an address could not be looked up for a program that connects by itself.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    #[error("the address can't be used: {0}")]
    Destination(#[from] InvalidDestination),
    #[error(transparent)]
    Address(#[from] ForbiddenAddress),
    #[error("the host's name can't be resolved")]
    Lookup(#[source] io::Error),
}

#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    #[error("the address can't be used: {0}")]
    Destination(#[from] InvalidDestination),
    #[error(transparent)]
    Address(#[from] ForbiddenAddress),
    #[error("the host's name can't be resolved")]
    Lookup(#[source] io::Error),
    #[error("there was no complete response within {} ms", .0.as_millis())]
    Timeout(Duration),
    #[error("the response is a redirect ({0}), which is not followed")]
    Redirect(http::StatusCode),
    #[error("the response has more than {0} bytes")]
    TooLarge(usize),
    #[error("the client can't be built: are there certificate authorities on this machine?")]
    Setup(#[source] reqwest::Error),
    /// The error of the HTTP library, without the address.
    #[error("the request failed")]
    Http(#[source] reqwest::Error),
}

impl From<PinError> for OutboundError {
    fn from(error: PinError) -> Self {
        match error {
            PinError::Destination(error) => Self::Destination(error),
            PinError::Address(error) => Self::Address(error),
            PinError::Lookup(error) => Self::Lookup(error),
        }
    }
}
