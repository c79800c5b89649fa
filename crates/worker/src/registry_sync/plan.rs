//! Which tags of a registry are new, and which were moved. Pure.

use std::collections::HashMap;

use greenroom_domain::step::StepTag;
use greenroom_domain::step_registry::RefusalKind;
use greenroom_registry::{ObjectId, Tag};
use greenroom_store::step_registry::{KnownTags, TagRefusal};

/// What a synchronization has to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SyncPlan {
    /// New tags, with the object that each refers to.
    pub(super) fetch: Vec<(StepTag, ObjectId)>,
    /// Tags that refer to another object than when they were published. Nothing of them is read.
    pub(super) moved: Vec<TagRefusal>,
    /// The names of all tags that publish a step.
    pub(super) tags: Vec<String>,
}

/// Compares the tags that a registry has with those that are known.
pub(super) fn plan(advertised: Vec<Tag>, known: KnownTags) -> SyncPlan {
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

#[cfg(test)]
mod tests {
    use greenroom_store::step_registry::{PublishedTag, RefusedTag};

    use super::*;

    fn object(digit: char) -> ObjectId {
        digit.to_string().repeat(40).parse().unwrap()
    }

    fn advertised(tags: &[(&str, char)]) -> Vec<Tag> {
        tags.iter()
            .map(|(name, digit)| Tag { name: (*name).to_owned(), object: object(*digit), peeled: None })
            .collect()
    }

    #[test]
    fn new_tags_are_read_and_moved_ones_are_not() {
        let known = KnownTags {
            published: vec![
                PublishedTag {
                    name: "same".into(),
                    version: "1.0.0".parse().unwrap(),
                    object: object('1').to_string(),
                },
                PublishedTag {
                    name: "moved".into(),
                    version: "1.0.0".parse().unwrap(),
                    object: object('2').to_string(),
                },
                PublishedTag {
                    name: "gone".into(),
                    version: "1.0.0".parse().unwrap(),
                    object: object('3').to_string(),
                },
                PublishedTag {
                    name: "told".into(),
                    version: "1.0.0".parse().unwrap(),
                    object: object('3').to_string(),
                },
            ],
            refused: vec![
                RefusedTag { tag: "bad/v1.0.0".into(), object: object('4').to_string() },
                RefusedTag { tag: "mended/v1.0.0".into(), object: object('5').to_string() },
                RefusedTag { tag: "told/v1.0.0".into(), object: object('9').to_string() },
            ],
        };
        let tags = advertised(&[
            ("same/v1.0.0", '1'),
            ("moved/v1.0.0", '9'),
            ("told/v1.0.0", '9'),
            ("bad/v1.0.0", '4'),
            ("mended/v1.0.0", '6'),
            ("new/v1.0.0", '7'),
            ("new/v1.10.0", '7'),
            ("new/v1.9.0", '7'),
            ("v1.0.0", '8'),
            ("release-7", '8'),
        ]);
        let plan = plan(tags, known);
        let fetched: Vec<String> = plan.fetch.iter().map(|(tag, _)| tag.to_string()).collect();
        assert_eq!(fetched, ["mended/v1.0.0", "new/v1.10.0", "new/v1.9.0", "new/v1.0.0"]);
        let moved: Vec<&str> = plan.moved.iter().map(|refusal| refusal.name.as_str()).collect();
        assert_eq!(moved, ["moved"]);
        assert_eq!(plan.tags.len(), 8, "tags that publish no step are left out");
    }
}
