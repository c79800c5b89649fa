//! Queries on a checked definition.

use super::limits::{DEFAULT_POOL, NO_ENVIRONMENT};
use super::model::{
    Definition, Environment, EnvironmentTemplate, EphemeralEnvironment, EphemeralSettings, LockedManifest,
    Stage, StepWork,
};
use super::step_reference::StepReference;
use super::url::NAME_PLACEHOLDER;
use crate::digest::sha256;
use crate::slug::Slug;
use crate::step::StepLock;

impl Definition {
    pub fn stage(&self, key: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.key == key)
    }

    pub fn environment(&self, name: &str) -> Option<&Environment> {
        self.environments.iter().find(|environment| environment.name == name)
    }

    pub fn ephemeral_environment(&self, name: &str) -> Option<&EphemeralEnvironment> {
        self.ephemeral_environments.iter().find(|environment| environment.name == name)
    }

    /// Returns the template of a name. The name has to be a valid name of an environment.
    pub fn template_for(&self, name: &str) -> Option<&EnvironmentTemplate> {
        name.parse::<Slug>().ok().filter(|name| name.as_str() != NO_ENVIRONMENT)?;
        self.environment_templates.iter().find(|template| template.matches(name))
    }

    /// Returns the settings of an ephemeral environment, named or from a template.
    pub fn ephemeral_settings(&self, name: &str) -> Option<&EphemeralSettings> {
        let named = self.ephemeral_environment(name).map(|environment| &environment.settings);
        named.or_else(|| self.template_for(name).map(|template| &template.settings))
    }

    /// Returns the stages of a deployment of the pipeline: all except those that clean up after a session.
    pub fn deployment_stages(&self) -> impl Iterator<Item = &Stage> {
        self.stages.iter().filter(|stage| !self.cleans_up(&stage.key))
    }

    /// Returns the pool whose runners take a stage.
    pub fn pool<'a>(&'a self, stage: &'a Stage) -> &'a str {
        stage.runner.as_ref().or(self.runner.as_ref()).map_or(DEFAULT_POOL, |runner| &runner.pool)
    }

    /// Returns what a reference meant when the definition was saved; `None` if it was saved before steps were locked.
    pub fn locked_step(&self, uses: &StepReference) -> Option<&LockedManifest> {
        self.locked_steps.get(&uses.to_string())
    }

    pub fn step_lock(&self) -> StepLock {
        let steps = self.locked_steps.iter();
        steps.map(|(reference, locked)| (reference.clone(), locked.step.clone())).collect()
    }

    fn cleans_up(&self, stage: &str) -> bool {
        let named = self.ephemeral_environments.iter().map(|environment| &environment.settings);
        let templates = self.environment_templates.iter().map(|template| &template.settings);
        named.chain(templates).any(|settings| settings.on_release.iter().any(|key| key == stage))
    }
}

impl StepWork {
    /// Returns the digest of a step's script. Steps of registries have the digest of their files instead.
    pub fn script_digest(&self) -> Option<String> {
        match self {
            Self::Script { run, .. } => Some(sha256(run.as_bytes())),
            Self::Registry { .. } => None,
        }
    }
}

impl EnvironmentTemplate {
    /// Returns the name of the template in the file: `pr-*`.
    pub fn pattern(&self) -> String {
        format!("{}*", self.prefix)
    }

    /// The star matches at least one character.
    fn matches(&self, name: &str) -> bool {
        name.strip_prefix(self.prefix.as_str()).is_some_and(|rest| !rest.is_empty())
    }
}

impl EphemeralSettings {
    /// Returns the URL of one environment, with its name in place of `{name}`.
    pub fn url_for(&self, name: &str) -> Option<String> {
        self.url.as_ref().map(|url| url.replace(NAME_PLACEHOLDER, name))
    }
}
