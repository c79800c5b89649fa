//! The server's planted bugs; see `greenroom_store::planted`. None of this runs without the feature
//! `planted`.

use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_store::environment::Environment;
use greenroom_store::planted::{self, Bug};
use greenroom_store::{Command, StoreError};
use greenroom_worker::sequencer::SequencerBell;
use moka::future::Cache;

const COMMIT_DELAY: Duration = Duration::from_millis(30);
const CACHE_TTL: Duration = Duration::from_secs(1);

type Key = (OrganizationId, PipelineId, String);

/// Commits after the response was sent. Returns the command if the bug is not planted.
#[expect(clippy::disallowed_methods, reason = "the response does not wait for the commit: that is the bug")]
pub fn commit_later(command: Command, bell: &SequencerBell) -> Option<Command> {
    if !planted::is(Bug::AnswerBeforeCommit) {
        return Some(command);
    }
    let bell = bell.clone();
    tokio::spawn(async move {
        tokio::time::sleep(COMMIT_DELAY).await;
        let _ignored = command.commit().await;
        bell.ring();
    });
    None
}

/// Reads an environment, from a stale cache if the bug is planted.
pub async fn environment(
    key: Key,
    read: impl Future<Output = Result<Option<Environment>, StoreError>>,
) -> Result<Option<Environment>, StoreError> {
    static CACHE: OnceLock<Cache<Key, Environment>> = OnceLock::new();
    if !planted::is(Bug::StaleLockCache) {
        return read.await;
    }
    let cache = CACHE.get_or_init(|| Cache::builder().time_to_live(CACHE_TTL).build());
    if let Some(cached) = cache.get(&key).await {
        return Ok(Some(cached));
    }
    let found = read.await?;
    if let Some(found) = &found {
        cache.insert(key, found.clone()).await;
    }
    Ok(found)
}
