//! The claims of an id token.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::definition::NO_ENVIRONMENT;
use crate::deployment::Purpose;
use crate::id::{DeploymentId, OrganizationId, PipelineId, SessionId, UserId};
use crate::runner_pool::target_environment;

/// The environment in `sub` of a step without one. No environment can have this name.
const NO_SUBJECT_ENVIRONMENT: &str = "-";

/// What is known about a step that requests a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepIdentity {
    pub organization_id: OrganizationId,
    pub organization: String,
    pub pipeline_id: PipelineId,
    pub pipeline: String,
    pub environment: Option<TokenEnvironment>,
    pub deployment_id: DeploymentId,
    pub stage: String,
    pub attempt: u32,
    pub session_id: Option<SessionId>,
    pub commit: String,
    pub runner_pool: String,
    /// Who created the deployment.
    pub actor: UserId,
    /// The kind of token that they used, if it is known.
    pub actor_kind: Option<String>,
    /// The branch that the job's checkout has proven the commit to be on.
    pub proven_branch: Option<String>,
}

/// The environment that a step deploys to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenEnvironment {
    pub name: String,
    /// The template that it was made of, such as `pr-*`.
    pub template: Option<String>,
}

impl TokenEnvironment {
    /// Returns the environment that a job deploys to: the ephemeral one of its session, with its template, or
    /// the lasting one that its stage names.
    pub fn of_job(purpose: Purpose, ephemeral: Option<&Self>, of_stage: Option<&str>) -> Option<Self> {
        let name = target_environment(purpose, ephemeral.map(|ephemeral| ephemeral.name.as_str()), of_stage);
        let template = match purpose {
            Purpose::Pipeline => None,
            Purpose::Session | Purpose::Teardown => {
                ephemeral.and_then(|ephemeral| ephemeral.template.clone())
            }
        };
        (name != NO_ENVIRONMENT).then(|| Self { name: name.to_owned(), template })
    }
}

/// How long a token is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub issued_at: Timestamp,
    pub lifetime: Duration,
}

/// The claims of a token, by the names that relying parties see. They can't change their meaning: policies of
/// clouds depend on them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claims {
    iss: String,
    sub: String,
    aud: String,
    iat: i64,
    nbf: i64,
    exp: i64,
    organization_id: OrganizationId,
    organization: String,
    pipeline_id: PipelineId,
    pipeline: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<String>,
    deployment_id: DeploymentId,
    stage: String,
    attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
    commit: String,
    runner_pool: String,
    actor: UserId,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor_kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
}

impl StepIdentity {
    /// Returns the subject. It has ids instead of slugs, which can pass on to another pipeline, and no commit,
    /// because some clouds compare only the whole subject. None of its parts can contain a colon.
    pub fn subject(&self) -> String {
        let environment = self.environment.as_ref().map_or(NO_SUBJECT_ENVIRONMENT, |environment| {
            environment.template.as_deref().unwrap_or(&environment.name)
        });
        format!(
            "organization:{}:pipeline:{}:environment:{environment}",
            self.organization_id, self.pipeline_id
        )
    }

    /// Returns the claims of a token for one audience.
    pub fn claims(&self, issuer: &str, audience: &str, validity: Validity) -> Claims {
        let own = self.clone();
        let issued_at = validity.issued_at.as_second();
        let lifetime = i64::try_from(validity.lifetime.as_secs()).unwrap_or(i64::MAX);
        Claims {
            iss: issuer.to_owned(),
            sub: self.subject(),
            aud: audience.to_owned(),
            iat: issued_at,
            nbf: issued_at,
            exp: issued_at.saturating_add(lifetime),
            organization_id: own.organization_id,
            organization: own.organization,
            pipeline_id: own.pipeline_id,
            pipeline: own.pipeline,
            environment: own.environment.map(|environment| environment.name),
            deployment_id: own.deployment_id,
            stage: own.stage,
            attempt: own.attempt,
            session_id: own.session_id,
            commit: own.commit,
            runner_pool: own.runner_pool,
            actor: own.actor,
            actor_kind: own.actor_kind,
            branch: own.proven_branch,
        }
    }
}

