//! What a definition gives to a step of a registry, compared with the step's manifest; and what the step then gets.

use std::collections::BTreeMap;

use serde_json::Value;

use super::forbidden_variables::forbidden_variable;
use super::input::{InvalidInput, StepInput};
use super::manifest::{ExpectedVariable, StepManifest};
use crate::definition::{Scalar, Step, StepReference, StepWork, nearest, quote};

/// A problem of a step that uses another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepProblem {
    /// `with`, `secrets`, `idTokens` or `variables`.
    pub field: &'static str,
    /// The key in that map.
    pub key: String,
    pub kind: ProblemKind,
    pub message: String,
    /// The valid names or values, if they can be listed.
    pub expected: Vec<String>,
}

/// What is wrong at a key, and so where the problem is in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The key is missing.
    Missing,
    /// The key must not be there.
    Key,
    /// The value is not allowed.
    Value,
}

/// Checks what a step gives to the one that it uses. A step that uses none has no problems.
pub fn check_step(manifest: &StepManifest, step: &Step) -> Vec<StepProblem> {
    let StepWork::Registry { uses, with } = &step.work else { return Vec::new() };
    let mut problems = Vec::new();
    for (name, value) in with {
        match manifest.input(name) {
            Some(input) => problems.extend(input.check(value).err().map(|error| invalid(input, &error))),
            None => {
                let names = manifest.inputs.iter().map(|input| input.name.clone()).collect();
                problems.push(unknown("with", "an input", name, uses, names));
            }
        }
    }
    // A required input with a typo is one problem, not two.
    let names = || manifest.inputs.iter().map(|input| input.name.as_str());
    let meant: Vec<&str> = with.keys().filter_map(|key| nearest(key, names())).collect();
    let is_missing = |input: &&StepInput| {
        input.required && !with.contains_key(&input.name) && !meant.contains(&input.name.as_str())
    };
    for input in manifest.inputs.iter().filter(is_missing) {
        problems.push(missing("with", "input", &input.name, uses));
    }
    problems.extend(expected("secrets", ("a secret", "secret"), &manifest.secrets, &step.secrets, uses));
    problems.extend(expected(
        "idTokens",
        ("an id token", "id token"),
        &manifest.id_tokens,
        &step.id_tokens,
        uses,
    ));
    problems.extend(step.variables.keys().filter_map(|name| forbidden("variables", name)));
    problems
}

/// Returns the problem of a variable that a step of a registry can't have.
pub(crate) fn forbidden(field: &'static str, name: &str) -> Option<StepProblem> {
    let reason = forbidden_variable(name)?;
    let message = format!(
        "{} can't be set for a step of a registry: {reason}; leave it out, or set it on the steps with `run` only",
        quote(name)
    );
    Some(StepProblem { field, key: name.to_owned(), kind: ProblemKind::Key, message, expected: Vec::new() })
}

fn invalid(input: &StepInput, error: &InvalidInput) -> StepProblem {
    let choices = input.choices.iter().map(text);
    StepProblem {
        field: "with",
        key: input.name.clone(),
        kind: ProblemKind::Value,
        message: format!("{} {error}", quote(&input.name)),
        expected: if *error == InvalidInput::Choice { choices.collect() } else { Vec::new() },
    }
}

/// Only what the step expects can be given to it, so that it gets no secret by accident.
fn expected<V>(
    field: &'static str,
    (a_kind, kind): (&str, &str),
    expected: &[ExpectedVariable],
    given: &BTreeMap<String, V>,
    uses: &StepReference,
) -> Vec<StepProblem> {
    let names = || expected.iter().map(|variable| variable.name.clone()).collect::<Vec<_>>();
    let unknown_keys = given.keys().filter(|key| !expected.iter().any(|variable| variable.name == **key));
    let unknown = unknown_keys.map(|key| unknown(field, a_kind, key, uses, names()));
    let missing_keys =
        expected.iter().filter(|variable| variable.required && !given.contains_key(&variable.name));
    unknown.chain(missing_keys.map(|variable| missing(field, kind, &variable.name, uses))).collect()
}

fn unknown(
    field: &'static str,
    kind: &str,
    key: &str,
    uses: &StepReference,
    expected: Vec<String>,
) -> StepProblem {
    let message = format!("{} is not {kind} of {}", quote(key), quote(&uses.to_string()));
    StepProblem { field, key: key.to_owned(), kind: ProblemKind::Key, message, expected }
}

fn missing(field: &'static str, kind: &str, key: &str, uses: &StepReference) -> StepProblem {
    let message =
        format!("{} needs the {kind} {}; add it to `{field}`", quote(&uses.to_string()), quote(key));
    StepProblem { field, key: key.to_owned(), kind: ProblemKind::Missing, message, expected: Vec::new() }
}

impl StepManifest {
    /// Returns the values of the inputs, with defaults for those that are not given. Others than the step's own are left
    /// out.
    pub fn inputs_with_defaults(&self, with: &BTreeMap<String, Scalar>) -> BTreeMap<String, Scalar> {
        let value = |input: &StepInput| with.get(&input.name).or(input.default.as_ref()).cloned();
        let inputs = self.inputs.iter();
        inputs.filter_map(|input| value(input).map(|value| (input.name.clone(), value))).collect()
    }

    /// Returns the content of `/greenroom/inputs.json`.
    pub fn inputs_document(&self, with: &BTreeMap<String, Scalar>) -> Value {
        let inputs = self.inputs_with_defaults(with);
        inputs.into_iter().map(|(name, value)| (name, json(value))).collect()
    }

    /// Returns the variables of the inputs, `GREENROOM_INPUT_…`. An input without a value has no variable.
    pub fn input_variables(&self, with: &BTreeMap<String, Scalar>) -> BTreeMap<String, String> {
        let inputs = self.inputs_with_defaults(with);
        inputs.iter().map(|(name, value)| (super::input::input_variable(name), text(value))).collect()
    }
}

fn json(value: Scalar) -> Value {
    match value {
        Scalar::Bool(value) => value.into(),
        Scalar::Number(number) => number.into(),
        Scalar::Text(text) => text.into(),
    }
}

/// Numbers as in JSON: `1.10` is the same as `1.1`.
fn text(value: &Scalar) -> String {
    match value {
        Scalar::Bool(value) => value.to_string(),
        Scalar::Number(number) => number.to_string(),
        Scalar::Text(text) => text.clone(),
    }
}

#[cfg(test)]
#[path = "with_tests.rs"]
mod tests;
