//! The planted bugs that are the server's own; see `greenroom_store::planted`. Nothing of this runs in a real build.

use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_store::environment::Environment;
use greenroom_store::planted::{self, Bug};
use greenroom_store::{Command, StoreError};
use greenroom_worker::sequencer::SequencerBell;
use moka::future::Cache;

const LATER: Duration = Duration::from_millis(30);
const STALE: Duration = Duration::from_secs(1);

type Key = (OrganizationId, PipelineId, String);

/// Commits, but not before the client was told that it is done. Gives the command back if the bug was not planted.
#[expect(clippy::disallowed_methods, reason = "nobody waits for the commit: that is the bug")]
pub fn commit_later(command: Command, bell: &SequencerBell) -> Option<Command> {
    if !planted::is(Bug::AnswerBeforeCommit) {
        return Some(command);
    }
    let bell = bell.clone();
    tokio::spawn(async move {
        tokio::time::sleep(LATER).await;
        let _unheard = command.commit().await;
        bell.ring();
    });
    None
}

/// Reads an environment, or remembers how it was.
pub async fn environment(
    key: Key,
    read: impl Future<Output = Result<Option<Environment>, StoreError>>,
) -> Result<Option<Environment>, StoreError> {
    static CACHE: OnceLock<Cache<Key, Environment>> = OnceLock::new();
    if !planted::is(Bug::StaleLockCache) {
        return read.await;
    }
    let cache = CACHE.get_or_init(|| Cache::builder().time_to_live(STALE).build());
    if let Some(known) = cache.get(&key).await {
        return Ok(Some(known));
    }
    let found = read.await?;
    if let Some(found) = &found {
        cache.insert(key, found.clone()).await;
    }
    Ok(found)
}
