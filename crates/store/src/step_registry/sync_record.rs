//! Records what a synchronization has found. A known version is never replaced: a tag that refers to another object than
//! before is refused.

use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::RegistryId;
use greenroom_domain::reported_text::clean;
use greenroom_domain::step_registry::{RefusalKind, RegistryStatus, step_subject, version_sort_key};
use serde_json::json;

use super::sync::{NewStepVersion, SyncEnd, TagRefusal};
use crate::error::{parse_column, to_column};
use crate::system::step_registry::DueRegistry;
use crate::{OrgTransaction, StoreError};

/// The interval of synchronizations. Each is up to a tenth earlier or later, so that those of all registries spread.
const SYNC_INTERVAL_SECONDS: f64 = 15.0 * 60.0;

/// After failures the interval is doubled, up to this factor.
const MAX_BACK_OFF: i32 = 4;

/// How many versions of steps an organization has at most, and how large their files are together.
const MAX_VERSIONS: i64 = 20_000;
const MAX_BYTES: i64 = 1024 * 1024 * 1024;

/// How many problems the error of a registry names.
const MAX_PROBLEMS: i64 = 5;

impl OrgTransaction {
    /// Locks a registry, and returns its status if the lease is still valid.
    pub(super) async fn lock_leased_registry(
        &mut self,
        due: &DueRegistry,
    ) -> Result<Option<RegistryStatus>, StoreError> {
        let organization = self.organization();
        let status = sqlx::query_scalar!(
            "select status from step_registries
             where organization_id = $1 and id = $2 and leased_until = $3 and leased_until > clock_timestamp()
               and deleted_at is null
             for update",
            organization,
            due.id.uuid(),
            jiff_sqlx::Timestamp::from(due.leased_until) as jiff_sqlx::Timestamp,
        )
        .fetch_optional(self.connection())
        .await?;
        let status: Option<RegistryStatus> =
            status.map(|status| parse_column("step_registries.status", &status)).transpose()?;
        Ok(status.filter(|status| *status != RegistryStatus::Disabled))
    }

    pub(super) async fn publish_step_version(
        &mut self,
        due: &DueRegistry,
        new: &NewStepVersion,
    ) -> Result<(), StoreError> {
        if let Some(reason) = self.refusal_for_space(new).await? {
            let refusal = TagRefusal {
                name: new.name.clone(),
                version: new.version.clone(),
                object: new.tag_object.clone(),
                kind: RefusalKind::Invalid,
                reason,
            };
            return self.refuse_tag(due, &refusal).await;
        }
        let organization = self.organization();
        let bytes: i32 = to_column("step_versions.bytes", new.bytes)?;
        sqlx::query!(
            "insert into step_archives (organization_id, digest, files, archive, bytes) values ($1, $2, $3, $4, $5)
             on conflict do nothing",
            organization,
            new.digest.as_str(),
            new.files,
            new.archive,
            bytes,
        )
        .execute(self.connection())
        .await?;
        let inserted = sqlx::query!(
            "insert into step_versions
                 (organization_id, registry_id, name, version, version_key, digest, tag_object, description, manifest,
                  bytes, signer)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
             on conflict do nothing",
            organization,
            due.id.uuid(),
            new.name,
            new.version.to_string(),
            version_sort_key(&new.version),
            new.digest.as_str(),
            new.tag_object,
            new.description.as_deref().map(clean),
            new.manifest,
            bytes,
            new.signer,
        )
        .execute(self.connection())
        .await?;
        if inserted.rows_affected() == 0 {
            return self.compare_with_known(due, new).await;
        }
        let after = json!({
            "registryId": due.id, "registry": due.name, "name": new.name, "version": new.version,
            "digest": new.digest, "tagObject": new.tag_object, "signer": new.signer,
        });
        self.record_event(NewEvent {
            event_type: EventType::StepPublished,
            subject: step_subject(due.id, &new.name),
            before: None,
            after: Some(after),
            reason: None,
        })
        .await
    }

    /// Returns why there is no room for another version. The authors of a registry could otherwise fill the database.
    async fn refusal_for_space(&mut self, new: &NewStepVersion) -> Result<Option<String>, StoreError> {
        let organization = self.organization();
        let known = sqlx::query!(
            r#"select count(*) as "versions!", coalesce(sum(bytes), 0)::bigint as "bytes!" from step_versions
               where organization_id = $1"#,
            organization,
        )
        .fetch_one(self.connection())
        .await?;
        let new_bytes: i64 = to_column("step_versions.bytes", new.bytes)?;
        Ok(if known.versions >= MAX_VERSIONS {
            Some(format!(
                "the registries of an organization have {MAX_VERSIONS} versions at most, and these are there"
            ))
        } else if known.bytes + new_bytes > MAX_BYTES {
            let limit = MAX_BYTES / 1024 / 1024;
            Some(format!(
                "the steps of an organization have {limit} MiB at most, and there is no room for this version: publish smaller steps"
            ))
        } else {
            None
        })
    }

