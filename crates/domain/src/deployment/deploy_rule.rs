//! Who may deploy to a lasting environment, by the rule `deploy` in the pipeline's definition.

use std::collections::{BTreeSet, HashSet};

use crate::definition::{Definition, DeployRule};
use crate::role::Role;

/// What is known about a user who wants to deploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployer {
    /// The role on the pipeline; `None` for a user who is not a member any more.
    pub role: Option<Role>,
    /// The names of the groups that the user is a member of, at least those that a rule names.
    pub groups: Vec<String>,
}

/// Returns whether the rule lets the user deploy. Without a rule everyone may who could start the deployment.
pub fn may_deploy(rule: Option<&DeployRule>, deployer: &Deployer) -> bool {
    let Some(rule) = rule else { return true };
    let Some(role) = deployer.role else { return false };
    rule.least_role().is_some_and(|least| role >= least)
        || rule.groups.iter().any(|group| deployer.groups.contains(group))
}

/// Returns the rule of an environment. The current definition decides, so that an older deployment does not
/// evade a rule that was added since. If the environment was removed, the definition decides that the
/// deployment was planned by.
pub fn deploy_rule<'a>(
    environment: &str,
    current: &'a Definition,
    planned: &'a Definition,
) -> Option<&'a DeployRule> {
    let found = current.environment(environment).or_else(|| planned.environment(environment));
    found.and_then(|environment| environment.deploy.as_ref())
}

/// Returns the environments that a deployment of the whole pipeline certainly deploys to, unless a stage before
/// fails: those of stages which, with all that they need, have no condition.
pub fn certain_environments(definition: &Definition) -> Vec<&str> {
    let mut certain = HashSet::new();
    // Needs may be later in the file than what needs them.
    loop {
        let before = certain.len();
        for stage in &definition.stages {
            if stage.condition.is_none()
                && stage.only.is_none()
                && stage.needs.iter().all(|need| certain.contains(need.as_str()))
            {
                certain.insert(stage.key.as_str());
            }
        }
        if certain.len() == before {
            break;
        }
    }
    let stages = definition.stages.iter().filter(|stage| certain.contains(stage.key.as_str()));
    let found: BTreeSet<&str> = stages.filter_map(|stage| stage.environment.as_deref()).collect();
    found.into_iter().collect()
}

/// Returns the groups and roles of a rule as a text for people.
pub fn describe(rule: &DeployRule) -> String {
    let groups = rule.groups.iter().map(|group| format!("members of `{group}`"));
    let role = rule.least_role().map(|role| format!("users with the role {role} or higher"));
    groups.chain(role).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::parse;

    fn rule(groups: &[&str], roles: &[Role]) -> DeployRule {
        DeployRule { groups: groups.iter().map(|&group| group.to_owned()).collect(), roles: roles.to_vec() }
    }

    fn user(role: Option<Role>, groups: &[&str]) -> Deployer {
        Deployer { role, groups: groups.iter().map(|&group| group.to_owned()).collect() }
    }

    #[test]
    fn a_group_or_a_role_is_enough() {
        let ops = rule(&["ops"], &[]);
        let both = rule(&["ops"], &[Role::Owner, Role::Maintainer]);
        for (what, rule, user, expected) in [
            ("no rule", None, user(Some(Role::Developer), &[]), true),
            ("no rule, removed", None, user(None, &[]), true),
            ("group", Some(&ops), user(Some(Role::Viewer), &["dev", "ops"]), true),
            ("another group", Some(&ops), user(Some(Role::Owner), &["dev"]), false),
            ("group, removed", Some(&ops), user(None, &["ops"]), false),
            ("lowest role", Some(&both), user(Some(Role::Maintainer), &[]), true),
            ("role between", Some(&both), user(Some(Role::Admin), &[]), true),
            ("lower role", Some(&both), user(Some(Role::Developer), &[]), false),
            ("lower role, group", Some(&both), user(Some(Role::Developer), &["ops"]), true),
            ("empty", Some(&rule(&[], &[])), user(Some(Role::Owner), &["ops"]), false),
        ] {
            assert_eq!(may_deploy(rule, &user), expected, "{what}");
        }
    }

    #[test]
    fn the_current_rule_decides_unless_the_environment_was_removed() {
        let definition = |environments: &str| {
            parse(&format!(
                "environments: {environments}\nstages: {{ a: {{ steps: [{{ image: a, run: b }}] }} }}"
            ))
            .unwrap()
        };
        let open = definition("{ production: {} }");
        let closed = definition("{ production: { deploy: { groups: [ops] } } }");
        let removed = definition("{}");
        assert_eq!(deploy_rule("production", &closed, &open), Some(&rule(&["ops"], &[])), "added since");
        assert_eq!(deploy_rule("production", &open, &closed), None, "an admin has removed the rule");
        assert_eq!(deploy_rule("production", &removed, &closed), Some(&rule(&["ops"], &[])));
    }

    #[test]
    fn only_stages_without_conditions_are_certain() {
        let text = "
environments: { staging: {}, production: {}, demo: {} }
stages:
  build: { if: \"branch == 'main'\", steps: [{ image: a, run: b }] }
  stage: { environment: staging, steps: [{ image: a, run: b }] }
  ship: { environment: production, needs: [build], steps: [{ image: a, run: b }] }
  show: { environment: demo, needs: [stage], steps: [{ image: a, run: b }] }
";
        let definition = parse(text).unwrap();
        assert_eq!(certain_environments(&definition), ["demo", "staging"]);
    }
}
