//! Refusals and warnings about names in a request that no definition contains.

use greenroom_api_types::problem::FieldProblem;
use greenroom_api_types::reference_warning::ReferenceWarning;
use greenroom_domain::known_names::UnknownName;

use crate::failure::Failure;

/// Warns of names that match nothing yet. `kind` is what they should name, such as `environment`.
pub fn warnings(unknown: Vec<UnknownName>, kind: &str, path: &str) -> Vec<ReferenceWarning> {
    let warning = |unknown: UnknownName| ReferenceWarning {
        code: "matches_nothing".to_owned(),
        message: format!("`{}` matches no {kind} yet{}", unknown.name, hint(unknown.suggestion.as_deref())),
        path: path.to_owned(),
        suggestion: unknown.suggestion,
    };
    unknown.into_iter().map(warning).collect()
}

/// Refuses a name of a list that has no patterns: a mistyped one would look as if it had an effect.
pub fn refusal(unknown: UnknownName, kind: &str, expected: &[String], pointer: &str) -> Failure {
    let what_to_do = match (&unknown.suggestion, expected) {
        (Some(suggestion), _) => hint(Some(suggestion)),
        (None, []) => format!(": there is no {kind} yet; add it to the definition of a pipeline first"),
        (None, _) => "; `expected` lists those that exist".to_owned(),
    };
    Failure::fields(vec![FieldProblem {
        pointer: pointer.to_owned(),
        detail: format!("names `{}`, which is no {kind}{what_to_do}", unknown.name),
        expected: expected.to_vec(),
        suggestion: unknown.suggestion,
        ..FieldProblem::default()
    }])
}

fn hint(suggestion: Option<&str>) -> String {
    suggestion.map(|suggestion| format!("; did you mean `{suggestion}`?")).unwrap_or_default()
}
