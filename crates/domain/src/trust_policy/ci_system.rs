//! CI systems whose claims are known, and what a policy for them has to pin. A claim with a name is not enough: names
//! of repositories and groups become free when they are renamed or deleted, and another person can register them. The
//! id alone is not enough either: it would trust every branch, and so every contributor.

use std::collections::BTreeMap;

use serde_json::Value;

use super::issuer::Issuer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CiSystem {
    GitHub,
    GitLab,
    Buildkite,
    Forgejo,
}

/// The claims of a policy.
type Claims = BTreeMap<String, Value>;

/// Groups of claims. A policy satisfies one group by naming all of its claims.
type Pins = &'static [&'static [&'static str]];

impl CiSystem {
    pub const fn name(self) -> &'static str {
        match self {
            Self::GitHub => "GitHub",
            Self::GitLab => "GitLab",
            Self::Buildkite => "Buildkite",
            Self::Forgejo => "Forgejo",
        }
    }

    /// Recognizes a system by the address of the issuer. GitLab has any address if it is self-hosted, so claims that only
    /// it has count too, and so does a subject that contains names.
    pub(super) fn recognize(issuer: &Issuer, claims: &Claims) -> Option<Self> {
        let (host, path) = issuer.host_and_path();
        if host == "token.actions.githubusercontent.com" || path.ends_with("/_services/token") {
            return Some(Self::GitHub);
        }
        if path.ends_with("/api/actions") {
            return Some(Self::Forgejo);
        }
        if host == "agent.buildkite.com" {
            return Some(Self::Buildkite);
        }
        let subject = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
        let names = |names: &[&str]| names.iter().any(|name| claims.contains_key(*name));
        if host == "gitlab.com"
            || subject.starts_with("project_path:")
            || names(&["project_path", "project_id", "namespace_path", "namespace_id", "ci_config_ref_uri"])
        {
            return Some(Self::GitLab);
        }
        // A GitHub behind another address, or a Forgejo of a later version.
        if subject.starts_with("repo:") || names(&["repository", "repository_id", "job_workflow_ref"]) {
            return Some(Self::GitHub);
        }
        None
    }

    /// Returns the claims that identify a repository, a pipeline or its owner for ever.
    pub(super) const fn identities(self) -> Pins {
        match self {
            Self::GitHub | Self::Forgejo => &[&["repository_id"], &["repository_owner_id"]],
            Self::GitLab => &[&["project_id"], &["namespace_id"]],
            Self::Buildkite => &[&["pipeline_id"], &["organization_id"]],
        }
    }

    /// Returns the claims that restrict what of it is trusted: a ref, an environment or a workflow.
    pub(super) const fn contexts(self) -> Pins {
        match self {
            Self::GitHub => &[&["ref"], &["environment"], &["workflow_ref"], &["job_workflow_ref"]],
            // A tag can have the name of a branch, so that `ref` needs its type.
            Self::GitLab => &[&["ref_path"], &["ref", "ref_type"], &["environment"], &["ci_config_ref_uri"]],
            Self::Buildkite => &[&["build_branch"], &["build_tag"]],
            Self::Forgejo => &[&["ref"], &["workflow_ref"]],
        }
    }
}

/// Formats groups of claims for people: `a` or `b` and `c`.
pub(super) fn list(pins: Pins) -> String {
    let group =
        |names: &&[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
    pins.iter().map(group).collect::<Vec<_>>().join(", or ")
}

pub(super) fn is_satisfied(pins: Pins, claims: &Claims) -> bool {
    pins.iter().any(|names| names.iter().all(|name| claims.contains_key(*name)))
}
