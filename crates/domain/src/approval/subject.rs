//! What is approved: everything that determines what a stage will do, as canonical JSON, and its SHA-256. Versions of secrets
//! are left out, because their rotation is routine; their names are part of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::definition::{Stage, Step, StepWork};
use crate::digest::SubjectDigest;
use crate::text::CommitId;

/// What determines a subject.
#[derive(Clone, Copy, Debug)]
pub struct SubjectInput<'a> {
    /// The digest of the definition's version, which covers its text.
    pub definition: &'a str,
    pub stage: &'a Stage,
    /// The ephemeral environment, if the deployment has one.
    pub environment: Option<&'a str>,
    /// The full commit id.
    pub commit: &'a CommitId,
    /// The stages of the deployment that the stage needs.
    pub needs: &'a [NeededStage],
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
    pub steps: Vec<SubjectStep>,
    pub needs: Vec<SubjectNeed>,
    /// The names of the secrets that the steps get.
    pub secrets: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectStep {
    pub name: Option<String>,
    /// The image of a script, or `None` for a step of a registry.
    pub image: Option<String>,
    /// The step of a registry.
    pub uses: Option<String>,
    /// The image or the step is named by a tag or a version, whose content may change.
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

impl Subject {
    /// Returns what a stage will do; `None` if the commit id is not complete, because it could become another commit.
    pub fn new(input: &SubjectInput<'_>) -> Option<Self> {
        let SubjectInput { definition, stage, environment, commit, needs } = *input;
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
            steps: stage.steps.iter().map(SubjectStep::new).collect(),
            needs,
            secrets: secrets.map(|secret| secret.name.clone()).collect(),
        })
    }

    pub fn digest(&self) -> SubjectDigest {
        digest_of(&serde_json::to_value(self).unwrap_or_default())
    }
}

impl SubjectStep {
    pub(super) fn new(step: &Step) -> Self {
        let (image, uses, unpinned) = match &step.work {
            StepWork::Script { image, .. } => (Some(image.clone()), None, !image.contains("@sha256:")),
            StepWork::Registry { uses, .. } => {
                (None, Some(uses.to_string()), !uses.version.starts_with("sha256:"))
            }
        };
        Self { name: step.name.clone(), image, uses, unpinned }
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
