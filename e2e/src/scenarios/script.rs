//! `expect.json`, read: what a scenario is about, what runs its steps, and what is done and expected, in order. A word that
//! nobody knows is an error, so that a typing mistake never passes for a test.

use anyhow::Context;
use serde::Deserialize;

use crate::parts::runner::Backend;
use crate::scenarios::step::Written;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Script {
    /// What has to hold, for people. It has to be there, so it has to be read.
    #[serde(rename = "about")]
    _about: String,
    /// Why it can't pass yet.
    #[serde(default)]
    pub(crate) pending: Option<String>,
    /// It takes parts down that others need, so nothing else runs beside it.
    #[serde(default)]
    pub(crate) alone: bool,
    /// The runner `runner`, which is there from the beginning; `"none"` for none.
    #[serde(default)]
    runner: First,
    /// Whether the pipeline has a repository; or one that is `held`.
    #[serde(default)]
    repository: Repository,
    pub(crate) steps: Vec<Written>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
enum Repository {
    Plain(bool),
    Held(Held),
}

/// Its checkouts wait until the script has made the file `checkout`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum Held {
    #[serde(rename = "held")]
    Held,
}

impl Default for Repository {
    fn default() -> Self {
        Self::Plain(true)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum First {
    None(Nothing),
    Some(RunnerSettings),
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum Nothing {
    #[serde(rename = "none")]
    None,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RunnerSettings {
    #[serde(default)]
    pub(crate) backend: Backend,
    #[serde(default = "one")]
    pub(crate) concurrency: u32,
    /// `default` if left out.
    #[serde(default)]
    pub(crate) pool: Option<String>,
}

impl Default for First {
    fn default() -> Self {
        Self::Some(RunnerSettings { backend: Backend::Process, concurrency: 1, pool: None })
    }
}

impl Script {
    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        serde_json::from_str(text).context("it is not a script")
    }

    pub(crate) fn first_runner(&self) -> Option<RunnerSettings> {
        match &self.runner {
            First::None(Nothing::None) => None,
            First::Some(settings) => Some(settings.clone()),
        }
    }

    pub(crate) fn has_repository(&self) -> bool {
        self.repository != Repository::Plain(false)
    }

    pub(crate) fn holds_checkouts(&self) -> bool {
        self.repository == Repository::Held(Held::Held)
    }

    pub(crate) fn needs_containers(&self) -> bool {
        let later = self.steps.iter().filter_map(|written| written.step.runner());
        later.chain(self.first_runner()).any(|runner| runner.backend == Backend::Container)
    }
}

pub(crate) const fn one() -> u32 {
    1
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
    fn words_that_nobody_knows_are_errors() {
        for (wrong, part) in [
            (r#"{ "clam": "qa-1" }"#, "no word"),
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
    fn a_field_may_have_the_name_of_another_word() {
        let script = read(r#"{ "cancel": "d1", "force": true }, { "force": "qa-1", "as": "s2" }"#).unwrap();
        let steps: Vec<Step> = script.steps.into_iter().map(|written| written.step).collect();
        assert!(matches!(steps.as_slice(), [Step::Cancel(_), Step::Force(_)]));
    }

    #[test]
    fn what_needs_containers_says_so() {
        assert!(!read(r#"{ "resume": true }"#).unwrap().needs_containers());
        assert!(read(r#"{ "startRunner": "b", "backend": "container" }"#).unwrap().needs_containers());
    }
}
