//! Invalid environments: lasting ones, ephemeral ones and templates.

use super::{check_table, ephemeral, invalid, qa, top};

#[test]
fn lasting() {
    check_table(&[
        invalid(top("environments: {claim: {}}"), (1, 16), "/environments/claim", "is reserved", None),
        invalid(
            top("environments: {Production: {}}"),
            (1, 16),
            "/environments/Production",
            "not a valid environment name",
            Some("production"),
        ),
        invalid(
            top("environments: {production: {url: example.test}}"),
            (1, 34),
            "/environments/production/url",
            "must be an absolute address",
            None,
        ),
        invalid(
            top("environments: {production: {approval: {}}}"),
            (1, 39),
            "/environments/production/approval",
            "at least one of `groups`, `roles` or `users`",
            None,
        ),
        invalid(
            top("environments: {production: {deploy: {}}}"),
            (1, 37),
            "/environments/production/deploy",
            "at least one of `groups` or `roles`",
            None,
        ),
        invalid(
            top("environments: {production: {deploy: {groups: [], roles: []}}}"),
            (1, 37),
            "/environments/production/deploy",
            "at least one of `groups` or `roles`",
            None,
        ),
        invalid(
            top("environments: {production: {deploy: {groups: [Ops]}}}"),
            (1, 47),
            "/environments/production/deploy/groups/0",
            "not a valid group name",
            Some("ops"),
        ),
    ]);
}

