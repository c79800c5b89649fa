//! Which caches a job may read and write. A cache that any commit can fill must not reach a deployment to
//! production. Most pipelines fill their caches in a stage without an environment, so the zone is determined
//! for the whole deployment.

use crate::definition::Definition;
use crate::deployment::Purpose;

/// Who may have written a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheZone {
    /// Only deployments of branches that every lasting environment of the pipeline allows.
    Protected,
    /// Every deployment.
    Open,
}

crate::text_enum::text_enum!(CacheZone { Protected = "protected", Open = "open" });

/// What a job may do with the caches of its pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheAccess {
    /// The zones that the job reads, the preferred one first.
    pub read: &'static [CacheZone],
    /// The zone that the job writes; `None` if it writes none.
    pub write: Option<CacheZone>,
}

/// Returns the access of a job, from the branch that its deployment names and the branch that its checkout
/// has proven.
pub fn cache_access(
    definition: &Definition,
    purpose: Purpose,
    named: Option<&str>,
    proven: Option<&str>,
) -> CacheAccess {
    match (zone_of(definition, purpose, named), proven.is_some() && proven == named) {
        (CacheZone::Protected, true) => {
            CacheAccess { read: &[CacheZone::Protected], write: Some(CacheZone::Protected) }
        }
        // The job may deploy to protected environments, so it reads only the protected zone. Its branch is
        // not proven, so it writes nothing.
        (CacheZone::Protected, false) => CacheAccess { read: &[CacheZone::Protected], write: None },
        (CacheZone::Open, _) => {
            CacheAccess { read: &[CacheZone::Protected, CacheZone::Open], write: Some(CacheZone::Open) }
        }
    }
}

/// Returns `Protected` if the deployment is of the whole pipeline and every lasting environment that one of
/// its stages deploys to allows the named branch. Stages whose `if` is false count as well: otherwise a
/// condition on the branch would let any branch write protected caches. A pipeline without such an
/// environment has nothing to protect.
fn zone_of(definition: &Definition, purpose: Purpose, named: Option<&str>) -> CacheZone {
    let Some(named) = named.filter(|_| purpose == Purpose::Pipeline) else { return CacheZone::Open };
    let mut environments = definition.deployment_stages().filter_map(|stage| stage.environment.as_deref());
    let allows = |name: &str| {
        let environment = definition.environment(name);
        environment.is_some_and(|environment| environment.branches.iter().any(|branch| branch == named))
    };
    match environments.next() {
        Some(first) if allows(first) && environments.all(allows) => CacheZone::Protected,
        _ => CacheZone::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::parse;

    const SHOP: &str = r#"
environments:
  staging: { branches: [main, develop] }
  production: { branches: [main] }
ephemeralEnvironments: { qa-1: {} }
stages:
  build: { steps: [{ image: a, run: b }] }
  stage: { environment: staging, steps: [{ image: a, run: b }] }
  release: { environment: production, if: branch == "main", steps: [{ image: a, run: b }] }
"#;

    #[test]
    fn only_a_proven_branch_of_every_lasting_environment_is_protected() {
        let definition = parse(SHOP).unwrap();
        let access = |purpose, named, proven| {
            let access = cache_access(&definition, purpose, named, proven);
            (access.read.len(), access.write)
        };
        let (protected, open) = ((1, Some(CacheZone::Protected)), (2, Some(CacheZone::Open)));
        for (purpose, named, proven, expected) in [
            (Purpose::Pipeline, Some("main"), Some("main"), protected),
            (Purpose::Pipeline, Some("main"), None, (1, None)),
            (Purpose::Pipeline, Some("main"), Some("develop"), (1, None)),
            (Purpose::Pipeline, Some("develop"), Some("develop"), open),
            (Purpose::Pipeline, Some("evil"), Some("evil"), open),
            (Purpose::Pipeline, None, None, open),
            (Purpose::Pipeline, None, Some("main"), open),
            (Purpose::Session, Some("main"), Some("main"), open),
            (Purpose::Teardown, Some("main"), Some("main"), open),
        ] {
            assert_eq!(access(purpose, named, proven), expected, "{purpose} {named:?} {proven:?}");
        }
    }

    #[test]
    fn nothing_is_protected_without_branches_for_each_environment() {
        for file in [
            "stages: { build: { steps: [{ image: a, run: b }] } }",
            "environments: { production: {} }\nstages: { release: { environment: production, steps: [{ image: a, run: b }] } }",
        ] {
            let access = cache_access(&parse(file).unwrap(), Purpose::Pipeline, Some("main"), Some("main"));
            assert_eq!(access.write, Some(CacheZone::Open), "{file}");
        }
    }
}
