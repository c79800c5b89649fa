//! Whether a definition protects its environments less than the version before it. Saving such a definition
//! needs an admin.
//!
//! Structs are destructured without `..`: a new field does not compile until it is decided here whether it protects.

use std::collections::HashSet;

use super::diagnostic::Path;
use super::limits::DEFAULT_APPROVAL_SECONDS;
use super::model::{
    Approval, ApprovalRule, ApprovalRules, Definition, DeployRule, Environment, EnvironmentTemplate,
    EphemeralEnvironment, EphemeralSettings, ForceReason, ForceRule, Stage,
};
use crate::matching::assign;
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
/// | `approval`              | removed, a rule less, a lower `count`, another group, role or user  |
/// |                         | that may approve, `selfApproval`, a lower `override`, a longer      |
/// |                         | `validFor`                                                          |
/// | `acceptFrom`            | another stage                                                       |
/// | `deploy`                | removed, another group, a lower role than before                    |
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
        fix: _,
        stages,
        locked_steps: _,
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
        let Environment { name, url: _, branches, approval, deploy, variables: _ } = before;
        let environments = Path::Root.key("environments");
        let path = environments.key(name);
        let Some(after) = after else {
            return self.add(path, "the environment is removed, and its protection with it");
        };
        self.compare_branches(path.key("branches"), branches, &after.branches);
        self.compare_approval(path.key("approval"), approval.as_ref(), after.approval.as_ref());
        self.compare_deploy(path.key("deploy"), deploy.as_ref(), after.deploy.as_ref());
    }

    /// Without a rule everyone who may start a deployment may deploy.
    fn compare_deploy(&mut self, path: Path<'_>, before: Option<&DeployRule>, after: Option<&DeployRule>) {
        let Some(before) = before else { return };
        let DeployRule { groups, roles: _ } = before;
        let Some(after) = after else {
            return self.add(path, "everyone who may start a deployment may deploy");
        };
        for (index, group) in after.groups.iter().enumerate() {
            if !groups.contains(group) {
                self.add(path.key("groups").index(index), format!("the group `{group}` may deploy as well"));
            }
        }
        for (index, role) in after.roles.iter().enumerate() {
            if before.least_role().is_none_or(|least| *role < least) {
                self.add(path.key("roles").index(index), format!("the role {role} may deploy as well"));
            }
        }
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
        let Some(before) = before else { return };
        let Some(after) = after else { return self.add(path, "the approval is removed") };
        let Approval {
            rules,
            timeout_seconds: _,
            valid_for_seconds,
            self_approval,
            override_role,
            message: _,
        } = before;
        self.compare_rules(path, rules.as_slice(), &after.rules);
        let valid_for = |seconds: Option<u64>| seconds.unwrap_or(DEFAULT_APPROVAL_SECONDS);
        if valid_for(after.valid_for_seconds) > valid_for(*valid_for_seconds) {
            self.add(path.key("validFor"), "the approval is valid for longer");
        }
        if after.self_approval && !self_approval {
            self.add(path.key("selfApproval"), "people may approve what they have started themselves");
        }
        if after.override_role < *override_role {
            let what = format!("the role {} may override the approval", after.override_role);
            self.add(path.key("override"), what);
        }
    }

    /// The rules are as strict as before if each approval that was required is still required, from the same
    /// people or from fewer of them.
    fn compare_rules(&mut self, path: Path<'_>, before: &[ApprovalRule], after: &ApprovalRules) {
        let rules = after.as_slice();
        let units: Vec<&ApprovalRule> =
            rules.iter().flat_map(|rule| std::iter::repeat_n(rule, rule.count as usize)).collect();
        let counts: Vec<u32> = before.iter().map(|rule| rule.count).collect();
        let assigned = assign(&counts, units.len(), &|old, new| {
            before.get(old).zip(units.get(new)).is_some_and(|(old, new)| admits_no_others(new, old))
        });
        for (index, old) in before.iter().enumerate() {
            let kept = assigned.iter().filter(|demand| **demand == Some(index)).count();
            if kept >= old.count as usize {
                continue;
            }
            let found = self.0.len();
            let list = path.key("rules");
            match (after, rules.get(index)) {
                (_, None) => self.add(list, "a rule is removed"),
                (ApprovalRules::Single(new), Some(_)) => self.compare_rule(path, old, new),
                (ApprovalRules::List { .. }, Some(new)) => self.compare_rule(list.index(index), old, new),
            }
            if self.0.len() == found {
                self.add(list, "fewer people have to approve, or others may");
            }
        }
    }

    fn compare_rule(&mut self, path: Path<'_>, before: &ApprovalRule, after: &ApprovalRule) {
        let ApprovalRule { groups, roles, users, count } = before;
        if after.count < *count {
            self.add(path.key("count"), format!("{} instead of {count} have to approve", after.count));
        }
        for (index, group) in after.groups.iter().enumerate().filter(|(_, group)| !groups.contains(group)) {
            self.add(path.key("groups").index(index), format!("the group `{group}` may approve as well"));
        }
        for (index, role) in after.roles.iter().enumerate().filter(|(_, role)| !roles.contains(role)) {
            self.add(path.key("roles").index(index), format!("the role {role} may approve as well"));
        }
        for (index, user) in after.users.iter().enumerate().filter(|(_, user)| !users.contains(user)) {
            self.add(path.key("users").index(index), format!("`{user}` may approve as well"));
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
            queue: _,
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
            accept_from,
            caches: _,
            steps: _,
        } = before;
        let stages = Path::Root.key("stages");
        let path = stages.key(key);
        let after = new.stage(key);
        let own = after.and_then(|stage| stage.approval.as_ref());
        self.compare_approval(path.key("approval"), approval.as_ref(), own);
        let accepted = after.map(|stage| stage.accept_from.as_slice()).unwrap_or_default();
        for (index, stage) in accepted.iter().enumerate().filter(|(_, stage)| !accept_from.contains(stage)) {
            let what = format!("it takes what `{stage}` leaves, whatever pool that runs in");
            self.add(path.key("acceptFrom").index(index), what);
        }
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

/// Returns whether a rule admits only people that the other one admits as well.
fn admits_no_others(rule: &ApprovalRule, other: &ApprovalRule) -> bool {
    let ApprovalRule { groups, roles, users, count: _ } = rule;
    groups.iter().all(|group| other.groups.contains(group))
        && roles.iter().all(|role| other.roles.contains(role))
        && users.iter().all(|user| other.users.contains(user))
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
