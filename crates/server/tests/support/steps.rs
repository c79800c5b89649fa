//! Publishes steps as a worker does that has synchronized a registry.

use std::time::Duration;

use greenroom_domain::step::{FileMode, StepFile, content_digest};
use greenroom_store::Store;
use greenroom_store::step_registry::{NewStepVersion, SyncBatch, SyncEnd};
use greenroom_store::system::step_registry::DueRegistry;
use sqlx::PgPool;

/// Returns a version whose only file is its manifest. The object of its tag follows from both.
pub fn new_version(name: &str, version: &str, manifest: &str) -> NewStepVersion {
    let file = StepFile::new("step.yaml", FileMode::Regular, manifest.as_bytes());
    let sha256: String = file.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    NewStepVersion {
        name: name.to_owned(),
        version: version.parse().unwrap(),
        digest: content_digest(&[file]).unwrap(),
        tag_object: sha256.chars().take(40).collect(),
        description: Some(format!("The step {name}")),
        manifest: manifest.to_owned(),
        files: format!("100644 step.yaml {sha256}\n"),
        archive: manifest.as_bytes().to_vec(),
        bytes: manifest.len() as u64,
        signer: None,
    }
}

/// Makes a registry due, and leases it.
pub async fn lease(store: &Store, pool: &PgPool, registry: &str) -> DueRegistry {
    let due =
        "update step_registries set next_sync_at = 'epoch', leased_until = null where 'reg_' || id = $1";
    sqlx::query(due).bind(registry).execute(pool).await.unwrap();
    let leased = store.lease_due_registry(Duration::from_secs(60), &[]).await.unwrap().unwrap();
    assert_eq!(leased.id.to_string(), registry);
    leased
}

/// Records a synchronization that has found new versions.
pub async fn publish(store: &Store, pool: &PgPool, registry: &str, published: Vec<NewStepVersion>) {
    let due = lease(store, pool, registry).await;
    let end = Some(SyncEnd::Synced { tags: Vec::new() });
    let batch = SyncBatch { published, refused: Vec::new(), end };
    assert!(store.record_registry_sync(&due, &batch).await.unwrap());
}
