//! What a synchronization has found, and what is known before it.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, RegistryId};
use greenroom_domain::step::{StepDigest, StepVersion};
use greenroom_domain::step_registry::RefusalKind;

use crate::error::parse_column;
use crate::system::step_registry::DueRegistry;
use crate::{Store, StoreError};

/// A version that was read from a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewStepVersion {
    pub name: String,
    pub version: StepVersion,
    pub digest: StepDigest,
    /// The object that the tag refers to.
    pub tag_object: String,
    pub description: Option<String>,
    /// The text of its `step.yaml`.
    pub manifest: String,
    /// Sorted lines of mode, path and SHA-256, whose SHA-256 is the digest.
    pub files: String,
    pub archive: Vec<u8>,
    /// The size of its files.
    pub bytes: u64,
    /// The name of the allowed signer who has signed the tag.
    pub signer: Option<String>,
}

/// A tag that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagRefusal {
    pub name: String,
    pub version: StepVersion,
    /// The object that the tag refers to now.
    pub object: String,
    pub kind: RefusalKind,
    pub reason: String,
}

/// How a synchronization has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncEnd {
    /// With all tags that the registry has. What was refused before of others is forgotten.
    Synced {
        tags: Vec<String>,
    },
    Failed {
        error: String,
    },
}

/// A part of the result of a synchronization. The last part has the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncBatch {
    pub published: Vec<NewStepVersion>,
    pub refused: Vec<TagRefusal>,
    pub end: Option<SyncEnd>,
}

/// What is known of a registry's tags. What is the same as before is not read again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownTags {
    pub published: Vec<PublishedTag>,
    pub refused: Vec<RefusedTag>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedTag {
    pub name: String,
    pub version: StepVersion,
    pub object: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedTag {
    /// `roll-out/v2.3.0`.
    pub tag: String,
    pub object: String,
}

#[boxed_futures]
impl Store {
    /// Returns the tags of a registry that were published or refused before.
    pub async fn known_tags(
        &self,
        organization: OrganizationId,
        registry: RegistryId,
    ) -> Result<KnownTags, StoreError> {
        let published = sqlx::query!(
            "select name, version, tag_object from step_versions where organization_id = $1 and registry_id = $2",
            organization.uuid(),
            registry.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        let refused = sqlx::query!(
            "select tag, object from step_refusals where organization_id = $1 and registry_id = $2",
            organization.uuid(),
            registry.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        let published = published.into_iter().map(|row| {
            let version = parse_column("step_versions.version", &row.version)?;
            Ok(PublishedTag { name: row.name, version, object: row.tag_object })
        });
        Ok(KnownTags {
            published: published.collect::<Result<_, StoreError>>()?,
            refused: refused.into_iter().map(|row| RefusedTag { tag: row.tag, object: row.object }).collect(),
        })
    }

    /// Records a part of a synchronization with its events, in one transaction. Returns false, and records nothing, if
    /// the lease is lost: because it has ended, or the registry was changed, disabled or deleted meanwhile.
    pub async fn record_registry_sync(
        &self,
        due: &DueRegistry,
        batch: &SyncBatch,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.system_transaction(due.organization_id).await?;
        let Some(status) = transaction.lock_leased_registry(due).await? else { return Ok(false) };
        for version in &batch.published {
            transaction.publish_step_version(due, version).await?;
        }
        for refusal in &batch.refused {
            transaction.refuse_tag(due, refusal).await?;
        }
        if let Some(end) = &batch.end {
            transaction.end_registry_sync(due, status, end).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }
}
