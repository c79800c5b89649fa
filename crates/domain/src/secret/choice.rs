//! Which secret a step gets: the one with the narrowest scope, if its policy allows it. A narrower secret that
//! is denied does not fall back to a broader one.

use std::cmp::Reverse;

use super::policy::{Policy, Usage};
use super::scope::SecretScope;
use crate::deployment::Reason;
use crate::id::{OrganizationId, PipelineId, SecretId};
use crate::repository_pattern::{RepositoryPath, RepositoryPattern};
use crate::runner_pool::names_environment;
use crate::text_enum::text_enum;

/// Where a step runs.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub pipeline: PipelineId,
    /// The environment that the stage deploys to, or `none`.
    pub environment: &'a str,
    pub pool: &'a str,
    pub branch: Branch<'a>,
}

/// The branch of a deployment's commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch<'a> {
    /// The checkout has proven it; `None` if nothing was proven, as always without a repository.
    Proven(Option<&'a str>),
    /// The checkout is still to come. The deployment may name a branch; if it names none, the one that will be
    /// proven is not determined yet.
    Expected(Option<&'a str>),
}

/// A secret with the name that a step uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub id: SecretId,
    pub scope: SecretScope,
    pub policy: Policy,
    pub usage: Option<Usage>,
}

/// The rule that denies a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Pipelines,
    Environments,
    Pools,
    Branches,
    /// The credential is for other repositories.
    Repositories,
    /// The secret is for the platform itself.
    Usage,
}

text_enum!(Rule {
    Pipelines = "pipelines",
    Environments = "environments",
    Pools = "pools",
    Branches = "branches",
    Repositories = "repositories",
    Usage = "use",
});

/// Why a step does not get a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no secret of this name whose scope covers the step.
    Missing,
    Denied(SecretId, Rule),
}

/// Chooses among the secrets with the name that a step uses.
pub fn choose<'a>(
    place: &Place<'_>,
    candidates: impl IntoIterator<Item = &'a Candidate>,
) -> Result<&'a Candidate, Refusal> {
    let narrowest = candidates
        .into_iter()
        .filter_map(|candidate| {
            Some((candidate.scope.narrowness(place.pipeline, place.environment)?, candidate))
        })
        .max_by_key(|(narrowness, _)| *narrowness);
    let (_, chosen) = narrowest.ok_or(Refusal::Missing)?;
    match denied_by(chosen, place) {
        Some(rule) => Err(Refusal::Denied(chosen.id, rule)),
        None => Ok(chosen),
    }
}

/// Chooses among the credentials of the platform for one use. Returns `None` if there is none. `repository` is the one that
/// is fetched, if it is known.
///
/// Of those whose `repositories` it matches, it is the one with the narrowest scope, then the one with the most specific
/// pattern, then the oldest. If all of them are for other repositories, the narrowest one is denied.
pub fn choose_credential<'a>(
    place: &Place<'_>,
    repository: Option<&RepositoryPath>,
    candidates: impl IntoIterator<Item = &'a Candidate>,
) -> Result<Option<&'a Candidate>, Refusal> {
    let narrowest = candidates
        .into_iter()
        .filter_map(|candidate| {
            let narrowness = candidate.scope.narrowness(place.pipeline, place.environment)?;
            let specificity = specificity(&candidate.policy, repository);
            Some(((specificity.is_some(), narrowness, specificity, Reverse(candidate.id)), candidate))
        })
        .max_by_key(|(order, _)| *order);
    let Some(((is_for_repository, ..), chosen)) = narrowest else { return Ok(None) };
    if !is_for_repository {
        return Err(Refusal::Denied(chosen.id, Rule::Repositories));
    }
    match denied_by_policy(&chosen.policy, place) {
        Some(rule) => Err(Refusal::Denied(chosen.id, rule)),
        None => Ok(Some(chosen)),
    }
}

/// Returns how specifically a credential names the repository: 0 if it is for all of its host. `None` if it is for others.
fn specificity(policy: &Policy, repository: Option<&RepositoryPath>) -> Option<usize> {
    let Some(patterns) = &policy.repositories else { return Some(0) };
    RepositoryPattern::most_specific(patterns, repository?)
}

fn denied_by(secret: &Candidate, place: &Place<'_>) -> Option<Rule> {
    if secret.usage.is_some() { Some(Rule::Usage) } else { denied_by_policy(&secret.policy, place) }
}

fn denied_by_policy(policy: &Policy, place: &Place<'_>) -> Option<Rule> {
    // `repositories` takes part in the choice.
    let Policy { pipelines, environments, pools, branches, repositories: _ } = policy;
    if pipelines.as_ref().is_some_and(|named| !named.contains(&place.pipeline)) {
        return Some(Rule::Pipelines);
    }
    if let Some(named) = environments
        && !named.iter().any(|entry| names_environment(entry, place.environment))
    {
        return Some(Rule::Environments);
    }
    if pools.as_ref().is_some_and(|named| !named.iter().any(|pool| pool == place.pool)) {
        return Some(Rule::Pools);
    }
    let branch = match place.branch {
        Branch::Proven(branch) => branch,
        // Decided at the step's start, when the branch was proven.
        Branch::Expected(None) => return None,
        Branch::Expected(named) => named,
    };
    let is_named = |named: &Vec<String>| branch.is_some_and(|branch| named.iter().any(|name| name == branch));
    if branches.as_ref().is_some_and(|named| !is_named(named)) {
        return Some(Rule::Branches);
    }
    None
}

