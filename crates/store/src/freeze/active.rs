//! Which freezes hold now.

use std::collections::BTreeMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{FreezeId, OrganizationId, PipelineId};
use jiff::Timestamp;
use sqlx::PgConnection;

use super::{FreezeRecord, Row};
use crate::StoreError;
use crate::transaction::OrgTransaction;

/// A freeze that holds in an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveFreeze {
    pub id: FreezeId,
    pub name: String,
    pub reason: String,
    /// When its present period ends. Windows of it without a pause between them count as one.
    pub until: Timestamp,
}

/// The freezes that hold at one time.
pub(crate) struct ActiveFreezes(Vec<(FreezeRecord, Timestamp)>);

impl ActiveFreezes {
    fn new(rows: Vec<Row>, now: Timestamp) -> Result<Self, StoreError> {
        let mut active = Vec::new();
        for row in rows {
            let freeze = FreezeRecord::try_from(row)?;
            if let Some(until) = freeze.schedule.frozen_until(now) {
                active.push((freeze, until));
            }
        }
        Ok(Self(active))
    }

    /// Returns the freeze that holds in a lasting environment; of several the one that ends last.
    pub(crate) fn of(&self, pipeline: PipelineId, environment: &str) -> Option<ActiveFreeze> {
        let covering = self.0.iter().filter(|(freeze, _)| freeze.reach.covers(pipeline, environment));
        let (freeze, until) =
            covering.reduce(|longest, other| if longest.1 < other.1 { other } else { longest })?;
        let (id, name, reason) = (freeze.id, freeze.name.clone(), freeze.reason.clone());
        Some(ActiveFreeze { id, name, reason, until: *until })
    }
}

/// Returns the freezes that hold in some environments of these pipelines, for display: they may change at any time.
/// What decides whether a stage begins uses [`OrgTransaction::freeze_of`].
pub(crate) async fn active_freezes(
    connection: &mut PgConnection,
    organization: OrganizationId,
    pipelines: &[uuid::Uuid],
    now: Timestamp,
) -> Result<ActiveFreezes, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        "select id, name, reason, pipelines, environments, from_at, to_at, weekly, zone, revision, created_at,
                created_by, updated_at, ended_at
         from freezes
         where organization_id = $1 and ended_at is null and (from_at is null or ($2 >= from_at and $2 < to_at))
           and (pipelines = '{}' or pipelines && $3)
         order by id",
        organization.uuid(),
        jiff_sqlx::Timestamp::from(now) as jiff_sqlx::Timestamp,
        pipelines,
    )
    .fetch_all(connection)
    .await?;
    ActiveFreezes::new(rows, now)
}

#[boxed_futures]
impl OrgTransaction {
    /// Returns the freeze that holds in each of the pipeline's lasting environments; of several the one that ends
    /// last. Until the end of this transaction, no freeze of the organization is created, changed or ended.
    pub async fn freeze_of(
        &mut self,
        pipeline: PipelineId,
        environments: &[String],
        now: Timestamp,
    ) -> Result<BTreeMap<String, ActiveFreeze>, StoreError> {
        let mut active = BTreeMap::new();
        if environments.is_empty() {
            return Ok(active);
        }
        self.share_freezes().await?;
        let organization = self.organization();
        let rows = sqlx::query_as!(
            Row,
            "select id, name, reason, pipelines, environments, from_at, to_at, weekly, zone, revision, created_at,
                    created_by, updated_at, ended_at
             from freezes
             where organization_id = $1 and ended_at is null and (from_at is null or ($2 >= from_at and $2 < to_at))
               and (pipelines = '{}' or $3 = any(pipelines)) and (environments = '{}' or environments && $4)
             order by id",
            organization,
            jiff_sqlx::Timestamp::from(now) as jiff_sqlx::Timestamp,
            pipeline.uuid(),
            environments,
        )
        .fetch_all(self.connection())
        .await?;
        let freezes = ActiveFreezes::new(rows, now)?;
        for environment in environments {
            if let Some(freeze) = freezes.of(pipeline, environment) {
                active.insert(environment.clone(), freeze);
            }
        }
        Ok(active)
    }

    /// Lets no freeze of the organization change until the end of the transaction (`write.rs`).
    pub(crate) async fn share_freezes(&mut self) -> Result<(), StoreError> {
        let key = self.organization().to_string();
        sqlx::query!("select pg_advisory_xact_lock_shared(hashtextextended('freezes ' || $1::text, 0))", key)
            .execute(self.connection())
            .await?;
        Ok(())
    }
}
