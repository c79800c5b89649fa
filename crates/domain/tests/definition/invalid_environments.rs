//! Definitions whose environments can't be: lasting ones, ephemeral ones and templates.

use super::{ephemeral, hold, qa, refused, top};

#[test]
fn lasting() {
    hold(&[
        refused(top("environments: {claim: {}}"), (1, 16), "/environments/claim", "is reserved", None),
        refused(
            top("environments: {Production: {}}"),
            (1, 16),
            "/environments/Production",
            "not a valid environment name",
            Some("production"),
        ),
        refused(
            top("environments: {production: {url: example.test}}"),
            (1, 34),
            "/environments/production/url",
            "must be an absolute address",
            None,
        ),
        refused(
            top("environments: {production: {approval: {}}}"),
            (1, 39),
            "/environments/production/approval",
            "at least one of `roles` or `users`",
            None,
        ),
    ]);
}

#[test]
fn named() {
    hold(&[
        refused(qa("max: 3"), (3, 10), "/ephemeralEnvironments/qa-1/max", "`max` is for templates", None),
        refused(
            qa("lease: {default: 5h, max: 4h}"),
            (3, 22),
            "/ephemeralEnvironments/qa-1/lease/default",
            "`default` must not be longer than `max`",
            None,
        ),
        refused(
            qa("lease: {max: 25h}"),
            (3, 18),
            "/ephemeralEnvironments/qa-1/lease/max",
            "24h at most",
            None,
        ),
        refused(
            qa("lease: {default: 25h}"),
            (3, 22),
            "/ephemeralEnvironments/qa-1/lease/default",
            "24h at most",
            None,
        ),
        refused(
            qa("lease: {defualt: 4h}"),
            (3, 13),
            "/ephemeralEnvironments/qa-1/lease/defualt",
            "",
            Some("default"),
        ),
        refused(qa("stages: []"), (3, 13), "/ephemeralEnvironments/qa-1/stages", "at least one stage", None),
        refused(
            qa("stages: [biuld]"),
            (3, 14),
            "/ephemeralEnvironments/qa-1/stages/0",
            "exist",
            Some("build"),
        ),
        refused(
            qa("onRelease: [cleanup]"),
            (3, 17),
            "/ephemeralEnvironments/qa-1/onRelease/0",
            "environment `qa-1` cleans up with `cleanup`, which doesn't exist",
            None,
        ),
        refused(qa("force: {}"), (3, 12), "/ephemeralEnvironments/qa-1/force/role", "needs a `role`", None),
        refused(
            qa("force: {role: viewer}"),
            (3, 19),
            "/ephemeralEnvironments/qa-1/force/role",
            "may act",
            None,
        ),
        refused(
            qa("force: {role: onwer}"),
            (3, 19),
            "/ephemeralEnvironments/qa-1/force/role",
            "",
            Some("owner"),
        ),
        refused(
            qa("force: {role: owner, reason: wanted}"),
            (3, 34),
            "/ephemeralEnvironments/qa-1/force/reason",
            "can only be `required`",
            None,
        ),
        refused(
            qa("handover: {}"),
            (3, 15),
            "/ephemeralEnvironments/qa-1/handover/grace",
            "needs a `grace`",
            None,
        ),
        refused(
            qa("handover: {grace: 59s}"),
            (3, 23),
            "/ephemeralEnvironments/qa-1/handover/grace",
            "`1m` at least",
            None,
        ),
        refused(
            qa("handover: {grace: 61m}"),
            (3, 23),
            "/ephemeralEnvironments/qa-1/handover/grace",
            "at most",
            None,
        ),
        refused(
            qa("labels: [QA]"),
            (3, 14),
            "/ephemeralEnvironments/qa-1/labels/0",
            "not a valid label",
            Some("qa"),
        ),
        refused(qa("labels: [a, a]"), (3, 17), "/ephemeralEnvironments/qa-1/labels/1", "listed twice", None),
        refused(qa("url: 'https://{b}.x'"), (3, 10), "/ephemeralEnvironments/qa-1/url", "placeholder", None),
        refused(
            qa("description: ''"),
            (3, 18),
            "/ephemeralEnvironments/qa-1/description",
            "not be empty",
            None,
        ),
        refused(ephemeral("history: {}"), (2, 3), "/ephemeralEnvironments/history", "is reserved", None),
        refused(
            ephemeral("QA: {}"),
            (2, 3),
            "/ephemeralEnvironments/QA",
            "not a valid environment name",
            Some("qa"),
        ),
    ]);
}

