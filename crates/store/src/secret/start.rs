//! The secrets of a step that starts. They are chosen and their reads are recorded in the transaction that has
//! checked fence and lease, so that a job which has lost its environment gets nothing, and a rotation holds for
//! every start after its commit.

use std::collections::{BTreeMap, BTreeSet};

use greenroom_domain::definition::StepSecret;
use greenroom_domain::deployment::Reason;
use greenroom_domain::id::{JobId, OrganizationKeyId, SecretId, StepRunId};
use greenroom_domain::secret::{
    Candidate, MAX_STEP_BYTES, Place, Policy, SealedValue, SecretScope, Usage, WrappedKey, choose,
};

use super::{json, scope};
use crate::StoreError;
use crate::job::{JobCredentials, RefusedStart};
use crate::transaction::OrgTransaction;

/// The secrets of a step, sealed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepSecrets {
    pub secrets: Vec<ChosenSecret>,
    /// The data keys that seal them.
    pub keys: Vec<WrappedKey>,
}

/// A secret that a step gets, with what its value is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenSecret {
    /// The environment variable.
    pub variable: String,
    /// The value is for a file, and the variable has its path.
    pub is_file: bool,
    pub name: String,
    pub id: SecretId,
    pub scope: SecretScope,
    pub version: i32,
    pub value: SealedValue,
}

/// A secret with the version that the step gets: the one that it got before, if it starts again.
struct Found {
    name: String,
    candidate: Candidate,
    version: i32,
    /// `None` if the version was destroyed.
    value: Option<SealedValue>,
}

/// Makes a candidate of the columns of a secret.
pub(crate) fn candidate(
    id: SecretId,
    (pipeline, environment): (Option<uuid::Uuid>, Option<String>),
    policy: serde_json::Value,
    usage: Option<serde_json::Value>,
) -> Result<Candidate, StoreError> {
    let policy: Policy = json("secrets.policy", policy)?;
    let usage: Option<Usage> = usage.map(|usage| json("secrets.usage", usage)).transpose()?;
    Ok(Candidate { id, scope: scope(pipeline, environment), policy, usage })
}

impl OrgTransaction {
    /// Chooses the secrets of a step whose start was accepted in this transaction, and records that it reads
    /// them. A step that starts again gets the same versions, and no second record.
    pub(crate) async fn read_step_secrets(
        &mut self,
        credentials: JobCredentials<'_>,
        step: StepRunId,
        stage_environment: Option<&str>,
        wanted: &BTreeMap<String, StepSecret>,
    ) -> Result<Result<StepSecrets, RefusedStart>, StoreError> {
        let organization = self.organization();
        let job_place = self.job_place(credentials.job).await?;
        let place = job_place.place(stage_environment);
        let found = self.secrets_of_step(credentials.job, step, &place, wanted).await?;
        let mut chosen = Vec::with_capacity(wanted.len());
        for (variable, StepSecret { name, is_file }) in wanted {
            let candidates = found.iter().filter(|found| found.name == *name).map(|found| &found.candidate);
            let candidate = match choose(&place, candidates) {
                Ok(candidate) => candidate,
                Err(refusal) => {
                    let detail = refusal.detail(name, organization.into(), &place);
                    return Ok(Err(RefusedStart { reason: refusal.reason(), detail }));
                }
            };
            let Some((version, value)) = found
                .iter()
                .find(|found| found.candidate.id == candidate.id)
                .and_then(|found| Some((found.version, found.value.clone()?)))
            else {
                let detail = format!(
                    "the version of the secret `{name}` ({}) that this step got before was destroyed",
                    candidate.id
                );
                return Ok(Err(RefusedStart { reason: Reason::SecretMissing, detail }));
            };
            chosen.push(ChosenSecret {
                variable: variable.clone(),
                is_file: *is_file,
                name: name.clone(),
                id: candidate.id,
                scope: candidate.scope.clone(),
                version,
                value,
            });
        }
        let bytes: usize = chosen.iter().map(|secret| secret.value.sealed.len()).sum();
        // Each sealed value has a tag of 16 bytes.
        if bytes > MAX_STEP_BYTES + chosen.len() * 16 {
            let detail =
                format!("the secrets of one step can have {} KiB together at most", MAX_STEP_BYTES / 1024);
            return Ok(Err(RefusedStart { reason: Reason::SecretDenied, detail }));
        }
        self.record_secret_reads(credentials, Some(step), &chosen).await?;
        let keys: BTreeSet<OrganizationKeyId> = chosen.iter().map(|secret| secret.value.key).collect();
        let keys: Vec<OrganizationKeyId> = keys.into_iter().collect();
        Ok(Ok(StepSecrets { keys: self.organization_keys_of(&keys).await?, secrets: chosen }))
    }

    /// Returns the secrets whose names the step uses, with the version that it got before or the active one.
    async fn secrets_of_step(
        &mut self,
        job: JobId,
        step: StepRunId,
        place: &Place<'_>,
        wanted: &BTreeMap<String, StepSecret>,
    ) -> Result<Vec<Found>, StoreError> {
        let organization = self.organization();
        let names: Vec<String> = wanted.values().map(|secret| secret.name.clone()).collect();
        let rows = sqlx::query!(
            r#"select s.id, s.name, s.pipeline_id, s.environment, s.policy, s.usage, v.version, v.key_id, v.nonce, v.sealed
               from secrets s
               left join secret_reads r on r.organization_id = $1 and r.secret_id = s.id and r.job_id = $4
                   and r.step_run_id = $5
               join secret_versions v on v.organization_id = $1 and v.secret_id = s.id
                   and v.version = coalesce(r.version, s.active_version)
               where s.organization_id = $1 and s.deleted_at is null and s.name = any($2)
                 and (s.pipeline_id is null or s.pipeline_id = $3)"#,
            organization,
            &names,
            place.pipeline.uuid(),
            job.uuid(),
            step.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        let found = rows.into_iter().map(|row| {
            let value = match (row.key_id, row.nonce, row.sealed) {
                (Some(key), Some(nonce), Some(sealed)) => {
                    Some(SealedValue { key: key.into(), nonce, sealed })
                }
                _ => None,
            };
            let candidate =
                candidate(row.id.into(), (row.pipeline_id, row.environment), row.policy, row.usage)?;
            Ok(Found { name: row.name, candidate, version: row.version, value })
        });
        found.collect()
    }

    /// Records that a step, or the platform for a job, has read secrets. Reading again records nothing.
    pub(crate) async fn record_secret_reads(
        &mut self,
        credentials: JobCredentials<'_>,
        step: Option<StepRunId>,
        chosen: &[ChosenSecret],
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let versions: BTreeMap<SecretId, i32> =
            chosen.iter().map(|secret| (secret.id, secret.version)).collect();
        let (ids, versions): (Vec<uuid::Uuid>, Vec<i32>) =
            versions.into_iter().map(|(id, version)| (id.uuid(), version)).unzip();
        sqlx::query!(
            "insert into secret_reads
                 (organization_id, secret_id, job_id, step_run_id, version, deployment_id, stage_key, attempt, runner_id)
             select $1, read.secret_id, j.id, $3, read.version, j.deployment_id, j.stage_key, j.attempt, $4
             from jobs j cross join unnest($5::uuid[], $6::integer[]) as read (secret_id, version)
             where j.organization_id = $1 and j.id = $2
             on conflict do nothing",
            organization,
            credentials.job.uuid(),
            step.map(StepRunId::uuid),
            credentials.runner.id.uuid(),
            &ids,
            &versions,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
