//! Explains failures by the models of their organizations. An analysis whose evidence is there waits in a leased row; a call is
//! reserved before anything is sent, so that a worker that dies can neither exceed a budget nor lose an analysis.

pub(crate) mod context;
mod credential;
mod explain;

pub use self::credential::{CredentialNotOpened, open_credential};
pub use greenroom_analysis::model::Limits;
use greenroom_domain::id::OrganizationId;
use greenroom_keys::Keys;
use greenroom_outbound::OutboundClient;
use greenroom_store::analysis::DueAnalysis;
use greenroom_store::{Store, with_db_timeout};
use tokio_util::sync::CancellationToken;

use crate::evidence::ForgeAccess;
use crate::lease_loop::{self, LeasedWork};

/// How models are reached.
struct ModelAccess<'a> {
    store: &'a Store,
    /// They open the credentials.
    keys: &'a Keys,
    client: &'a OutboundClient,
    limits: Limits,
}

/// Runs until shutdown.
pub async fn run(store: Store, access: ForgeAccess, stop: CancellationToken) {
    lease_loop::run(&access_to(&store, &access, Limits::default()), stop).await;
}

/// Explains the failure of one analysis that waits for its model. Returns false if there is none.
pub async fn run_once(store: &Store, access: &ForgeAccess, limits: Limits) -> bool {
    lease_loop::run_once(&access_to(store, access, limits)).await
}

const fn access_to<'a>(store: &'a Store, access: &'a ForgeAccess, limits: Limits) -> ModelAccess<'a> {
    ModelAccess { store, keys: &access.keys, client: &access.client, limits }
}

impl LeasedWork for ModelAccess<'_> {
    type Due = DueAnalysis;

    async fn lease(&self, busy: Vec<OrganizationId>) -> Option<DueAnalysis> {
        match with_db_timeout(self.store.lease_analysis_to_explain(&busy)).await {
            Ok(due) => due,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "could not read analyses that wait for a model"
                );
                None
            }
        }
    }

    fn organization(due: &DueAnalysis) -> OrganizationId {
        due.organization_id
    }

    /// If this fails, the analysis is leased again after its lease has expired, until its deadline.
    async fn work_on(&self, due: DueAnalysis) {
        let outcome = match Box::pin(explain::explain(self, &due)).await {
            Ok(Some(end)) => with_db_timeout(self.store.end_explanation(&due, &end)).await.map(|_| "ok"),
            Ok(None) => with_db_timeout(self.store.return_analysis(&due)).await.map(|()| "again"),
            Err(error) => Err(error),
        };
        let outcome = outcome.unwrap_or_else(|error| {
            tracing::warn!(
                analysis = %due.id,
                error = &error as &dyn std::error::Error,
                "could not explain a failure; trying again"
            );
            "error"
        });
        metrics::counter!("greenroom_explanations_total", "outcome" => outcome).increment(1);
    }
}
