//! What a stage requires: its own approval and that of its environment together.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::definition::{Approval, ApprovalRule, DEFAULT_APPROVAL_SECONDS, Definition, OverrideRole, Stage};

/// Stored with an approval, so that an edit of the definition does not change an open one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Requirement {
    /// All of them have to be met, each person counting once.
    pub rules: Vec<ApprovalRule>,
    pub timeout_seconds: u64,
    pub valid_for_seconds: u64,
    pub self_approval: bool,
    #[serde(rename = "override")]
    pub override_role: OverrideRole,
    pub message: Option<String>,
}

impl Requirement {
    /// Returns what a stage requires; `None` if it needs no approval.
    ///
    /// The rules of the stage and of its environment add up. Of everything else the stricter setting applies, where a
    /// setting that is left out has its default. The timeout does not protect: one that is left out does not count.
    pub fn of(definition: &Definition, stage: &Stage) -> Option<Self> {
        let environment = stage.environment.as_deref().and_then(|name| definition.environment(name));
        let shared = environment.and_then(|environment| environment.approval.as_ref());
        let approvals = || shared.into_iter().chain(stage.approval.as_ref());
        approvals().next()?;
        let valid_for = |approval: &Approval| approval.valid_for_seconds.unwrap_or(DEFAULT_APPROVAL_SECONDS);
        let messages: Vec<&str> =
            approvals().filter_map(|approval| approval.message.as_deref()).map(str::trim).collect();
        Some(Self {
            rules: approvals().flat_map(|approval| approval.rules.as_slice()).cloned().collect(),
            timeout_seconds: approvals()
                .filter_map(|approval| approval.timeout_seconds)
                .min()
                .unwrap_or(DEFAULT_APPROVAL_SECONDS),
            valid_for_seconds: approvals().map(valid_for).min().unwrap_or(DEFAULT_APPROVAL_SECONDS),
            self_approval: approvals().all(|approval| approval.self_approval),
            override_role: approvals().map(|approval| approval.override_role).max().unwrap_or_default(),
            message: (!messages.is_empty()).then(|| messages.join("\n\n")),
        })
    }

    pub fn timeout(&self) -> SignedDuration {
        seconds(self.timeout_seconds)
    }

    pub fn valid_for(&self) -> SignedDuration {
        seconds(self.valid_for_seconds)
    }
}

/// Returns the first stage that certainly waits for an approval before a checkout could have completed a shortened commit id.
pub fn gated_before_checkout(definition: &Definition, has_repository: bool) -> Option<&str> {
    let is_first = |stage: &&Stage| {
        stage.condition.is_none()
            && stage.only.is_none()
            && (stage.needs.is_empty() || !has_repository)
            && Requirement::of(definition, stage).is_some()
    };
    definition.stages.iter().find(is_first).map(|stage| stage.key.as_str())
}

fn seconds(seconds: u64) -> SignedDuration {
    SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::parse;

    fn requirement(environment: &str, stage: &str) -> Option<Requirement> {
        let text = format!(
            "environments: {{ production: {{ {environment} }} }}\n\
             stages: {{ release: {{ environment: production, {stage} steps: [{{ image: a, run: b }}] }} }}"
        );
        let definition = parse(&text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        Requirement::of(&definition, definition.stage("release").unwrap())
    }

    #[test]
    fn the_rules_of_stage_and_environment_add_up_and_the_stricter_setting_applies() {
        assert_eq!(requirement("", ""), None);
        let defaults = requirement("approval: { groups: [a] }", "").unwrap();
        assert_eq!((defaults.timeout_seconds, defaults.valid_for_seconds), (86_400, 86_400));
        assert_eq!((defaults.self_approval, defaults.override_role), (false, OverrideRole::Admin));
        let groups = |requirement: &Requirement| -> Vec<String> {
            requirement.rules.iter().flat_map(|rule| rule.groups.clone()).collect()
        };
        let loose = "groups: [a], timeout: 7d, validFor: 7d, selfApproval: true, message: one";
        let both = |stage: &str| {
            requirement(&format!("approval: {{ {loose} }}"), &format!("approval: {{ {stage} }},")).unwrap()
        };
        let silent = both("groups: [b]");
        assert_eq!(groups(&silent), ["a", "b"]);
        assert_eq!((silent.timeout_seconds, silent.valid_for_seconds), (604_800, 86_400));
        assert!(!silent.self_approval, "the stage does not allow it");
        let strict = both("groups: [b], timeout: 1h, validFor: 2h, override: none, message: two");
        assert_eq!((strict.timeout_seconds, strict.valid_for_seconds), (3_600, 7_200));
        assert_eq!(strict.override_role, OverrideRole::None);
        assert_eq!(strict.message.as_deref(), Some("one\n\ntwo"));
        assert!(both("groups: [b], selfApproval: true").self_approval);
    }

    #[test]
    fn the_stored_form_is_read_again() {
        let written = requirement("approval: { rules: [{ groups: [a] }, { roles: [admin], count: 2 }] }", "");
        let json = serde_json::to_value(&written).unwrap();
        assert_eq!(serde_json::from_value::<Option<Requirement>>(json).unwrap(), written);
    }
}
