//! A certificate and its key: they can be used only together.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{CertificateError, Error, RootCertStore, ServerConfig};
use zeroize::Zeroizing;

use crate::tls::files::TlsFiles;

/// Protocols that clients may choose, the preferred one first.
const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];
/// Later than the end that any certificate can have, which is the year 9999.
const AFTER_ALL: Duration = Duration::from_secs(253_402_300_800);

/// Identifies the contents of both files, or the reason why they could not be read.
pub type Fingerprint = [u8; 32];

pub struct Pair {
    pub config: Arc<ServerConfig>,
    pub fingerprint: Fingerprint,
    /// When the certificate ends, in seconds since 1970.
    pub ends: u64,
    certificate: CertificateDer<'static>,
}

impl Pair {
    pub fn is_valid_for(&self, host: &str) -> bool {
        let certificate = ParsedCertificate::try_from(&self.certificate);
        let name = ServerName::try_from(host);
        certificate
            .is_ok_and(|certificate| name.is_ok_and(|name| verify_server_name(&certificate, &name).is_ok()))
    }
}

/// The outcome of reading both files.
pub struct Read {
    pub fingerprint: Fingerprint,
    pub pair: anyhow::Result<Pair>,
}

/// Reads both files. The errors name the file, and nothing of its contents.
pub fn read(files: &TlsFiles) -> Read {
    let contents = read_file(&files.certificate)
        .and_then(|certificate| read_file(&files.key).map(|key| (certificate, key)));
    match contents {
        Ok((certificate, key)) => {
            let digest = Sha256::new().chain_update(Sha256::digest(&certificate)).chain_update(&key);
            let fingerprint = digest.finalize().into();
            Read { fingerprint, pair: parse(files, &certificate, &key, fingerprint) }
        }
        Err(error) => Read { fingerprint: Sha256::digest(format!("{error:#}")).into(), pair: Err(error) },
    }
}

fn read_file(path: &Path) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let contents = std::fs::read(path).with_context(|| format!("can't read {}", path.display()))?;
    Ok(Zeroizing::new(contents))
}

fn parse(files: &TlsFiles, certificate: &[u8], key: &[u8], fingerprint: Fingerprint) -> anyhow::Result<Pair> {
    let name = files.certificate.display();
    let chain: Vec<_> = CertificateDer::pem_slice_iter(certificate)
        .collect::<Result<_, _>>()
        .with_context(|| format!("{name} is not a list of certificates in PEM"))?;
    let Some(first) = chain.first() else { bail!("{name} contains no certificate in PEM") };
    let provider = Arc::new(aws_lc_rs::default_provider());
    let ends =
        end_of(first, &provider).with_context(|| format!("the certificate in {name} can't be used"))?;
    if ends <= now() {
        bail!("the certificate in {name} has expired");
    }
    let certificate = first.clone();
    let key = PrivateKeyDer::from_pem_slice(key)
        .with_context(|| format!("{} contains no private key in PEM", files.key.display()))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .with_context(|| {
            format!("the certificate in {name} and the key in {} can't be used together", files.key.display())
        })?;
    config.alpn_protocols = ALPN.map(<[u8]>::to_vec).to_vec();
    Ok(Pair { config: Arc::new(config), fingerprint, ends, certificate })
}

/// Returns when a certificate ends, in seconds since 1970. rustls has no accessor for it, but its error has the time
/// if the certificate is verified at a time after that. No authority is needed, because the time is checked first.
fn end_of(certificate: &CertificateDer<'_>, provider: &CryptoProvider) -> anyhow::Result<u64> {
    let verified = verify_server_cert_signed_by_trust_anchor(
        &ParsedCertificate::try_from(certificate)?,
        &RootCertStore::empty(),
        &[],
        UnixTime::since_unix_epoch(AFTER_ALL),
        provider.signature_verification_algorithms.all,
    );
    match verified {
        Err(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => {
            Ok(not_after.as_secs())
        }
        Err(error) => Err(error.into()),
        Ok(()) => bail!("it has no end"),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "clients compare the end of a certificate with such a clock too"
)]
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
