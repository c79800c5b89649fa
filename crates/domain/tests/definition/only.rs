//! Stages for sessions only, the reserved environment name `none`, and warnings.

use greenroom_domain::definition::{Only, parse, parse_with_warnings};

use super::{check_table, ephemeral, invalid, stage, top};

#[test]
fn a_stage_can_be_for_sessions_only() {
    let definition = parse(&stage("only: ephemeral")).unwrap();
    assert_eq!(definition.stages[0].only, Some(Only::Ephemeral));
    let json = serde_json::to_value(&definition).unwrap();
    assert_eq!(json["stages"][0]["only"], "ephemeral");
    // Definitions that were stored before `only` existed are still valid.
    let mut old = serde_json::to_value(parse(&stage("timeout: 1m")).unwrap()).unwrap();
    assert!(old["stages"][0].as_object_mut().unwrap().remove("only").is_none());
    let both = "environments: {production: {}}\nstages:\n  ship:\n    environment: production\n    only: ephemeral\n    steps: [{image: a, run: b}]\n";
    check_table(&[
        invalid(stage("only: ephemerl"), (4, 11), "/stages/build/only", "restricted", Some("ephemeral")),
        invalid(both, (5, 11), "/stages/ship/only", "never runs in an ephemeral one", None),
    ]);
}

#[test]
fn none_is_a_reserved_name() {
    check_table(&[
        invalid(ephemeral("none: {}"), (2, 3), "/ephemeralEnvironments/none", "is reserved", None),
        invalid(top("environments:\n  none: {}"), (2, 3), "/environments/none", "is reserved", None),
    ]);
    let definition = parse(&ephemeral("no*: { max: 2 }")).unwrap();
    assert!(definition.ephemeral_settings("nona").is_some());
    assert!(definition.ephemeral_settings("none").is_none());
}

#[test]
fn warnings() {
    let source = "ephemeralEnvironments:
  qa: { onRelease: [clean] }
environments:
  production: { approval: { roles: [admin] } }
stages:
  build: { steps: [{ image: a, run: b }] }
  seed: { only: ephemeral, steps: [{ image: a, run: b, secrets: { A: b } }] }
  clean: { steps: [{ image: a, run: b }] }
  ship:
    environment: production
    approval: { roles: [admin] }
    steps:
      - uses: acme/deploy@v1
";
    let warnings = parse_with_warnings(source).unwrap().warnings;
    let found: Vec<_> = warnings.iter().map(|one| (one.code, one.path.as_str(), one.line)).collect();
    assert_eq!(found, [("runs_without_environment", "/stages/build", 6)]);
    assert!(parse_with_warnings(&stage("timeout: 1m")).unwrap().warnings.is_empty());
}
