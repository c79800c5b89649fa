//! The policy of a secret: which stages may have it. All of its rules must hold.

use serde::{Deserialize, Serialize};
use url::Url;

use super::scope::{ScopeKind, SecretScope};
use crate::id::PipelineId;
use crate::repository_pattern::RepositoryPattern;
use crate::runner_pool::is_environment;
use crate::text::Branch;
use crate::text_enum::text_enum;

/// The most entries of one rule.
pub const MAX_ENTRIES: usize = 100;

/// The rules of a secret. A rule that is left out holds always. An unknown field is an
/// error, so that a rule of a later version is never ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipelines: Option<Vec<PipelineId>>,
    /// Names, templates such as `pr-*`, or `none` for stages that deploy to no environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environments: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pools: Option<Vec<String>>,
    /// The commit must have been proven to be on one of these branches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branches: Option<Vec<String>>,
    /// Only of a credential for checkouts: the repositories that it is for. All of its host, if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repositories: Option<Vec<RepositoryPattern>>,
}

/// What the platform itself uses a secret for. No step gets such a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Usage {
    pub kind: UsageKind,
    /// The only host that it is sent to, by https: `git.example.com`, or with a port `git.example.com:8443`.
    pub host: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UsageKind {
    /// Fetching a repository.
    Checkout,
    /// Pulling an image.
    Registry,
}

text_enum!(UsageKind { Checkout = "checkout", Registry = "registry" });

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPolicy {
    #[error("must have 1 to {MAX_ENTRIES} entries; leave it out, or null, if the rule is to hold always")]
    Count(&'static str),
    #[error("`{0}` is neither an environment's name, nor a template such as `pr-*`, nor `none`")]
    Environment(String),
    #[error("`{0}` is not the name of a pool")]
    Pool(String),
    #[error("`{0}` is not the name of a branch")]
    Branch(String),
    #[error("mean something only for a secret with `use: {{kind: checkout}}`: leave them out")]
    RepositoriesWithoutCheckout,
    #[error("`{0}` must begin with the host of `use`, as it is written there")]
    RepositoryHost(String),
    #[error("are named by the scope already: leave them out")]
    PipelinesOfScope,
    #[error(
        "must be named: environments, pools, branches and `use` of a secret of the whole organization mean something only \
         within a pipeline"
    )]
    PipelinesMissing,
    #[error("must be a host name, with a port if it is not 443, such as `git.example.com:8443`")]
    Host,
}

impl InvalidPolicy {
    /// Returns the place of the mistake in a request.
    pub const fn pointer(&self) -> &'static str {
        match self {
            Self::Count(pointer) => pointer,
            Self::Environment(_) => "/policy/environments",
            Self::Pool(_) => "/policy/pools",
            Self::Branch(_) => "/policy/branches",
            Self::RepositoriesWithoutCheckout | Self::RepositoryHost(_) => "/policy/repositories",
            Self::PipelinesOfScope | Self::PipelinesMissing => "/policy/pipelines",
            Self::Host => "/use/host",
        }
    }
}

impl Usage {
    pub fn new(kind: UsageKind, host: &str) -> Result<Self, InvalidPolicy> {
        let url = Url::parse(&format!("https://{host}/")).map_err(|_| InvalidPolicy::Host)?;
        let name = url.host_str().unwrap_or_default();
        let normalized = match url.port() {
            Some(port) => format!("{name}:{port}"),
            None => name.to_owned(),
        };
        // Anything else, such as a path or a user name, would have been moved out of the host by the parser.
        let given = host.to_ascii_lowercase();
        let given = given.strip_suffix(":443").unwrap_or(&given);
        // The parser accepts `*`, which reads like a pattern.
        let is_plain = given.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte));
        if name.is_empty() || name.len() > 253 || given != normalized || !is_plain {
            return Err(InvalidPolicy::Host);
        }
        Ok(Self { kind, host: normalized })
    }
}

