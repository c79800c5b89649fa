//! Which caches a job may read and write. A cache that any commit can fill must not reach a lasting environment that only
//! some branches may reach. A stage without an environment can pass on what it has restored, as an artifact, so the
//! access is the same for all jobs of a deployment. It depends on the environments to which the deployment can deploy and
//! on what was proven, never on the branch that its starter named:
//!
//! | Deployment                                                    | reads                   | writes                 |
//! |---------------------------------------------------------------|-------------------------|------------------------|
//! | of the pipeline; an environment that it deploys to has `branches` | `protected`         | `protected`, if each such environment allows the proven branch |
//! | of the pipeline; no such environment has `branches`           | `protected`, `open`     | `open`                 |
//! | in a session, or a teardown                                   | all, `session` last     | `session`              |

use crate::definition::{Definition, Environment};
use crate::deployment::Purpose;

/// Who may have written a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheZone {
    /// Only deployments of the pipeline, of commits on branches that its lasting environments allow.
    Protected,
    /// Every deployment of the pipeline, which deploys to no environment with `branches`.
    Open,
    /// Every session.
    Session,
}

crate::text_enum::text_enum!(CacheZone { Protected = "protected", Open = "open", Session = "session" });

/// What a job may do with the caches of its pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheAccess {
    /// The zones that the job reads, the preferred one first.
    pub read: &'static [CacheZone],
    /// The zone that the job writes; `None` if it writes none.
    pub write: Option<CacheZone>,
}

/// Returns the access of a job. `proven` is the branch that its checkout has proven. Without a repository nothing is
/// checked out, so environments can't restrict branches.
pub fn cache_access(
    definition: &Definition,
    purpose: Purpose,
    has_repository: bool,
    proven: Option<&str>,
) -> CacheAccess {
    if purpose != Purpose::Pipeline {
        return CacheAccess {
            read: &[CacheZone::Protected, CacheZone::Open, CacheZone::Session],
            write: Some(CacheZone::Session),
        };
    }
    let restricted: Vec<_> = restricted_environments(definition).filter(|_| has_repository).collect();
    if restricted.is_empty() {
        return CacheAccess { read: &[CacheZone::Protected, CacheZone::Open], write: Some(CacheZone::Open) };
    }
    let allow = |branch: &str| {
        restricted.iter().all(|environment| environment.branches.iter().any(|allowed| allowed == branch))
    };
    let write = proven.is_some_and(allow).then_some(CacheZone::Protected);
    CacheAccess { read: &[CacheZone::Protected], write }
}

/// Returns the environments with `branches` to which a deployment of the pipeline can deploy. Stages whose `if` is false
/// count as well: a retry with a new version of the definition may run them.
fn restricted_environments(definition: &Definition) -> impl Iterator<Item = &Environment> {
    let names = definition.deployment_stages().filter_map(|stage| stage.environment.as_deref());
    let environments = names.filter_map(|name| definition.environment(name));
    environments.filter(|environment| !environment.branches.is_empty())
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
