//! Bugs that tests have to find, and not a campaign: bugs in the handling of secrets, in the protection of
//! definitions and in the verification of steps. Each has a test that fails if the bug is planted, and passes otherwise.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::workspace::{self, Workspace};

pub(super) struct TestedBug {
    pub(super) name: &'static str,
    package: &'static str,
    /// The arguments that choose the program of the test.
    program: &'static [&'static str],
    test: &'static str,
}

pub(super) const TESTED_BUGS: [TestedBug; 5] = [
    TestedBug {
        name: "secret_before_fence",
        package: "greenroom-server",
        program: &["--test", "deployments"],
        test: "secrets::a_job_that_has_lost_its_environment_gets_nothing",
    },
    TestedBug {
        name: "version_not_bound",
        package: "greenroom-keys",
        program: &["--lib"],
        test: "data_key::tests::no_swapped_row_opens",
    },
    TestedBug {
        name: "carry_over_forgotten",
        package: "greenroom-runner",
        program: &["--lib"],
        test: "log::masker::tests::a_secret_is_masked_wherever_the_input_is_split",
    },
    TestedBug {
        name: "step_digest_not_verified",
        package: "greenroom-runner",
        program: &["--test", "jobs"],
        test: "registry_steps::nothing_runs_if_the_content_has_another_digest",
    },
    TestedBug {
        name: "weakening_ignores_branches",
        package: "greenroom-domain",
        program: &["--lib"],
        test: "definition::protection::tests::every_protection_of_a_lasting_environment_in_both_directions",
    },
];

/// Runs the test of a bug, without the bug and with it.
pub(super) fn search(workspace: &Workspace, manifest: &Path, bug: &TestedBug) -> anyhow::Result<Value> {
    let cargo = |planted: bool, is_built: bool| {
        let mut cargo = workspace.cargo(&["test", "--quiet", "--package", bug.package]);
        cargo.args(bug.program).arg("--manifest-path").arg(manifest);
        cargo
            .arg("--target-dir")
            .arg(workspace.target_directory.join("planted"))
            .env_remove("GREENROOM_PLANTED");
        if planted {
            cargo.env("GREENROOM_PLANTED", bug.name);
        }
        match is_built {
            true => cargo.args(["--", "--exact", bug.test]).stdout(Stdio::piped()),
            false => cargo.arg("--no-run"),
        };
        cargo
    };
    // A test that can't be built must not be taken for one that fails.
    workspace::run(&mut cargo(false, false))
        .with_context(|| format!("the test of {} was not built", bug.name))?;
    let control = cargo(false, true).output().context("cannot start cargo")?;
    let printed = String::from_utf8_lossy(&control.stdout);
    ensure!(
        control.status.success() && printed.contains("1 passed"),
        "without a bug, the test {} does not pass, or there is no such test:\n{printed}",
        bug.test
    );
    let started = Instant::now();
    let found = cargo(true, true).stderr(Stdio::null()).output().context("cannot start cargo")?;
    let printed = String::from_utf8_lossy(&found.stdout);
    let is_found = !found.status.success() && printed.contains("1 failed");
    let finding = printed.lines().find(|line| line.contains("panicked at")).map(str::to_owned);
    Ok(json!({
        "name": bug.name,
        "found": is_found,
        "seconds": started.elapsed().as_secs(),
        "by": bug.test,
        "finding": finding,
    }))
}
