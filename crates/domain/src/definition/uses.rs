//! Checks the steps of registries that a definition uses, with positions in its text.

use std::collections::HashSet;

use super::diagnostic::{Diagnostic, Document, Path, Report, quote};
use super::located::{Entries, Located, Position};
use super::model::{Definition, Stage, Step, StepWork};
use super::step_reference::StepReference;
use super::{raw, yaml};
use crate::step::{ProblemKind, StepManifest, StepProblem, Unresolved, check_step, forbidden};

/// Returns the manifest of what a reference means, or why it means nothing.
pub type FindManifest<'f, 'm> = dyn Fn(&StepReference) -> Result<&'m StepManifest, Unresolved> + 'f;

impl Definition {
    /// Returns the different references to steps of registries, in the order of the file.
    pub fn step_references(&self) -> Vec<&StepReference> {
        let mut seen = HashSet::new();
        let steps = self.stages.iter().flat_map(|stage| &stage.steps);
        let references = steps.filter_map(|step| match &step.work {
            StepWork::Registry { uses, .. } => Some(uses),
            StepWork::Script { .. } => None,
        });
        references.filter(|uses| seen.insert(uses.to_string())).collect()
    }

    /// Checks the steps that the definition uses. `source` is the text that it was parsed from. The problems are of the same
    /// kind, and in the same order, as those of [`super::parse`].
    pub fn check_steps(&self, source: &str, find: &FindManifest<'_, '_>) -> Result<(), Vec<Diagnostic>> {
        let source = source.strip_prefix('\u{feff}').unwrap_or(source);
        let file: raw::File =
            yaml::read(source, Document::Definition).map_err(|diagnostic| vec![diagnostic])?;
        let mut report = Report::default();
        let root = Path::Root;
        let stages = root.key("stages");
        let mut using = Vec::new();
        for (stage, (key, raw)) in self.stages.iter().zip(file.stages.iter().flat_map(Entries::iter)) {
            let path = stages.key(&key.value);
            let steps = path.key("steps");
            let raw_steps = raw.value.steps.iter().flat_map(|steps| &steps.value);
            let mut stage_uses = false;
            for (index, (step, raw)) in stage.steps.iter().zip(raw_steps).enumerate() {
                if let (StepWork::Registry { uses, .. }, Some(written)) = (&step.work, &raw.value.uses) {
                    stage_uses = true;
                    let place = StepText { path: steps.index(index), uses: written, raw: &raw.value };
                    report_step(&mut report, &place, step, uses, find);
                }
            }
            if stage_uses {
                report_variables(&mut report, path.key("variables"), raw.value.variables.as_ref());
                using.push(stage);
            }
        }
        self.report_inherited(&mut report, &file, &using);
        report.finish(())
    }

    /// Reports forbidden variables of the pipeline and of the environments in which these stages run.
    fn report_inherited(&self, report: &mut Report, file: &raw::File, using: &[&Stage]) {
        let root = Path::Root;
        if using.is_empty() {
            return;
        }
        report_variables(report, root.key("variables"), file.variables.as_ref());
        let lasting = root.key("environments");
        for (name, environment) in file.environments.iter().flat_map(Entries::iter) {
            if using.iter().any(|stage| stage.environment.as_deref() == Some(name.value.as_str())) {
                let path = lasting.key(&name.value);
                report_variables(report, path.key("variables"), environment.value.variables.as_ref());
            }
        }
        let ephemeral = root.key("ephemeralEnvironments");
        for (name, environment) in file.ephemeral_environments.iter().flat_map(Entries::iter) {
            let named = self.ephemeral_environment(&name.value).map(|environment| &environment.settings);
            let mut templates = self.environment_templates.iter();
            let template = templates.find(|template| template.pattern() == name.value);
            let settings = named.or_else(|| template.map(|template| &template.settings));
            let runs = |stage: &Stage| {
                settings.is_some_and(|settings| {
                    settings.stages.iter().chain(&settings.on_release).any(|key| *key == stage.key)
                })
            };
            if using.iter().any(|stage| runs(stage)) {
                let path = ephemeral.key(&name.value);
                report_variables(report, path.key("variables"), environment.value.variables.as_ref());
            }
        }
    }
}

/// A step in the file.
struct StepText<'a> {
    path: Path<'a>,
    uses: &'a Located<String>,
    raw: &'a raw::Step,
}

fn report_step(
    report: &mut Report,
    place: &StepText<'_>,
    step: &Step,
    uses: &StepReference,
    find: &FindManifest<'_, '_>,
) {
    match find(uses) {
        Ok(manifest) => {
            for problem in check_step(manifest, step) {
                report.add(|| place.diagnostic(problem));
            }
        }
        Err(unresolved) => report.add(|| {
            let path = place.path.key("uses");
            let message = format!("{}: {unresolved}", quote(&place.uses.value));
            let suggestion = unresolved.suggestion(uses);
            Diagnostic { suggestion, ..Diagnostic::new(place.uses.at, path.pointer(), message) }
        }),
    }
}

/// Variables of the stage, its environment and the pipeline are set for all steps.
fn report_variables(report: &mut Report, path: Path<'_>, variables: Option<&raw::Variables>) {
    for (key, _) in variables.into_iter().flat_map(Entries::iter) {
        if let Some(problem) = forbidden("variables", &key.value) {
            report.error(key.at, path.key(&key.value), problem.message);
        }
    }
}

impl StepText<'_> {
    fn diagnostic(&self, problem: StepProblem) -> Diagnostic {
        let StepProblem { field, key, kind, message, expected } = problem;
        let (name, value) = self.position(field, &key).unwrap_or((self.uses.at, self.uses.at));
        let at = if kind == ProblemKind::Value { value } else { name };
        let field = self.path.key(field);
        let path = field.key(&key);
        let diagnostic = Diagnostic::new(at, path.pointer(), message);
        if expected.is_empty() {
            return diagnostic;
        }
        let value = self.raw.with.as_ref().and_then(|with| with.value.get(&key));
        let written = match (kind, value) {
            (ProblemKind::Value, Some(value)) => value.value.0.as_str(),
            _ => key.as_str(),
        };
        diagnostic.choices(written, expected.iter().map(String::as_str))
    }

    /// Returns the positions of a key and of its value.
    fn position(&self, field: &str, key: &str) -> Option<(Position, Position)> {
        fn find<V>(entries: Option<&Entries<V>>, key: &str) -> Option<(Position, Position)> {
            let (name, value) = entries?.iter().find(|(name, _)| name.value == key)?;
            Some((name.at, value.at))
        }
        match field {
            "with" => find(self.raw.with.as_ref().map(|with| &with.value), key),
            "secrets" => find(self.raw.secrets.as_ref(), key),
            "idTokens" => find(self.raw.id_tokens.as_ref(), key),
            _ => find(self.raw.variables.as_ref(), key),
        }
    }
}
