//! What workflows ask of activities, and what they are told. Ids only: all else is in PostgreSQL, and nothing that is
//! secret, large or worth trusting ever enters the engine.
//!
//! Histories hold these as JSON. A field can be added with a default; none is renamed or taken away.

use greenroom_domain::id::{DeploymentId, InstallationId, JobId, OrganizationId, PoolId};
use serde::{Deserialize, Serialize};
use temporalio_workflow::common::ActivityDefinition;

use crate::id_text;
use crate::names::{ADVANCE, RUN_STAGE};

/// Asks the store what there is to do for a deployment, after taking it as far as it goes. Safe to repeat.
#[derive(Clone, Copy, Debug)]
pub struct Advance;

impl ActivityDefinition for Advance {
    type Input = Subject;
    type Output = Advanced;

    fn name(&self) -> &str {
        ADVANCE
    }
}

/// Runs one job on a runner of a pool. How it went is not in its answer but in PostgreSQL.
#[derive(Clone, Copy, Debug)]
pub struct RunStageOnRunner;

impl ActivityDefinition for RunStageOnRunner {
    type Input = RunStage;
    type Output = ();

    fn name(&self) -> &str {
        RUN_STAGE
    }
}

/// Which deployment this is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    #[serde(deserialize_with = "id_text::one")]
    pub organization_id: OrganizationId,
    #[serde(deserialize_with = "id_text::one")]
    pub deployment_id: DeploymentId,
    /// Whose pools' queues its jobs go to. Workflows that were started before installations had ids have none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "id_text::maybe")]
    pub installation_id: Option<InstallationId>,
}

/// What there is to do, as of now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advanced {
    /// Nothing more, ever.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// There is no such deployment: the workflow is another installation's, or the database is not the one it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// Jobs that wait for a runner: all of them, whether or not they were dispatched before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dispatch: Vec<AdvancedJob>,
    /// Jobs that were given up before a runner had them.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "id_text::several")]
    pub withdrawn: Vec<JobId>,
    /// When to ask again, if nothing happens before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_in_millis: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdvancedJob {
    #[serde(deserialize_with = "id_text::one")]
    pub job_id: JobId,
    #[serde(deserialize_with = "id_text::one")]
    pub pool_id: PoolId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStage {
    #[serde(deserialize_with = "id_text::one")]
    pub organization_id: OrganizationId,
    #[serde(deserialize_with = "id_text::one")]
    pub deployment_id: DeploymentId,
    #[serde(deserialize_with = "id_text::one")]
    pub job_id: JobId,
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_answer_is_as_short_as_it_can_be() {
        assert_eq!(serde_json::to_string(&Advanced::default()).unwrap(), "{}");
        let ended = Advanced { ended: true, ..Advanced::default() };
        assert_eq!(serde_json::to_string(&ended).unwrap(), r#"{"ended":true}"#);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let job = AdvancedJob { job_id: Uuid::from_u128(1).into(), pool_id: Uuid::from_u128(2).into() };
        let advanced = Advanced {
            ended: false,
            missing: true,
            dispatch: vec![job],
            withdrawn: vec![Uuid::from_u128(3).into()],
            again_in_millis: Some(1_500),
        };
        let text = serde_json::to_string(&advanced).unwrap();
        assert_eq!(serde_json::from_str::<Advanced>(&text).unwrap(), advanced);
    }

    #[test]
    fn a_subject_of_before_has_no_installation() {
        let text = r#"{"organization_id":"org_00000000-0000-0000-0000-000000000001",
                       "deployment_id":"dep_00000000-0000-0000-0000-000000000002"}"#;
        let subject: Subject = serde_json::from_str(text).unwrap();
        assert_eq!(subject.installation_id, None);
        assert_eq!(serde_json::to_string(&subject).unwrap(), text.replace([' ', '\n'], ""));
        let named = Subject { installation_id: Some(Uuid::from_u128(3).into()), ..subject };
        let text = serde_json::to_string(&named).unwrap();
        assert_eq!(serde_json::from_str::<Subject>(&text).unwrap(), named);
    }

    #[test]
    fn an_id_of_another_kind_is_refused() {
        let text = r#"{"organization_id":"dep_00000000-0000-0000-0000-000000000001",
                       "deployment_id":"dep_00000000-0000-0000-0000-000000000001"}"#;
        assert!(serde_json::from_str::<Subject>(text).is_err());
    }
}
