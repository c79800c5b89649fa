//! The parsed `expect.json` of a scenario: its purpose, its first runner, whether its pipeline has a
//! repository, and its steps (actions and expectations) in order. An unknown key is an error, so that a
//! misspelled expectation is not ignored.

use anyhow::Context;
use serde::Deserialize;

use crate::parts::runner::Backend;
use crate::scenarios::runner_settings::RunnerSettings;
use crate::scenarios::step::ParsedStep;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Script {
    /// A description of the expected behavior. It is required, although no code uses it.
    #[serde(rename = "about")]
    _about: String,
    /// Why the scenario can't pass yet.
    #[serde(default)]
    pub(crate) pending: Option<String>,
    /// Whether the scenario runs alone, because it takes down parts that all scenarios share.
    #[serde(default)]
    pub(crate) alone: bool,
    /// The settings of the first runner, which is named `runner`. With `"none"` there is no first runner.
    #[serde(default)]
    runner: FirstRunner,
    /// Whether the pipeline has a repository, and of which kind.
    #[serde(default)]
    repository: Repository,
    /// Whether there is a private registry, with an image of the scenario's own.
    #[serde(default)]
    pub(crate) registry: bool,
    pub(crate) steps: Vec<ParsedStep>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
enum Repository {
    Plain(bool),
    Kind(RepositoryKind),
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RepositoryKind {
    /// The git server answers no request for it until the script has created the file `checkout`.
    Held,
    /// Served by https, with a password.
    Private,
    /// The same, with commits that try to make a runner connect to other servers.
    Hostile,
}

impl Default for Repository {
    fn default() -> Self {
        Self::Plain(true)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum FirstRunner {
    None(NoRunner),
    Some(RunnerSettings),
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum NoRunner {
    #[serde(rename = "none")]
    None,
}

impl Default for FirstRunner {
    fn default() -> Self {
        Self::Some(RunnerSettings { backend: Backend::Process, concurrency: 1, pool: None })
    }
}

impl Script {
    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        serde_json::from_str(text).context("expect.json does not have the format of a scenario")
    }

    pub(crate) fn first_runner(&self) -> Option<RunnerSettings> {
        match &self.runner {
            FirstRunner::None(NoRunner::None) => None,
            FirstRunner::Some(settings) => Some(settings.clone()),
        }
    }

    pub(crate) fn has_repository(&self) -> bool {
        self.repository != Repository::Plain(false)
    }

    /// Returns the kind of the repository if it is not the one that most scenarios share.
    pub(crate) fn repository_kind(&self) -> Option<RepositoryKind> {
        match self.repository {
            Repository::Plain(_) => None,
            Repository::Kind(kind) => Some(kind),
        }
    }

    pub(crate) fn needs_containers(&self) -> bool {
        let later = self.steps.iter().filter_map(|parsed| parsed.step.runner());
        later.chain(self.first_runner()).any(|runner| runner.backend == Backend::Container)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::step::Step;

    fn read(steps: &str) -> Result<Script, String> {
        let text = format!(r#"{{ "about": "x", "steps": [{steps}] }}"#);
        Script::read(&text).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn unknown_keys_are_errors() {
        for (wrong, part) in [
            (r#"{ "clam": "qa-1" }"#, "none of the actions"),
            (r#"{ "claim": "qa-1", "comit": "main" }"#, "comit"),
            (r#"{ "until": "d1", "is": {}, "withing": 3 }"#, "withing"),
            (r#"{ "until": "d1" }"#, "is"),
            (r#"{ "stop": "halt" }"#, "halt"),
        ] {
            let found = read(wrong).unwrap_err();
            assert!(found.contains(part), "{wrong}: {found}");
        }
        assert!(Script::read(r#"{ "about": "x", "setps": [] }"#).is_err());
        assert!(Script::read(r#"{ "about": "x", "runner": "all", "steps": [] }"#).is_err());
    }

    #[test]
    fn a_field_may_have_the_name_of_another_action() {
        let script = read(r#"{ "cancel": "d1", "force": true }, { "force": "qa-1", "as": "s2" }"#).unwrap();
        let steps: Vec<Step> = script.steps.into_iter().map(|parsed| parsed.step).collect();
        assert!(matches!(steps.as_slice(), [Step::Cancel(_), Step::Force(_)]));
    }

    #[test]
    fn scripts_that_need_containers_are_recognized() {
        assert!(!read(r#"{ "resume": true }"#).unwrap().needs_containers());
        assert!(read(r#"{ "startRunner": "b", "backend": "container" }"#).unwrap().needs_containers());
    }
}
