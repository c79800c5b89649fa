//! The connection settings of the engine.

use std::time::Duration;

use temporalio_client::{ClientTlsOptions, ConnectionOptions, TlsOptions, Url};

use crate::EngineError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Default)]
pub struct EngineConfig {
    /// `host:port`.
    pub address: String,
    pub namespace: String,
    pub tls: Option<EngineTls>,
    /// Sent with every call. If it is set, TLS is always used.
    pub api_key: Option<String>,
}

/// TLS settings. All certificates and keys are in PEM.
#[derive(Clone, Default)]
pub struct EngineTls {
    /// The trusted certificate authorities; the system's if not set.
    pub authority: Option<Vec<u8>>,
    /// The name in the server's certificate, if it differs from the address.
    pub server_name: Option<String>,
    /// The client certificate and its key.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// Implemented by hand so that keys are never logged.
impl std::fmt::Debug for EngineConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineConfig")
            .field("address", &self.address)
            .field("namespace", &self.namespace)
            .field("tls", &self.tls.is_some())
            .field("api_key", &self.api_key.is_some())
            .finish()
    }
}

impl EngineConfig {
    /// Public for the tests in `tests/`.
    #[doc(hidden)]
    pub fn connection(&self, identity: &str) -> Result<ConnectionOptions, EngineError> {
        let is_encrypted = self.tls.is_some() || self.api_key.is_some();
        let scheme = if is_encrypted { "https" } else { "http" };
        let target = Url::parse(&format!("{scheme}://{}", self.address))
            .map_err(|_| EngineError::Address(self.address.clone()))?;
        Ok(ConnectionOptions::new(target)
            .identity(identity)
            .connect_timeout(CONNECT_TIMEOUT)
            .maybe_api_key(self.api_key.clone())
            .maybe_tls_options(is_encrypted.then(|| self.tls.clone().unwrap_or_default().options()))
            .build())
    }
}

impl EngineTls {
    fn options(self) -> TlsOptions {
        let identity = self.identity.map(|(certificate, key)| {
            ClientTlsOptions::builder().client_cert(certificate).client_private_key(key).build()
        });
        TlsOptions::builder()
            .maybe_server_root_ca_cert(self.authority)
            .maybe_domain(self.server_name)
            .maybe_client_tls_options(identity)
            .build()
    }
}
