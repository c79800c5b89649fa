//! Steps: a script in an image, or a step of a registry.

use std::collections::BTreeMap;

use super::Check;
use super::fields::{LINE, SCRIPT, VALUE};
use crate::definition::diagnostic::{Path, quote};
use crate::definition::located::{Entries, Located};
use crate::definition::model::{Retry, Step, StepWork};
use crate::definition::step_reference::{Scalar, StepReference};
use crate::definition::{limits, name_rules, raw, values};

impl Check<'_> {
    pub(super) fn step(&mut self, path: Path<'_>, step: &Located<raw::Step>) -> Step {
        let raw = &step.value;
        let timeout = raw.timeout.as_ref();
        Step {
            name: raw.name.as_ref().map(|name| self.text(path.key("name"), name, LINE)),
            work: self.work(path, step),
            variables: self.variables(path.key("variables"), raw.variables.as_ref()),
            secrets: self.secrets(path.key("secrets"), raw.secrets.as_ref(), raw.variables.as_ref()),
            id_tokens: self.id_tokens(path.key("idTokens"), raw),
            timeout_seconds: timeout
                .map(|timeout| self.duration(path.key("timeout"), timeout, limits::MAX_TIMEOUT_SECONDS)),
            retry: raw.retry.as_ref().map(|retry| self.retry(path.key("retry"), retry)),
        }
    }

    fn work(&mut self, path: Path<'_>, step: &Located<raw::Step>) -> StepWork {
        let raw = &step.value;
        let Some(uses) = &raw.uses else { return self.script(path, step) };
        for (field, value) in [("image", &raw.image), ("run", &raw.run)] {
            if let Some(value) = value {
                let message = format!("a step that `uses` another can't have `{field}`");
                self.report.error(value.at, path.key(field), message);
            }
        }
        let reference = StepReference::new(&uses.value)
            .filter(|reference| uses.value.len() <= limits::TEXT_BYTES && reference.requirement().is_some());
        if reference.is_none() {
            let message = format!(
                "{} is not a step of a registry; write `registry/name@v1.2.3` or `registry/name@sha256:…`",
                quote(&uses.value)
            );
            self.report.error(uses.at, path.key("uses"), message);
        }
        if self.references.insert(uses.value.clone()) && self.references.len() == limits::STEP_REFERENCES + 1
        {
            let message = format!(
                "the definition uses more than {} different steps of registries",
                limits::STEP_REFERENCES
            );
            self.report.error(uses.at, path.key("uses"), message);
        }
        let invalid =
            || StepReference { registry: String::new(), name: String::new(), version: String::new() };
        let with = raw.with.as_ref().map(|with| self.inputs(path.key("with"), &with.value));
        StepWork::Registry { uses: reference.unwrap_or_else(invalid), with: with.unwrap_or_default() }
    }

    fn script(&mut self, path: Path<'_>, step: &Located<raw::Step>) -> StepWork {
        let raw = &step.value;
        if let Some(with) = &raw.with {
            self.report.error(with.at, path.key("with"), "only a step that `uses` another can have `with`");
        }
        match (&raw.image, &raw.run) {
            (None, None) => self.report.error(step.at, path, "a step needs `image` and `run`, or `uses`"),
            (Some(image), None) => {
                self.report.error(image.at, path.key("run"), "a step with `image` needs `run`")
            }
            (None, Some(run)) => {
                self.report.error(run.at, path.key("image"), "a step with `run` needs `image`")
            }
            (Some(_), Some(_)) => {}
        }
        StepWork::Script {
            image: raw
                .image
                .as_ref()
                .map(|image| self.report.image(path.key("image"), image))
                .unwrap_or_default(),
            run: raw.run.as_ref().map(|run| self.text(path.key("run"), run, SCRIPT)).unwrap_or_default(),
        }
    }

    fn inputs(&mut self, path: Path<'_>, inputs: &Entries<raw::Value>) -> BTreeMap<String, Scalar> {
        if !self.map_fits(path, inputs, limits::ENTRIES) {
            return BTreeMap::new();
        }
        let pairs = inputs.iter().map(|(key, value)| {
            let path = path.key(&key.value);
            if !name_rules::is_input(&key.value) {
                let message = format!("{} is not a valid name of an input", quote(&key.value));
                self.report.error(key.at, path, message);
            }
            let text = self.report.checked_text(path, value.at, &value.value.0, VALUE);
            (key.value.clone(), values::scalar(text, value.written(self.source)))
        });
        pairs.collect()
    }

    fn retry(&mut self, path: Path<'_>, retry: &Located<raw::Retry>) -> Retry {
        let attempts = match &retry.value.attempts {
            Some(attempts) => self.number(path.key("attempts"), attempts, limits::ATTEMPTS),
            None => {
                self.report.error(retry.at, path.key("attempts"), "a retry rule needs `attempts`");
                1
            }
        };
        let backoff = retry.value.backoff.as_ref();
        let backoff =
            backoff.map(|backoff| self.duration(path.key("backoff"), backoff, limits::MAX_BACKOFF_SECONDS));
        Retry { attempts, backoff_seconds: backoff.unwrap_or(limits::DEFAULT_BACKOFF_SECONDS) }
    }
}
