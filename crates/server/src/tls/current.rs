//! The pair of certificate and key that new connections use.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::tls::files::TlsFiles;
use crate::tls::pair::{self, Pair};

/// Cheap to clone; all clones use the same current pair.
#[derive(Clone)]
pub struct Tls {
    pub(super) files: Arc<TlsFiles>,
    pub(super) current: watch::Sender<Arc<Pair>>,
}

impl Tls {
    /// Reads the files. Fails unless they can be used.
    pub fn load(files: TlsFiles) -> anyhow::Result<Self> {
        let pair = pair::read(&files).pair?;
        Ok(Self { files: Arc::new(files), current: watch::Sender::new(Arc::new(pair)) })
    }

    /// Returns whether clients accept the current certificate for a host name or an address.
    pub fn is_valid_for(&self, host: &str) -> bool {
        self.current.borrow().is_valid_for(host)
    }

    /// Returns what accepts a connection with the current pair.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.current.borrow().config))
    }
}
