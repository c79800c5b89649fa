//! The reach of a freeze: in which environments of which pipelines it holds.

use crate::definition::NO_ENVIRONMENT;
use crate::id::PipelineId;
use crate::slug::Slug;

/// The most pipelines, and the most environments, that a freeze names.
pub const MAX_ENTRIES: usize = 100;

/// An empty list means all. So removing the last entry never lifts a freeze.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    pipelines: Vec<PipelineId>,
    /// Names of lasting environments.
    environments: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReach {
    #[error("must have {MAX_ENTRIES} entries at most; an empty list means all")]
    Count(&'static str),
    #[error("`{0}` is not the name of an environment")]
    Environment(String),
}

impl InvalidReach {
    /// Returns the place of the mistake in a request.
    pub const fn pointer(&self) -> &'static str {
        match self {
            Self::Count(pointer) => pointer,
            Self::Environment(_) => "/environments",
        }
    }
}

impl Reach {
    /// Checks the entries and sorts them. The result depends on what is named, not on its order.
    pub fn new(mut pipelines: Vec<PipelineId>, mut environments: Vec<String>) -> Result<Self, InvalidReach> {
        if pipelines.len() > MAX_ENTRIES {
            return Err(InvalidReach::Count("/pipelines"));
        }
        if environments.len() > MAX_ENTRIES {
            return Err(InvalidReach::Count("/environments"));
        }
        let is_name = |name: &str| name != NO_ENVIRONMENT && name.parse::<Slug>().is_ok();
        if let Some(wrong) = environments.iter().find(|name| !is_name(name)) {
            return Err(InvalidReach::Environment(wrong.clone()));
        }
        pipelines.sort_unstable();
        pipelines.dedup();
        environments.sort_unstable();
        environments.dedup();
        Ok(Self { pipelines, environments })
    }

    /// Returns the named pipelines; empty: all.
    pub fn pipelines(&self) -> &[PipelineId] {
        &self.pipelines
    }

    /// Returns the named environments; empty: all lasting ones.
    pub fn environments(&self) -> &[String] {
        &self.environments
    }

    /// Returns whether the freeze holds in a lasting environment.
    pub fn covers(&self, pipeline: PipelineId, environment: &str) -> bool {
        let names_pipeline = self.pipelines.is_empty() || self.pipelines.contains(&pipeline);
        let names_environment =
            self.environments.is_empty() || self.environments.iter().any(|name| name == environment);
        names_pipeline && names_environment
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn pipeline(number: u128) -> PipelineId {
        PipelineId::from(Uuid::from_u128(number))
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn an_empty_list_means_all() {
        let table: [(&[u128], &[&str], [bool; 4]); 4] = [
            (&[], &[], [true, true, true, true]),
            (&[1], &[], [true, true, false, false]),
            (&[], &["production"], [true, false, true, false]),
            (&[1], &["production"], [true, false, false, false]),
        ];
        for (pipelines, environments, expected) in table {
            let reach = Reach::new(pipelines.iter().copied().map(pipeline).collect(), names(environments));
            let reach = reach.unwrap();
            let places = [(1, "production"), (1, "staging"), (2, "production"), (2, "staging")];
            let covered = places.map(|(number, environment)| reach.covers(pipeline(number), environment));
            assert_eq!(covered, expected, "{pipelines:?} {environments:?}");
        }
    }

    #[test]
    fn entries_are_sorted_and_limited() {
        let reach = Reach::new(vec![pipeline(2), pipeline(1), pipeline(2)], names(&["b", "a", "b"])).unwrap();
        assert_eq!(reach.pipelines(), [pipeline(1), pipeline(2)]);
        assert_eq!(reach.environments(), ["a", "b"]);
        let many = (0..=MAX_ENTRIES as u128).map(pipeline).collect();
        assert_eq!(Reach::new(many, Vec::new()), Err(InvalidReach::Count("/pipelines")));
        let many = (0..=MAX_ENTRIES).map(|number| format!("e{number}")).collect();
        assert_eq!(Reach::new(Vec::new(), many), Err(InvalidReach::Count("/environments")));
        for wrong in ["", "Production", "pr-*", "none", "a b"] {
            let refused = Reach::new(Vec::new(), names(&[wrong]));
            assert_eq!(refused, Err(InvalidReach::Environment(wrong.to_owned())));
        }
    }
}