#[test]
fn templates() {
    hold(&[
        refused(ephemeral("'pr-*': {}"), (2, 3), "/ephemeralEnvironments/pr-*/max", "needs `max`", None),
        refused(ephemeral("'pr-*': {max: 0}"), (2, 17), "/ephemeralEnvironments/pr-*/max", "1 to 1000", None),
        refused(
            ephemeral("'pr-*': {max: 1001}"),
            (2, 17),
            "/ephemeralEnvironments/pr-*/max",
            "1 to 1000",
            None,
        ),
        refused(ephemeral("'*': {max: 1}"), (2, 3), "/ephemeralEnvironments/*", "is not a template", None),
        refused(
            ephemeral("'p*r': {max: 1}"),
            (2, 3),
            "/ephemeralEnvironments/p*r",
            "is not a template",
            None,
        ),
        refused(
            ephemeral("'pr-**': {max: 1}"),
            (2, 3),
            "/ephemeralEnvironments/pr-**",
            "is not a template",
            None,
        ),
        refused(
            ephemeral("{'pr-*': {max: 1}, pr-1: {}}"),
            (2, 22),
            "/ephemeralEnvironments/pr-1",
            "`pr-1` and `pr-*` overlap",
            None,
        ),
        refused(
            ephemeral("{pr-1: {}, 'pr-*': {max: 1}}"),
            (2, 14),
            "/ephemeralEnvironments/pr-*",
            "`pr-*` and `pr-1` overlap",
            None,
        ),
        refused(
            ephemeral("{'pr-*': {max: 1}, 'pr-x-*': {max: 1}}"),
            (2, 22),
            "/ephemeralEnvironments/pr-x-*",
            "`pr-x-*` and `pr-*` overlap",
            None,
        ),
    ]);
}

#[test]
fn against_the_rest_of_the_file() {
    let stage = |line: &str| format!("stages: {{x: {{{line}steps: [{{image: a, run: b}}]}}}}");
    hold(&[
        refused(
            top("environments: {a: {}}\nephemeralEnvironments: {a: {}}"),
            (2, 25),
            "/ephemeralEnvironments/a",
            "`a` is the name of a lasting environment already",
            None,
        ),
        refused(
            top("environments: {pr-1: {}}\nephemeralEnvironments: {'pr-*': {max: 1}}"),
            (2, 25),
            "/ephemeralEnvironments/pr-*",
            "overlap",
            None,
        ),
        refused(
            format!(
                "environments: {{a: {{}}}}\nephemeralEnvironments: {{qa: {{stages: [x]}}}}\n{}",
                stage("environment: a, ")
            ),
            (2, 39),
            "/ephemeralEnvironments/qa/stages/0",
            "stage `x` deploys to `a` and so can't run in an ephemeral environment",
            None,
        ),
        refused(
            format!(
                "environments: {{a: {{}}}}\nephemeralEnvironments: {{qa: {{}}}}\n{}",
                stage("environment: a, ")
            ),
            (2, 25),
            "/ephemeralEnvironments/qa/stages",
            "environment `qa` has no stage to run",
            None,
        ),
        refused(
            "ephemeralEnvironments: {qa: {stages: [y]}}\nstages: {y: {steps: [{image: a, run: b}]}, x: {environment: qa, \
             steps: [{image: a, run: b}]}}",
            (2, 61),
            "/stages/x/environment",
            "`qa` is an ephemeral environment; list the stage in its `stages` instead",
            None,
        ),
        refused(
            format!("ephemeralEnvironments: {{qa: {{stages: [x], onRelease: [x]}}}}\n{}", stage("")),
            (2, 10),
            "/stages",
            "a deployment would run nothing",
            None,
        ),
    ]);
}
