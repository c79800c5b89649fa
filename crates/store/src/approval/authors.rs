//! Who saved what a stage would do for the first time.

use greenroom_domain::approval::Actor;
use greenroom_domain::id::DeploymentId;
use jiff::Timestamp;

use crate::StoreError;
use crate::transaction::OrgTransaction;

/// How many older deployments are looked at: of the environment, or of the pipeline if it is not a lasting one.
const MAX_OLDER: i64 = 200;

/// The versions of a definition that are new to a stage.
pub(super) struct NewVersions {
    /// Who saved them.
    pub(super) authors: Vec<Actor>,
    /// When the stage last succeeded in the environment.
    pub(super) last_success: Option<Timestamp>,
}

impl NewVersions {
    /// Returns the authors who are people.
    pub(super) fn people(&self) -> Vec<uuid::Uuid> {
        let person = |author: &Actor| match author {
            Actor::Person(id) => Some(id.uuid()),
            Actor::Machine(_) => None,
        };
        self.authors.iter().filter_map(person).collect()
    }
}

impl OrgTransaction {
    /// Returns who saved the versions after the newest one with which the stage has succeeded in the environment, up to the
    /// one that is deployed; if it never succeeded, all of them. An older version than the one that is live counts like any
    /// other: what matters is whether the stage has succeeded with it or a later one up to it.
    pub(super) async fn new_versions(
        &mut self,
        deployment: DeploymentId,
        stage: &str,
        environment: Option<&str>,
    ) -> Result<NewVersions, StoreError> {
        let organization = self.organization();
        // Written like the query of `previous.rs`, for the same reason.
        let row = sqlx::query!(
            r#"with own as (
                   select pipeline_id, definition_version, environment_id from deployments where organization_id = $1 and id = $2
               ),
               found as materialized (
                   (select h.deployment_id as id
                    from own
                    join environment_deployments h on h.organization_id = $1 and h.pipeline_id = own.pipeline_id and h.name = $4
                    where own.environment_id is null and h.outcome = 'succeeded' and h.deployment_id <> $2
                    order by h.fence desc limit $5)
                   union all
                   (select d.id
                    from own
                    cross join lateral (select o.id, o.environment_id from deployments o
                        where o.organization_id = $1 and o.pipeline_id = own.pipeline_id and o.id < $2
                        order by o.id desc limit $5) d
                    where d.environment_id is not distinct from own.environment_id
                      and (own.environment_id is not null or $4::text is null))
               ),
               successes as materialized (
                   select coalesce(d.oldest_version, d.definition_version) as version, s.ended_at as at
                   from found
                   cross join lateral (select oldest_version, definition_version from deployments
                       where organization_id = $1 and id = found.id limit 1) d
                   cross join lateral (select ended_at from stages
                       where organization_id = $1 and deployment_id = found.id and key = $3 and status = 'succeeded' limit 1) s
               ),
               authors as (
                   select distinct v.created_by as id
                   from own join pipeline_versions v on v.organization_id = $1 and v.pipeline_id = own.pipeline_id
                   where v.version <= own.definition_version and v.version > coalesce(
                       (select max(s.version) from successes s where s.version <= own.definition_version), 0)
               )
               select array(select id from authors order by id) as "authors!",
                      array(select m.user_id from memberships m join authors a on a.id = m.user_id
                          where m.organization_id = $1 and m.kind = 'service') as "services!",
                      (select max(s.at) from successes s) as "last_success?""#,
            organization,
            deployment.uuid(),
            stage,
            environment,
            MAX_OLDER,
        )
        .fetch_one(self.connection())
        .await?;
        let author = |id: uuid::Uuid| {
            if row.services.contains(&id) { Actor::Machine(id.into()) } else { Actor::Person(id.into()) }
        };
        Ok(NewVersions {
            authors: row.authors.iter().copied().map(author).collect(),
            last_success: row.last_success.map(jiff_sqlx::Timestamp::to_jiff),
        })
    }
}
