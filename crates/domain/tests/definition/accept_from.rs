//! The stages whose files a stage takes, whatever pool they run in.

use greenroom_domain::definition::{parse, parse_with_warnings, weakens};

use super::{check_table, invalid};

const SHOP: &str = "stages:
  build: { steps: [{ image: a, run: b }] }
  ship:
    needs: [build]
    acceptFrom: [build]
    steps: [{ image: a, run: b }]
";

#[test]
fn what_a_stage_accepts_is_named_with_a_warning() {
    let parsed = parse_with_warnings(SHOP).unwrap();
    assert_eq!(parsed.definition.stages[1].accept_from, ["build"]);
    let found: Vec<_> = parsed.warnings.iter().map(|one| (one.code, one.path.as_str(), one.line)).collect();
    assert_eq!(found, [("accepts_from_another_pool", "/stages/ship/acceptFrom/0", 5)]);
    check_table(&[
        invalid(
            SHOP.replace("acceptFrom: [build]", "acceptFrom: [biuld]"),
            (5, 18),
            "/stages/ship/acceptFrom/0",
            "which doesn't exist",
            Some("build"),
        ),
        invalid(
            SHOP.replace("acceptFrom: [build]", "acceptFrom: [build, build]"),
            (5, 25),
            "/stages/ship/acceptFrom/1",
            "twice",
            None,
        ),
    ]);
}

#[test]
fn accepting_another_stage_protects_less() {
    let (with, without) =
        (parse(SHOP).unwrap(), parse(&SHOP.replace("    acceptFrom: [build]\n", "")).unwrap());
    // Definitions that were stored before are still valid.
    assert!(serde_json::to_value(&without).unwrap()["stages"][1].get("acceptFrom").is_none());
    let found = weakens(&without, &with);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].pointer, "/stages/ship/acceptFrom/0");
    assert!(weakens(&with, &without).is_empty() && weakens(&with, &with).is_empty());
}
