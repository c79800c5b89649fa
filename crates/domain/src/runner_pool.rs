//! Runner pools: which jobs their runners take, and which networks the steps of these jobs may reach.

use crate::definition::NO_ENVIRONMENT;
use crate::deployment::Purpose;
use crate::id::PipelineId;
use crate::slug::Slug;
use crate::text_enum::text_enum;
use crate::token_grant::{MAX_PIPELINES, PipelineLimit};

/// The network of the steps that a pool's runners execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    /// No network.
    None,
    /// Everything that the runner's machine reaches.
    Bridge,
    /// The machine's own network.
    Host,
}

text_enum!(Network { None = "none", Bridge = "bridge", Host = "host" });

/// The maximum of environments that a pool can be restricted to.
pub const MAX_ENVIRONMENTS: usize = 100;

/// Which jobs a pool takes. By default it takes all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restriction {
    pub pipelines: PipelineLimit,
    /// Names, templates (`pr-*`), or `none` for stages that deploy to no environment; `None`: any.
    pub environments: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRestriction {
    #[error("must name 1 to {MAX_PIPELINES} pipelines; null for all of them")]
    PipelineCount,
    #[error("must name 1 to {MAX_ENVIRONMENTS} environments; null for all of them")]
    EnvironmentCount,
    #[error("`{0}` is neither an environment's name, nor a template such as `pr-*`, nor `none`")]
    EnvironmentName(String),
    #[error("means something only within a pipeline: name `pipelines` as well")]
    EnvironmentsWithoutPipelines,
}

/// Why a pool does not take a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    Pipeline,
    Environment,
}

impl Restriction {
    /// `None` means all. An empty list is rejected, because removing the last entry is not meant to open the
    /// pool.
    pub fn new(
        pipelines: Option<Vec<PipelineId>>,
        environments: Option<Vec<String>>,
    ) -> Result<Self, InvalidRestriction> {
        if pipelines.as_ref().is_some_and(|named| !(1..=MAX_PIPELINES).contains(&named.len())) {
            return Err(InvalidRestriction::PipelineCount);
        }
        if let Some(named) = &environments {
            if !(1..=MAX_ENVIRONMENTS).contains(&named.len()) {
                return Err(InvalidRestriction::EnvironmentCount);
            }
            if let Some(wrong) = named.iter().find(|name| !is_environment(name)) {
                return Err(InvalidRestriction::EnvironmentName(wrong.clone()));
            }
            if pipelines.is_none() {
                return Err(InvalidRestriction::EnvironmentsWithoutPipelines);
            }
        }
        let environments = environments.map(|mut named| {
            named.sort_unstable();
            named.dedup();
            named
        });
        Ok(Self { pipelines: PipelineLimit::new(pipelines), environments })
    }

    /// Returns why the pool does not take a job of this pipeline that deploys to this environment; `None` if
    /// it does.
    pub fn refuses(&self, pipeline: PipelineId, environment: &str) -> Option<NotTaken> {
        if !self.pipelines.contains(pipeline) {
            return Some(NotTaken::Pipeline);
        }
        let named = self.environments.as_ref()?;
        let is_named = named.iter().any(|entry| names_environment(entry, environment));
        if is_named { None } else { Some(NotTaken::Environment) }
    }

    /// Returns whether the other pool takes all jobs that this one takes.
    pub fn is_within(&self, other: &Self) -> bool {
        let environments = match (&self.environments, &other.environments) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(others)) => {
                own.iter().all(|entry| others.iter().any(|other| covers_environment(other, entry)))
            }
        };
        environments && self.pipelines.is_within(&other.pipelines)
    }
}

/// Returns the environment that a job deploys to: the ephemeral one of its session, or the lasting one that
/// its stage names. `none` if there is neither.
pub fn target_environment<'a>(
    purpose: Purpose,
    ephemeral: Option<&'a str>,
    of_stage: Option<&'a str>,
) -> &'a str {
    let target = match purpose {
        Purpose::Pipeline => of_stage,
        Purpose::Session | Purpose::Teardown => ephemeral,
    };
    target.unwrap_or(NO_ENVIRONMENT)
}

/// Returns whether an entry, a name or a template such as `pr-*`, covers an environment.
pub(crate) fn names_environment(entry: &str, environment: &str) -> bool {
    match entry.strip_suffix('*') {
        Some(prefix) => environment.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()),
        None => entry == environment,
    }
}

/// Returns whether an entry names all environments that the other entry names.
fn covers_environment(entry: &str, other: &str) -> bool {
    match (entry.strip_suffix('*'), other.strip_suffix('*')) {
        (Some(prefix), Some(of_other)) => of_other.starts_with(prefix),
        (_, None) => names_environment(entry, other),
        (None, Some(_)) => false,
    }
}

