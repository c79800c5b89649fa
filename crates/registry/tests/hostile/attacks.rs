//! Reads the hostile registries that `cargo xtask hostile` adds to a running Greenroom, with shorter timeouts.

use std::time::Duration;

use greenroom_domain::step::StepTag;
use greenroom_hostile_registries::{HostileRegistry, packs, responses, tags, trees};
use greenroom_registry::{Bounds, RegistryError};

use crate::{TestReader, bounds, source};

/// Lists and fetches as a synchronization does. Returns why the registry, or one of its tags, is refused.
async fn refusal(registry: &HostileRegistry, bounds: &Bounds) -> RegistryError {
    let (served, reader) = (registry.serve("/dev/null".as_ref()).await, TestReader::new());
    let tags = match reader.reader.list_tags(&source(&served.url), bounds).await {
        Ok(tags) => tags,
        Err(error) => return error,
    };
    let mut refused = None;
    for tag in tags.into_iter().filter(|tag| StepTag::parse(&tag.name).is_some()) {
        if let Err(error) = reader.fetch_expected(&served.url, &tag.name, tag.object.as_str()).await {
            refused = Some(error);
        }
    }
    refused.expect(registry.name)
}

async fn all_are_refused(registries: Vec<HostileRegistry>) {
    for registry in registries {
        let refused = refusal(&registry, &bounds()).await.to_string();
        assert!(refused.contains(registry.reason), "{}: {refused}", registry.name);
        assert!(!refused.contains("hunter2"), "{}: {refused}", registry.name);
    }
}

#[tokio::test]
async fn hostile_trees_are_refused() {
    all_are_refused(trees::all()).await;
}

#[tokio::test]
async fn hostile_packs_are_refused() {
    all_are_refused(packs::all()).await;
}

#[tokio::test]
async fn hostile_responses_are_refused() {
    all_are_refused(responses::all()).await;
}

#[tokio::test]
async fn malformed_tags_are_refused() {
    all_are_refused(tags::malformed()).await;
}

#[tokio::test]
async fn a_response_that_is_fast_enough_times_out() {
    let bounds = Bounds { timeout: Duration::from_secs(4), ..bounds() };
    let error = refusal(&responses::steady_drip(), &bounds).await;
    assert!(matches!(error, RegistryError::Timeout(_)), "{error:?}");
}
