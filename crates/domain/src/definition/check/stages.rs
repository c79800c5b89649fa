//! Stages.

use super::Check;
use super::fields::LINE;
use crate::definition::diagnostic::{Diagnostic, Path, quote};
use crate::definition::located::{Located, Position};
use crate::definition::model::{Only, Stage, Step};
use crate::definition::{condition, limits, raw};
use crate::secret::{Usage, UsageKind};

impl Check<'_> {
    pub(super) fn stages(&mut self) -> Vec<Stage> {
        let root = Path::Root;
        let path = root.key("stages");
        let Some(stages) = self.file.stages.as_ref().filter(|stages| stages.len() > 0) else {
            self.report.error(Position::START, path, "a definition needs `stages`, with at least one stage");
            return Vec::new();
        };
        if !self.map_fits(path, stages, limits::STAGES) {
            return Vec::new();
        }
        self.check_cycles(stages);
        stages.iter().map(|(key, stage)| self.stage(path.key(&key.value), key, &stage.value)).collect()
    }

    fn stage(&mut self, path: Path<'_>, key: &Located<String>, stage: &raw::Stage) -> Stage {
        let needs = stage.needs.as_deref().unwrap_or_default();
        let timeout = stage.timeout.as_ref();
        if let Some(approval) = stage.approval.as_ref().filter(|_| self.cleaning.contains(key.value.as_str()))
        {
            let message = format!(
                "stage {} cleans up (`onRelease`) and can't wait for an approval, because nobody else gets the environment \
                 until it has ended; leave out `approval`",
                quote(&key.value)
            );
            self.report.error(approval.at, path.key("approval"), message);
        }
        Stage {
            key: self.name(path, key, "stage name"),
            name: stage.name.as_ref().map(|name| self.text(path.key("name"), name, LINE)),
            needs: self.needs(path.key("needs"), key, needs),
            condition: stage.condition.as_ref().map(|text| self.condition(path.key("if"), text)),
            environment: stage
                .environment
                .as_ref()
                .map(|name| self.target(path.key("environment"), key, name)),
            only: stage.only.as_ref().and_then(|only| self.only(path.key("only"), stage, only)),
            runner: stage.runner.as_ref().map(|runner| self.runner(path.key("runner"), runner)),
            variables: self.variables(path.key("variables"), stage.variables.as_ref()),
            timeout_seconds: timeout
                .map(|timeout| self.duration(path.key("timeout"), timeout, limits::MAX_TIMEOUT_SECONDS)),
            approval: stage.approval.as_ref().map(|approval| self.approval(path.key("approval"), approval)),
            submodules: self.hosts(path.key("submodules"), stage.submodules.as_ref()),
            artifacts: self.workspace_paths(
                path.key("artifacts"),
                stage.artifacts.as_deref().unwrap_or_default(),
                limits::ARTIFACTS,
            ),
            accept_from: self.accept_from(path.key("acceptFrom"), key, stage),
            caches: self.caches(path.key("caches"), stage.caches.as_deref().unwrap_or_default()),
            steps: self.steps(path.key("steps"), key, stage),
        }
    }

    fn hosts(&mut self, path: Path<'_>, hosts: Option<&Located<Vec<Located<String>>>>) -> Vec<String> {
        let Some(hosts) = hosts else { return Vec::new() };
        if hosts.value.is_empty() {
            self.report.error(
                hosts.at,
                path,
                "must name at least one host; leave it out to fetch no submodules",
            );
        }
        if !self.fits(hosts.at, path, hosts.value.len(), limits::HOSTS) {
            return Vec::new();
        }
        self.unique(path, &hosts.value);
        let mut checked = Vec::with_capacity(hosts.value.len());
        for (index, host) in hosts.value.iter().enumerate() {
            match Usage::new(UsageKind::Checkout, &host.value) {
                Ok(usage) => checked.push(usage.host),
                Err(error) => {
                    let message = format!("{} is not a host: it {error}", quote(&host.value));
                    self.report.error(host.at, path.index(index), message);
                }
            }
        }
        checked
    }

    fn only(&mut self, path: Path<'_>, stage: &raw::Stage, only: &Located<String>) -> Option<Only> {
        if only.value != "ephemeral" {
            self.report.add(|| {
                let message = format!("{} is not what a stage can be restricted to", quote(&only.value));
                Diagnostic::new(only.at, path.pointer(), message).choices(&only.value, ["ephemeral"])
            });
            return None;
        }
        if stage.environment.is_some() {
            let message = "a stage with an `environment` never runs in an ephemeral one; leave out `only` or `environment`";
            self.report.error(only.at, path, message);
        }
        Some(Only::Ephemeral)
    }

    fn condition(&mut self, path: Path<'_>, expression: &Located<String>) -> String {
        let Some(left) = self.condition_bytes_left.checked_sub(expression.value.len()) else {
            if self.condition_bytes_left > 0 {
                let message =
                    format!("the conditions have more than {} bytes in all", limits::CONDITIONS_BYTES);
                self.report.error(expression.at, path, message);
            }
            self.condition_bytes_left = 0;
            return String::new();
        };
        self.condition_bytes_left = left;
        match condition::unknown_names(&expression.value) {
            Err(problem) => self.report.error(expression.at, path, format!("`if` {problem}")),
            Ok(unknown) => {
                for name in unknown {
                    self.report.add(|| {
                        let message = format!("`if` doesn't know {}", quote(&name));
                        Diagnostic::new(expression.at, path.pointer(), message)
                            .choices(&name, condition::NAMES)
                    });
                }
            }
        }
        expression.value.clone()
    }

    /// The lasting environment that a stage deploys to.
    fn target(&mut self, path: Path<'_>, stage: &Located<String>, name: &Located<String>) -> String {
        let file = self.file;
        let lasting = file.environments.as_ref();
        if lasting.is_some_and(|environments| environments.get(&name.value).is_some()) {
            return name.value.clone();
        }
        let ephemeral = file.ephemeral_environments.as_ref();
        if ephemeral.is_some_and(|environments| environments.get(&name.value).is_some()) {
            let message = format!(
                "{} is an ephemeral environment; list the stage in its `stages` instead",
                quote(&name.value)
            );
            self.report.error(name.at, path, message);
        } else {
            self.report.add(|| {
                let (stage, written) = (quote(&stage.value), quote(&name.value));
                let message =
                    format!("stage {stage} deploys to {written}, which is not one of `environments`");
                let names = lasting.into_iter().flat_map(|environments| environments.keys());
                Diagnostic::new(name.at, path.pointer(), message).choices(&name.value, names)
            });
        }
        name.value.clone()
    }

    fn steps(&mut self, path: Path<'_>, key: &Located<String>, stage: &raw::Stage) -> Vec<Step> {
        let Some(steps) = stage.steps.as_ref().filter(|steps| !steps.value.is_empty()) else {
            let at = stage.steps.as_ref().map_or(key.at, |steps| steps.at);
            self.report.error(
                at,
                path,
                format!("stage {} needs `steps`, with at least one step", quote(&key.value)),
            );
            return Vec::new();
        };
        let at = steps.value.get(limits::STEPS).map_or(steps.at, |step| step.at);
        if !self.fits(at, path, steps.value.len(), limits::STEPS) {
            return Vec::new();
        }
        let checked = steps.value.iter().enumerate().map(|(index, step)| self.step(path.index(index), step));
        checked.collect()
    }
}
