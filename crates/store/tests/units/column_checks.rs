//! Tests that the texts which the schema lists are those of the domain's enums.

use greenroom_domain::analysis::{AnalysisReason, AnalysisStatus};
use greenroom_domain::approval::{ApprovalStatus, VoteChoice};
use greenroom_domain::browser_session::SignInMethod;
use greenroom_domain::deployment::{
    DeploymentStatus, JobStatus, Purpose, Reason, StageStatus, StepStatus, Trigger,
};
use greenroom_domain::failure::VerdictKind;
use greenroom_domain::fix::FixStatus;
use greenroom_domain::forge::ForgeKind;
use greenroom_domain::model::ModelProtocol;
use greenroom_domain::role::Role;
use greenroom_domain::role_grant::is_grantable;
use greenroom_domain::secret::{ScopeKind, VersionStatus};
use greenroom_domain::step_registry::{RefusalKind, RegistryStatus};
use greenroom_domain::text_enum::TextEnum;
use greenroom_store::MIGRATOR;
use sqlx::migrate::MigrationType;

/// Returns the list between `open` and `close`, after `marker`, of the newest migration that contains all three.
fn listed(marker: &str, open: &str, close: &str) -> Vec<String> {
    let mut lists = MIGRATOR.iter().filter_map(|migration| {
        let is_up = migration.migration_type == MigrationType::ReversibleUp;
        let (_, rest) = migration.sql.as_str().split_once(marker).filter(|_| is_up)?;
        let (list, _) = rest.split_once(open)?.1.split_once(close)?;
        Some(list.split(',').map(|text| text.trim().trim_matches(['\'', '"']).to_owned()).collect())
    });
    lists.next_back().unwrap_or_default()
}

fn array(marker: &str) -> Vec<String> {
    listed(marker, "'{", "}'")
}

fn texts<T: TextEnum>(values: &[T]) -> Vec<&'static str> {
    values.iter().map(|value| value.as_str()).collect()
}

#[test]
fn checks_of_browser_sessions_allow_the_values_of_the_domain() {
    assert_eq!(listed("create table browser_sessions (", "method in (", ")"), texts(SignInMethod::ALL));
}

#[test]
fn the_check_of_grants_allows_the_roles_that_can_be_granted() {
    let grantable: Vec<&str> =
        Role::ALL.iter().filter(|role| is_grantable(**role)).map(|role| role.as_str()).collect();
    assert_eq!(listed("create table grants (", "role in (", ")"), grantable);
}

#[test]
fn checks_of_secrets_allow_the_values_of_the_domain() {
    assert_eq!(listed("create table secrets (", "scope in (", ")"), texts(ScopeKind::ALL));
    assert_eq!(listed("create table secret_versions (", "status in (", ")"), texts(VersionStatus::ALL));
}

#[test]
fn checks_of_approvals_allow_the_values_of_the_domain() {
    assert_eq!(listed("create table approvals (", "status in (", ")"), texts(ApprovalStatus::ALL));
    assert_eq!(listed("create table approval_votes (", "choice in (", ")"), texts(VoteChoice::ALL));
}

#[test]
fn checks_of_analyses_allow_the_values_of_the_domain() {
    assert_eq!(listed("create table analyses (", "status in (", ")"), texts(AnalysisStatus::ALL));
    assert_eq!(listed("create table analyses (", "check ((status in (", ")"), texts(AnalysisStatus::FINAL));
    assert_eq!(
        listed("add constraint analyses_reason_check", "reason in (", ")"),
        texts(AnalysisReason::ALL)
    );
    assert_eq!(listed("create table analyses (", "verdict in (", ")"), texts(VerdictKind::ALL));
}

#[test]
fn checks_of_fixes_allow_the_values_of_the_domain() {
    assert_eq!(listed("create table fixes (", "status in (", ")"), texts(FixStatus::ALL));
    assert_eq!(listed("create table fixes (", "check ((status in (", ")"), texts(FixStatus::FINAL));
    let live: Vec<_> = FixStatus::ALL.iter().copied().filter(|status| !status.is_final()).collect();
    assert_eq!(listed("create unique index fixes_live", "status in (", ")"), texts(&live));
}

#[test]
fn checks_of_step_registries_allow_the_values_of_the_domain() {
    assert_eq!(listed("create table step_registries (", "status in (", ")"), texts(RegistryStatus::ALL));
    assert_eq!(listed("create table step_refusals (", "kind in (", ")"), texts(RefusalKind::ALL));
}

#[test]
fn checks_of_forges_allow_the_values_of_the_domain() {
    assert_eq!(listed("create table forges (", "kind in (", ")"), texts(ForgeKind::ALL));
}

#[test]
fn checks_of_models_allow_the_values_of_the_domain() {
    assert_eq!(listed("create table analysis_settings (", "protocol in (", ")"), texts(ModelProtocol::ALL));
}

#[test]
fn checks_allow_the_values_of_the_domain() {
    assert_eq!(listed("create table deployments (", "status in (", ")"), texts(DeploymentStatus::ALL));
    assert_eq!(listed("add column purpose", "purpose in (", ")"), texts(Purpose::ALL));
    assert_eq!(array("add constraint deployments_trigger_check"), texts(Trigger::ALL));
    assert_eq!(array("add constraint stages_status_check"), texts(StageStatus::ALL));
    assert_eq!(array("add constraint stages_verdict_check"), texts(StageStatus::FINAL));
    assert_eq!(array("add constraint jobs_status_check"), texts(JobStatus::ALL));
    assert_eq!(array("add constraint step_runs_status_check"), texts(StepStatus::ALL));
    let former = Reason::FORMER_TEXTS.iter().map(|(text, _)| *text);
    let reasons: Vec<&str> = texts(Reason::ALL).into_iter().chain(former).collect();
    assert_eq!(array("function is_deployment_reason"), reasons);
}

/// A deployment has an end if its status is final, and the partial indexes contain the others.
#[test]
fn final_statuses_of_the_schema_are_those_of_the_domain() {
    let ends = texts(DeploymentStatus::FINAL);
    assert_eq!(listed("create table deployments (", "check ((status in (", ")"), ends);
    assert_eq!(listed("create index deployments_live on", "status not in (", ")"), ends);
    assert_eq!(listed("create index deployments_live_by_id on", "status not in (", ")"), ends);
}
