//! What is approved: everything that determines what a stage will do, as canonical JSON, and its SHA-256. Versions of secrets
//! are left out, because their rotation is routine; their names are part of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::definition::{LockedSteps, Stage, Step, StepWork};
use crate::digest::SubjectDigest;
use crate::step::LockedStep;
use crate::text::CommitId;

/// What determines a subject.
#[derive(Clone, Copy, Debug)]
pub struct SubjectInput<'a> {
    /// The digest of the definition's version, which covers its text and its lock.
    pub definition: &'a str,
    pub stage: &'a Stage,
    /// The steps of registries that the definition has locked.
    pub locked_steps: &'a LockedSteps,
    /// The ephemeral environment, if the deployment has one.
    pub environment: Option<&'a str>,
    /// The full commit id.
    pub commit: &'a CommitId,
    /// The branch that the deployment names.
    pub branch: Option<&'a str>,
    /// The stages of the deployment that the stage needs.
    pub needs: &'a [NeededStage],
    /// The caches that it would get.
    pub caches: &'a [SubjectCache],
}

/// What a stage gets from one that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededStage {
    pub key: String,
    /// The SHA-256 of its artifact.
    pub artifact: Option<String>,
    pub outputs: BTreeMap<String, String>,
}

/// What people approve. Stored and returned by the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    pub definition: String,
    pub stage: String,
    pub environment: Option<String>,
    pub commit_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    pub steps: Vec<SubjectStep>,
    pub needs: Vec<SubjectNeed>,
    /// The caches that it gets. What is kept under another of its keys until it starts makes it another subject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<SubjectCache>,
    /// The names of the secrets that the steps get.
    pub secrets: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectStep {
    pub name: Option<String>,
    /// The image; `None` for a step of a registry that is not locked.
    pub image: Option<String>,
    /// The reference to a step of a registry.
    pub uses: Option<String>,
    /// What the reference meant when the definition was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked: Option<LockedStep>,
    /// The image is named by a tag, whose content may change, or the step is not locked.
    pub unpinned: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectNeed {
    pub stage: String,
    pub artifact: Option<String>,
    /// The digest of its outputs.
    pub outputs: SubjectDigest,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectCache {
    pub key: String,
    pub sha256: String,
}

impl Subject {
    /// Returns what a stage will do; `None` if the commit id is not complete, because it could become another commit.
    pub fn new(input: &SubjectInput<'_>) -> Option<Self> {
        let SubjectInput { definition, stage, locked_steps, environment, commit, branch, needs, caches } =
            *input;
        let mut needs: Vec<SubjectNeed> = needs
            .iter()
            .map(|NeededStage { key, artifact, outputs }| SubjectNeed {
                stage: key.clone(),
                artifact: artifact.clone(),
                outputs: digest_of(&text_map(outputs)),
            })
            .collect();
        needs.sort_by(|one, other| one.stage.cmp(&other.stage));
        let secrets = stage.steps.iter().flat_map(|step| step.secrets.values());
        commit.is_full().then(|| Self {
            definition: definition.to_owned(),
            stage: stage.key.clone(),
            environment: environment.or(stage.environment.as_deref()).map(str::to_owned),
            commit_id: commit.as_str().to_owned(),
            branch: branch.map(str::to_owned),
            caches: caches.to_vec(),
            steps: stage.steps.iter().map(|step| SubjectStep::new(step, locked_steps)).collect(),
            needs,
            secrets: secrets.map(|secret| secret.name.clone()).collect(),
        })
    }

    pub fn digest(&self) -> SubjectDigest {
        digest_of(&serde_json::to_value(self).unwrap_or_default())
    }
}

impl SubjectStep {
    pub(super) fn new(step: &Step, locked_steps: &LockedSteps) -> Self {
        let name = step.name.clone();
        match &step.work {
            StepWork::Script { image, .. } => {
                let unpinned = !image.contains("@sha256:");
                Self { name, image: Some(image.clone()), uses: None, locked: None, unpinned }
            }
            StepWork::Registry { uses, .. } => {
                let uses = uses.to_string();
                let found = locked_steps.get(&uses);
                let image = found.map(|locked| locked.manifest.image.clone());
                let locked = found.map(|locked| locked.step.clone());
                Self { name, image, uses: Some(uses), unpinned: locked.is_none(), locked }
            }
        }
    }
}

fn text_map(texts: &BTreeMap<String, String>) -> Value {
    texts.iter().map(|(key, text)| (key.clone(), Value::from(text.clone()))).collect()
}

fn digest_of(value: &Value) -> SubjectDigest {
    let mut text = String::new();
    write_canonical(value, &mut text);
    SubjectDigest::of(text.as_bytes())
}

/// Writes JSON without whitespace, with the keys of objects in order (RFC 8785; there are no fractions in a subject).
/// `serde_json` alone keeps the order of insertion if another crate enables that.
fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by(|one, other| one.0.cmp(other.0));
            text.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_canonical(value, text);
            }
            text.push('}');
        }
        Value::Array(list) => {
            text.push('[');
            for (index, value) in list.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(value, text);
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
#[path = "subject_tests.rs"]
mod tests;
