//! Marks: text in all bytes that a runner of the campaign leaves. A mark names its origin, so that bytes which arrive somewhere
//! can be traced back: `gr-mark/<pool>/<stage>/<purpose>/<environment>/<deployment>/<medium>/<place>`.

use std::collections::BTreeSet;

use serde::Serialize;

const PREFIX: &str = "gr-mark/";
/// Matches all marks in the output of `grep -aoE`. It does not match itself.
pub(super) const PATTERN: &str = "gr-mark/[a-z0-9_/-]+";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    pub(super) pool: String,
    pub(super) stage: String,
    /// `pipeline` or `session`.
    pub(super) purpose: String,
    pub(super) environment: String,
    pub(super) deployment: String,
    pub(super) medium: Medium,
    pub(super) place: Place,
}

/// How bytes get from one job to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Medium {
    Artifact,
    Output,
    Cache,
}

impl Medium {
    pub(super) const ALL: [Self; 3] = [Self::Artifact, Self::Output, Self::Cache];

    const fn name(self) -> &'static str {
        match self {
            Self::Artifact => "artifact",
            Self::Output => "output",
            Self::Cache => "cache",
        }
    }
}

/// Where in an archive the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Below a path that the definition declares, or in an output.
    Declared,
    /// The same, by a runner that has reported a branch which the commit is not on.
    Claimed,
    /// Below no declared path, or outside of the workspace.
    Outside,
    /// In git's own folder.
    Git,
    /// A file of the checkout, below a declared path.
    Checkout,
}

impl Place {
    const ALL: [Self; 5] = [Self::Declared, Self::Claimed, Self::Outside, Self::Git, Self::Checkout];

    const fn name(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Claimed => "claimed",
            Self::Outside => "outside",
            Self::Git => "git",
            Self::Checkout => "checkout",
        }
    }
}

impl Mark {
    pub(super) fn text(&self) -> String {
        let Self { pool, stage, purpose, environment, deployment, medium, place } = self;
        let (medium, place) = (medium.name(), place.name());
        format!("{PREFIX}{pool}/{stage}/{purpose}/{environment}/{deployment}/{medium}/{place}")
    }

    fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.strip_prefix(PREFIX)?.split('/').collect();
        let [pool, stage, purpose, environment, deployment, medium, place] = parts[..] else { return None };
        Some(Self {
            pool: pool.to_owned(),
            stage: stage.to_owned(),
            purpose: purpose.to_owned(),
            environment: environment.to_owned(),
            deployment: deployment.to_owned(),
            medium: Medium::ALL.into_iter().find(|one| one.name() == medium)?,
            place: Place::ALL.into_iter().find(|one| one.name() == place)?,
        })
    }
}

/// Returns all marks in these bytes.
pub(super) fn find(bytes: &[u8]) -> BTreeSet<Mark> {
    let is_inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_/-".contains(&byte);
    let starts = bytes.windows(PREFIX.len()).enumerate().filter(|(_, window)| *window == PREFIX.as_bytes());
    let marks = starts.filter_map(|(start, _)| {
        let found: Vec<u8> = bytes.iter().skip(start).copied().take_while(|byte| is_inside(*byte)).collect();
        Mark::parse(std::str::from_utf8(&found).ok()?)
    });
    marks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_wherever_they_are() {
        let mark = Mark {
            pool: "delivery-api".to_owned(),
            stage: "deploy".to_owned(),
            purpose: "pipeline".to_owned(),
            environment: "none".to_owned(),
            deployment: "dep_0190a0b0-0000-7000-8000-000000000001".to_owned(),
            medium: Medium::Cache,
            place: Place::Claimed,
        };
        let other = Mark { medium: Medium::Output, place: Place::Git, ..mark.clone() };
        let text = format!("\0x{}\n{}\"gr-mark/a/b gr-mark/", mark.text(), other.text());
        assert_eq!(find(text.as_bytes()), BTreeSet::from([mark, other]));
        assert!(find(PATTERN.as_bytes()).is_empty());
    }
}