impl Policy {
    /// Checks the rules and sorts their entries. The result depends on what is set, not on its order.
    pub fn checked(mut self, scope: &SecretScope, usage: Option<&Usage>) -> Result<Self, InvalidPolicy> {
        sort(&mut self.pipelines, "/policy/pipelines")?;
        sort(&mut self.environments, "/policy/environments")?;
        sort(&mut self.pools, "/policy/pools")?;
        sort(&mut self.branches, "/policy/branches")?;
        sort(&mut self.repositories, "/policy/repositories")?;
        if let Some(wrong) = find(&self.environments, |name| !is_environment(name)) {
            return Err(InvalidPolicy::Environment(wrong));
        }
        if let Some(wrong) = find(&self.pools, |name| !super::is_name(name)) {
            return Err(InvalidPolicy::Pool(wrong));
        }
        if let Some(wrong) = find(&self.branches, |name| Branch::new(name).is_err()) {
            return Err(InvalidPolicy::Branch(wrong));
        }
        if let Some(patterns) = &self.repositories {
            let Some(usage) = usage.filter(|usage| usage.kind == UsageKind::Checkout) else {
                return Err(InvalidPolicy::RepositoriesWithoutCheckout);
            };
            if let Some(wrong) = patterns.iter().find(|pattern| pattern.host() != usage.host) {
                return Err(InvalidPolicy::RepositoryHost(wrong.as_str().to_owned()));
            }
        }
        let needs_pipelines =
            usage.is_some() || self.environments.is_some() || self.pools.is_some() || self.branches.is_some();
        match (scope.kind(), &self.pipelines) {
            (ScopeKind::Organization, None) if needs_pipelines => Err(InvalidPolicy::PipelinesMissing),
            (ScopeKind::Pipeline | ScopeKind::Environment, Some(_)) => Err(InvalidPolicy::PipelinesOfScope),
            _ => Ok(self),
        }
    }
}

impl Usage {
    /// Returns whether a credential with this use and policy lets a member who edits a pipeline read every repository
    /// of a host, although an admin has created it for several pipelines.
    pub fn is_for_all_repositories(&self, scope: &SecretScope, policy: &Policy) -> bool {
        self.kind == UsageKind::Checkout
            && scope.kind() == ScopeKind::Organization
            && policy
                .repositories
                .as_ref()
                .is_none_or(|named| named.iter().any(|pattern| pattern.parts() == 1))
    }
}

fn sort<T: Ord>(entries: &mut Option<Vec<T>>, pointer: &'static str) -> Result<(), InvalidPolicy> {
    let Some(entries) = entries else { return Ok(()) };
    if !(1..=MAX_ENTRIES).contains(&entries.len()) {
        return Err(InvalidPolicy::Count(pointer));
    }
    entries.sort_unstable();
    entries.dedup();
    Ok(())
}