pub(crate) fn is_environment(text: &str) -> bool {
    match text.strip_suffix('*') {
        // The star matches at least one character of a name.
        Some(prefix) => !prefix.is_empty() && format!("{prefix}x").parse::<Slug>().is_ok(),
        None => text == NO_ENVIRONMENT || text.parse::<Slug>().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn id(number: u128) -> PipelineId {
        PipelineId::from(Uuid::from_u128(number))
    }

    fn restriction(pipelines: &[u128], environments: Option<&[&str]>) -> Restriction {
        let environments =
            environments.map(|named| named.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        Restriction::new(Some(pipelines.iter().copied().map(id).collect()), environments).unwrap()
    }

    #[test]
    fn a_pool_takes_only_jobs_within_its_restriction() {
        let only_one = restriction(&[1], None);
        let production = restriction(&[1], Some(&["production", "pr-*"]));
        let nowhere = restriction(&[1], Some(&["none"]));
        use NotTaken::{Environment, Pipeline};
        for (pool, pipeline, environment, expected) in [
            (&Restriction::default(), 2, "qa", None),
            (&only_one, 1, "qa", None),
            (&only_one, 1, "none", None),
            (&only_one, 2, "qa", Some(Pipeline)),
            (&production, 1, "production", None),
            (&production, 1, "pr-7", None),
            (&production, 1, "pr-", Some(Environment)),
            (&production, 1, "production-2", Some(Environment)),
            (&production, 1, "none", Some(Environment)),
            (&production, 2, "production", Some(Pipeline)),
            (&nowhere, 1, "none", None),
            (&nowhere, 1, "qa", Some(Environment)),
        ] {
            assert_eq!(
                pool.refuses(id(pipeline), environment),
                expected,
                "{pool:?} {pipeline} {environment}"
            );
        }
    }

    /// One is within another exactly if there is no job that shows the contrary.
    #[test]
    fn a_restriction_is_within_another_if_that_takes_all_of_its_jobs() {
        let environments: [Option<&[&str]>; 9] = [
            None,
            Some(&["qa"]),
            Some(&["none"]),
            Some(&["qa", "production"]),
            Some(&["pr-*"]),
            Some(&["p*"]),
            Some(&["pr-7"]),
            Some(&["p*", "qa"]),
            Some(&["pr-*", "production"]),
        ];
        let pipelines: [&[u128]; 3] = [&[1], &[2], &[1, 2]];
        let mut pools = vec![Restriction::default()];
        for named in pipelines {
            pools.extend(environments.map(|environments| restriction(named, environments)));
        }
        let targets = ["none", "qa", "production", "pr-7", "pr-8", "px", "other"];
        for (one, other) in pools.iter().flat_map(|one| pools.iter().map(move |other| (one, other))) {
            let takes_more = (1..=3).flat_map(|number| targets.map(|target| (id(number), target))).any(
                |(pipeline, target)| {
                    one.refuses(pipeline, target).is_none() && other.refuses(pipeline, target).is_some()
                },
            );
            assert_eq!(one.is_within(other), !takes_more, "{one:?} {other:?}");
        }
    }

    #[test]
    fn a_restriction_names_something_and_environments_only_of_pipelines() {
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let one = || Some(vec![id(1)]);
        use InvalidRestriction::{EnvironmentCount, EnvironmentsWithoutPipelines, PipelineCount};
        for (pipelines, environments, expected) in [
            (Some(vec![]), None, PipelineCount),
            (Some(vec![id(1); 101]), None, PipelineCount),
            (one(), Some(vec![]), EnvironmentCount),
            (None, names(&["production"]), EnvironmentsWithoutPipelines),
        ] {
            assert_eq!(Restriction::new(pipelines, environments), Err(expected));
        }
        for wrong in ["", "*", "Production", "pr-*-x", "a b", "-*"] {
            let found = Restriction::new(one(), names(&[wrong]));
            assert_eq!(found, Err(InvalidRestriction::EnvironmentName(wrong.to_owned())));
        }
        let sorted = Restriction::new(Some(vec![id(2), id(1), id(2)]), names(&["qa", "pr-*", "qa"])).unwrap();
        assert_eq!(sorted, restriction(&[1, 2], Some(&["pr-*", "qa"])));
    }

    #[test]
    fn in_a_session_a_job_deploys_to_its_ephemeral_environment_whatever_the_stage_names() {
        for (purpose, ephemeral, of_stage, expected) in [
            (Purpose::Pipeline, None, Some("production"), "production"),
            (Purpose::Pipeline, None, None, "none"),
            (Purpose::Session, Some("qa-1"), Some("production"), "qa-1"),
            (Purpose::Teardown, Some("qa-1"), None, "qa-1"),
            (Purpose::Session, None, Some("production"), "none"),
        ] {
            assert_eq!(target_environment(purpose, ephemeral, of_stage), expected);
        }
    }
}
