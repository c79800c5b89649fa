//! Formats of values, and limits of what a request may contain.

use serde_json::Value;

use super::changes::Direction;
use super::schema::Alternative;

/// Keywords with the bound that holds without them.
const LOWER_BOUNDS: [(&str, f64); 5] = [
    ("minLength", 0.0),
    ("minItems", 0.0),
    ("minProperties", 0.0),
    ("minimum", f64::NEG_INFINITY),
    ("exclusiveMinimum", f64::NEG_INFINITY),
];
const UPPER_BOUNDS: [&str; 5] = ["maxLength", "maxItems", "maxProperties", "maximum", "exclusiveMaximum"];
/// Whether one value of such a keyword is narrower than another can't be computed: each other value counts.
const CONDITIONS: [&str; 2] = ["pattern", "multipleOf"];
/// A reader of the second format can read the first.
const WIDER_FORMATS: [(&str, &str); 2] = [("int32", "int64"), ("float", "double")];

/// Returns what breaks a client. A response with another length or number than before is no break.
pub(super) fn compare(old: &Alternative<'_>, new: &Alternative<'_>, direction: Direction) -> Vec<String> {
    let mut found = Vec::new();
    let (old_format, new_format) = (format(old), format(new));
    let (sent, read) = direction.sender_and_reader(old_format, new_format);
    if !is_readable(sent, read) {
        let name = |format: Option<&str>| format.unwrap_or("none").to_owned();
        found.push(format!("format changed from {} to {}", name(old_format), name(new_format)));
    }
    if direction == Direction::Response {
        return found;
    }
    for (name, default) in LOWER_BOUNDS {
        let (before, after) =
            (bounds(old, name).fold(default, f64::max), bounds(new, name).fold(default, f64::max));
        if after > before {
            found.push(format!("{name} raised to {after}"));
        }
    }
    for name in UPPER_BOUNDS {
        let (before, after) = (
            bounds(old, name).fold(f64::INFINITY, f64::min),
            bounds(new, name).fold(f64::INFINITY, f64::min),
        );
        if after < before {
            found.push(format!("{name} lowered to {after}"));
        }
    }
    for name in CONDITIONS {
        let before = old.keyword(name);
        if new.keyword(name).iter().any(|condition| !before.contains(condition)) {
            found.push(format!("{name} changed"));
        }
    }
    if has_unique_items(new) && !has_unique_items(old) {
        found.push("uniqueItems added".to_owned());
    }
    found
}

fn format<'a>(alternative: &Alternative<'a>) -> Option<&'a str> {
    alternative.keyword("format").into_iter().find_map(Value::as_str)
}

fn is_readable(sent: Option<&str>, read: Option<&str>) -> bool {
    let (Some(sent), Some(read)) = (sent, read) else { return read.is_none() };
    sent == read || WIDER_FORMATS.contains(&(sent, read))
}

fn bounds(alternative: &Alternative<'_>, name: &str) -> impl Iterator<Item = f64> {
    alternative.keyword(name).into_iter().filter_map(Value::as_f64)
}

fn has_unique_items(alternative: &Alternative<'_>) -> bool {
    alternative.keyword("uniqueItems").into_iter().any(|value| value.as_bool() == Some(true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::schema::Document;
    use super::*;

    fn found(direction: Direction, old: Value, new: Value) -> Vec<String> {
        let (old_document, new_document) = (Document::new(&old), Document::new(&new));
        let (old, new) = (old_document.alternatives(&[&old]), new_document.alternatives(&[&new]));
        compare(&old[0], &new[0], direction)
    }

    #[test]
    fn narrower_limits_of_a_request_are_breaks() {
        for (old, new, expected) in [
            (json!({}), json!({"minLength": 1}), vec!["minLength raised to 1"]),
            (json!({}), json!({"minLength": 0, "minItems": 0}), vec![]),
            (json!({"minimum": 0}), json!({"minimum": -1}), vec![]),
            (json!({}), json!({"minimum": 0}), vec!["minimum raised to 0"]),
            (json!({"maxLength": 500}), json!({"maxLength": 100}), vec!["maxLength lowered to 100"]),
            (json!({"maximum": 100}), json!({"maximum": 1000}), vec![]),
            (json!({"maximum": 100}), json!({}), vec![]),
            (json!({}), json!({"maxItems": 5}), vec!["maxItems lowered to 5"]),
            (json!({"pattern": "^a"}), json!({"pattern": "^ab"}), vec!["pattern changed"]),
            (json!({"pattern": "^a"}), json!({}), vec![]),
            (json!({}), json!({"uniqueItems": true}), vec!["uniqueItems added"]),
        ] {
            assert_eq!(found(Direction::Request, old.clone(), new.clone()), expected, "{old} {new}");
            assert!(found(Direction::Response, old, new).is_empty());
        }
    }

    #[test]
    fn the_narrowest_limit_of_all_parts_holds() {
        let old = json!({"maxLength": 10});
        let new = json!({"maxLength": 10, "allOf": [{"maxLength": 5}]});
        assert_eq!(found(Direction::Request, old, new), ["maxLength lowered to 5"]);
    }

    #[test]
    fn a_format_is_wider_for_one_side_and_narrower_for_the_other() {
        let formats = |direction, old: Option<&str>, new: Option<&str>| {
            !found(direction, json!({"format": old}), json!({"format": new})).is_empty()
        };
        for (old, new, breaks_request, breaks_response) in [
            (Some("date"), Some("date"), false, false),
            (Some("date"), Some("date-time"), true, true),
            (Some("int32"), Some("int64"), false, true),
            (Some("int64"), Some("int32"), true, false),
            (None, Some("uuid"), true, false),
            (Some("uuid"), None, false, true),
        ] {
            assert_eq!(formats(Direction::Request, old, new), breaks_request, "{old:?} {new:?}");
            assert_eq!(formats(Direction::Response, old, new), breaks_response, "{old:?} {new:?}");
        }
    }
}
