//! Checks of single values, for definitions and for manifests of steps: names, texts, images, and how many there are.

use super::diagnostic::{Diagnostic, Path, Report, quote};
use super::located::{Entries, Located, Position};
use super::name_rules::{self, RESERVED_PREFIX, VARIABLE_RULE};
use super::step_reference::Scalar;
use super::{limits, raw};
use crate::slug::Slug;

/// The rule for a text.
#[derive(Clone, Copy)]
pub(crate) struct TextRule {
    max_bytes: usize,
    allows_lines: bool,
    allows_empty: bool,
}

/// A display name.
pub(crate) const LINE: TextRule =
    TextRule { max_bytes: limits::TEXT_BYTES, allows_lines: false, allows_empty: false };
pub(crate) const PATH: TextRule =
    TextRule { max_bytes: limits::PATH_BYTES, allows_lines: false, allows_empty: false };
/// A description or a message.
pub(crate) const PARAGRAPH: TextRule =
    TextRule { max_bytes: limits::TEXT_BYTES, allows_lines: true, allows_empty: false };
pub(crate) const VALUE: TextRule =
    TextRule { max_bytes: limits::TEXT_BYTES, allows_lines: true, allows_empty: true };
pub(crate) const SCRIPT: TextRule =
    TextRule { max_bytes: limits::SCRIPT_BYTES, allows_lines: true, allows_empty: false };

impl Report {
    pub(crate) fn text(&mut self, path: Path<'_>, text: &Located<String>, rule: TextRule) -> String {
        self.checked_text(path, text.at, &text.value, rule)
    }

    pub(crate) fn checked_text(
        &mut self,
        path: Path<'_>,
        at: Position,
        text: &str,
        rule: TextRule,
    ) -> String {
        let problem = if text.len() > rule.max_bytes {
            Some(format!("is longer than {} bytes", rule.max_bytes))
        } else if !rule.allows_empty && text.trim().is_empty() {
            Some("must not be empty".to_owned())
        } else if !rule.allows_lines && text.trim_end().contains(['\n', '\r']) {
            Some("must be one line".to_owned())
        } else {
            let hidden = text.chars().find(|character| name_rules::is_hidden(*character)).map(u32::from);
            hidden.map(|code| format!("holds the character U+{code:04X}, which would not show to a reader"))
        };
        if let Some(problem) = problem {
            self.error(at, path, format!("{} {problem}", path.subject()));
            // The definition is rejected, and the text may be large.
            return String::new();
        }
        text.to_owned()
    }

    /// `what` is the kind of name for the message.
    pub(crate) fn name(&mut self, path: Path<'_>, name: &Located<String>, what: &str) -> String {
        if !name_rules::is_name(&name.value) {
            self.add(|| {
                let message =
                    format!("{} is not a valid {what}: {}", quote(&name.value), name_rules::NAME_RULE);
                let meant = Slug::from_name(&name.value).map(|slug| slug.to_string());
                Diagnostic::new(name.at, path.pointer(), message).suggest(meant)
            });
        }
        name.value.clone()
    }

    /// Returns whether a map or list is within its limit. If not, its entries are not checked, which bounds
    /// the work.
    pub(crate) fn fits(&mut self, at: Position, path: Path<'_>, count: usize, max: usize) -> bool {
        let fits = count <= max;
        if !fits {
            let message = format!("{} has {count} entries; {max} is the most", path.subject());
            self.error(at, path, message);
        }
        fits
    }

    /// Like `fits`, for a map. The problem is at the first key beyond the limit.
    pub(crate) fn map_fits<V>(&mut self, path: Path<'_>, map: &Entries<V>, max: usize) -> bool {
        let at = map.iter().nth(max).map_or(Position::START, |(key, _)| key.at);
        self.fits(at, path, map.len(), max)
    }

    pub(crate) fn is_true(&mut self, path: Path<'_>, value: &Located<raw::Value>) -> bool {
        let text = value.value.0.as_str();
        if !matches!(text, "true" | "false") {
            self.error(value.at, path, format!("{} must be `true` or `false`", path.subject()));
        }
        text == "true"
    }

    pub(crate) fn variable_name(&mut self, path: Path<'_>, name: &Located<String>) {
        if !name_rules::is_variable(&name.value) {
            let message = format!("{} is not a valid variable name: {VARIABLE_RULE}", quote(&name.value));
            self.error(name.at, path, message);
        } else if name.value.starts_with(RESERVED_PREFIX) {
            let message = format!(
                "{} is not free: names with `{RESERVED_PREFIX}` are Greenroom's own",
                quote(&name.value)
            );
            self.error(name.at, path, message);
        }
    }

    pub(crate) fn image(&mut self, path: Path<'_>, image: &Located<String>) -> String {
        let text = self.text(path, image, LINE);
        if !text.is_empty() && !name_rules::is_image(&text) {
            self.error(image.at, path, format!("{} is not the name of an image", quote(&text)));
        }
        text
    }
}

/// Returns the value of an input with its type according to JSON and not to YAML: `1.10` is a number, but
/// `010`, `0x10` and `no` are text, and so is everything in quotes.
pub(crate) fn scalar(text: String, written: Option<&str>) -> Scalar {
    if written != Some(text.as_str()) {
        return Scalar::Text(text);
    }
    match serde_json::from_str(&text) {
        Ok(serde_json::Value::Bool(value)) => Scalar::Bool(value),
        Ok(serde_json::Value::Number(number)) => Scalar::Number(number),
        _ => Scalar::Text(text),
    }
}