impl Refusal {
    /// Returns whether a rule of this secret denies it.
    pub fn is_of(&self, secret: SecretId) -> bool {
        matches!(self, Self::Denied(denied, _) if *denied == secret)
    }

    /// Returns the reason for which the stage fails.
    pub const fn reason(&self) -> Reason {
        match self {
            Self::Missing => Reason::SecretMissing,
            Self::Denied(..) => Reason::SecretDenied,
        }
    }

    /// Explains the refusal, and what to do. `name` is the name that the step uses.
    pub fn detail(&self, name: &str, organization: OrganizationId, place: &Place<'_>) -> String {
        let Place { pipeline, environment, pool, branch } = place;
        let (id, rule) = match self {
            Self::Missing => {
                return format!(
                    "there is no secret `{name}` for this stage; create it by POST /api/v1/organizations/{organization}/secrets \
                     with {{\"name\": \"{name}\", \"pipelineId\": \"{pipeline}\", \"value\": …}}, and retry the stage"
                );
            }
            Self::Denied(id, rule) => (id, rule),
        };
        let found = match rule {
            Rule::Pipelines => format!("it does not name this pipeline ({pipeline})"),
            Rule::Environments => format!("it does not name the environment `{environment}`"),
            Rule::Pools => format!("it does not name the pool `{pool}`"),
            Rule::Branches => match branch {
                Branch::Proven(Some(name)) | Branch::Expected(Some(name)) => {
                    format!("it does not name the branch `{name}`")
                }
                _ => "no branch was proven for this commit: name one when you deploy".to_owned(),
            },
            Rule::Repositories => {
                "it does not name the repository that is fetched, or the runner is too old to state which one that is".to_owned()
            }
            Rule::Usage => "it is for checkouts or images only, and no step gets it".to_owned(),
        };
        format!("the secret `{name}` ({id}) is denied by its rule `{rule}`: {found}")
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::super::policy::UsageKind;
    use super::*;

    const ONE: u128 = 1;
    const OTHER: u128 = 2;

    fn pipeline(number: u128) -> PipelineId {
        PipelineId::from(Uuid::from_u128(number))
    }

    fn secret(number: u128, scope: SecretScope) -> Candidate {
        let id = SecretId::from(Uuid::from_u128(number));
        Candidate { id, scope, policy: Policy::default(), usage: None }
    }

    fn in_environment(name: &str) -> SecretScope {
        SecretScope::Environment(pipeline(ONE), name.to_owned())
    }

    fn place(environment: &str) -> Place<'_> {
        Place { pipeline: pipeline(ONE), environment, pool: "default", branch: Branch::Proven(Some("main")) }
    }

    fn names(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn the_narrowest_scope_wins() {
        let all = [
            secret(10, SecretScope::Organization),
            secret(11, SecretScope::Pipeline(pipeline(ONE))),
            secret(12, in_environment("pr-*")),
            secret(13, in_environment("pr-7*")),
            secret(14, in_environment("pr-77")),
            secret(15, SecretScope::Pipeline(pipeline(OTHER))),
            secret(16, SecretScope::Environment(pipeline(OTHER), "qa".to_owned())),
        ];
        for (environment, expected) in
            [("none", 11), ("qa", 11), ("pr-1", 12), ("pr-", 11), ("pr-78", 13), ("pr-77", 14)]
        {
            // Whatever the order in which they were read.
            let found = choose(&place(environment), &all).unwrap();
            let reversed = choose(&place(environment), all.iter().rev()).unwrap();
            assert_eq!((found.id.uuid().as_u128(), found), (expected, reversed), "{environment}");
        }
        assert_eq!(choose(&place("qa"), &all[5..]), Err(Refusal::Missing));
        assert_eq!(choose(&place("qa"), &all[..0]), Err(Refusal::Missing));
    }

    #[test]
    fn all_rules_must_hold() {
        let with = |policy: Policy| Candidate { policy, ..secret(10, SecretScope::Organization) };
        let one = Some(vec![pipeline(ONE)]);
        let all_hold = Policy {
            pipelines: one.clone(),
            environments: names(&["qa", "pr-*"]),
            pools: names(&["default"]),
            branches: names(&["main", "hotfix"]),
            repositories: None,
        };
        let denied = |policy: Policy, place: &Place<'_>| match choose(place, [&with(policy)]) {
            Ok(_) => None,
            Err(Refusal::Denied(_, rule)) => Some(rule),
            Err(Refusal::Missing) => panic!("the scope covers it"),
        };
        assert_eq!(denied(all_hold.clone(), &place("qa")), None);
        assert_eq!(denied(all_hold.clone(), &place("pr-3")), None);
        assert_eq!(denied(all_hold.clone(), &place("production")), Some(Rule::Environments));
        let other = Policy { pipelines: Some(vec![pipeline(OTHER)]), ..all_hold.clone() };
        assert_eq!(denied(other, &place("qa")), Some(Rule::Pipelines));
        let pool = Policy { pools: names(&["production"]), ..all_hold.clone() };
        assert_eq!(denied(pool, &place("qa")), Some(Rule::Pools));
        for (branch, expected) in [
            (Branch::Proven(Some("hotfix")), None),
            (Branch::Proven(Some("feature")), Some(Rule::Branches)),
            (Branch::Proven(None), Some(Rule::Branches)),
            (Branch::Expected(Some("main")), None),
            (Branch::Expected(Some("feature")), Some(Rule::Branches)),
            (Branch::Expected(None), None),
        ] {
            let place = Place { branch, ..place("qa") };
            assert_eq!(denied(all_hold.clone(), &place), expected, "{branch:?}");
        }
    }

