//! The lock of a definition: which versions its steps of registries mean. It is made when the definition is saved.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::version::StepVersion;
use crate::digest::{StepDigest, sha256};
use crate::id::RegistryId;

/// What a reference means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockedStep {
    /// The id, because the name of a registry can be given to another one.
    pub registry_id: RegistryId,
    /// The name of the registry when the lock was made.
    pub registry: String,
    pub name: String,
    pub version: StepVersion,
    pub digest: StepDigest,
}

/// The steps of a definition by their references, as they are written: `acme/roll-out@v2`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepLock(BTreeMap<String, LockedStep>);

impl StepLock {
    pub fn get(&self, reference: &str) -> Option<&LockedStep> {
        self.0.get(reference)
    }

    /// Adds a step, and returns the one that had the same reference.
    pub fn insert(&mut self, reference: String, step: LockedStep) -> Option<LockedStep> {
        self.0.insert(reference, step)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the steps in the order of their references.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &LockedStep)> {
        self.0.iter().map(|(reference, step)| (reference.as_str(), step))
    }
}

impl FromIterator<(String, LockedStep)> for StepLock {
    fn from_iter<I: IntoIterator<Item = (String, LockedStep)>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

/// Returns the digest of a version of a definition, `sha256:…`, which covers its text and its lock.
///
/// Without steps of registries it is the SHA-256 of the text. Otherwise it is that of a NUL byte, `lock\n`, the digest of the
/// text and a newline, and for each step in the order of the references one line `reference registry-id name version
/// digest`. No valid definition has a NUL byte, so that no text has the digest of another text with its lock.
pub fn definition_digest(text: &str, lock: &StepLock) -> String {
    let text = sha256(text.as_bytes());
    if lock.is_empty() {
        return text;
    }
    let mut canonical = format!("\0lock\n{text}\n");
    for (reference, step) in lock.iter() {
        let LockedStep { registry_id, registry: _, name, version, digest } = step;
        canonical.push_str(&format!("{reference} {registry_id} {name} {version} {digest}\n"));
    }
    sha256(canonical.as_bytes())
}

/// What differs between two locks, in the order of the references.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockDiff {
    pub added: BTreeMap<String, LockedStep>,
    pub removed: BTreeMap<String, LockedStep>,
    pub changed: BTreeMap<String, LockChange>,
}

/// A reference that means another version, other content, or a step of another registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockChange {
    pub before: LockedStep,
    pub after: LockedStep,
}

impl LockDiff {
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

pub fn lock_diff(before: &StepLock, after: &StepLock) -> LockDiff {
    let mut diff = LockDiff::default();
    for (reference, step) in after.iter() {
        match before.get(reference) {
            None => drop(diff.added.insert(reference.to_owned(), step.clone())),
            Some(same) if is_same(same, step) => {}
            Some(other) => {
                let change = LockChange { before: other.clone(), after: step.clone() };
                diff.changed.insert(reference.to_owned(), change);
            }
        }
    }
    for (reference, step) in before.iter().filter(|(reference, _)| after.get(reference).is_none()) {
        diff.removed.insert(reference.to_owned(), step.clone());
    }
    diff
}

/// A registry that was renamed is the same one.
fn is_same(one: &LockedStep, other: &LockedStep) -> bool {
    let LockedStep { registry_id, registry: _, name, version, digest } = one;
    (registry_id, name, version, digest) == (&other.registry_id, &other.name, &other.version, &other.digest)
}

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
