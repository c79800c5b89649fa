//! Reads the definition of a version, and keeps it in the cache of definitions.

use std::sync::Arc;

use greenroom_domain::definition::Definition;
use greenroom_domain::id::PipelineId;

use crate::StoreError;
use crate::transaction::OrgTransaction;

impl OrgTransaction {
    pub(crate) async fn definition_of(
        &mut self,
        pipeline: PipelineId,
        version: i32,
    ) -> Result<Arc<Definition>, StoreError> {
        let organization = self.organization();
        let key = (organization, pipeline.uuid(), version);
        if let Some(cached) = self.definitions().get(&key) {
            return Ok(cached);
        }
        let json = sqlx::query_scalar!(
            "select definition from pipeline_versions
             where organization_id = $1 and pipeline_id = $2 and version = $3",
            organization,
            pipeline.uuid(),
            version,
        )
        .fetch_one(self.connection())
        .await?;
        let definition = serde_json::from_value(json).map_err(|error| StoreError::Unreadable {
            column: "pipeline_versions.definition",
            value: error.to_string(),
        })?;
        let definition = Arc::new(definition);
        self.definitions().insert(key, &definition);
        Ok(definition)
    }
}
