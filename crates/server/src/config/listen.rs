//! Where a server listens: its address, its certificate, and the address at which browsers reach it.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use greenroom_app::public_url::PublicUrl;
use greenroom_app::sign_in::SignInSettings;

use crate::config::OutboundConfig;
use crate::tls::{Tls, TlsFiles};

#[derive(Clone, Debug, Args)]
pub struct ListenConfig {
    /// The address on which the API and the pages are served.
    #[arg(long, env = "GREENROOM_LISTEN", default_value = "127.0.0.1:7420")]
    pub listen: SocketAddr,
    /// A PEM file with the certificate of the API and the pages, followed by those of its authorities. It is read again
    /// when it changes, and on SIGHUP.
    #[arg(long, env = "GREENROOM_TLS_CERT", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// A PEM file with the key of that certificate.
    #[arg(long, env = "GREENROOM_TLS_KEY", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Serve plain HTTP at an address that other machines reach, behind a proxy that terminates TLS.
    #[arg(long, env = "GREENROOM_PLAIN_HTTP")]
    pub plain_http: bool,
    /// For how many seconds a server reports `not ready` after a stop signal, before it stops accepting
    /// connections.
    #[arg(long, env = "GREENROOM_DRAIN_DELAY_SECONDS", default_value_t = 0)]
    pub drain_delay_seconds: u64,
    /// The address at which browsers reach this server: `https://greenroom.example.com`. If left out, browsers
    /// sign in at the address on which it listens, and records do not contain their addresses in the dashboard
    /// (`webUrl`).
    #[arg(long, env = "GREENROOM_PUBLIC_URL")]
    pub public_url: Option<PublicUrl>,
    /// A JSON file with the OpenID providers at which people can sign in: a list of objects with `id`, `name`,
    /// `issuer`, `clientId` and `clientSecret`.
    #[arg(long, env = "GREENROOM_OIDC_PROVIDERS")]
    pub oidc_providers: Option<PathBuf>,
    #[command(flatten)]
    pub outbound: OutboundConfig,
}

impl ListenConfig {
    /// Reads the certificate and its key. Fails if tokens and cookies could be read on the way to this server unless that
    /// was allowed.
    pub fn tls(&self) -> anyhow::Result<Option<Tls>> {
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => {
                let files = TlsFiles { certificate: certificate.clone(), key: key.clone() };
                Some(Tls::load(files).context(
                    "can't use the files of --tls-cert and --tls-key: each is a file in PEM that the daemon's user can read",
                )?)
            }
            _ => None,
        };
        if tls.is_some() && self.public_url.as_ref().is_some_and(|url| !url.is_https()) {
            bail!(
                "--public-url is not an https address, although --tls-cert is set: browsers can't reach the server there"
            );
        }
        if tls.is_none() && !self.plain_http && !self.listen.ip().is_loopback() {
            bail!(
                "--listen {} is reachable from other machines, and without TLS tokens and cookies can be read on the way. \
                 Either set --tls-cert and --tls-key, or let a proxy terminate TLS and set --plain-http",
                self.listen
            );
        }
        Ok(tls)
    }

    /// Returns the address on which the server listens as browsers write it: without the default port.
    pub fn own_url(&self, address: SocketAddr) -> anyhow::Result<PublicUrl> {
        let (scheme, default_port) =
            if self.tls_cert.is_some() { ("https", ":443") } else { ("http", ":80") };
        let url = format!("{scheme}://{address}");
        Ok(url.strip_suffix(default_port).unwrap_or(&url).parse()?)
    }

    /// Returns what an operator should change. `address` is where the server listens, with `tls`.
    pub fn warnings(&self, address: SocketAddr, tls: Option<&Tls>) -> impl Iterator<Item = String> {
        let is_secure = self.public_url.as_ref().is_some_and(PublicUrl::is_https);
        let is_plain = self.tls_cert.is_none() && !address.ip().is_loopback();
        let listen = (is_plain && !is_secure).then(|| {
            format!(
                "--listen {address} serves plain HTTP to other machines, and --public-url is not an https address: tokens and \
                 cookies can be read on the way; let a proxy terminate TLS, and set --public-url to its https address"
            )
        });
        let public = (self.tls_cert.is_some() && self.public_url.is_none() && address.ip().is_unspecified()).then(|| {
            "--public-url is not set: browsers can sign in at the names of this machine's loopback addresses only".to_owned()
        });
        let host = tls.zip(self.public_url.as_ref()).filter(|(tls, url)| !tls.is_valid_for(url.host()));
        let name = host.map(|(_, url)| {
            format!(
                "the certificate in --tls-cert is not valid for {}, the host of --public-url: browsers and clients refuse it",
                url.host()
            )
        });
        listen.into_iter().chain(public).chain(name).chain(self.outbound.warnings())
    }

    /// Reads the file with the providers.
    pub fn sign_in(&self) -> anyhow::Result<SignInSettings> {
        let providers = match &self.oidc_providers {
            None => Vec::new(),
            Some(path) => {
                let text = std::fs::read(path).with_context(|| format!("can't read {}", path.display()))?;
                serde_json::from_slice(&text)
                    .with_context(|| format!("{} is not a list of OpenID providers", path.display()))?
            }
        };
        Ok(SignInSettings { public_url: self.public_url.clone(), providers })
    }
}
