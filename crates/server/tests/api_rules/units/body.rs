//! JSON bodies.

use greenroom_app::failure::Code;
use greenroom_server::internals::body::{depth, parse};

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    #[expect(dead_code, reason = "only whether it can be parsed is tested")]
    name: String,
}

fn code(text: &str) -> Option<Code> {
    parse::<Named>(text.as_bytes()).err().map(|failure| failure.code)
}

#[test]
fn malformed_json_and_invalid_fields_are_distinguished() {
    assert_eq!(code(r#"{"name": "x"}"#), None);
    assert_eq!(code("{not json"), Some(Code::MalformedJson));
    assert_eq!(code(r#"{"name": "x"} {}"#), Some(Code::MalformedJson));
    assert_eq!(
        code(&format!(r#"{{"name": {}1{}}}"#, "[".repeat(40), "]".repeat(40))),
        Some(Code::MalformedJson)
    );
    assert_eq!(code(r#"["x"]"#), Some(Code::InvalidRequest));
    assert_eq!(code("null"), Some(Code::InvalidRequest));
    assert_eq!(code(r#"{"name": 1}"#), Some(Code::InvalidRequest));
    assert_eq!(code(r#"{"name": "x", "nmae": "y"}"#), Some(Code::InvalidRequest));
    assert_eq!(code("{}"), Some(Code::InvalidRequest));
}

#[test]
fn the_pointer_names_the_invalid_field() {
    let failure = parse::<Named>(br#"{"name": 1}"#).unwrap_err();
    assert_eq!(failure.errors[0].pointer, "/name");
    assert_eq!(failure.errors[0].detail, "invalid type: integer `1`, expected a string");
}

#[test]
fn brackets_in_strings_do_not_count_as_depth() {
    assert_eq!(depth(br#"{"a": "[[[\"[[", "b": [[1]]}"#), 3);
}
