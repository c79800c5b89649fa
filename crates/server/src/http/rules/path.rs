//! Path variables, and their parameters in the OpenAPI document. One that is not valid, such as a malformed id, is
//! `404`.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use greenroom_app::failure::Failure;
use greenroom_app::session::Place;
use greenroom_app::step_registry::version::StepPlace;
use greenroom_domain::id::{GroupId, PipelineId, SecretId, SessionId, UserId};
use greenroom_domain::role_grant::Grantee;
use greenroom_domain::secret::is_name;
use greenroom_domain::step::StepVersion;
use greenroom_store::pipeline::PipelineName;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde::de::value::{Error, MapDeserializer};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{ObjectBuilder, Required, Type};

use crate::http::rules::early_response::EarlyResponse;

/// The pipeline in the path of a request whose token is limited to some pipelines. `pipeline_limit` has
/// checked that it is one of them. `PathParams` replaces the slug in the path with this id, so that the
/// handler uses the same pipeline even if the slug moves to another one in between.
#[derive(Clone, Copy, Debug)]
pub struct CheckedPipeline(pub PipelineId);

/// The path's variables as a struct. If the request has a [`CheckedPipeline`], `pipelineId` is replaced with
/// its id.
pub struct PathParams<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParams<T> {
    type Rejection = EarlyResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, EarlyResponse> {
        let Some(CheckedPipeline(pipeline)) = parts.extensions.get().copied() else {
            let Path(path) =
                Path::from_request_parts(parts, state).await.map_err(|_| Failure::not_found())?;
            return Ok(Self(path));
        };
        let path = Path::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let Path(variables) = path.map_err(|_| Failure::not_found())?;
        let variables = variables.into_iter().map(|(name, value)| {
            let value = if name == "pipelineId" { pipeline.to_string() } else { value };
            (name, value)
        });
        let variables: MapDeserializer<'_, _, Error> = MapDeserializer::new(variables);
        Ok(Self(T::deserialize(variables).map_err(|_| Failure::not_found())?))
    }
}

/// The organization in the path. `AuthenticatedRequest` compares it with the organization of the token, so
/// handlers do not extract it.
pub struct OrganizationPath;

impl OrganizationPath {
    pub const VARIABLE: &'static str = "orgId";
}

impl IntoParams for OrganizationPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let variable = ParameterBuilder::new()
            .name(Self::VARIABLE)
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some("Id or slug"))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)));
        vec![variable.build()]
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct PipelinePath {
    /// Id or slug
    pub pipeline_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct VersionPath {
    /// Id or slug
    pub pipeline_id: String,
    #[param(value_type = i32, minimum = 1)]
    pub version: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct EnvironmentPath {
    /// Id or slug
    pub pipeline_id: String,
    pub env_name: String,
}

impl EnvironmentPath {
    pub fn place(&self) -> Result<Place, Failure> {
        parse_place(&self.pipeline_id, &self.env_name)
    }
}

/// A lasting environment.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct LastingEnvironmentPath {
    /// Id or slug
    pub pipeline_id: String,
    pub environment_name: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct SessionPath {
    /// Id or slug
    pub pipeline_id: String,
    pub env_name: String,
    pub session_id: String,
}

impl SessionPath {
    /// Returns the environment and the session.
    pub fn parse(&self) -> Result<(Place, SessionId), Failure> {
        Ok((parse_place(&self.pipeline_id, &self.env_name)?, parse_id(&self.session_id)?))
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct DeploymentPath {
    pub deployment_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct StagePath {
    pub deployment_id: String,
    pub stage_key: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct StepPath {
    pub deployment_id: String,
    pub step_run_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct FailurePath {
    /// Equal failures of a step have the same one: `fp_…`
    pub fingerprint: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct AnalysisPath {
    pub analysis_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct FixPath {
    pub fix_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct RunnerPath {
    pub runner_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct RunnerPoolPath {
    pub pool_name: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct FreezePath {
    pub freeze_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct RegistryPath {
    pub registry_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct ForgePath {
    pub forge_name: String,
}

impl ForgePath {
    pub fn name(&self) -> Result<&str, Failure> {
        if is_name(&self.forge_name) { Ok(&self.forge_name) } else { Err(Failure::not_found()) }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct RegistryStepPath {
    pub registry_id: String,
    pub step_name: String,
}

impl RegistryStepPath {
    pub fn place(&self) -> Result<StepPlace, Failure> {
        StepPlace::new(parse_id(&self.registry_id)?, &self.step_name)
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct RegistryStepVersionPath {
    pub registry_id: String,
    pub step_name: String,
    /// Without the `v` of the tag
    pub step_version: String,
}

impl RegistryStepVersionPath {
    /// Returns the step and the version.
    pub fn parse(&self) -> Result<(StepPlace, StepVersion), Failure> {
        let place = StepPlace::new(parse_id(&self.registry_id)?, &self.step_name)?;
        Ok((place, parse_id(&self.step_version)?))
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct GroupPath {
    pub group_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct GroupMemberPath {
    pub group_id: String,
    pub user_id: String,
}

impl GroupMemberPath {
    /// Returns the group and the user.
    pub fn parse(&self) -> Result<(GroupId, UserId), Failure> {
        Ok((parse_id(&self.group_id)?, parse_id(&self.user_id)?))
    }
}

/// A group that has a grant on a pipeline.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct GroupGrantPath {
    /// Id or slug
    pub pipeline_id: String,
    pub group_id: String,
}

impl GroupGrantPath {
    pub fn parse(&self) -> Result<(PipelineName, Grantee), Failure> {
        let pipeline = PipelineName::parse(&self.pipeline_id).ok_or_else(Failure::not_found)?;
        Ok((pipeline, Grantee::Group(parse_id(&self.group_id)?)))
    }
}

/// A user who has a grant on a pipeline.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct UserGrantPath {
    /// Id or slug
    pub pipeline_id: String,
    pub user_id: String,
}

impl UserGrantPath {
    pub fn parse(&self) -> Result<(PipelineName, Grantee), Failure> {
        let pipeline = PipelineName::parse(&self.pipeline_id).ok_or_else(Failure::not_found)?;
        Ok((pipeline, Grantee::User(parse_id(&self.user_id)?)))
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct ApprovalPath {
    pub approval_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct SecretPath {
    pub secret_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct SecretVersionPath {
    pub secret_id: String,
    #[param(value_type = i32, minimum = 1)]
    pub version: String,
}

impl SecretVersionPath {
    /// Returns the secret and the version.
    pub fn parse(&self) -> Result<(SecretId, i32), Failure> {
        Ok((parse_id(&self.secret_id)?, parse_id(&self.version)?))
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct MemberPath {
    pub user_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct ServiceAccountPath {
    pub service_account_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct TrustPolicyPath {
    pub service_account_id: String,
    pub policy_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct TokenPath {
    pub token_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct EventPath {
    pub event_id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ProviderPath {
    /// The id of an OpenID provider, from the list of ways to sign in
    pub provider: String,
}

/// Parses an id; a malformed one is `404`.
pub fn parse_id<T: std::str::FromStr>(text: &str) -> Result<T, Failure> {
    text.parse().map_err(|_| Failure::not_found())
}

fn parse_place(pipeline: &str, environment: &str) -> Result<Place, Failure> {
    let pipeline = PipelineName::parse(pipeline).ok_or_else(Failure::not_found)?;
    Ok(Place { pipeline, environment: environment.to_owned() })
}
