//! Whether a definition protects its environments less than the version before it. Saving such a definition
//! needs an admin.
//!
//! Structs are destructured without `..`: a new field does not compile until it is decided here whether it protects.

use std::collections::HashSet;

use super::diagnostic::Path;
use super::model::{
    Approval, Definition, Environment, EnvironmentTemplate, EphemeralEnvironment, EphemeralSettings,
    ForceReason, ForceRule, Stage,
};
use crate::role::Role;

/// Who may take over an environment by force if its definition has no rule.
pub const DEFAULT_FORCE_ROLE: Role = Role::Developer;

/// A place where a definition protects less than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weakened {
    /// JSON pointer into the definition. What was removed is not in the new one.
    pub pointer: String,
    pub what: String,
}

/// Returns where `after` protects less than `before`; nothing if it protects as much or more.
///
/// | Part                    | Weaker                                                              |
/// |-------------------------|---------------------------------------------------------------------|
/// | lasting environment     | removed or renamed                                                  |
/// | `branches`              | another branch, or any branch                                       |
/// | `approval`              | removed, a lower `count`, another role or user that may approve     |
/// | stage                   | no longer deploys to its environment; its own `approval` is weaker  |
/// | `force` of an ephemeral | a lower role, no reason required; removed: as without a rule        |
pub fn weakens(before: &Definition, after: &Definition) -> Vec<Weakened> {
    let Definition {
        version: _,
        variables: _,
        runner: _,
        concurrency: _,
        environments,
        ephemeral_environments,
        environment_templates,
        stages,
    } = before;
    let mut found = Findings(Vec::new());
    for environment in environments {
        found.compare_environment(environment, after.environment(&environment.name));
    }
    for EphemeralEnvironment { name, settings } in ephemeral_environments {
        // It may be defined by a template now.
        found.compare_ephemeral(name, settings, after.ephemeral_settings(name));
    }
    for template in environment_templates {
        let EnvironmentTemplate { prefix, max: _, settings } = template;
        let same = after.environment_templates.iter().find(|other| other.prefix == *prefix);
        found.compare_ephemeral(&template.pattern(), settings, same.map(|template| &template.settings));
    }
    for stage in stages {
        found.compare_stage(stage, before, after);
    }
    found.0
}

struct Findings(Vec<Weakened>);

impl Findings {
    fn add(&mut self, path: Path<'_>, what: impl Into<String>) {
        self.0.push(Weakened { pointer: path.pointer(), what: what.into() });
    }

    fn compare_environment(&mut self, before: &Environment, after: Option<&Environment>) {
        let Environment { name, url: _, branches, approval, variables: _ } = before;
        let environments = Path::Root.key("environments");
        let path = environments.key(name);
        let Some(after) = after else {
            return self.add(path, "the environment is removed, and its protection with it");
        };
        self.compare_branches(path.key("branches"), branches, &after.branches);
        self.compare_approval(path.key("approval"), approval.as_ref(), after.approval.as_ref());
    }

    /// No branches means any branch.
    fn compare_branches(&mut self, path: Path<'_>, before: &[String], after: &[String]) {
        if before.is_empty() {
            return;
        }
        if after.is_empty() {
            return self.add(path, "commits of any branch may be deployed");
        }
        for (index, branch) in after.iter().enumerate() {
            if !before.contains(branch) {
                self.add(path.index(index), format!("commits of `{branch}` may be deployed as well"));
            }
        }
    }

    fn compare_approval(&mut self, path: Path<'_>, before: Option<&Approval>, after: Option<&Approval>) {
        let Some(Approval { roles, users, count, timeout_seconds: _, message: _ }) = before else { return };
        let Some(after) = after else { return self.add(path, "the approval is removed") };
        if after.count < *count {
            self.add(path.key("count"), format!("{} instead of {count} have to approve", after.count));
        }
        for (index, role) in after.roles.iter().enumerate() {
            if !roles.contains(role) {
                self.add(path.key("roles").index(index), format!("the role {role} may approve as well"));
            }
        }
        for (index, user) in after.users.iter().enumerate() {
            if !users.contains(user) {
                self.add(path.key("users").index(index), format!("`{user}` may approve as well"));
            }
        }
    }

    fn compare_ephemeral(
        &mut self,
        name: &str,
        before: &EphemeralSettings,
        after: Option<&EphemeralSettings>,
    ) {
        let EphemeralSettings {
            description: _,
            labels: _,
            url: _,
            lease: _,
            stages: _,
            on_release: _,
            force,
            handover: _,
            variables: _,
        } = before;
        let environments = Path::Root.key("ephemeralEnvironments");
        let environment = environments.key(name);
        let path = environment.key("force");
        // An environment that is removed can be defined again without a rule.
        let (before, after) = (rule(*force), rule(after.and_then(|settings| settings.force)));
        let ForceRule { role, reason } = before;
        if after.role < role {
            let what = format!("the role {} may take it over by force; it was {role}", after.role);
            self.add(path.key("role"), what);
        }
        if reason == Some(ForceReason::Required) && after.reason.is_none() {
            self.add(path.key("reason"), "it can be taken over by force without a reason");
        }
    }

    fn compare_stage(&mut self, before: &Stage, old: &Definition, new: &Definition) {
        let Stage {
            key,
            name: _,
            needs: _,
            condition: _,
            environment,
            only: _,
            runner: _,
            variables: _,
            timeout_seconds: _,
            approval,
            submodules: _,
            artifacts: _,
            caches: _,
            steps: _,
        } = before;
        let stages = Path::Root.key("stages");
        let path = stages.key(key);
        let after = new.stage(key);
        let own = after.and_then(|stage| stage.approval.as_ref());
        self.compare_approval(path.key("approval"), approval.as_ref(), own);
        // That the environment itself is removed is another finding.
        let Some(target) = environment.as_ref().filter(|name| new.environment(name).is_some()) else {
            return;
        };
        let left = match after {
            Some(stage) => stage.environment.as_ref() != Some(target),
            None => !new_targets(old, new).contains(target.as_str()),
        };
        if left {
            self.add(path.key("environment"), format!("its steps run without the protection of `{target}`"));
        }
    }
}

fn rule(force: Option<ForceRule>) -> ForceRule {
    force.unwrap_or(ForceRule { role: DEFAULT_FORCE_ROLE, reason: None })
}

/// Returns the environments that new stages deploy to. One of them may be a renamed stage.
fn new_targets<'a>(old: &Definition, new: &'a Definition) -> HashSet<&'a str> {
    let added = new.stages.iter().filter(|stage| old.stage(&stage.key).is_none());
    added.filter_map(|stage| stage.environment.as_deref()).collect()
}

#[cfg(test)]
#[path = "protection_tests.rs"]
mod tests;
