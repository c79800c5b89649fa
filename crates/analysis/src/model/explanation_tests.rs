use super::*;
use crate::model::prompt::{Change, ChangeKind, EvidenceItem, FailureContext, Prompt};

fn prompt() -> Prompt {
    let evidence =
        |id: &str| EvidenceItem { id: id.to_owned(), from_line: 1, to_line: 1, text: "x".to_owned() };
    let change = |id: &str| Change {
        id: id.to_owned(),
        kind: ChangeKind::Commit,
        title: String::new(),
        files: vec![],
    };
    Prompt::new(&FailureContext {
        categories: vec!["database".to_owned(), "unknown".to_owned()],
        evidence: vec![evidence("E1"), evidence("E2")],
        changes: vec![change("C1")],
        ..FailureContext::default()
    })
    .unwrap()
}

fn parse(text: &str) -> Result<Explanation, NotAnExplanation> {
    super::parse(text, prompt().schema(), Some("key-of-the-request"))
}

fn json(fields: &str) -> String {
    format!("{{{fields},\"next\":[\"retry\"],\"confidence\":\"high\"}}")
}

#[test]
fn a_valid_text() {
    let text = json(
        r#""evidence":["E2"],"suspects":["C1"],"category":"database","cause":"No table.","enough":true"#,
    );
    let expected = Explanation {
        category: Some("database".to_owned()),
        evidence: vec!["E2".to_owned()],
        suspects: vec!["C1".to_owned()],
        cause: Some("No table.".to_owned()),
        next: vec!["retry".to_owned()],
        confidence: Confidence::High,
        is_enough: true,
        dropped_references: 0,
    };
    assert_eq!(parse(&text), Ok(expected.clone()));
    assert_eq!(parse(&format!("```json\n{text}\n```")), Ok(expected.clone()));
    assert_eq!(parse(&format!("\n{text}\n")), Ok(expected));
}

#[test]
fn references_that_do_not_exist_are_dropped_and_counted() {
    let text = json(
        r#""evidence":["E1","E9","E1","/etc/passwd"],"suspects":["E1","C2"],"category":"owned","cause":"x","enough":true"#,
    );
    let explanation = parse(&text).unwrap();
    assert_eq!(explanation.evidence, ["E1"]);
    assert!(explanation.suspects.is_empty() && explanation.category.is_none());
    assert_eq!(explanation.dropped_references, 5);
}

#[test]
fn without_enough_data_there_is_no_cause() {
    let text = json(r#""evidence":[],"suspects":[],"category":"unknown","cause":"A guess.","enough":false"#);
    let explanation = parse(&text).unwrap();
    assert_eq!((explanation.cause, explanation.is_enough), (None, false));
}

#[test]
fn other_shapes_are_rejected() {
    let fields = r#""evidence":[],"suspects":[],"category":"unknown","cause":"x","enough":true"#;
    for text in [
        "",
        "The database is down.",
        "[]",
        "null",
        "{}",
        &json(fields).replace("high", "certain"),
        &json(fields).replace("\"enough\":true", "\"enough\":\"yes\""),
        &json(fields).replace("[\"retry\"]", "\"retry\""),
        &json(fields).replace("[\"retry\"]", "[{\"run\":\"rm\"}]"),
        &json(&format!("{fields},\"tool\":\"shell\"")),
        &json(&format!("{fields},\"enough\":false")),
        &json(fields).replace("\"category\":\"unknown\",", ""),
        &format!("{} {}", json(fields), json(fields)),
        &json(fields)[..40],
    ] {
        assert_eq!(parse(text), Err(NotAnExplanation), "{text}");
    }
}

#[test]
fn texts_are_plain_and_short() {
    let cause = format!("\\u202e\\u001b[31ma\\nb\\u200b {}", "ä".repeat(500));
    let next = r#"["1","","2","3","4"]"#;
    let fields =
        format!(r#""evidence":[],"suspects":[],"category":"unknown","cause":"{cause}","enough":true"#);
    let explanation = parse(&json(&fields).replace("[\"retry\"]", next)).unwrap();
    let cause = explanation.cause.unwrap();
    assert!(cause.starts_with("a b ää") && cause.ends_with('…'), "{cause}");
    assert_eq!(cause.chars().count(), MAX_CAUSE_CHARACTERS);
    assert_eq!(explanation.next, ["1", "2", "3"]);
    let long = json(&fields.replace(&"ä".repeat(500), "")).replace("retry", &"n".repeat(300));
    assert_eq!(parse(&long).unwrap().next[0].chars().count(), MAX_NEXT_CHARACTERS);
}

#[test]
fn secrets_that_a_model_returns_are_masked() {
    let cause = "use key-of-the-request or ghp_abcdefghijklmnop0123456789ABCDEFGHIJ";
    let fields =
        format!(r#""evidence":[],"suspects":[],"category":"unknown","cause":"{cause}","enough":true"#);
    assert_eq!(parse(&json(&fields)).unwrap().cause.unwrap(), "use [masked] or [masked]");
}
