use super::*;
use crate::definition::parse;

const STEPS: &str = "steps: [{ image: a, run: b }]";

fn definition(environments: &str, stages: &str) -> Definition {
    let text = format!("{environments}\nstages:\n  build: {{ {STEPS} }}\n{stages}");
    parse(&text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

/// Returns the pointers of `weakens`.
fn pointers(before: &Definition, after: &Definition) -> Vec<String> {
    assert_eq!(weakens(before, before), []);
    assert_eq!(weakens(after, after), []);
    weakens(before, after).into_iter().map(|weakened| weakened.pointer).collect()
}

/// Lasting environment before, after, pointers of the change, pointers of the reverse change.
#[test]
fn every_protection_of_a_lasting_environment_in_both_directions() {
    let table: &[(&str, &str, &[&str], &[&str])] = &[
        ("{}", "{ url: 'https://x.test' }", &[], &[]),
        ("{}", "{ variables: { A: b } }", &[], &[]),
        ("{}", "{ branches: [main] }", &[], &["/branches"]),
        ("{ branches: [main] }", "{ branches: [main, next] }", &["/branches/1"], &[]),
        ("{ branches: [main, next] }", "{ branches: [next, main] }", &[], &[]),
        ("{ branches: [main] }", "{ branches: [next] }", &["/branches/0"], &["/branches/0"]),
        ("{}", "{ approval: { roles: [admin] } }", &[], &["/approval"]),
        (
            "{ approval: { roles: [admin] } }",
            "{ approval: { roles: [maintainer, admin] } }",
            &["/approval/roles/0"],
            &[],
        ),
        (
            "{ approval: { roles: [admin] } }",
            "{ approval: { roles: [maintainer] } }",
            &["/approval/roles/0"],
            &["/approval/roles/0"],
        ),
        (
            "{ approval: { users: [a@b.test] } }",
            "{ approval: { users: [a@b.test, c@d.test] } }",
            &["/approval/users/1"],
            &[],
        ),
        (
            "{ approval: { roles: [admin] } }",
            "{ approval: { roles: [admin], count: 2 } }",
            &[],
            &["/approval/count"],
        ),
        (
            "{ approval: { roles: [admin], timeout: 1h } }",
            "{ approval: { roles: [admin], timeout: 7d } }",
            &[],
            &[],
        ),
        ("{ approval: { roles: [admin] } }", "{ approval: { roles: [admin], message: please } }", &[], &[]),
        ("{}", "{ deploy: { groups: [ops] } }", &[], &["/deploy"]),
        ("{}", "{ deploy: { roles: [developer] } }", &[], &["/deploy"]),
        ("{ deploy: { groups: [ops] } }", "{ deploy: { groups: [ops, dev] } }", &["/deploy/groups/1"], &[]),
        ("{ deploy: { groups: [ops, dev] } }", "{ deploy: { groups: [dev, ops] } }", &[], &[]),
        (
            "{ deploy: { groups: [ops] } }",
            "{ deploy: { groups: [dev] } }",
            &["/deploy/groups/0"],
            &["/deploy/groups/0"],
        ),
        (
            "{ deploy: { groups: [ops] } }",
            "{ deploy: { groups: [ops], roles: [owner] } }",
            &["/deploy/roles/0"],
            &[],
        ),
        ("{ deploy: { roles: [admin] } }", "{ deploy: { roles: [maintainer] } }", &["/deploy/roles/0"], &[]),
        ("{ deploy: { roles: [admin] } }", "{ deploy: { roles: [admin, owner] } }", &[], &[]),
        (
            "{ deploy: { roles: [admin] } }",
            "{ deploy: { groups: [ops] } }",
            &["/deploy/groups/0"],
            &["/deploy/roles/0"],
        ),
    ];
    check_environments(table);
}

/// The same for the rules of an approval, and for what else it protects by.
#[test]
fn every_protection_of_an_approval_in_both_directions() {
    let approval = |settings: &str| format!("{{ approval: {{ {settings} }} }}");
    let table: &[(&str, &str, &[&str], &[&str])] = &[
        ("groups: [a]", "groups: [a, b]", &["/groups/1"], &[]),
        ("groups: [a]", "groups: [a], users: [c@d.test]", &["/users/0"], &[]),
        // A list with one rule is that rule.
        ("groups: [a]", "rules: [{ groups: [a] }]", &[], &[]),
        ("groups: [a]", "rules: [{ groups: [a, b] }]", &["/rules/0/groups/1"], &[]),
        ("groups: [a]", "rules: [{ groups: [a] }, { groups: [b] }]", &[], &["/rules"]),
        ("rules: [{ groups: [a] }, { groups: [b] }]", "rules: [{ groups: [b] }, { groups: [a] }]", &[], &[]),
        // Two approvals of one group, however they are written.
        ("groups: [a], count: 2", "rules: [{ groups: [a] }, { groups: [a] }]", &[], &[]),
        (
            "groups: [a], count: 2",
            "rules: [{ groups: [a] }, { groups: [b] }]",
            &["/rules/0/count"],
            &["/rules"],
        ),
        (
            "rules: [{ groups: [a] }, { groups: [b], count: 2 }]",
            "rules: [{ groups: [a] }, { groups: [b] }]",
            &["/rules/1/count"],
            &[],
        ),
        // One approval of `a` can't be used for both rules.
        (
            "rules: [{ groups: [a] }, { groups: [a, b] }]",
            "rules: [{ groups: [a] }, { groups: [c] }]",
            &["/rules/1/groups/0"],
            &["/rules/1/groups/0", "/rules/1/groups/1"],
        ),
        ("roles: [admin]", "roles: [admin], validFor: 24h", &[], &[]),
        ("roles: [admin]", "roles: [admin], validFor: 4h", &[], &["/validFor"]),
        ("roles: [admin]", "roles: [admin], validFor: 25h", &["/validFor"], &[]),
        ("roles: [admin]", "roles: [admin], selfApproval: false", &[], &[]),
        ("roles: [admin]", "roles: [admin], selfApproval: true", &["/selfApproval"], &[]),
        ("roles: [admin]", "roles: [admin], override: admin", &[], &[]),
        ("roles: [admin]", "roles: [admin], override: owner", &[], &["/override"]),
        ("roles: [admin], override: owner", "roles: [admin], override: none", &[], &["/override"]),
    ];
    let within = |pointers: &[&str]| -> Vec<String> {
        pointers.iter().map(|pointer| format!("/approval{pointer}")).collect()
    };
    for (before, after, weaker, reverse) in table {
        let (weaker, reverse) = (within(weaker), within(reverse));
        let weaker: Vec<&str> = weaker.iter().map(String::as_str).collect();
        let reverse: Vec<&str> = reverse.iter().map(String::as_str).collect();
        check_environments(&[(&approval(before), &approval(after), &weaker, &reverse)]);
    }
}

fn check_environments(table: &[(&str, &str, &[&str], &[&str])]) {
    for (before, after, weaker, reverse) in table {
        let with = |settings: &str| {
            let stage = format!("  ship: {{ environment: production, {STEPS} }}");
            definition(&format!("environments: {{ production: {settings} }}"), &stage)
        };
        let expected = |pointers: &[&str]| -> Vec<String> {
            pointers.iter().map(|pointer| format!("/environments/production{pointer}")).collect()
        };
        assert_eq!(pointers(&with(before), &with(after)), expected(weaker), "{before} to {after}");
        assert_eq!(pointers(&with(after), &with(before)), expected(reverse), "{after} to {before}");
    }
}

#[test]
fn removing_or_renaming_a_lasting_environment_weakens_and_adding_one_does_not() {
    let none = definition("", "");
    let production = definition("environments: { production: {} }", "");
    let renamed = definition("environments: { live: {} }", "");
    assert_eq!(pointers(&production, &none), ["/environments/production"]);
    assert_eq!(pointers(&production, &renamed), ["/environments/production"]);
    assert_eq!(pointers(&none, &production), [""; 0]);
}

/// Stage before, stage after, pointers.
#[test]
fn every_protection_of_a_stage() {
    let (production, approval) = ("environment: production,", "approval: { roles: [admin] },");
    let ship = |settings: &str| format!("  ship: {{ {settings} {STEPS} }}");
    let table: &[(String, String, &[&str])] = &[
        (ship(""), ship(production), &[]),
        (ship(production), ship(""), &["/stages/ship/environment"]),
        (ship(production), ship("environment: staging,"), &["/stages/ship/environment"]),
        (ship(production), String::new(), &["/stages/ship/environment"]),
        (ship(production), ship(production).replace("ship", "deploy"), &[]),
        (ship(production), ship("").replace("ship", "deploy"), &["/stages/ship/environment"]),
        (ship(""), String::new(), &[]),
        (ship(""), ship(approval), &[]),
        (ship(approval), ship(""), &["/stages/ship/approval"]),
        (
            ship(approval),
            ship("approval: { roles: [admin, maintainer] },"),
            &["/stages/ship/approval/roles/1"],
        ),
        (ship(approval), String::new(), &["/stages/ship/approval"]),
        (ship(approval), ship(approval).replace("ship", "deploy"), &["/stages/ship/approval"]),
    ];
    let environments = "environments: { production: {}, staging: {} }";
    for (before, after, expected) in table {
        let (before, after) = (definition(environments, before), definition(environments, after));
        assert_eq!(pointers(&before, &after), *expected, "{before:?} to {after:?}");
    }
}

/// Ephemeral environment before, after, pointers, pointers of the reverse change. Without a rule the role is
/// developer.
#[test]
fn the_force_rule_of_environments_and_templates_in_both_directions() {
    let table: &[(&str, &str, &[&str], &[&str])] = &[
        ("", "force: { role: developer }", &[], &[]),
        ("", "force: { role: maintainer }", &[], &["role"]),
        ("force: { role: admin }", "force: { role: developer }", &["role"], &[]),
        ("force: { role: admin }", "force: { role: owner }", &[], &["role"]),
        ("", "force: { role: developer, reason: required }", &[], &["reason"]),
        ("force: { role: admin, reason: required }", "force: { role: developer }", &["role", "reason"], &[]),
        ("lease: { default: 1h }", "lease: { default: 2h }", &[], &[]),
    ];
    for (name, more) in [("qa", ""), ("pr-*", "max: 5, ")] {
        let with = |settings: &str| {
            definition(&format!("ephemeralEnvironments: {{ '{name}': {{ {more}{settings} }} }}"), "")
        };
        let expected = |fields: &[&str]| -> Vec<String> {
            let pointer = |field: &&str| format!("/ephemeralEnvironments/{name}/force/{field}");
            fields.iter().map(pointer).collect()
        };
        for (before, after, weaker, reverse) in table {
            assert_eq!(pointers(&with(before), &with(after)), expected(weaker), "{before} to {after}");
            assert_eq!(pointers(&with(after), &with(before)), expected(reverse), "{after} to {before}");
        }
        // Removed, it could be defined again without the rule.
        let none = definition("", "");
        assert_eq!(pointers(&with("force: { role: admin }"), &none), expected(&["role"]));
        assert_eq!(pointers(&with(""), &none), [""; 0]);
        assert_eq!(pointers(&none, &with("force: { role: developer }")), [""; 0]);
    }
    let named = definition("ephemeralEnvironments: { pr-1: { force: { role: admin } } }", "");
    let template = |role: &str| {
        definition(
            &format!("ephemeralEnvironments: {{ 'pr-*': {{ max: 5, force: {{ role: {role} }} }} }}"),
            "",
        )
    };
    assert_eq!(pointers(&named, &template("admin")), [""; 0], "the template has the same rule");
    assert_eq!(pointers(&named, &template("maintainer")), ["/ephemeralEnvironments/pr-1/force/role"]);
}
