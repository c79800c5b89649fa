//! Where the certificate and its key are.

use std::path::PathBuf;

/// PEM files: the certificate with those of its authorities after it, and its key.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}