#[test]
fn named() {
    check_table(&[
        invalid(qa("max: 3"), (3, 10), "/ephemeralEnvironments/qa-1/max", "`max` is for templates", None),
        invalid(
            qa("lease: {default: 5h, max: 4h}"),
            (3, 22),
            "/ephemeralEnvironments/qa-1/lease/default",
            "`default` must not be longer than `max`",
            None,
        ),
        invalid(
            qa("lease: {max: 25h}"),
            (3, 18),
            "/ephemeralEnvironments/qa-1/lease/max",
            "24h at most",
            None,
        ),
        invalid(
            qa("lease: {default: 25h}"),
            (3, 22),
            "/ephemeralEnvironments/qa-1/lease/default",
            "24h at most",
            None,
        ),
        invalid(
            qa("lease: {defualt: 4h}"),
            (3, 13),
            "/ephemeralEnvironments/qa-1/lease/defualt",
            "",
            Some("default"),
        ),
        invalid(qa("stages: []"), (3, 13), "/ephemeralEnvironments/qa-1/stages", "at least one stage", None),
        invalid(
            qa("stages: [biuld]"),
            (3, 14),
            "/ephemeralEnvironments/qa-1/stages/0",
            "exist",
            Some("build"),
        ),
        invalid(
            qa("onRelease: [cleanup]"),
            (3, 17),
            "/ephemeralEnvironments/qa-1/onRelease/0",
            "environment `qa-1` cleans up with `cleanup`, which doesn't exist",
            None,
        ),
        invalid(qa("force: {}"), (3, 12), "/ephemeralEnvironments/qa-1/force/role", "needs a `role`", None),
        invalid(
            qa("force: {role: viewer}"),
            (3, 19),
            "/ephemeralEnvironments/qa-1/force/role",
            "may act",
            None,
        ),
        invalid(
            qa("force: {role: onwer}"),
            (3, 19),
            "/ephemeralEnvironments/qa-1/force/role",
            "",
            Some("owner"),
        ),
        invalid(
            qa("force: {role: owner, reason: wanted}"),
            (3, 34),
            "/ephemeralEnvironments/qa-1/force/reason",
            "can only be `required`",
            None,
        ),
        invalid(
            qa("handover: {}"),
            (3, 15),
            "/ephemeralEnvironments/qa-1/handover/grace",
            "needs a `grace`",
            None,
        ),
        invalid(
            qa("handover: {grace: 59s}"),
            (3, 23),
            "/ephemeralEnvironments/qa-1/handover/grace",
            "`1m` at least",
            None,
        ),
        invalid(
            qa("handover: {grace: 61m}"),
            (3, 23),
            "/ephemeralEnvironments/qa-1/handover/grace",
            "at most",
            None,
        ),
        invalid(
            qa("queue: {}"),
            (3, 12),
            "/ephemeralEnvironments/qa-1/queue/maxStay",
            "needs a `maxStay`",
            None,
        ),
        invalid(
            qa("queue: {maxStay: 119s}"),
            (3, 22),
            "/ephemeralEnvironments/qa-1/queue/maxStay",
            "`2m` at least",
            None,
        ),
        invalid(
            qa("queue: {maxStay: 25h}"),
            (3, 22),
            "/ephemeralEnvironments/qa-1/queue/maxStay",
            "at most",
            None,
        ),
        invalid(
            qa("labels: [QA]"),
            (3, 14),
            "/ephemeralEnvironments/qa-1/labels/0",
            "not a valid label",
            Some("qa"),
        ),
        invalid(qa("labels: [a, a]"), (3, 17), "/ephemeralEnvironments/qa-1/labels/1", "listed twice", None),
        invalid(qa("url: 'https://{b}.x'"), (3, 10), "/ephemeralEnvironments/qa-1/url", "placeholder", None),
        invalid(
            qa("description: ''"),
            (3, 18),
            "/ephemeralEnvironments/qa-1/description",
            "not be empty",
            None,
        ),
        invalid(ephemeral("history: {}"), (2, 3), "/ephemeralEnvironments/history", "is reserved", None),
        invalid(
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
    check_table(&[
        invalid(ephemeral("'pr-*': {}"), (2, 3), "/ephemeralEnvironments/pr-*/max", "needs `max`", None),
        invalid(ephemeral("'pr-*': {max: 0}"), (2, 17), "/ephemeralEnvironments/pr-*/max", "1 to 1000", None),
        invalid(
            ephemeral("'pr-*': {max: 1001}"),
            (2, 17),
            "/ephemeralEnvironments/pr-*/max",
            "1 to 1000",
            None,
        ),
        invalid(ephemeral("'*': {max: 1}"), (2, 3), "/ephemeralEnvironments/*", "is not a template", None),
        invalid(
            ephemeral("'p*r': {max: 1}"),
            (2, 3),
            "/ephemeralEnvironments/p*r",
            "is not a template",
            None,
        ),
        invalid(
            ephemeral("'pr-**': {max: 1}"),
            (2, 3),
            "/ephemeralEnvironments/pr-**",
            "is not a template",
            None,
        ),
        invalid(
            ephemeral("{'pr-*': {max: 1}, pr-1: {}}"),
            (2, 22),
            "/ephemeralEnvironments/pr-1",
            "`pr-1` and `pr-*` overlap",
            None,
        ),
        invalid(
            ephemeral("{pr-1: {}, 'pr-*': {max: 1}}"),
            (2, 14),
            "/ephemeralEnvironments/pr-*",
            "`pr-*` and `pr-1` overlap",
            None,
        ),
        invalid(
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
    check_table(&[
        invalid(
            top("environments: {a: {}}\nephemeralEnvironments: {a: {}}"),
            (2, 25),
            "/ephemeralEnvironments/a",
            "`a` is the name of a lasting environment already",
            None,
        ),
        invalid(
            top("environments: {pr-1: {}}\nephemeralEnvironments: {'pr-*': {max: 1}}"),
            (2, 25),
            "/ephemeralEnvironments/pr-*",
            "overlap",
            None,
        ),
        invalid(
            format!(
                "environments: {{a: {{}}}}\nephemeralEnvironments: {{qa: {{stages: [x]}}}}\n{}",
                stage("environment: a, ")
            ),
            (2, 39),
            "/ephemeralEnvironments/qa/stages/0",
            "stage `x` deploys to `a` and so can't run in an ephemeral environment",
            None,
        ),
        invalid(
            format!(
                "environments: {{a: {{}}}}\nephemeralEnvironments: {{qa: {{}}}}\n{}",
                stage("environment: a, ")
            ),
            (2, 25),
            "/ephemeralEnvironments/qa/stages",
            "environment `qa` has no stage to run",
            None,
        ),
        invalid(
            "ephemeralEnvironments: {qa: {stages: [y]}}\nstages: {y: {steps: [{image: a, run: b}]}, x: {environment: qa, \
             steps: [{image: a, run: b}]}}",
            (2, 61),
            "/stages/x/environment",
            "`qa` is an ephemeral environment; list the stage in its `stages` instead",
            None,
        ),
        invalid(
            format!("ephemeralEnvironments: {{qa: {{stages: [x], onRelease: [x]}}}}\n{}", stage("")),
            (2, 10),
            "/stages",
            "a deployment would run nothing",
            None,
        ),
    ]);
}

#[test]
fn fix() {
    let without = "fix: {labels: [big]}\nephemeralEnvironments: {qa-1: {labels: [small]}, \"pr-*\": {labels: [big], max: 2}}";
    check_table(&[
        invalid(top("fix: {}"), (1, 6), "/fix", "needs `labels`", None),
        invalid(top("fix: {labels: []}"), (1, 6), "/fix", "needs `labels`", None),
        invalid(top(without), (1, 6), "/fix/labels", "no ephemeral environment", None),
    ]);
}
