//! Warnings about what a definition may contain but its author probably did not intend.

use std::collections::BTreeMap;

use serde::Serialize;

use super::diagnostic::{Path, quote};
use super::located::{Entries, Position};
use super::model::{Definition, EphemeralSettings};
use super::{limits, raw};

/// A warning with its position in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// Stable, for programs.
    pub code: &'static str,
    /// For people.
    pub message: String,
    /// JSON pointer.
    pub path: String,
    pub line: u32,
    pub column: u32,
}

/// Where a stage is in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagePlace {
    /// JSON pointer.
    pub path: String,
    pub line: u32,
    pub column: u32,
}

/// Returns where the stages are, by their keys.
pub(super) fn stage_places(file: &raw::File) -> BTreeMap<String, StagePlace> {
    let root = Path::Root;
    let stages = root.key("stages");
    let keys = file.stages.iter().flat_map(Entries::iter).map(|(key, _)| key);
    keys.map(|key| {
        let path = stages.key(&key.value).pointer();
        (key.value.clone(), StagePlace { path, line: key.at.line, column: key.at.column })
    })
    .collect()
}

/// Returns the warnings in the order of the file, at most a hundred.
pub(super) fn warnings(file: &raw::File, definition: &Definition) -> Vec<Warning> {
    let mut found = Vec::new();
    for (key, stage) in file.stages.iter().flat_map(Entries::iter) {
        let root = Path::Root;
        let stages = root.key("stages");
        let path = stages.key(&key.value);
        if stage.value.environment.is_none()
            && stage.value.only.is_none()
            && runs_in_sessions(definition, &key.value)
        {
            let message = format!(
                "stage {} runs in ephemeral environments and in deployments of the whole pipeline, where \
                 `GREENROOM_ENVIRONMENT` is `none`; `only: ephemeral` restricts it to sessions",
                quote(&key.value)
            );
            found.push(warning("runs_without_environment", key.at, path, message));
        }
        for (index, accepted) in stage.value.accept_from.iter().flatten().enumerate() {
            let message = format!(
                "stage {} takes the files and outputs of {} whatever pool that runs in: whoever has a runner's token of that pool \
                 can change what this stage works with",
                quote(&key.value),
                quote(&accepted.value)
            );
            let list = path.key("acceptFrom");
            found.push(warning("accepts_from_another_pool", accepted.at, list.index(index), message));
        }
    }
    found.sort_by_key(|warning| (warning.line, warning.column));
    found.truncate(limits::DIAGNOSTICS);
    found
}

/// Stages that clean up are not part of a deployment of the whole pipeline.
fn runs_in_sessions(definition: &Definition, stage: &str) -> bool {
    let named = definition.ephemeral_environments.iter().map(|environment| &environment.settings);
    let templates = definition.environment_templates.iter().map(|template| &template.settings);
    let lists = |settings: &EphemeralSettings| settings.stages.iter().any(|key| key == stage);
    definition.deployment_stages().any(|known| known.key == stage) && named.chain(templates).any(lists)
}

fn warning(code: &'static str, at: Position, path: Path<'_>, message: String) -> Warning {
    Warning { code, message, path: path.pointer(), line: at.line, column: at.column }
}
