//! Continues the fixes that are due: claims an environment, deploys the failing commit and then the fix, and opens the draft of
//! a pull request. Every step is one transaction or one call of a forge that can be repeated, and workers lease the rows, so
//! this needs no engine of its own; the deployments have theirs.

mod call;
mod open;
mod watch;

use greenroom_domain::fix::FixStatus;
use greenroom_domain::id::OrganizationId;
use greenroom_store::fix::DueFix;
use greenroom_store::{Store, StoreError, with_db_timeout};
use tokio_util::sync::CancellationToken;

use crate::evidence::ForgeAccess;
use crate::lease_loop::{self, LeasedWork};

struct Fixes<'a> {
    store: &'a Store,
    access: &'a ForgeAccess,
}

/// Runs until shutdown.
pub async fn run(store: Store, access: ForgeAccess, stop: CancellationToken) {
    lease_loop::run(&Fixes { store: &store, access: &access }, stop).await;
}

/// Continues one fix that is due. Returns false if there is none.
pub async fn run_once(store: &Store, access: &ForgeAccess) -> bool {
    Box::pin(lease_loop::run_once(&Fixes { store, access })).await
}

impl LeasedWork for Fixes<'_> {
    type Due = DueFix;

    async fn lease(&self, busy: Vec<OrganizationId>) -> Option<DueFix> {
        match with_db_timeout(self.store.lease_due_fix(&busy)).await {
            Ok(due) => due,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "could not read fixes that are due");
                None
            }
        }
    }

    fn organization(due: &DueFix) -> OrganizationId {
        due.organization_id
    }

    async fn work_on(&self, due: DueFix) {
        Box::pin(work_on(self.store, self.access, due)).await;
    }
}

/// Continues a fix by one step.
async fn work_on(store: &Store, access: &ForgeAccess, due: DueFix) {
    let outcome = match step(store, access, &due).await {
        Ok(()) => "ok",
        Err(error) => {
            tracing::warn!(
                fix = %due.fix.id,
                error = &error as &dyn std::error::Error,
                "could not continue a fix; trying again"
            );
            if let Err(error) = with_db_timeout(store.put_off_fix(&due, None)).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "could not put off a fix");
            }
            "error"
        }
    };
    metrics::counter!("greenroom_fix_steps_total", "outcome" => outcome).increment(1);
}

async fn step(store: &Store, access: &ForgeAccess, due: &DueFix) -> Result<(), StoreError> {
    match due.fix.status() {
        FixStatus::Queued | FixStatus::Waiting => with_db_timeout(store.claim_for_fix(due)).await,
        FixStatus::Reproducing | FixStatus::Verifying => with_db_timeout(store.advance_fix(due)).await,
        FixStatus::Opening => open::open(store, access, due).await,
        FixStatus::Opened => watch::watch(store, access, due).await,
        FixStatus::Merged
        | FixStatus::Closed
        | FixStatus::Refused
        | FixStatus::Failed
        | FixStatus::Canceled => Ok(()),
    }
}
