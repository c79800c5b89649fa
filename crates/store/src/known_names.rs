//! Reads the names that the current definitions of pipelines contain.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::PipelineId;
use greenroom_domain::known_names::KnownNames;

use crate::{Command, StoreError};

#[boxed_futures]
impl Command {
    /// Returns the names of these pipelines, or, if the list is empty, of all that are not archived. The pools are those of the
    /// organization.
    pub async fn known_names(&mut self, pipelines: &[PipelineId]) -> Result<KnownNames, StoreError> {
        let organization = self.organization();
        let pipelines: Vec<uuid::Uuid> = pipelines.iter().map(|pipeline| pipeline.uuid()).collect();
        let rows = sqlx::query!(
            r#"select distinct named.kind as "kind!", named.name as "name!"
               from pipelines p
               join pipeline_versions v on v.organization_id = $1 and v.pipeline_id = p.id
                   and v.version = p.definition_version
               cross join lateral (
                   select 'lasting' as kind, e ->> 'name' as name
                   from jsonb_array_elements(v.definition -> 'environments') e
                   union all
                   select 'branch', b.value
                   from jsonb_array_elements(v.definition -> 'environments') e
                   cross join jsonb_array_elements_text(e -> 'branches') b
                   union all
                   select 'ephemeral', e ->> 'name'
                   from jsonb_array_elements(v.definition -> 'ephemeralEnvironments') e
                   union all
                   select 'ephemeral', (t ->> 'prefix') || '*'
                   from jsonb_array_elements(v.definition -> 'environmentTemplates') t
                   union all
                   select 'pool', s -> 'runner' ->> 'pool' from jsonb_array_elements(v.definition -> 'stages') s
                   union all
                   select 'pool', v.definition -> 'runner' ->> 'pool'
               ) named
               where p.organization_id = $1 and p.status <> 'archived'
                 and (cardinality($2::uuid[]) = 0 or p.id = any($2)) and named.name is not null
               union
               select 'pool', r.name from runner_pools r where r.organization_id = $1
               order by 1, 2"#,
            organization,
            &pipelines,
        )
        .fetch_all(self.connection())
        .await?;
        let mut known = KnownNames::default();
        for row in rows {
            let names = match row.kind.as_str() {
                "lasting" => &mut known.lasting,
                "ephemeral" => &mut known.ephemeral,
                "branch" => &mut known.branches,
                _ => &mut known.pools,
            };
            names.push(row.name);
        }
        Ok(known)
    }
}
