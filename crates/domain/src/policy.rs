//! Who may do what: one table, action × least role × scope. Nothing else in the code base compares roles or
//! scopes with actions.
//!
//! A row defines two things: a value of [`Action`], and a type in [`action`] by which a handler requires it
//! in its signature.

use crate::role::Role;
use crate::scope::{Scope, Scopes};

/// One action or several as a type. A tuple of actions is satisfied by any one of them: it is for an
/// operation whose use case checks the one that applies after it has read the record (one's own session, or
/// that of another user).
pub trait Act: Send + Sync + 'static {
    /// Checks role and scopes. The error of a tuple is that of its first action.
    fn check(role: Role, scopes: Scopes) -> Result<(), Denied>;
}

impl<A: Act, B: Act> Act for (A, B) {
    fn check(role: Role, scopes: Scopes) -> Result<(), Denied> {
        A::check(role, scopes).or_else(|first| B::check(role, scopes).map_err(|_| first))
    }
}

impl<A: Act, B: Act, C: Act> Act for (A, B, C) {
    fn check(role: Role, scopes: Scopes) -> Result<(), Denied> {
        A::check(role, scopes).or_else(|first| <(B, C)>::check(role, scopes).map_err(|_| first))
    }
}

/// Why an action is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The user's role is too low, whichever token is used.
    #[error("`{}` needs the role {} or higher; yours is {role}", action.name(), action.least_role())]
    Role { action: Action, role: Role },
    /// The role allows the action, but the token does not.
    #[error("`{}` needs a token with the scope `{}`; this one has: {scopes}", action.name(), action.scope())]
    Scope { action: Action, scopes: Scopes },
}

macro_rules! policy {
    ($($action:ident $name:literal $least:ident $scope:ident),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action {
            $($action),*
        }

        impl Action {
            pub const ALL: &'static [Self] = &[$(Self::$action),*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$action => $name),*
                }
            }

            pub const fn least_role(self) -> Role {
                match self {
                    $(Self::$action => Role::$least),*
                }
            }

            pub const fn scope(self) -> Scope {
                match self {
                    $(Self::$action => Scope::$scope),*
                }
            }
        }

        pub mod action {
            //! Each action as a type.
            $(
                #[derive(Clone, Copy, Debug)]
                pub struct $action;

                impl super::Act for $action {
                    fn check(role: super::Role, scopes: super::Scopes) -> Result<(), super::Denied> {
                        super::check(role, scopes, super::Action::$action)
                    }
                }
            )*
        }
    };
}

policy! {
    // action            name                    least role   scope
    OrganizationRead    "organization.read"     Viewer       Read,
    OrganizationUpdate  "organization.update"   Admin        Admin,
    MemberRead          "member.read"           Viewer       Read,
    MemberManage        "member.manage"         Admin        Admin,
    // Making, changing and removing owners.
    OwnerManage         "owner.manage"          Owner        Admin,
    // One's own tokens. That a token can revoke itself needs no action.
    TokenManageOwn      "token.manage_own"      Viewer       Write,
    TokenManageAll      "token.manage_all"      Admin        Admin,
    // Service accounts and their tokens. Their records are read with `member.read`.
    ServiceAccountManage "service_account.manage" Admin      Admin,
    PipelineRead        "pipeline.read"         Viewer       Read,
    PipelineEdit        "pipeline.edit"         Maintainer   Write,
    // Saving a definition that weakens the protection of environments.
    PipelineWeakenProtection "pipeline.weaken_protection" Admin Write,
    PipelineStop        "pipeline.stop"         Maintainer   Write,
    EnvironmentRead     "environment.read"      Viewer       Read,
    // Claiming, renewing, releasing and handing over one's own.
    SessionHold         "session.hold"          Developer    Hold,
    // Releasing the sessions of other users.
    SessionEndAny       "session.end_any"       Maintainer   Write,
    // Marking one's own notices as read.
    NoticeMarkRead      "notice.mark_read"      Viewer       Write,
    DeploymentRead      "deployment.read"       Viewer       Read,
    // Writing a note about failures with the same fingerprint.
    FailureNote         "failure.note"          Developer    Write,
    // Requesting analyses of failures in one's own sessions, and giving feedback about them.
    AnalysisCreateOwn   "analysis.create_own"   Developer    Deploy,
    // The same for all other deployments.
    AnalysisCreate      "analysis.create"       Developer    Write,
    // Reading what was sent to a model.
    AnalysisReadPrompt  "analysis.read_prompt"  Maintainer   Read,
    // Starting a deployment of a whole pipeline.
    DeploymentStart     "deployment.start"      Developer    Start,
    // Deploying in one's own session; canceling and retrying there.
    DeploymentRunOwn    "deployment.run_own"    Developer    Deploy,
    // Canceling and retrying deployments of a whole pipeline.
    DeploymentRun       "deployment.run"        Developer    Start,
    // Canceling and retrying in others' sessions, with a token that may force; canceling a teardown.
    DeploymentRunAny    "deployment.run_any"    Maintainer   Write,
    // Letting a deployment replace what a newer one has deployed.
    DeploymentRollBack  "deployment.roll_back"  Maintainer   Start,
    // Holding a lasting environment, so that only one's own deployments begin there.
    EnvironmentHold     "environment.hold"      Maintainer   Write,
    // Ending the hold of another user, or replacing it.
    EnvironmentHoldTakeOver "environment.hold_take_over" Admin Write,
    // Repeating a clean-up that failed, and giving it up.
    CleanupManage       "cleanup.manage"        Maintainer   Write,
    // Ending a job, a deployment or a teardown without its runner.
    JobGiveUp           "job.give_up"           Admin        Admin,
    RunnerManage        "runner.manage"         Admin        Admin,
    // Reading the records of secrets. No action lets a user read a value.
    SecretRead          "secret.read"           Developer    Write,
    // Secrets of pipelines and their environments.
    SecretEdit          "secret.edit"           Maintainer   Write,
    SecretEditOrganization "secret.edit_organization" Admin  Admin,
    // Which steps got which secrets.
    SecretReadLog       "secret.read_log"       Maintainer   Admin,
    GroupRead           "group.read"            Viewer       Read,
    GroupManage         "group.manage"          Admin        Admin,
    // Raising the role of groups and users on a pipeline.
    GrantRead           "grant.read"            Viewer       Read,
    GrantManage         "grant.manage"          Admin        Admin,
    FreezeRead          "freeze.read"           Viewer       Read,
    FreezeManage        "freeze.manage"         Admin        Admin,
    ApprovalRead        "approval.read"         Viewer       Read,
    // Voting. Who may vote on an approval is decided by its rules.
    ApprovalDecide      "approval.decide"       Viewer       Write,
    // Letting a stage begin without its approval, or although its environment is frozen.
    GateOverride        "gate.override"         Admin        Admin,
    // Step registries, their steps and versions. No action lets a user read the credential of a registry.
    RegistryRead        "registry.read"         Viewer       Read,
    RegistryManage      "registry.manage"       Admin        Admin,
    // Connected forges. No action lets a user read the credential of a forge.
    ForgeManage         "forge.manage"          Admin        Admin,
    // Settings of the model that explains failures. No action lets a user read its credential.
    AnalysisConfigure   "analysis.configure"    Admin        Admin,
    EventRead           "event.read"            Viewer       Read,
    EventReadAudit      "event.read_audit"      Admin        Admin,
}

