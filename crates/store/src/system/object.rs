//! Objects that garbage collection removes, of all organizations.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;

use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscardedObject {
    pub organization_id: OrganizationId,
    /// If the name ends in `/`, all objects with this prefix.
    pub name: String,
}

#[boxed_futures]
impl Store {
    /// Returns some objects that are due for removal. They are leased to the caller: if it crashes, they are
    /// returned again after the lease.
    pub async fn lease_discarded_objects(
        &self,
        limit: i64,
        lease: Duration,
    ) -> Result<Vec<DiscardedObject>, StoreError> {
        let rows = sqlx::query!(
            "update discarded_objects d set due_at = clock_timestamp() + $2 * interval '1 second'
             from (select organization_id, name from discarded_objects where due_at <= clock_timestamp()
                   order by due_at limit $1 for update skip locked) due
             where d.organization_id = due.organization_id and d.name = due.name
             returning d.organization_id, d.name",
            limit,
            lease.as_secs_f64(),
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows
            .into_iter()
            .map(|row| DiscardedObject { organization_id: row.organization_id.into(), name: row.name })
            .collect())
    }

    /// Deletes the entries of objects that were removed from the object store.
    pub async fn delete_discarded_objects(&self, objects: &[DiscardedObject]) -> Result<(), StoreError> {
        let organizations: Vec<uuid::Uuid> =
            objects.iter().map(|object| object.organization_id.uuid()).collect();
        let names: Vec<String> = objects.iter().map(|object| object.name.clone()).collect();
        sqlx::query!(
            "delete from discarded_objects d using unnest($1::uuid[], $2::text[]) as gone (organization_id, name)
             where d.organization_id = gone.organization_id and d.name = gone.name",
            &organizations,
            &names,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }
}
