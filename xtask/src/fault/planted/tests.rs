//! Bugs that tests have to find, and not a campaign: bugs in the handling of secrets, in the protection of definitions, in the
//! verification of steps, in what a job gets from others, in limits, in who approves, and in the rules for what is sent. Each has
//! a test that fails if the bug is planted, and passes otherwise.

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

pub(super) const TESTED_BUGS: [TestedBug; 26] = [
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
    TestedBug {
        name: "undeclared_artifact",
        package: "greenroom-server",
        program: &["--test", "deployments"],
        test: "uploads::an_artifact_that_the_stage_does_not_declare_is_not_stored",
    },
    TestedBug {
        name: "production_reads_sessions_caches",
        package: "greenroom-server",
        program: &["--test", "deployments"],
        test: "cache_zones::caches_of_an_ephemeral_environment_do_not_reach_production",
    },
    TestedBug {
        name: "branch_by_say_so",
        package: "greenroom-server",
        program: &["--test", "deployments"],
        test: "checkouts::only_a_branch_that_the_job_has_to_prove_is_accepted",
    },
    TestedBug {
        name: "end_without_start",
        package: "greenroom-server",
        program: &["--test", "deployments"],
        test: "step_order::a_step_that_has_not_started_can_not_have_succeeded_or_failed",
    },
    TestedBug {
        name: "step_out_of_order",
        package: "greenroom-server",
        program: &["--test", "deployments"],
        test: "step_order::steps_start_in_order_and_after_the_success_of_those_before",
    },
    TestedBug {
        name: "input_of_any_pool",
        package: "greenroom-server",
        program: &["--test", "deployments"],
        test: "pools::a_restricted_pool_takes_nothing_from_one_that_takes_more_jobs",
    },
    TestedBug {
        name: "artifact_over_checkout",
        package: "greenroom-runner",
        program: &["--lib"],
        test: "archive::tests::an_artifact_changes_no_file_of_the_checkout",
    },
    TestedBug {
        name: "absence_not_measured",
        package: "greenroom-server",
        program: &["--test", "environments"],
        test: "absence::an_outage_ends_no_place_in_the_queue",
    },
    TestedBug {
        name: "person_not_counted",
        package: "greenroom-server",
        program: &["--test", "api_rules"],
        test: "person_limits::requests_of_all_tokens_and_browsers_of_a_person_are_limited",
    },
    TestedBug {
        name: "tokens_unbounded",
        package: "greenroom-server",
        program: &["--test", "permissions"],
        test: "tokens::a_person_has_a_hundred_valid_tokens",
    },
    TestedBug {
        name: "author_may_approve",
        package: "greenroom-server",
        program: &["--test", "deployments"],
        test: "approval_voters::authors_do_not_approve_what_they_have_written",
    },
    TestedBug {
        name: "made_up_voter_counts",
        package: "greenroom-server",
        program: &["--test", "deployments"],
        test: "approval_voters::an_admin_does_not_approve_with_a_person_made_up_for_it",
    },
    TestedBug {
        name: "second_field_ignored",
        package: "greenroom-server",
        program: &["--test", "permissions"],
        test: "headers::host_and_authorization_are_sent_once",
    },
    TestedBug {
        name: "host_is_own_origin",
        package: "greenroom-server",
        program: &["--test", "sign_in"],
        test: "cross_site::other_sites_change_nothing",
    },
    TestedBug {
        name: "credential_of_any_repository",
        package: "greenroom-server",
        program: &["--test", "deployments"],
        test: "checkout_credentials::another_repository_of_the_host_gets_no_credential",
    },
    TestedBug {
        name: "any_provider_vouches",
        package: "greenroom-server",
        program: &["--test", "sign_in"],
        test: "oidc::a_provider_does_not_vouch_for_addresses_of_another_one",
    },
    TestedBug {
        name: "freeze_of_any_name",
        package: "greenroom-server",
        program: &["--test", "api_rules"],
        test: "freezes::an_environment_that_does_not_exist_is_refused_with_a_suggestion",
    },
    TestedBug {
        name: "note_ends_its_fence",
        package: "greenroom-app",
        program: &["--test", "units"],
        test: "bundle::a_note_stays_within_its_fence",
    },
    TestedBug {
        name: "name_hides_text",
        package: "greenroom-domain",
        program: &["--lib"],
        test: "text::tests::a_name_has_nothing_that_is_not_displayed",
    },
    TestedBug {
        name: "repository_with_query",
        package: "greenroom-domain",
        program: &["--lib"],
        test: "repository::tests::queries_and_fragments_are_rejected_and_masked",
    },
    TestedBug {
        name: "commit_as_pattern",
        package: "greenroom-domain",
        program: &["--lib"],
        test: "text::tests::beginnings_of_commits",
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
