//! Withdraws versions of steps.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::RegistryId;
use greenroom_domain::step::StepVersion;

use super::version::{StepVersionRecord, VersionRow};
use crate::{Command, StoreError};

#[boxed_futures]
impl Command {
    /// Yanks a version: nothing new is resolved to it. If it is `refused`, locks of it do not count either.
    pub async fn yank_step_version(
        &mut self,
        (registry, name): (RegistryId, &str),
        version: &StepVersion,
        (reason, refused): (&str, bool),
    ) -> Result<StepVersionRecord, StoreError> {
        let (organization, by) = (self.organization(), self.principal().user_id.uuid());
        let row = sqlx::query_as!(
            VersionRow,
            "update step_versions
             set yanked_at = coalesce(yanked_at, clock_timestamp()), yanked_by = $5, yank_reason = $6, refused = $7
             where organization_id = $1 and registry_id = $2 and name = $3 and version = $4
             returning name, version, digest, tag_object, description, bytes, signer, seen_at, yanked_at, yanked_by,
                       yank_reason, refused",
            organization,
            registry.uuid(),
            name,
            version.to_string(),
            by,
            reason,
            refused,
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }
}
