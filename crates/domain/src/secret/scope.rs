//! The scope of a secret: for which deployments it is meant.

use crate::definition::NO_ENVIRONMENT;
use crate::id::PipelineId;
use crate::runner_pool::{is_environment, names_environment};
use crate::text_enum::text_enum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScopeKind {
    Organization,
    Pipeline,
    Environment,
}

text_enum!(ScopeKind {
    Organization = "organization",
    Pipeline = "pipeline",
    Environment = "environment",
});

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretScope {
    Organization,
    Pipeline(PipelineId),
    /// An environment of a pipeline, lasting or ephemeral, by its name; or the ephemeral environments of a
    /// template, such as `pr-*`.
    Environment(PipelineId, String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidScope {
    #[error("means something only within a pipeline: name `pipelineId` as well")]
    EnvironmentWithoutPipeline,
    #[error("`{0}` is neither an environment's name nor a template such as `pr-*`")]
    EnvironmentName(String),
}

impl SecretScope {
    pub fn new(pipeline: Option<PipelineId>, environment: Option<String>) -> Result<Self, InvalidScope> {
        match (pipeline, environment) {
            (None, None) => Ok(Self::Organization),
            (Some(pipeline), None) => Ok(Self::Pipeline(pipeline)),
            (None, Some(_)) => Err(InvalidScope::EnvironmentWithoutPipeline),
            (Some(_), Some(name)) if name == NO_ENVIRONMENT || !is_environment(&name) => {
                Err(InvalidScope::EnvironmentName(name))
            }
            (Some(pipeline), Some(name)) => Ok(Self::Environment(pipeline, name)),
        }
    }

    pub const fn kind(&self) -> ScopeKind {
        match self {
            Self::Organization => ScopeKind::Organization,
            Self::Pipeline(_) => ScopeKind::Pipeline,
            Self::Environment(..) => ScopeKind::Environment,
        }
    }

    pub const fn pipeline(&self) -> Option<PipelineId> {
        match self {
            Self::Organization => None,
            Self::Pipeline(pipeline) | Self::Environment(pipeline, _) => Some(*pipeline),
        }
    }

    pub fn environment(&self) -> Option<&str> {
        match self {
            Self::Environment(_, name) => Some(name),
            _ => None,
        }
    }

    /// Returns how narrow the scope is, if it covers this pipeline and environment; `None` if it does not. A
    /// name is narrower than a template, and a template with a longer prefix is narrower than one with a
    /// shorter prefix.
    pub(super) fn narrowness(&self, pipeline: PipelineId, environment: &str) -> Option<(u8, usize)> {
        if self.pipeline().is_some_and(|own| own != pipeline) {
            return None;
        }
        match self {
            Self::Organization => Some((0, 0)),
            Self::Pipeline(_) => Some((1, 0)),
            Self::Environment(_, name) if name == environment => Some((3, 0)),
            Self::Environment(_, name) => names_environment(name, environment).then_some((2, name.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_environment_has_a_name_and_belongs_to_a_pipeline() {
        let pipeline = Some(PipelineId::from(Uuid::from_u128(1)));
        let environment = |name: &str| Some(name.to_owned());
        assert_eq!(SecretScope::new(None, environment("qa")), Err(InvalidScope::EnvironmentWithoutPipeline));
        for wrong in ["", "none", "*", "QA", "a b"] {
            let expected = InvalidScope::EnvironmentName(wrong.to_owned());
            assert_eq!(SecretScope::new(pipeline, environment(wrong)), Err(expected));
        }
        for valid in ["qa", "production", "pr-*"] {
            let scope = SecretScope::new(pipeline, environment(valid)).unwrap();
            assert_eq!((scope.kind(), scope.environment()), (ScopeKind::Environment, Some(valid)));
        }
    }
}