fn find(entries: &Option<Vec<String>>, is_wrong: impl Fn(&str) -> bool) -> Option<String> {
    entries.iter().flatten().find(|entry| is_wrong(entry)).cloned()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn pipeline() -> PipelineId {
        PipelineId::from(Uuid::from_u128(1))
    }

    fn names(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn rules_that_mean_something_only_within_a_pipeline_need_one() {
        let everywhere = SecretScope::Organization;
        let with = |set: fn(&mut Policy)| {
            let mut policy = Policy::default();
            set(&mut policy);
            policy
        };
        let rules: [fn(&mut Policy); 3] = [
            |policy| policy.environments = names(&["production"]),
            |policy| policy.pools = names(&["default"]),
            |policy| policy.branches = names(&["main"]),
        ];
        for rule in rules {
            assert_eq!(with(rule).checked(&everywhere, None), Err(InvalidPolicy::PipelinesMissing));
            assert!(with(rule).checked(&SecretScope::Pipeline(pipeline()), None).is_ok());
            let named = Policy { pipelines: Some(vec![pipeline()]), ..with(rule) };
            assert!(named.checked(&everywhere, None).is_ok());
        }
        let usage = Usage::new(UsageKind::Checkout, "git.test").unwrap();
        assert_eq!(
            Policy::default().checked(&everywhere, Some(&usage)),
            Err(InvalidPolicy::PipelinesMissing)
        );
        assert_eq!(Policy::default().checked(&everywhere, None), Ok(Policy::default()));
        let named = Policy { pipelines: Some(vec![pipeline()]), ..Policy::default() };
        let found = named.checked(&SecretScope::Pipeline(pipeline()), None);
        assert_eq!(found, Err(InvalidPolicy::PipelinesOfScope));
    }

    #[test]
    fn entries_are_checked_and_sorted() {
        let scope = SecretScope::Pipeline(pipeline());
        let environments = |given: &[&str]| Policy { environments: names(given), ..Policy::default() };
        let sorted = environments(&["qa", "none", "pr-*", "qa"]).checked(&scope, None).unwrap();
        assert_eq!(sorted.environments, names(&["none", "pr-*", "qa"]));
        let found = environments(&["a b"]).checked(&scope, None);
        assert_eq!(found, Err(InvalidPolicy::Environment("a b".to_owned())));
        let found = environments(&[]).checked(&scope, None);
        assert_eq!(found, Err(InvalidPolicy::Count("/policy/environments")));
    }

    #[test]
    fn repositories_are_those_of_the_host_of_a_checkout() {
        let scope = SecretScope::Pipeline(pipeline());
        let usage = |kind| Usage::new(kind, "git.test:8443").unwrap();
        let (checkout, registry) = (usage(UsageKind::Checkout), usage(UsageKind::Registry));
        let only = |texts: &[&str]| {
            let patterns = texts.iter().map(|text| RepositoryPattern::new(text).unwrap());
            Policy { repositories: Some(patterns.collect()), ..Policy::default() }
        };
        let acme = only(&["git.test:8443/Acme", "git.test:8443/acme"]);
        let checked = acme.clone().checked(&scope, Some(&checkout)).unwrap();
        assert_eq!(checked, only(&["git.test:8443/acme"]));
        let saved = serde_json::to_value(&checked).unwrap();
        assert_eq!(saved, serde_json::json!({ "repositories": ["git.test:8443/acme"] }));
        assert_eq!(serde_json::from_value::<Policy>(saved).unwrap(), checked);
        for usage in [None, Some(&registry)] {
            let found = acme.clone().checked(&scope, usage);
            assert_eq!(found, Err(InvalidPolicy::RepositoriesWithoutCheckout));
        }
        for other in ["git.test/acme", "evil.test:8443/acme"] {
            let found = only(&["git.test:8443/acme", other]).checked(&scope, Some(&checkout));
            assert_eq!(found, Err(InvalidPolicy::RepositoryHost(other.to_owned())));
        }
        let found = only(&[]).checked(&scope, Some(&checkout));
        assert_eq!(found, Err(InvalidPolicy::Count("/policy/repositories")));

        let everywhere = SecretScope::Organization;
        let all = Policy::default();
        assert!(checkout.is_for_all_repositories(&everywhere, &all));
        assert!(!checkout.is_for_all_repositories(&scope, &all));
        assert!(!checkout.is_for_all_repositories(&everywhere, &acme));
        assert!(checkout.is_for_all_repositories(&everywhere, &only(&["git.test:8443"])));
        assert!(!registry.is_for_all_repositories(&everywhere, &all));
    }

    #[test]
    fn a_host_is_a_host_and_nothing_else() {
        for (given, expected) in [
            ("git.example.com", Some("git.example.com")),
            ("Git.Example.com:443", Some("git.example.com")),
            ("127.0.0.1:5000", Some("127.0.0.1:5000")),
            ("", None),
            ("https://git.example.com", None),
            ("git.example.com/", None),
            ("git.example.com/team", None),
            ("user@git.example.com", None),
            ("git.example.com:99999", None),
            ("git.example.com?x", None),
            ("git.example.com#x", None),
            ("git example.com", None),
            ("*.example.com", None),
            ("*", None),
            ("[::1]:8443", Some("[::1]:8443")),
        ] {
            let found = Usage::new(UsageKind::Checkout, given).ok().map(|usage| usage.host);
            assert_eq!(found.as_deref(), expected, "{given}");
        }
    }

    #[test]
    fn a_rule_of_a_later_version_is_not_ignored() {
        assert!(serde_json::from_str::<Policy>(r#"{"branches":["main"]}"#).is_ok());
        assert!(serde_json::from_str::<Policy>(r#"{"approvers":["ada"]}"#).is_err());
    }
}
