//! The refusal of an environment that does not exist.

use greenroom_app::environment::missing;
use greenroom_app::failure::{Code, Failure};

#[test]
fn a_mistyped_environment_has_a_suggestion() {
    let failure = missing("preprdo", ["qa-1", "preprod"]);
    assert!(failure.detail.contains("Did you mean `preprod`?"), "{}", failure.detail);
    assert_eq!(failure.code, Code::NotFound);
    assert_eq!(missing("elsewhere", ["qa-1"]).detail, Failure::not_found().detail);
    assert_eq!(missing("qa-1", []).detail, Failure::not_found().detail);
}
