//! Tags of a registry. Pure.

use std::fmt;
use std::str::FromStr;

use crate::object_id::ObjectId;

const MAX_NAME_BYTES: usize = 63;
const MAX_VERSION_BYTES: usize = 64;
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

/// The tag of a version of a step: `roll-out/v2.3.0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StepTag {
    name: String,
    version: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tag of a step has the form `name/v1.2.3`; a name has lower-case letters, digits and dashes")]
pub struct InvalidStepTag;

impl StepTag {
    /// Returns the name of the step, which is also the name of its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the version without `v`.
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl FromStr for StepTag {
    type Err = InvalidStepTag;

    fn from_str(text: &str) -> Result<Self, InvalidStepTag> {
        let (name, version) = text.split_once("/v").ok_or(InvalidStepTag)?;
        if is_step_name(name) && is_version(version) {
            Ok(Self { name: name.to_owned(), version: version.to_owned() })
        } else {
            Err(InvalidStepTag)
        }
    }
}

impl fmt::Display for StepTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/v{}", self.name, self.version)
    }
}

fn is_step_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.bytes().all(is_allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// `1.2.3`, or `1.2.3-rc.1`.
fn is_version(version: &str) -> bool {
    let (release, pre_release) = match version.split_once('-') {
        Some((release, pre_release)) => (release, Some(pre_release)),
        None => (version, None),
    };
    let is_number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let is_label = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    version.len() <= MAX_VERSION_BYTES
        && release.split('.').count() == 3
        && release.split('.').all(is_number)
        && pre_release.is_none_or(|text| text.split('.').all(is_label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_tag_is_a_name_and_a_version() {
        for text in ["roll-out/v2.3.0", "a/v0.0.0", "a1/v10.20.30-rc.1"] {
            let tag: StepTag = text.parse().unwrap();
            assert_eq!(tag.to_string(), text);
        }
        for text in ["v1.0.0", "a/1.0.0", "a/v1.0", "a/v1.0.0.0", "A/v1.0.0", "a/b/v1.0.0", "-a/v1.0.0"]
            .into_iter()
            .chain(["../v1.0.0", "a/v01.0.0", "a/v1.0.0-", "a/v1.0.0:x", "a/v1.0.0\n", "a/v1.0.0-a..b"])
            .chain([".git/v1.0.0", "/v1.0.0", "a/v1.0.0^{}", "a/v1.0.0 b", "a/v1.0.0*", ""])
        {
            assert!(text.parse::<StepTag>().is_err(), "{text}");
        }
    }

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
