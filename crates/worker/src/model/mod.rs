//! Reaches the model of an organization: its credential, and the outbound client that sends requests to it.

mod credential;
mod transport;

pub use self::credential::{CredentialNotOpened, open_credential};
pub use self::transport::OutboundTransport;
