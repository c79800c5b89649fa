//! Who may do what: one table, action × least role. Nothing else in the code base compares roles with actions.
//!
//! A row makes two things: a value of [`Action`], and a type in [`action`] by which a handler asks for it in its signature.

use crate::role::Role;

/// An [`Action`] as a type.
pub trait Act: Send + Sync + 'static {
    const ACTION: Action;
}

macro_rules! policy {
    ($($action:ident $name:literal $least:ident),* $(,)?) => {
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
        }

        pub mod action {
            //! Each action as a type.
            $(
                #[derive(Clone, Copy, Debug)]
                pub struct $action;

                impl super::Act for $action {
                    const ACTION: super::Action = super::Action::$action;
                }
            )*
        }
    };
}

policy! {
    // action            name                    least role
    OrganizationRead    "organization.read"     Viewer,
    OrganizationUpdate  "organization.update"   Admin,
    MemberRead          "member.read"           Viewer,
    MemberManage        "member.manage"         Admin,
    // Making, changing and removing owners.
    OwnerManage         "owner.manage"          Owner,
    // One's own tokens; everybody has a right to those.
    TokenManageOwn      "token.manage_own"      Viewer,
    TokenManageAll      "token.manage_all"      Admin,
    PipelineRead        "pipeline.read"         Viewer,
    PipelineEdit        "pipeline.edit"         Maintainer,
    PipelineStop        "pipeline.stop"         Maintainer,
    EnvironmentRead     "environment.read"      Viewer,
    // Claiming, deploying, renewing and releasing one's own.
    SessionHold         "session.hold"          Developer,
    // Releasing somebody else's.
    SessionEndAny       "session.end_any"       Maintainer,
    DeploymentRead      "deployment.read"       Viewer,
    // Of all of a pipeline; one into an environment is its holder's.
    DeploymentStart     "deployment.start"      Developer,
    // Canceling, and trying stages again.
    DeploymentRun       "deployment.run"        Developer,
    RunnerManage        "runner.manage"         Admin,
    EventRead           "event.read"            Viewer,
    EventReadAudit      "event.read_audit"      Admin,
}

pub fn allowed(role: Role, action: Action) -> bool {
    role >= action.least_role()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as people review it: a change of anybody's rights shows up as a change of this snapshot.
    #[test]
    fn table() {
        let mut table = String::new();
        for action in Action::ALL {
            table += &format!("{:<22}", action.name());
            for role in Role::ALL {
                table += if allowed(role, *action) { " ✔" } else { " ·" };
            }
            table += "\n";
        }
        insta::assert_snapshot!(table, @r"
        organization.read      ✔ ✔ ✔ ✔ ✔
        organization.update    · · · ✔ ✔
        member.read            ✔ ✔ ✔ ✔ ✔
        member.manage          · · · ✔ ✔
        owner.manage           · · · · ✔
        token.manage_own       ✔ ✔ ✔ ✔ ✔
        token.manage_all       · · · ✔ ✔
        pipeline.read          ✔ ✔ ✔ ✔ ✔
        pipeline.edit          · · ✔ ✔ ✔
        pipeline.stop          · · ✔ ✔ ✔
        environment.read       ✔ ✔ ✔ ✔ ✔
        session.hold           · ✔ ✔ ✔ ✔
        session.end_any        · · ✔ ✔ ✔
        deployment.read        ✔ ✔ ✔ ✔ ✔
        deployment.start       · ✔ ✔ ✔ ✔
        deployment.run         · ✔ ✔ ✔ ✔
        runner.manage          · · · ✔ ✔
        event.read             ✔ ✔ ✔ ✔ ✔
        event.read_audit       · · · ✔ ✔
        ");
    }
}
