//! Compares JSON with what is expected: an object has at least the named keys, a list is as long as the
//! expected one. Marks: `{"$any": true}` is anything but null, `{"$has": […]}` a list with such items in this
//! order, `{"$text": "…"}` a text that contains this one, `{"$oneOf": […]}` one of these, `{"$atLeast": 3}` a
//! number.

use serde_json::Value;

/// Returns the differences, a line each, with their location.
pub(crate) fn differences(expected: &Value, found: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    compare("", expected, found, &mut lines);
    lines
}

pub(crate) fn matches(expected: &Value, found: &Value) -> bool {
    differences(expected, found).is_empty()
}

fn compare(at: &str, expected: &Value, found: &Value, lines: &mut Vec<String>) {
    let location = if at.is_empty() { "it" } else { at.trim_start_matches('.') };
    let mut differs =
        |what: String| lines.push(format!("{location}: expected {what}, found {}", short(found)));
    match expected {
        Value::Object(keys) if keys.keys().any(|key| key.starts_with('$')) => {
            for (mark, wanted) in keys {
                if let Some(what) = marked(mark, wanted, found) {
                    differs(what);
                }
            }
        }
        Value::Object(keys) => match found {
            Value::Object(there) => {
                for (key, wanted) in keys {
                    // An omitted field is equivalent to null.
                    let found = there.get(key).unwrap_or(&Value::Null);
                    compare(&format!("{at}.{key}"), wanted, found, lines);
                }
            }
            _ => differs("an object".to_owned()),
        },
        Value::Array(items) => match found {
            Value::Array(there) if there.len() == items.len() => {
                for (index, (wanted, found)) in items.iter().zip(there).enumerate() {
                    compare(&format!("{at}[{index}]"), wanted, found, lines);
                }
            }
            _ => differs(format!("a list of {}", items.len())),
        },
        plain if plain == found => {}
        plain => differs(short(plain)),
    }
}

/// Returns the unmet expectation, if there is one.
fn marked(mark: &str, wanted: &Value, found: &Value) -> Option<String> {
    let holds = match (mark, wanted) {
        ("$any", Value::Bool(true)) => !found.is_null(),
        ("$text", Value::String(part)) => found.as_str().is_some_and(|text| text.contains(part.as_str())),
        ("$atLeast", Value::Number(min)) => found.as_f64() >= min.as_f64() && found.is_number(),
        ("$oneOf", Value::Array(ones)) => ones.iter().any(|one| matches(one, found)),
        ("$has", Value::Array(items)) => match found {
            Value::Array(there) => {
                let mut rest = there.iter();
                items.iter().all(|wanted| rest.any(|found| matches(wanted, found)))
            }
            _ => false,
        },
        _ => return Some(format!("`{mark}: {}`, which is unknown", short(wanted))),
    };
    (!holds).then(|| format!("{mark} {}", short(wanted)))
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 200 {
        return text;
    }
    text.chars().take(200).chain("…".chars()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_is_enough() {
        let found = json!({ "status": "failed", "stages": [{ "key": "a", "n": 1 }, { "key": "b", "n": 2 }] });
        for expected in [
            json!({}),
            json!({ "status": "failed", "reason": null }),
            json!({ "stages": [{ "key": "a" }, {}] }),
            json!({ "stages": { "$has": [{ "key": "b" }] } }),
            json!({ "status": { "$oneOf": ["failed", "errored"] }, "stages": { "$any": true } }),
            json!({ "status": { "$text": "ail" }, "stages": [{ "n": { "$atLeast": 1 } }, {}] }),
        ] {
            assert_eq!(differences(&expected, &found), Vec::<String>::new(), "{expected}");
        }
    }

    #[test]
    fn a_difference_is_described_with_its_location() {
        let found = json!({ "status": "failed", "stages": [{ "key": "a" }] });
        for (expected, line) in [
            (json!({ "status": "errored" }), r#"status: expected "errored", found "failed""#),
            (json!({ "stages": [{ "key": "b" }] }), r#"stages[0].key: expected "b", found "a""#),
            (json!({ "stages": [] }), r#"stages: expected a list of 0, found [{"key":"a"}]"#),
            (json!({ "reason": { "$any": true } }), "reason: expected $any true, found null"),
            (
                json!({ "reason": { "$andy": true } }),
                "reason: expected `$andy: true`, which is unknown, found null",
            ),
            (
                json!({ "stages": { "$has": [{}, {}] } }),
                r#"stages: expected $has [{},{}], found [{"key":"a"}]"#,
            ),
        ] {
            assert_eq!(differences(&expected, &found), [line]);
        }
    }
}
