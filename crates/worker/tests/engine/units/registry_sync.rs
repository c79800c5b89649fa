//! Which tags of a registry are new, and which were moved.

use greenroom_registry::{ObjectId, Tag};
use greenroom_store::step_registry::{KnownTags, PublishedTag, RefusedTag};
use greenroom_worker::internals::plan;

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