    /// Refuses the tag of a version that is known with another content.
    async fn compare_with_known(
        &mut self,
        due: &DueRegistry,
        new: &NewStepVersion,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let is_same = sqlx::query_scalar!(
            r#"select tag_object = $5 and digest = $6 as "same!" from step_versions
               where organization_id = $1 and registry_id = $2 and name = $3 and version = $4"#,
            organization,
            due.id.uuid(),
            new.name,
            new.version.to_string(),
            new.tag_object,
            new.digest.as_str(),
        )
        .fetch_one(self.connection())
        .await?;
        if is_same {
            return Ok(());
        }
        let refusal = TagRefusal {
            name: new.name.clone(),
            version: new.version.clone(),
            object: new.tag_object.clone(),
            kind: RefusalKind::TagMoved,
            reason: "the version is known with another content".to_owned(),
        };
        self.refuse_tag(due, &refusal).await
    }

    /// Records that a tag was refused. An event is recorded once for each object.
    pub(super) async fn refuse_tag(
        &mut self,
        due: &DueRegistry,
        refusal: &TagRefusal,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let (tag, reason) = (format!("{}/v{}", refusal.name, refusal.version), clean(&refusal.reason));
        let written = sqlx::query!(
            "insert into step_refusals (organization_id, registry_id, tag, object, kind, reason)
             values ($1, $2, $3, $4, $5, $6)
             on conflict (organization_id, registry_id, tag) do update
             set object = excluded.object, kind = excluded.kind, reason = excluded.reason, seen_at = excluded.seen_at
             where step_refusals.object <> excluded.object or step_refusals.kind <> excluded.kind",
            organization,
            due.id.uuid(),
            tag,
            refusal.object,
            refusal.kind.as_str(),
            reason,
        )
        .execute(self.connection())
        .await?;
        let event_type = match refusal.kind {
            RefusalKind::TagMoved => EventType::StepTagMoved,
            RefusalKind::SignatureRefused => EventType::StepSignatureRefused,
            RefusalKind::Invalid => return Ok(()),
        };
        if written.rows_affected() == 0 {
            return Ok(());
        }
        let known = sqlx::query!(
            "select tag_object, digest from step_versions
             where organization_id = $1 and registry_id = $2 and name = $3 and version = $4",
            organization,
            due.id.uuid(),
            refusal.name,
            refusal.version.to_string(),
        )
        .fetch_optional(self.connection())
        .await?;
        let after = json!({
            "registryId": due.id, "registry": due.name, "name": refusal.name, "version": refusal.version,
            "tag": tag, "tagObject": refusal.object,
        });
        self.record_event(NewEvent {
            event_type,
            subject: step_subject(due.id, &refusal.name),
            before: known.map(|known| json!({ "tagObject": known.tag_object, "digest": known.digest })),
            after: Some(after),
            reason: Some(reason),
        })
        .await
    }

    /// Ends the lease, and sets status and time of the next synchronization.
    pub(super) async fn end_registry_sync(
        &mut self,
        due: &DueRegistry,
        status: RegistryStatus,
        end: &SyncEnd,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let error = match end {
            SyncEnd::Synced { tags } => self.remaining_problems(due.id, tags).await?,
            SyncEnd::Failed { error } => Some(clean(error)),
        };
        sqlx::query!(
            "update step_registries
             set status = $3, error = $4, leased_until = null,
                 synced_at = case when $5 then synced_at else clock_timestamp() end,
                 failures = case when $5 then least(failures + 1, 100) else 0 end,
                 next_sync_at = clock_timestamp() + (0.9 + 0.2 * random()) * $6 * interval '1 second'
                     * case when $5 then least(2 ^ least(failures, 10), $7) else 1 end
             where organization_id = $1 and id = $2",
            organization,
            due.id.uuid(),
            status.after_sync(error.is_some()).as_str(),
            error,
            matches!(end, SyncEnd::Failed { .. }),
            SYNC_INTERVAL_SECONDS,
            f64::from(MAX_BACK_OFF),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Forgets refusals of tags that the registry does not have any more. Returns the first ones of those that are left,
    /// without those whose events were recorded.
    async fn remaining_problems(
        &mut self,
        registry: RegistryId,
        tags: &[String],
    ) -> Result<Option<String>, StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "delete from step_refusals where organization_id = $1 and registry_id = $2 and not tag = any($3)",
            organization,
            registry.uuid(),
            tags,
        )
        .execute(self.connection())
        .await?;
        let problems = sqlx::query!(
            "select tag, reason from step_refusals
             where organization_id = $1 and registry_id = $2 and kind = $3 order by tag limit $4",
            organization,
            registry.uuid(),
            RefusalKind::Invalid.as_str(),
            MAX_PROBLEMS,
        )
        .fetch_all(self.connection())
        .await?;
        let texts: Vec<String> =
            problems.into_iter().map(|problem| format!("{}: {}", problem.tag, problem.reason)).collect();
        Ok((!texts.is_empty()).then(|| clean(&texts.join("\n"))))
    }
}
