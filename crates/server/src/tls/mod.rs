//! TLS of the API's listener. The certificate and its key are files, and are replaced while the server runs.

mod current;
mod files;
mod handshake;
mod pair;
mod reload;

pub use self::current::Tls;
pub use self::files::TlsFiles;