pub fn is_allowed(role: Role, action: Action) -> bool {
    role >= action.least_role()
}

/// Checks the role first: without the role, a token with more scopes would not help.
pub fn check(role: Role, scopes: Scopes, action: Action) -> Result<(), Denied> {
    if !is_allowed(role, action) {
        Err(Denied::Role { action, role })
    } else if !scopes.contains(action.scope()) {
        Err(Denied::Scope { action, scopes })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table in a form for reviews: a change of rights shows up as a change of this snapshot.
    #[test]
    fn table() {
        let mut table = String::new();
        for action in Action::ALL {
            table += &format!("{:<25}", action.name());
            for role in Role::ALL {
                table += if is_allowed(*role, *action) { " ✔" } else { " ·" };
            }
            table += &format!(" {}\n", action.scope());
        }
        insta::assert_snapshot!(table, @r"
        organization.read         ✔ ✔ ✔ ✔ ✔ read
        organization.update       · · · ✔ ✔ admin
        member.read               ✔ ✔ ✔ ✔ ✔ read
        member.manage             · · · ✔ ✔ admin
        owner.manage              · · · · ✔ admin
        token.manage_own          ✔ ✔ ✔ ✔ ✔ write
        token.manage_all          · · · ✔ ✔ admin
        service_account.manage    · · · ✔ ✔ admin
        pipeline.read             ✔ ✔ ✔ ✔ ✔ read
        pipeline.edit             · · ✔ ✔ ✔ write
        pipeline.weaken_protection · · · ✔ ✔ write
        pipeline.stop             · · ✔ ✔ ✔ write
        environment.read          ✔ ✔ ✔ ✔ ✔ read
        session.hold              · ✔ ✔ ✔ ✔ hold
        session.end_any           · · ✔ ✔ ✔ write
        notice.mark_read          ✔ ✔ ✔ ✔ ✔ write
        deployment.read           ✔ ✔ ✔ ✔ ✔ read
        failure.note              · ✔ ✔ ✔ ✔ write
        analysis.create_own       · ✔ ✔ ✔ ✔ deploy
        analysis.create           · ✔ ✔ ✔ ✔ write
        analysis.read_prompt      · · ✔ ✔ ✔ read
        deployment.start          · ✔ ✔ ✔ ✔ start
        deployment.run_own        · ✔ ✔ ✔ ✔ deploy
        deployment.run            · ✔ ✔ ✔ ✔ start
        deployment.run_any        · · ✔ ✔ ✔ write
        deployment.roll_back      · · ✔ ✔ ✔ start
        environment.hold          · · ✔ ✔ ✔ write
        environment.hold_take_over · · · ✔ ✔ write
        cleanup.manage            · · ✔ ✔ ✔ write
        job.give_up               · · · ✔ ✔ admin
        runner.manage             · · · ✔ ✔ admin
        secret.read               · ✔ ✔ ✔ ✔ write
        secret.edit               · · ✔ ✔ ✔ write
        secret.edit_organization  · · · ✔ ✔ admin
        secret.read_log           · · ✔ ✔ ✔ admin
        group.read                ✔ ✔ ✔ ✔ ✔ read
        group.manage              · · · ✔ ✔ admin
        grant.read                ✔ ✔ ✔ ✔ ✔ read
        grant.manage              · · · ✔ ✔ admin
        freeze.read               ✔ ✔ ✔ ✔ ✔ read
        freeze.manage             · · · ✔ ✔ admin
        approval.read             ✔ ✔ ✔ ✔ ✔ read
        approval.decide           ✔ ✔ ✔ ✔ ✔ write
        gate.override             · · · ✔ ✔ admin
        registry.read             ✔ ✔ ✔ ✔ ✔ read
        registry.manage           · · · ✔ ✔ admin
        forge.manage              · · · ✔ ✔ admin
        analysis.configure        · · · ✔ ✔ admin
        event.read                ✔ ✔ ✔ ✔ ✔ read
        event.read_audit          · · · ✔ ✔ admin
        ");
    }
}
