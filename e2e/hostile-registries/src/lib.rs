//! Servers of step registries that attack their reader, for tests. The tests of `greenroom-registry` read them by the reader
//! alone, with short timeouts; `cargo xtask hostile` adds each to a running Greenroom, and looks for the reason there.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "only tests use this crate")]

pub mod addresses;
pub mod git_server;
pub mod hostile_server;
pub mod keys;
pub mod manifests;
pub mod packs;
pub mod repository;
pub mod responses;
mod served;
pub mod signatures;
pub mod tags;
pub mod trees;

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;

pub use self::served::Served;

/// Where users see why a registry, or something in it, is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenIn {
    /// The response to its creation.
    Creation,
    /// `error` of the registry.
    Status,
    /// `reason` of an event of this type.
    Event(&'static str),
    /// The response to the resolution of `roll-out@v1`.
    Resolution,
}

type Serve = Box<dyn Fn(Arc<Path>) -> BoxFuture<'static, Served> + Send + Sync>;

/// A registry that attacks its reader.
pub struct HostileRegistry {
    pub name: &'static str,
    /// A part of the reason with which it has to be refused.
    pub reason: &'static str,
    pub seen_in: SeenIn,
    /// It is also tried in CI.
    pub in_ci: bool,
    serve: Serve,
}

impl HostileRegistry {
    fn new<Started>(
        name: &'static str,
        reason: &'static str,
        serve: impl Fn() -> Started + Send + Sync + 'static,
    ) -> Self
    where
        Started: Future<Output = Served> + Send + 'static,
    {
        Self::with_hosts(name, reason, move |_| serve())
    }

    /// One that changes what names resolve to.
    fn with_hosts<Started>(
        name: &'static str,
        reason: &'static str,
        serve: impl Fn(Arc<Path>) -> Started + Send + Sync + 'static,
    ) -> Self
    where
        Started: Future<Output = Served> + Send + 'static,
    {
        let serve: Serve = Box::new(move |hosts| Box::pin(serve(hosts)));
        Self { name, reason, seen_in: SeenIn::Status, in_ci: false, serve }
    }

    fn seen_in(self, seen_in: SeenIn) -> Self {
        Self { seen_in, ..self }
    }

    fn in_ci(self) -> Self {
        Self { in_ci: true, ..self }
    }

    /// Starts its servers, which end when the result is dropped. `hosts` is the `/etc/hosts` of the reader.
    pub async fn serve(&self, hosts: &Path) -> Served {
        (self.serve)(hosts.into()).await
    }
}

/// Returns all hostile registries.
pub fn all() -> Vec<HostileRegistry> {
    let mut all = tags::all();
    all.extend(signatures::all());
    all.extend(manifests::all());
    all.extend(trees::all());
    all.extend(packs::all());
    all.extend(responses::all());
    all.push(responses::steady_drip());
    all.extend(addresses::all());
    all
}
