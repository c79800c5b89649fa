//! Tags of a registry. Pure.

use crate::object_id::ObjectId;

const PREFIX: &str = "refs/tags/";
const PEELED_SUFFIX: &str = "^{}";

/// A tag as its server advertises it. Nothing of it has been verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Without `refs/tags/`.
    pub name: String,
    /// The tag object of an annotated tag, or else the commit.
    pub object: ObjectId,
    /// What an annotated tag refers to.
    pub peeled: Option<ObjectId>,
}

/// Parses what `git ls-remote` prints. Tags whose name is not UTF-8 are left out: they can't be versions of steps.
/// `None` if it is malformed.
pub(crate) fn parse_list(printed: &[u8]) -> Option<Vec<Tag>> {
    let mut tags: Vec<Tag> = Vec::new();
    for line in printed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let (object, name) = line.split_once('\t')?;
        let object: ObjectId = object.parse().ok()?;
        let name = name.strip_prefix(PREFIX)?;
        match name.strip_suffix(PEELED_SUFFIX) {
            // Follows the tag itself.
            Some(name) => tags.last_mut().filter(|tag| tag.name == name)?.peeled = Some(object),
            None => tags.push(Tag { name: name.to_owned(), object, peeled: None }),
        }
    }
    Some(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_parsed_with_what_annotated_tags_refer_to() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let printed = format!("{a}\trefs/tags/x/v1.0.0\n{b}\trefs/tags/x/v1.0.0^{{}}\n{b}\trefs/tags/y\n");
        let tags = parse_list(printed.as_bytes()).unwrap();
        let names: Vec<_> = tags.iter().map(|tag| (tag.name.as_str(), tag.peeled.is_some())).collect();
        assert_eq!(names, [("x/v1.0.0", true), ("y", false)]);
        for malformed in [
            format!("{a}\trefs/heads/x"),
            format!("{a} refs/tags/x"),
            format!("{a}\trefs/tags/x^{{}}"),
            "x\trefs/tags/x".to_owned(),
        ] {
            assert_eq!(parse_list(malformed.as_bytes()), None, "{malformed}");
        }
    }
}
