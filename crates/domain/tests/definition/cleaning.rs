//! Stages that clean up after a session: no deployment runs them, so no other stage may need them.

use greenroom_domain::definition::{Diagnostic, parse};

use super::{check_diagnostic, check_table, invalid};

const WORK: &str = "steps: [{image: a, run: b}]";

/// Line 1 has the settings of `qa`, from column 30. Each stage has its own line, with its fields from column
/// 8.
fn with_stages(settings: &str, stages: &[(&str, &str)]) -> String {
    let stages: String =
        stages.iter().map(|(key, fields)| format!("  {key}: {{{fields}{WORK}}}\n")).collect();
    format!("ephemeralEnvironments: {{qa: {{{settings}}}}}\nstages:\n{stages}")
}

#[test]
fn other_stages_can_t_need_them() {
    let needs = ("up", "needs: [build, down], ");
    let pointer = "/stages/up/needs/1";
    let message = "stage `up` needs `down`, but that is an `onRelease` stage: no deployment runs it";
    check_table(&[
        invalid(
            with_stages("onRelease: [down]", &[("build", ""), needs, ("down", "")]),
            (4, 23),
            pointer,
            message,
            None,
        ),
        // A deployment of the whole pipeline would wait, even if one in `qa` would not.
        invalid(
            with_stages("stages: [up, down], onRelease: [down]", &[("build", ""), needs, ("down", "")]),
            (4, 23),
            pointer,
            message,
            None,
        ),
        invalid(
            with_stages("}, 'pr-*': {max: 1, onRelease: [down]", &[("build", ""), needs, ("down", "")]),
            (4, 23),
            pointer,
            message,
            None,
        ),
    ]);
}

#[test]
fn they_can_t_wait_for_an_approval() {
    let approval = "approval: {roles: [admin]}, ";
    let message = "stage `down` cleans up (`onRelease`) and can't wait for an approval";
    let stages = [("up", approval), ("down", approval)];
    check_table(&[
        invalid(with_stages("onRelease: [down]", &stages), (4, 20), "/stages/down/approval", message, None),
        invalid(
            with_stages("}, 'pr-*': {max: 1, onRelease: [down]", &stages),
            (4, 20),
            "/stages/down/approval",
            message,
            None,
        ),
    ]);
    assert!(parse(&with_stages("onRelease: [down]", &[("up", approval), ("down", "")])).is_ok());
}

#[test]
fn they_may_need_other_stages() -> Result<(), Vec<Diagnostic>> {
    for needs in ["stop", "up", "stop, up"] {
        let down = format!("needs: [{needs}], ");
        let stages = [("up", ""), ("stop", ""), ("down", down.as_str())];
        let definition = parse(&with_stages("onRelease: [stop, down]", &stages))?;
        let deployed: Vec<_> = definition.deployment_stages().map(|stage| stage.key.as_str()).collect();
        assert_eq!(deployed, ["up"]);
    }
    Ok(())
}

#[test]
fn they_can_t_deploy_to_lasting_environments() {
    let stages = [("up", ""), ("down", "environment: live, ")];
    let source = with_stages("onRelease: [down]", &stages);
    check_table(&[invalid(
        format!("environments: {{live: {{}}}}\n{source}"),
        (2, 42),
        "/ephemeralEnvironments/qa/onRelease/0",
        "stage `down` deploys to `live` and so can't run in an ephemeral environment",
        None,
    )]);
}

/// The suggestions for an invalid need are valid needs.
#[test]
fn suggested_needs_are_valid() {
    let expected = |stages: &[(&str, &str)]| {
        let problems = parse(&with_stages("onRelease: [down, stop]", stages)).err().unwrap_or_default();
        problems.iter().for_each(check_diagnostic);
        problems.into_iter().map(|problem| problem.expected).collect::<Vec<_>>()
    };
    let wrong = "needs: [nothing], ";
    assert_eq!(expected(&[("build", ""), ("up", wrong), ("down", ""), ("stop", "")]), [["build"]]);
    assert_eq!(
        expected(&[("build", ""), ("up", ""), ("down", wrong), ("stop", "")]),
        [["build", "up", "stop"]]
    );
}
