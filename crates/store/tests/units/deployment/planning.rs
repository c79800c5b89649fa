//! Which definitions are planned inside of the transaction.

use greenroom_domain::definition::parse;
use greenroom_store::internals::PlanKey;

/// A cheap definition is planned inside of the transaction, with rows locked. Evaluating a condition is
/// not cheap.
#[test]
fn a_definition_with_a_condition_is_not_cheap_to_plan() {
    let definition = |condition: &str| {
        let stage = format!("stages: {{ build: {{ {condition}steps: [{{ image: a, run: b }}] }} }}");
        parse(&stage).unwrap()
    };
    assert!(PlanKey::is_cheap(&definition("")));
    assert!(!PlanKey::is_cheap(&definition("if: 'true', ")));
}
