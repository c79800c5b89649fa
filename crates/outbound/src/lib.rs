//! The HTTP client for addresses that users and operators name: issuers of tokens, OpenID providers. Such an
//! address is hostile until it has been checked, because the server can reach what its users can't: itself, its
//! private network, the metadata service of its cloud.
//!
//! - https only. Plain http is possible to this machine, if the operator has allowed that (tests, demonstrations).
//! - Every address that a name resolves to is checked ([`check_address`]), and the connection is made to an address
//!   that was checked: a name is resolved once per request.
//! - A program that connects by itself gets the checked addresses ([`pin_addresses`]).
//! - No redirects, no proxy from the environment, no connection that is kept for the next request.
//! - The time and the length of a response are bounded ([`Bounds`]).
//!
//! This crate logs nothing, and its errors contain no query and no header.

mod address;
mod client;
mod destination;
mod error;
mod lookup;
mod pin;

pub use self::address::{AllowList, ForbiddenNetwork, check_address};
pub use self::client::{Bounds, OutboundClient};
pub use self::destination::InvalidDestination;
pub use self::error::{ForbiddenAddress, OutboundError};
pub use self::lookup::{Lookup, SystemLookup};
pub use self::pin::{PinError, pin_addresses};