impl Claims {
    /// When the token expires, in whole seconds.
    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_second(self.exp).unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn identity() -> StepIdentity {
        StepIdentity {
            organization_id: Uuid::from_u128(1).into(),
            organization: "acme".to_owned(),
            pipeline_id: Uuid::from_u128(2).into(),
            pipeline: "shop".to_owned(),
            environment: None,
            deployment_id: Uuid::from_u128(3).into(),
            stage: "ship".to_owned(),
            attempt: 2,
            session_id: None,
            commit: "c0ffee".to_owned(),
            runner_pool: "default".to_owned(),
            actor: Uuid::from_u128(4).into(),
            actor_kind: None,
            proven_branch: None,
        }
    }

    fn environment(name: &str, template: Option<&str>) -> TokenEnvironment {
        TokenEnvironment { name: name.to_owned(), template: template.map(str::to_owned) }
    }

    #[test]
    fn the_subject_has_ids_and_the_environment_or_its_template() {
        let start = "organization:org_00000000-0000-0000-0000-000000000001:\
                     pipeline:pip_00000000-0000-0000-0000-000000000002:environment:";
        for (environment, expected) in [
            (None, "-"),
            (Some(environment("production", None)), "production"),
            (Some(environment("pr-7", Some("pr-*"))), "pr-*"),
        ] {
            let identity = StepIdentity { environment, ..identity() };
            assert_eq!(identity.subject(), format!("{start}{expected}"));
        }
    }

    /// A stage can't gain the subject of a lasting environment in a session, nor that of an ephemeral one
    /// without it.
    #[test]
    fn the_environment_is_the_one_that_the_job_deploys_to() {
        let ephemeral = environment("pr-7", Some("pr-*"));
        let lasting = environment("production", None);
        for (purpose, own, of_stage, expected) in [
            (Purpose::Pipeline, None, Some("production"), Some(&lasting)),
            (Purpose::Pipeline, None, None, None),
            (Purpose::Pipeline, Some(&ephemeral), Some("production"), Some(&lasting)),
            (Purpose::Session, Some(&ephemeral), Some("production"), Some(&ephemeral)),
            (Purpose::Teardown, Some(&ephemeral), None, Some(&ephemeral)),
            (Purpose::Session, None, Some("production"), None),
        ] {
            assert_eq!(TokenEnvironment::of_job(purpose, own, of_stage).as_ref(), expected);
        }
    }

    #[test]
    fn claims_have_only_what_is_known() {
        let validity = Validity {
            issued_at: Timestamp::from_millisecond(1_700_000_000_900).unwrap(),
            lifetime: Duration::from_secs(600),
        };
        let least = identity().claims("https://greenroom.example", "sts.example", validity);
        assert_eq!(least.expires_at(), Timestamp::from_second(1_700_000_600).unwrap());
        let mut expected = json!({
            "iss": "https://greenroom.example",
            "sub": identity().subject(),
            "aud": "sts.example",
            "iat": 1_700_000_000, "nbf": 1_700_000_000, "exp": 1_700_000_600,
            "organization_id": "org_00000000-0000-0000-0000-000000000001", "organization": "acme",
            "pipeline_id": "pip_00000000-0000-0000-0000-000000000002", "pipeline": "shop",
            "deployment_id": "dep_00000000-0000-0000-0000-000000000003",
            "stage": "ship", "attempt": 2, "commit": "c0ffee", "runner_pool": "default",
            "actor": "usr_00000000-0000-0000-0000-000000000004",
        });
        assert_eq!(serde_json::to_value(&least).unwrap(), expected);
        let most = StepIdentity {
            environment: Some(environment("pr-7", Some("pr-*"))),
            session_id: Some(Uuid::from_u128(5).into()),
            actor_kind: Some("ci".to_owned()),
            proven_branch: Some("main".to_owned()),
            ..identity()
        };
        expected["sub"] = json!(most.subject());
        expected["environment"] = json!("pr-7");
        expected["session_id"] = json!("ses_00000000-0000-0000-0000-000000000005");
        expected["actor_kind"] = json!("ci");
        expected["branch"] = json!("main");
        let most = most.claims("https://greenroom.example", "sts.example", validity);
        assert_eq!(serde_json::to_value(&most).unwrap(), expected);
    }
}
