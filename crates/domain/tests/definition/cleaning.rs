//! Stages that clean up after a session: no deployment runs them, so none may wait for them.

use greenroom_domain::definition::{Diagnostic, parse};

use super::{hold, is_for_people, refused};

const WORK: &str = "steps: [{image: a, run: b}]";

/// Line 1 has the settings of `qa`, from column 30; each stage stands in a line of its own, its fields from column 8.
fn with_stages(settings: &str, stages: &[(&str, &str)]) -> String {
    let stages: String =
        stages.iter().map(|(key, fields)| format!("  {key}: {{{fields}{WORK}}}\n")).collect();
    format!("ephemeralEnvironments: {{qa: {{{settings}}}}}\nstages:\n{stages}")
}

#[test]
fn a_deployment_can_not_wait_for_them() {
    let needs = ("up", "needs: [build, down], ");
    let pointer = "/stages/up/needs/1";
    let message = "stage `up` needs `down`, but that is an `onRelease` stage: no deployment runs it";
    hold(&[
        refused(
            with_stages("onRelease: [down]", &[("build", ""), needs, ("down", "")]),
            (4, 23),
            pointer,
            message,
            None,
        ),
        // A deployment of the pipeline would wait, whatever one in `qa` does.
        refused(
            with_stages("stages: [up, down], onRelease: [down]", &[("build", ""), needs, ("down", "")]),
            (4, 23),
            pointer,
            message,
            None,
        ),
        refused(
            with_stages("}, 'pr-*': {max: 1, onRelease: [down]", &[("build", ""), needs, ("down", "")]),
            (4, 23),
            pointer,
            message,
            None,
        ),
    ]);
}

#[test]
fn they_may_wait_for_others() -> Result<(), Vec<Diagnostic>> {
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
fn they_do_not_deploy_to_what_lasts() {
    let stages = [("up", ""), ("down", "environment: live, ")];
    let source = with_stages("onRelease: [down]", &stages);
    hold(&[refused(
        format!("environments: {{live: {{}}}}\n{source}"),
        (2, 42),
        "/ephemeralEnvironments/qa/onRelease/0",
        "stage `down` deploys to `live` and so can't run in an ephemeral environment",
        None,
    )]);
}

/// What is offered in the place of a wrong need would be right there.
#[test]
fn what_a_stage_may_need() {
    let expected = |stages: &[(&str, &str)]| {
        let problems = parse(&with_stages("onRelease: [down, stop]", stages)).err().unwrap_or_default();
        problems.iter().for_each(is_for_people);
        problems.into_iter().map(|problem| problem.expected).collect::<Vec<_>>()
    };
    let wrong = "needs: [nothing], ";
    assert_eq!(expected(&[("build", ""), ("up", wrong), ("down", ""), ("stop", "")]), [["build"]]);
    assert_eq!(
        expected(&[("build", ""), ("up", ""), ("down", wrong), ("stop", "")]),
        [["build", "up", "stop"]]
    );
}
