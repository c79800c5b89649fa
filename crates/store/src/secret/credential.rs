//! Credentials that the platform itself uses for a job: to fetch its repository, or to pull its images. No step
//! gets them.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::PipelineId;
use greenroom_domain::secret::{Candidate, Checkout, Place, SealedValue, Usage, choose_credential};

use super::start::candidate;
use super::{ChosenSecret, StepSecrets};
use crate::job::{JobCredentials, UploadPermission};
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

/// The result of a request for a credential.
pub enum CredentialOutcome {
    /// The credential may be sent as soon as this is committed; `None` if there is none for this host.
    Accepted(Option<Box<AcceptedCredential>>),
    /// A rule denies it. The text explains which one.
    Denied(String),
    Gone,
    FenceOutdated,
}

/// A credential in an open transaction, which has recorded that it was read.
pub struct AcceptedCredential {
    /// The one secret, with its key.
    pub secrets: StepSecrets,
    transaction: OrgTransaction,
}

#[boxed_futures]
impl AcceptedCredential {
    pub async fn commit(self) -> Result<(), StoreError> {
        self.transaction.commit().await
    }
}

#[boxed_futures]
impl Store {
    /// Chooses the credential for a host, for a job that has its environment, and records that it was read. `requested` is
    /// the repository that the runner is about to fetch.
    pub async fn job_credential(
        &self,
        credentials: JobCredentials<'_>,
        usage: &Usage,
        requested: Option<&str>,
    ) -> Result<CredentialOutcome, StoreError> {
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        // Locks the job, so that it can't end in between.
        let Some(job) = transaction.authenticated_job(credentials).await? else {
            return Ok(CredentialOutcome::Gone);
        };
        match transaction.upload_permission(credentials).await? {
            UploadPermission::Granted => {}
            UploadPermission::Gone => return Ok(CredentialOutcome::Gone),
            UploadPermission::FenceOutdated => return Ok(CredentialOutcome::FenceOutdated),
        }
        let organization = transaction.organization();
        let job_place = transaction.job_place(credentials.job).await?;
        let definition = transaction.definition_of(job.pipeline_id, job_place.definition_version).await?;
        let stage = definition.stage(&job.stage);
        let place = job_place.place(stage.and_then(|stage| stage.environment.as_deref()));
        // Read now: the pipeline may have got another repository after the job was assigned.
        let pipeline_repository = transaction.repository_of(job.pipeline_id).await?;
        let checkout = Checkout {
            pipeline_repository: pipeline_repository.as_deref(),
            submodule_hosts: stage.map(|stage| stage.submodules.as_slice()).unwrap_or_default(),
            requested,
        };
        let repository = checkout.repository(usage);
        let found = transaction.credentials_for(credentials, &place, usage).await?;
        let candidates = found.iter().map(|(candidate, _)| candidate);
        let chosen = match choose_credential(&place, repository.as_ref(), candidates) {
            Ok(Some(chosen)) => chosen,
            Ok(None) => return Ok(CredentialOutcome::Accepted(None)),
            Err(refusal) => {
                let denied = found.iter().find(|(candidate, _)| refusal.is_of(candidate.id));
                let name = denied.map(|(_, secret)| secret.name.as_str()).unwrap_or_default();
                return Ok(CredentialOutcome::Denied(refusal.detail(name, organization.into(), &place)));
            }
        };
        let secret = found.iter().find(|(candidate, _)| candidate.id == chosen.id);
        let Some((_, secret)) = secret else { return Ok(CredentialOutcome::Accepted(None)) };
        let secrets = vec![secret.clone()];
        transaction.record_secret_reads(credentials, None, &secrets).await?;
        let keys = transaction.organization_keys_of(&[secret.value.key]).await?;
        let secrets = StepSecrets { secrets, keys };
        Ok(CredentialOutcome::Accepted(Some(Box::new(AcceptedCredential { secrets, transaction }))))
    }
}

impl OrgTransaction {
    /// Returns the repository of a pipeline.
    async fn repository_of(&mut self, pipeline: PipelineId) -> Result<Option<String>, StoreError> {
        let organization = self.organization();
        let found = sqlx::query_scalar!(
            "select repository from pipelines where organization_id = $1 and id = $2",
            organization,
            pipeline.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(found.flatten())
    }

    /// Returns the secrets with this use, with the version that the job got before or the active one.
    async fn credentials_for(
        &mut self,
        credentials: JobCredentials<'_>,
        place: &Place<'_>,
        usage: &Usage,
    ) -> Result<Vec<(Candidate, ChosenSecret)>, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query!(
            r#"select s.id, s.name, s.pipeline_id, s.environment, s.policy, s.usage, v.version,
                      v.key_id as "key_id!", v.nonce as "nonce!", v.sealed as "sealed!"
               from secrets s
               left join secret_reads r on r.organization_id = $1 and r.secret_id = s.id and r.job_id = $4
                   and r.step_run_id is null
               join secret_versions v on v.organization_id = $1 and v.secret_id = s.id
                   and v.version = coalesce(r.version, s.active_version) and v.sealed is not null
               where s.organization_id = $1 and s.deleted_at is null and s.usage = $2
                 and (s.pipeline_id is null or s.pipeline_id = $3)
               order by s.id"#,
            organization,
            serde_json::json!(usage),
            place.pipeline.uuid(),
            credentials.job.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        let found = rows.into_iter().map(|row| {
            let candidate =
                candidate(row.id.into(), (row.pipeline_id, row.environment), row.policy, row.usage)?;
            let secret = ChosenSecret {
                variable: String::new(),
                is_file: false,
                name: row.name,
                id: row.id.into(),
                scope: candidate.scope.clone(),
                version: row.version,
                value: SealedValue { key: row.key_id.into(), nonce: row.nonce, sealed: row.sealed },
            };
            Ok((candidate, secret))
        });
        found.collect()
    }
}
