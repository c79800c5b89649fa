//! Inputs of steps: scalars with the rules of JSON Schema.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value, json};

use super::pattern::Pattern;
use crate::definition::Scalar;

/// An input that a step accepts.
///
/// An input is required exactly if it has `required: true`; then it has no default. One that is not required and has no
/// default may be missing: neither its variable nor its entry in the document of inputs exists then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepInput {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: InputType,
    pub description: Option<String>,
    pub default: Option<Scalar>,
    /// The allowed values; all values of the type, if it is empty.
    #[serde(rename = "enum", default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Scalar>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// In characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<Number>,
    pub required: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputType {
    String,
    Number,
    /// Written without a fraction and without an exponent.
    Integer,
    Boolean,
}

crate::text_enum::text_enum!(InputType {
    String = "string",
    Number = "number",
    Integer = "integer",
    Boolean = "boolean",
});

impl InputType {
    pub fn accepts(self, value: &Scalar) -> bool {
        match (self, value) {
            (Self::String, Scalar::Text(_))
            | (Self::Number, Scalar::Number(_))
            | (Self::Boolean, Scalar::Bool(_)) => true,
            (Self::Integer, Scalar::Number(number)) => number.is_i64() || number.is_u64(),
            _ => false,
        }
    }

    const fn rule(self) -> &'static str {
        match self {
            Self::String => "a text; put it in quotes",
            Self::Number => "a number, without quotes",
            Self::Integer => "a whole number, without quotes",
            Self::Boolean => "`true` or `false`, without quotes",
        }
    }
}

/// Why a value is not allowed for an input, as the predicate of a sentence about it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InvalidInput {
    #[error("must be {}", .0.rule())]
    Type(InputType),
    /// The allowed values are listed elsewhere.
    #[error("is not one of the values that the step allows")]
    Choice,
    #[error("must match the pattern `{0}`")]
    Pattern(String),
    #[error("must have {0} characters at least")]
    TooShort(u64),
    #[error("must have {0} characters at most")]
    TooLong(u64),
    #[error("must be {0} at least")]
    TooSmall(Number),
    #[error("must be {0} at most")]
    TooLarge(Number),
}

impl StepInput {
    /// Checks a value of the input.
    pub fn check(&self, value: &Scalar) -> Result<(), InvalidInput> {
        if !self.kind.accepts(value) {
            return Err(InvalidInput::Type(self.kind));
        }
        if !self.choices.is_empty() && !self.choices.iter().any(|choice| is_equal(choice, value)) {
            return Err(InvalidInput::Choice);
        }
        match value {
            Scalar::Text(text) => self.check_text(text),
            Scalar::Number(number) => self.check_number(number),
            Scalar::Bool(_) => Ok(()),
        }
    }

    fn check_text(&self, text: &str) -> Result<(), InvalidInput> {
        let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        if let Some(least) = self.min_length.filter(|least| length < *least) {
            return Err(InvalidInput::TooShort(least));
        }
        if let Some(most) = self.max_length.filter(|most| length > *most) {
            return Err(InvalidInput::TooLong(most));
        }
        match self.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
            Some(pattern) => Err(InvalidInput::Pattern(pattern.as_str().to_owned())),
            None => Ok(()),
        }
    }

    fn check_number(&self, number: &Number) -> Result<(), InvalidInput> {
        if let Some(least) = self.minimum.as_ref().filter(|least| compare(number, least).is_lt()) {
            return Err(InvalidInput::TooSmall(least.clone()));
        }
        if let Some(most) = self.maximum.as_ref().filter(|most| compare(number, most).is_gt()) {
            return Err(InvalidInput::TooLarge(most.clone()));
        }
        Ok(())
    }

    /// Returns the JSON Schema of its values.
    pub fn json_schema(&self) -> Value {
        let mut schema = Map::new();
        let mut add = |keyword: &str, value: Option<Value>| {
            if let Some(value) = value {
                schema.insert(keyword.to_owned(), value);
            }
        };
        add("type", Some(json!(self.kind)));
        add("description", self.description.as_ref().map(|text| json!(text)));
        add("default", self.default.as_ref().map(|value| json!(value)));
        add("enum", (!self.choices.is_empty()).then(|| json!(self.choices)));
        add("pattern", self.pattern.as_ref().map(|pattern| json!(pattern)));
        add("minLength", self.min_length.map(|length| json!(length)));
        add("maxLength", self.max_length.map(|length| json!(length)));
        add("minimum", self.minimum.as_ref().map(|number| json!(number)));
        add("maximum", self.maximum.as_ref().map(|number| json!(number)));
        Value::Object(schema)
    }

    /// Returns the environment variable of an input: `GREENROOM_INPUT_` and the name in upper case, with `_` for `-`.
    pub fn variable(&self) -> String {
        input_variable(&self.name)
    }
}

pub(super) fn input_variable(name: &str) -> String {
    format!("GREENROOM_INPUT_{}", name.to_ascii_uppercase().replace('-', "_"))
}

/// Two numbers are equal if their values are: `1` and `1.0`.
pub(super) fn is_equal(one: &Scalar, other: &Scalar) -> bool {
    match (one, other) {
        (Scalar::Number(one), Scalar::Number(other)) => compare(one, other).is_eq(),
        _ => one == other,
    }
}

/// Whole numbers are compared exactly, others as floating-point numbers.
pub(super) fn compare(one: &Number, other: &Number) -> Ordering {
    let whole = |number: &Number| number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => {
            // Numbers of JSON are finite.
            one.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal)
        }
    }
}
