//! Converts the raw `step.yaml` to the checked manifest, and collects all problems.

use std::collections::HashMap;

use super::forbidden_variables::forbidden_variable;
use super::input::input_variable;
use super::manifest::{ExpectedVariable, StepManifest, StepOutput};
use super::manifest_raw::{Expected, File, Output};
use crate::definition::diagnostic::{Document, Path, Report};
use crate::definition::located::{Entries, Located, Position};
use crate::definition::name_rules::{self, VARIABLE_RULE};
use crate::definition::values::{PARAGRAPH, SCRIPT};
use crate::definition::{Diagnostic, limits, quote, yaml};
use crate::digest::is_digest;

/// The state of all checks. Every check adds its problems to the report and continues with any value.
pub(super) struct Check<'a> {
    pub(super) report: Report,
    pub(super) source: &'a str,
}

impl StepManifest {
    /// Parses and checks `step.yaml`. `name` is the name in the tag that publishes the step. For a text that can't be
    /// parsed it returns one diagnostic, otherwise all problems (at most a hundred), in the order of the file.
    pub fn parse(source: &str, name: Option<&str>) -> Result<Self, Vec<Diagnostic>> {
        let source = source.strip_prefix('\u{feff}').unwrap_or(source);
        let file: File = yaml::read(source, Document::Manifest).map_err(|diagnostic| vec![diagnostic])?;
        let mut check = Check { report: Report::default(), source };
        let manifest = check.manifest(&file, name);
        check.report.finish(manifest)
    }
}

impl Check<'_> {
    fn manifest(&mut self, file: &File, name: Option<&str>) -> StepManifest {
        let root = Document::Manifest.root();
        StepManifest {
            name: self.name(root.key("name"), file.name.as_ref(), name),
            description: self.description(root, file.description.as_ref()),
            inputs: self.inputs(root.key("inputs"), file),
            secrets: self.expected(root.key("secrets"), file.secrets.as_ref(), limits::ENTRIES, None),
            id_tokens: self.expected(
                root.key("idTokens"),
                file.id_tokens.as_ref(),
                limits::ID_TOKENS,
                file.secrets.as_ref(),
            ),
            outputs: self.outputs(root.key("outputs"), file.outputs.as_ref()),
            image: self.image(root.key("image"), file.image.as_ref()),
            run: match &file.run {
                Some(run) => self.report.text(root.key("run"), run, SCRIPT),
                None => self.missing(root.key("run"), "a step needs `run`, its script"),
            },
        }
    }

    fn name(&mut self, path: Path<'_>, written: Option<&Located<String>>, published: Option<&str>) -> String {
        let Some(written) = written else { return self.missing(path, "a step needs a `name`") };
        let name = self.report.name(path, written, "name of a step");
        if let Some(published) = published.filter(|published| *published != name) {
            let message = format!(
                "{} is published by a tag of {}; both must be the same",
                quote(&name),
                quote(published)
            );
            self.report.error(written.at, path, message);
        }
        name
    }

    pub(super) fn description(&mut self, path: Path<'_>, text: Option<&Located<String>>) -> Option<String> {
        text.map(|text| self.report.text(path.key("description"), text, PARAGRAPH))
    }

    fn image(&mut self, path: Path<'_>, image: Option<&Located<String>>) -> String {
        let Some(image) = image else { return self.missing(path, "a step needs an `image`") };
        let text = self.report.image(path, image);
        let is_pinned =
            text.split_once('@').is_some_and(|(name, digest)| !name.is_empty() && is_digest(digest));
        if !text.is_empty() && name_rules::is_image(&text) && !is_pinned {
            let message = format!(
                "{} must be an image by digest, `name@sha256:…`, so that its content can't change; `docker buildx imagetools \
                 inspect` and `skopeo inspect` print the digest",
                quote(&text)
            );
            self.report.error(image.at, path, message);
        }
        text
    }

    fn inputs(&mut self, path: Path<'_>, file: &File) -> Vec<super::input::StepInput> {
        let Some(inputs) = self.fitting(path, file.inputs.as_ref(), limits::ENTRIES) else {
            return Vec::new();
        };
        let mut variables = HashMap::new();
        let mut checked = Vec::with_capacity(inputs.len());
        for (name, input) in inputs.iter() {
            let path = path.key(&name.value);
            if !name_rules::is_input(&name.value) {
                let message = format!(
                    "{} is not a valid name of an input: letters, digits, `_` and `-`, not starting with a digit or `-`, \
                     63 at most",
                    quote(&name.value)
                );
                self.report.error(name.at, path, message);
            }
            let variable = input_variable(&name.value);
            if let Some(other) = variables.insert(variable.clone(), name.value.as_str()) {
                let message = format!(
                    "{} and {} would both be the variable {}; rename one of them",
                    quote(other),
                    quote(&name.value),
                    quote(&variable)
                );
                self.report.error(name.at, path, message);
            }
            checked.push(self.input(path, &name.value, input));
        }
        checked
    }

    fn expected(
        &mut self,
        path: Path<'_>,
        entries: Option<&Entries<Expected>>,
        max: usize,
        others: Option<&Entries<Expected>>,
    ) -> Vec<ExpectedVariable> {
        let Some(entries) = self.fitting(path, entries, max) else { return Vec::new() };
        let mut checked = Vec::with_capacity(entries.len());
        for (name, expected) in entries.iter() {
            let path = path.key(&name.value);
            self.report.variable_name(path, name);
            let is_reserved = name.value.starts_with(name_rules::RESERVED_PREFIX);
            if let Some(reason) = forbidden_variable(&name.value).filter(|_| !is_reserved) {
                let message =
                    format!("{} can't be a variable that users of a step set: {reason}", quote(&name.value));
                self.report.error(name.at, path, message);
            }
            if others.is_some_and(|others| others.get(&name.value).is_some()) {
                let message = format!("{} is a secret of this step already", quote(&name.value));
                self.report.error(name.at, path, message);
            }
            let Expected { description, required } = &expected.value;
            checked.push(ExpectedVariable {
                name: name.value.clone(),
                description: self.description(path, description.as_ref()),
                required: required
                    .as_ref()
                    .is_some_and(|required| self.report.is_true(path.key("required"), required)),
            });
        }
        checked
    }

    fn outputs(&mut self, path: Path<'_>, outputs: Option<&Entries<Output>>) -> Vec<StepOutput> {
        let Some(outputs) = self.fitting(path, outputs, limits::ENTRIES) else { return Vec::new() };
        let mut checked = Vec::with_capacity(outputs.len());
        for (name, output) in outputs.iter() {
            let path = path.key(&name.value);
            if !name_rules::is_variable(&name.value) {
                let message =
                    format!("{} is not a valid name of an output: {VARIABLE_RULE}", quote(&name.value));
                self.report.error(name.at, path, message);
            }
            let description = self.description(path, output.value.description.as_ref());
            checked.push(StepOutput { name: name.value.clone(), description });
        }
        checked
    }

    fn fitting<'e, V>(
        &mut self,
        path: Path<'_>,
        entries: Option<&'e Entries<V>>,
        max: usize,
    ) -> Option<&'e Entries<V>> {
        entries.filter(|entries| self.report.map_fits(path, entries, max))
    }

    fn missing(&mut self, path: Path<'_>, message: &str) -> String {
        self.report.error(Position::START, path, message);
        String::new()
    }
}
