//! Checks the inputs that a manifest declares: keywords that fit the type, and values that fit the keywords.

use serde_json::Number;

use super::input::{InputType, StepInput, compare, is_equal};
use super::manifest_check::Check;
use super::manifest_raw::Input;
use super::pattern::Pattern;
use crate::definition::diagnostic::{Diagnostic, Path};
use crate::definition::located::{Located, Position};
use crate::definition::values::{self, VALUE};
use crate::definition::{RawValue, Scalar, limits, quote};

impl Check<'_> {
    pub(super) fn input(&mut self, path: Path<'_>, name: &str, input: &Located<Input>) -> StepInput {
        let raw = &input.value;
        let kind = self.kind(path, input);
        if let Some(kind) = kind {
            self.keywords(path, kind, raw);
        }
        let kind = kind.unwrap_or(InputType::String);
        let required =
            raw.required.as_ref().is_some_and(|required| self.report.is_true(path.key("required"), required));
        if let Some(default) = raw.default.as_ref().filter(|_| required) {
            let message = "a required input can't have a `default`; leave out one of both";
            self.report.error(default.at, path.key("default"), message);
        }
        let checked = StepInput {
            name: name.to_owned(),
            kind,
            description: self.description(path, raw.description.as_ref()),
            default: raw.default.as_ref().map(|value| self.scalar(path.key("default"), value)),
            choices: self.choices(path.key("enum"), kind, raw),
            pattern: raw.pattern.as_ref().and_then(|pattern| self.pattern(path.key("pattern"), pattern)),
            min_length: raw.min_length.as_ref().map(|length| length.value),
            max_length: raw.max_length.as_ref().map(|length| length.value),
            minimum: raw.minimum.as_ref().and_then(|number| self.number(path.key("minimum"), kind, number)),
            maximum: raw.maximum.as_ref().and_then(|number| self.number(path.key("maximum"), kind, number)),
            required,
        };
        self.ranges(path, raw, &checked);
        if let (Some(raw), Some(default)) = (&raw.default, &checked.default)
            && let Err(error) = checked.check(default)
        {
            let path = path.key("default");
            self.report.error(raw.at, path, format!("{} {error}", path.subject()));
        }
        checked
    }

    fn kind(&mut self, path: Path<'_>, input: &Located<Input>) -> Option<InputType> {
        let path = path.key("type");
        let Some(written) = &input.value.kind else {
            self.report.add(|| {
                let message = "an input needs a `type`: `string`, `number`, `integer` or `boolean`";
                Diagnostic::new(input.at, path.pointer(), message)
                    .choices("", InputType::NAMES.iter().copied())
            });
            return None;
        };
        let kind = written.value.parse().ok();
        if kind.is_none() {
            self.report.add(|| {
                let message = format!("{} is not a type of an input", quote(&written.value));
                Diagnostic::new(written.at, path.pointer(), message)
                    .choices(&written.value, InputType::NAMES.iter().copied())
            });
        }
        kind
    }

    /// Reports keywords that would have no effect on values of the type.
    fn keywords(&mut self, path: Path<'_>, kind: InputType, raw: &Input) {
        let text = matches!(kind, InputType::String);
        let number = matches!(kind, InputType::Number | InputType::Integer);
        for (keyword, at, fits) in [
            ("enum", raw.choices.as_ref().map(|value| value.at), text || number),
            ("pattern", raw.pattern.as_ref().map(|value| value.at), text),
            ("minLength", raw.min_length.as_ref().map(|value| value.at), text),
            ("maxLength", raw.max_length.as_ref().map(|value| value.at), text),
            ("minimum", raw.minimum.as_ref().map(|value| value.at), number),
            ("maximum", raw.maximum.as_ref().map(|value| value.at), number),
        ] {
            if let Some(at) = at.filter(|_| !fits) {
                let message = format!("an input of the type `{kind}` can't have `{keyword}`; leave it out");
                self.report.error(at, path.key(keyword), message);
            }
        }
    }

    fn choices(&mut self, path: Path<'_>, kind: InputType, raw: &Input) -> Vec<Scalar> {
        let Some(choices) = &raw.choices else { return Vec::new() };
        if choices.value.is_empty() {
            self.report.error(choices.at, path, "`enum` needs at least one value");
        }
        if !self.report.fits(choices.at, path, choices.value.len(), limits::ENTRIES) {
            return Vec::new();
        }
        let mut checked: Vec<Scalar> = Vec::with_capacity(choices.value.len());
        for (index, choice) in choices.value.iter().enumerate() {
            let path = path.index(index);
            let value = self.scalar(path, choice);
            if !kind.accepts(&value) {
                let error = super::input::InvalidInput::Type(kind);
                self.report.error(choice.at, path, format!("{} {error}", path.subject()));
            }
            if checked.iter().any(|other| is_equal(other, &value)) {
                let message = format!("{} is listed twice in `enum`", quote(&choice.value.0));
                self.report.error(choice.at, path, message);
            }
            checked.push(value);
        }
        checked
    }

    fn pattern(&mut self, path: Path<'_>, text: &Located<String>) -> Option<Pattern> {
        match Pattern::new(&text.value) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                self.report.error(text.at, path, format!("{} {error}", quote(&text.value)));
                None
            }
        }
    }

    fn number(&mut self, path: Path<'_>, kind: InputType, written: &Located<RawValue>) -> Option<Number> {
        let value = self.scalar(path, written);
        match value {
            Scalar::Number(number)
                if kind != InputType::Integer || kind.accepts(&Scalar::Number(number.clone())) =>
            {
                Some(number)
            }
            _ => {
                let whole = if kind == InputType::Integer { "whole " } else { "" };
                self.report.error(
                    written.at,
                    path,
                    format!("{} must be a {whole}number, without quotes", path.subject()),
                );
                None
            }
        }
    }

    fn ranges(&mut self, path: Path<'_>, raw: &Input, checked: &StepInput) {
        let mut report = |keyword: &str, at: Option<Position>, other: &str| {
            if let Some(at) = at {
                let message = format!("`{keyword}` is less than `{other}`: no value would be allowed");
                self.report.error(at, path.key(keyword), message);
            }
        };
        if checked.min_length.zip(checked.max_length).is_some_and(|(least, most)| least > most) {
            report("maxLength", raw.max_length.as_ref().map(|value| value.at), "minLength");
        }
        let numbers = checked.minimum.as_ref().zip(checked.maximum.as_ref());
        if numbers.is_some_and(|(least, most)| compare(least, most).is_gt()) {
            report("maximum", raw.maximum.as_ref().map(|value| value.at), "minimum");
        }
    }

    fn scalar(&mut self, path: Path<'_>, value: &Located<RawValue>) -> Scalar {
        let text = self.report.checked_text(path, value.at, &value.value.0, VALUE);
        values::scalar(text, value.written(self.source))
    }
}
