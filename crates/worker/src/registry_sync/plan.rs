//! Which tags of a registry are new, and which were moved. Pure.

use std::collections::HashMap;

use greenroom_domain::step::StepTag;
use greenroom_domain::step_registry::RefusalKind;
use greenroom_registry::{ObjectId, Tag};
use greenroom_store::step_registry::{KnownTags, TagRefusal};

/// What a synchronization has to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SyncPlan {
    /// New tags, with the object that each refers to.
    pub fetch: Vec<(StepTag, ObjectId)>,
    /// Tags that refer to another object than when they were published. Nothing of them is read.
    pub moved: Vec<TagRefusal>,
    /// The names of all tags that publish a step.
    pub tags: Vec<String>,
}

/// Compares the tags that a registry has with those that are known.
pub fn plan(advertised: Vec<Tag>, known: KnownTags) -> SyncPlan {
    let published: HashMap<String, String> = known
        .published
        .into_iter()
        .map(|tag| (StepTag { name: tag.name, version: tag.version }.to_string(), tag.object))
        .collect();
    let refused: HashMap<String, String> =
        known.refused.into_iter().map(|tag| (tag.tag, tag.object)).collect();
    let mut plan = SyncPlan::default();
    for Tag { name, object, .. } in advertised {
        let Some(tag) = StepTag::parse(&name) else { continue };
        let is_refused = refused.get(&name).is_some_and(|known| known == object.as_str());
        match published.get(&name) {
            _ if is_refused => {}
            Some(known) if known == object.as_str() => {}
            Some(known) => plan.moved.push(TagRefusal {
                reason: format!(
                    "the tag {tag} was moved from {known} to {object}: the content of the version stays as it was; publish a \
                     new version instead"
                ),
                name: tag.name,
                version: tag.version,
                object: object.to_string(),
                kind: RefusalKind::TagMoved,
            }),
            None => plan.fetch.push((tag, object)),
        }
        plan.tags.push(name);
    }
    // The newest first, so that they can be used first; and in an order that does not depend on the server.
    plan.fetch
        .sort_by(|(one, _), (other, _)| one.name.cmp(&other.name).then(other.version.cmp(&one.version)));
    plan
}
