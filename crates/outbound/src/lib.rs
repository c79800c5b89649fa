//! The HTTP client for addresses that users and operators name: issuers of tokens, OpenID providers. Such an
//! address is hostile until it has been checked, because the server can reach what its users can't: itself, its
//! private network, the metadata service of its cloud.
//!
//! - https only. Plain http is possible to this machine, if the operator has allowed that (tests, demonstrations).
//! - Every address that a name resolves to is checked, and the connection is made to an address
//!   that was checked: a name is resolved once per request.
//! - A destination that is not on the internet is possible only if the operator allows it for the purpose, the port and the
//!   organization of a request ([`AllowList`], [`Requester`]); admins learn nothing about what failed there.
//! - A program that connects by itself gets the checked addresses ([`pin_addresses`]).
//! - No redirects, no proxy from the environment, no connection that is kept for the next request.
//! - The time and the length of a response are bounded ([`Bounds`]).
//!
//! This crate logs nothing, and its errors contain no query and no header.

mod address;
mod allow_list;
mod client;
mod destination;
mod error;
mod lookup;
mod pin;
mod purpose;
mod requester;

pub use self::address::ForbiddenNetwork;
pub use self::allow_list::{AllowEntry, AllowList, InvalidEntry};
pub use self::client::{Bounds, OutboundClient};
pub use self::destination::InvalidDestination;
pub use self::error::{ForbiddenAddress, OutboundError, PinError};
pub use self::lookup::{Lookup, SystemLookup};
pub use self::pin::pin_addresses;
pub use self::purpose::Purpose;
pub use self::requester::{OrganizationNames, Requester};
