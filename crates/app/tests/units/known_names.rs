//! Refusals of, and warnings about, names that no definition contains.

use greenroom_app::internals::known_names::{refusal, warnings};
use greenroom_domain::known_names::UnknownName;

fn unknown(suggestion: Option<&str>) -> UnknownName {
    UnknownName { name: "prodution".to_owned(), suggestion: suggestion.map(str::to_owned) }
}

#[test]
fn a_refusal_names_the_next_step() {
    let expected = ["production".to_owned()];
    for (suggestion, expected, part) in [
        (Some("production"), &expected as &[_], "did you mean `production`?"),
        (None, &expected, "`expected` lists those that exist"),
        (None, &[], "add it to the definition"),
    ] {
        let failure = refusal(unknown(suggestion), "lasting environment", expected, "/environments");
        let error = &failure.errors[0];
        assert!(error.detail.contains("`prodution`") && error.detail.contains(part), "{}", error.detail);
        assert_eq!((error.pointer.as_str(), error.suggestion.as_deref()), ("/environments", suggestion));
    }
}

#[test]
fn a_warning_names_the_nearest() {
    let found = warnings(vec![unknown(Some("production")), unknown(None)], "environment", "/environment");
    let messages: Vec<&str> = found.iter().map(|warning| warning.message.as_str()).collect();
    let expected = [
        "`prodution` matches no environment yet; did you mean `production`?",
        "`prodution` matches no environment yet",
    ];
    assert_eq!(messages, expected);
}
