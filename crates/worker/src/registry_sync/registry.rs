//! One synchronization of one registry.

use greenroom_domain::step::StepTag;
use greenroom_domain::step_registry::AllowedSigner;
use greenroom_keys::Keys;
use greenroom_outbound::Requester;
use greenroom_registry::{Bounds, RegistryError, RegistryReader, Source};
use greenroom_store::step_registry::{SyncBatch, SyncEnd};
use greenroom_store::system::step_registry::DueRegistry;
use greenroom_store::{Store, StoreError, with_db_timeout};

use super::credential;
use super::fetch::{Fetched, fetch};
use super::plan::{SyncPlan, plan};
use crate::requester::public_text;

/// How a synchronization has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncOutcome {
    Synced,
    Failed,
    /// The registry was changed or deleted meanwhile.
    LeaseLost,
}

impl SyncOutcome {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Synced => "synced",
            Self::Failed => "failed",
            Self::LeaseLost => "lease_lost",
        }
    }
}

pub(super) struct RegistrySync<'a> {
    pub(super) store: &'a Store,
    /// Reads on behalf of the requester.
    pub(super) reader: &'a RegistryReader,
    pub(super) requester: &'a Requester,
    pub(super) keys: &'a Keys,
    pub(super) due: &'a DueRegistry,
}

impl RegistrySync<'_> {
    pub(super) async fn run(&self) -> Result<SyncOutcome, StoreError> {
        let credential = match credential::open(self.store, self.keys, self.due).await? {
            Ok(credential) => credential,
            Err(error) => return self.fail(error.to_string()).await,
        };
        let source = match Source::new(&self.due.url, credential) {
            Ok(source) => source,
            Err(error) => return self.fail(error.to_string()).await,
        };
        let signers: Result<Vec<AllowedSigner>, _> =
            self.due.signers.iter().map(|line| AllowedSigner::new(line)).collect();
        let signers = match signers {
            Ok(signers) => signers,
            Err(error) => return self.fail(format!("a signer {error}")).await,
        };
        let bounds = Bounds::default();
        let advertised = match self.reader.list_tags(&source, &bounds).await {
            Ok(tags) => tags,
            Err(error) => return self.fail_reading(&error, None).await,
        };
        let known = with_db_timeout(self.store.known_tags(self.due.organization_id, self.due.id)).await?;
        let SyncPlan { fetch: new, moved, tags } = plan(advertised, known);
        if !moved.is_empty() && !self.record(SyncBatch { refused: moved, ..SyncBatch::default() }).await? {
            return Ok(SyncOutcome::LeaseLost);
        }
        for (tag, object) in new {
            let requires_signature = self.due.require_signature;
            let fetched = fetch(self.reader, &source, (&tag, &object), (&signers, requires_signature)).await;
            let batch = match fetched {
                Ok(Fetched::Version(version)) => {
                    SyncBatch { published: vec![*version], ..SyncBatch::default() }
                }
                Ok(Fetched::Refused(refusal)) => SyncBatch { refused: vec![refusal], ..SyncBatch::default() },
                Err(error) => return self.fail_reading(&error, Some(&tag)).await,
            };
            if !self.record(batch).await? {
                return Ok(SyncOutcome::LeaseLost);
            }
        }
        self.end(SyncEnd::Synced { tags }, SyncOutcome::Synced).await
    }

    /// Records that the registry, or a tag of it, could not be read.
    pub(super) async fn fail_reading(
        &self,
        error: &RegistryError,
        tag: Option<&StepTag>,
    ) -> Result<SyncOutcome, StoreError> {
        let text = public_text(self.requester, error);
        let tag = tag.filter(|_| !self.requester.has_used_list());
        self.fail(tag.map_or_else(|| text.clone(), |tag| format!("{tag}: {text}"))).await
    }

    async fn fail(&self, error: String) -> Result<SyncOutcome, StoreError> {
        self.end(SyncEnd::Failed { error }, SyncOutcome::Failed).await
    }

    async fn end(&self, end: SyncEnd, outcome: SyncOutcome) -> Result<SyncOutcome, StoreError> {
        let is_recorded = self.record(SyncBatch { end: Some(end), ..SyncBatch::default() }).await?;
        Ok(if is_recorded { outcome } else { SyncOutcome::LeaseLost })
    }

    async fn record(&self, batch: SyncBatch) -> Result<bool, StoreError> {
        with_db_timeout(self.store.record_registry_sync(self.due, &batch)).await
    }
}