    #[test]
    fn a_denied_secret_does_not_fall_back_to_a_broader_one() {
        let policy = Policy { branches: names(&["release"]), ..Policy::default() };
        let narrow = Candidate { policy, ..secret(11, SecretScope::Pipeline(pipeline(ONE))) };
        let all = [secret(10, SecretScope::Organization), narrow];
        assert_eq!(choose(&place("qa"), &all), Err(Refusal::Denied(all[1].id, Rule::Branches)));
    }

    #[test]
    fn a_credential_is_chosen_by_scope_and_policy() {
        let everywhere = secret(10, SecretScope::Organization);
        let (older, newer) = (
            secret(11, SecretScope::Pipeline(pipeline(ONE))),
            secret(12, SecretScope::Pipeline(pipeline(ONE))),
        );
        let chosen = |all: &[&Candidate]| {
            let found = choose_credential(&place("qa"), None, all.iter().copied());
            found.map(|found| found.map(|candidate| candidate.id.uuid().as_u128()))
        };
        assert_eq!(chosen(&[]), Ok(None));
        assert_eq!(chosen(&[&everywhere]), Ok(Some(10)));
        assert_eq!(chosen(&[&newer, &everywhere, &older]), Ok(Some(11)));
        let policy = Policy { pools: names(&["other"]), ..Policy::default() };
        let denied = Candidate { policy, ..older.clone() };
        assert_eq!(chosen(&[&everywhere, &denied]), Err(Refusal::Denied(older.id, Rule::Pools)));
    }

    #[test]
    fn a_credential_is_chosen_by_repository() {
        let of = |id, scope, patterns: &[&str]| {
            let patterns = patterns.iter().map(|text| RepositoryPattern::new(text).unwrap());
            let policy = Policy { repositories: Some(patterns.collect()), ..Policy::default() };
            Candidate { policy, ..secret(id, scope) }
        };
        let own = || SecretScope::Pipeline(pipeline(ONE));
        let acme = of(10, SecretScope::Organization, &["git.test/acme", "git.test/oss"]);
        let shop = of(11, SecretScope::Organization, &["git.test/acme/shop"]);
        let any = secret(12, SecretScope::Organization);
        let web = of(13, own(), &["git.test/acme/web"]);
        let all = [&acme, &shop, &any, &web];
        let chosen = |address: &str, candidates: &[&Candidate]| {
            let path = RepositoryPath::parse(address);
            let found = choose_credential(&place("qa"), path.as_ref(), candidates.iter().copied());
            found.map(|found| found.map(|candidate| candidate.id.uuid().as_u128()))
        };
        for (address, expected) in [
            ("https://git.test/acme/shop", 11),
            ("https://git.test/acme/other", 10),
            ("https://git.test/evil/shop", 12),
            // The pipeline's own credential comes first where it is for this repository.
            ("https://git.test/acme/web", 13),
            ("not known", 12),
        ] {
            assert_eq!(chosen(address, &all), Ok(Some(expected)), "{address}");
        }
        let own_for_all = secret(14, own());
        assert_eq!(chosen("https://git.test/acme/shop", &[&shop, &own_for_all]), Ok(Some(14)));
        for address in ["https://git.test/evil/shop", "https://evil.test/acme/shop", "not known"] {
            let denied = |secret: &Candidate| Err(Refusal::Denied(secret.id, Rule::Repositories));
            assert_eq!(chosen(address, &[&acme, &shop]), denied(&acme), "{address}");
            assert_eq!(chosen(address, &[&acme, &web]), denied(&web), "{address}");
        }
    }

    #[test]
    fn no_step_gets_a_credential_of_the_platform() {
        let usage = Usage { kind: UsageKind::Checkout, host: "git.example.com".to_owned() };
        let credential = Candidate { usage: Some(usage), ..secret(10, SecretScope::Pipeline(pipeline(ONE))) };
        assert_eq!(choose(&place("qa"), [&credential]), Err(Refusal::Denied(credential.id, Rule::Usage)));
    }
}
