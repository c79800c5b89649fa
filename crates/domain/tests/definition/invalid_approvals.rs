//! Invalid approval rules, with their messages.

use super::{check_table, invalid, stage};

#[test]
fn approvals() {
    let at = "/stages/build/approval";
    check_table(&[
        invalid(stage("approval: {}"), (4, 15), at, "at least one of `groups`, `roles` or `users`", None),
        invalid(
            stage("approval: {roles: [viewer]}"),
            (4, 24),
            "/stages/build/approval/roles/0",
            "may act",
            None,
        ),
        invalid(
            stage("approval: {roles: [admin, maintaner]}"),
            (4, 31),
            "/stages/build/approval/roles/1",
            "`maintaner` is not a role",
            Some("maintainer"),
        ),
        invalid(
            stage("approval: {users: [a], count: 2}"),
            (4, 35),
            "/stages/build/approval/count",
            "only 1",
            None,
        ),
        invalid(
            stage("approval: {roles: [admin], count: 0}"),
            (4, 39),
            "/stages/build/approval/count",
            "1 to",
            None,
        ),
        invalid(stage("approval: {users: [a b]}"), (4, 24), "/stages/build/approval/users/0", "e-mail", None),
        invalid(
            stage("approval: {roles: [admin], timeout: 8d}"),
            (4, 41),
            "/stages/build/approval/timeout",
            "must be 7d at most",
            None,
        ),
        invalid(
            stage("approval: {roles: [admin], validFor: 8d}"),
            (4, 42),
            "/stages/build/approval/validFor",
            "must be 7d at most",
            None,
        ),
        invalid(
            stage("approval: {roles: [admin], selfApproval: maybe}"),
            (4, 46),
            "/stages/build/approval/selfApproval",
            "must be `true` or `false`",
            None,
        ),
        invalid(
            stage("approval: {roles: [admin], override: ownr}"),
            (4, 42),
            "/stages/build/approval/override",
            "`ownr` can't be allowed to override",
            Some("owner"),
        ),
    ]);
}

#[test]
fn rules_of_an_approval() {
    let at = "/stages/build/approval/rules";
    check_table(&[
        invalid(stage("approval: {rules: []}"), (4, 23), at, "at least one rule", None),
        invalid(stage("approval: {rules: [{roles: [admin]}], count: 2}"), (4, 23), at, "in the rules", None),
        invalid(
            stage("approval: {rules: [{roles: [admin]}, {}]}"),
            (4, 42),
            "/stages/build/approval/rules/1",
            "at least one of",
            None,
        ),
        invalid(
            stage("approval: {rules: [{groups: [Security Team]}]}"),
            (4, 34),
            "/stages/build/approval/rules/0/groups/0",
            "not a valid group name",
            Some("security-team"),
        ),
        invalid(
            stage("approval: {rules: [{groups: [a, a]}]}"),
            (4, 37),
            "/stages/build/approval/rules/0/groups/1",
            "listed twice",
            None,
        ),
        invalid(
            stage("approval: {rules: [{users: [a], count: 2}]}"),
            (4, 44),
            "/stages/build/approval/rules/0/count",
            "only 1",
            None,
        ),
        invalid(
            stage("approval: {rules: [{users: [a, b]}, {users: [a]}, {users: [b]}]}"),
            (4, 23),
            at,
            "counts for one of them only",
            None,
        ),
        invalid(
            stage(&format!("approval: {{rules: [{}]}}", ["{roles: [admin]}"; 11].join(", "))),
            (4, 23),
            at,
            "10 is the most",
            None,
        ),
    ]);
}
