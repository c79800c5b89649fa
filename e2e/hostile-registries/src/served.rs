//! A registry that is being served.

use std::any::Any;

use serde_json::{Value, json};

use crate::git_server::GitServer;
use crate::hostile_server::HostileServer;
use crate::repository::Repository;

/// What is done to a registry after it was read once.
pub type Change = Box<dyn Fn() + Send + Sync>;

pub struct Served {
    pub url: String,
    /// More fields of the request that creates the registry.
    pub settings: Value,
    /// What is done to it after it was read once, for an attack on who has read it already.
    pub change: Option<Change>,
    /// A server that must get no connection.
    trap: Option<HostileServer>,
    _parts: Box<dyn Any + Send + Sync>,
}

impl Served {
    /// `parts` are kept as long as the registry is served.
    pub(crate) fn new(url: &str, parts: impl Any + Send + Sync) -> Self {
        Self { url: url.to_owned(), settings: json!({}), change: None, trap: None, _parts: Box::new(parts) }
    }

    pub(crate) async fn repository(repository: Repository) -> Self {
        let server = GitServer::start(&repository).await;
        let url = server.url.clone();
        Self::new(&url, (repository, server))
    }

    pub(crate) fn server(server: HostileServer) -> Self {
        let url = server.url.clone();
        Self::new(&url, server)
    }

    pub(crate) fn settings(self, settings: Value) -> Self {
        Self { settings, ..self }
    }

    pub(crate) fn change(self, change: impl Fn() + Send + Sync + 'static) -> Self {
        Self { change: Some(Box::new(change)), ..self }
    }

    pub(crate) fn trap(self, trap: HostileServer) -> Self {
        Self { trap: Some(trap), ..self }
    }

    /// Returns how many connections were made to the server that must get none.
    pub fn trapped_connections(&self) -> usize {
        self.trap.as_ref().map_or(0, HostileServer::connections)
    }
}
