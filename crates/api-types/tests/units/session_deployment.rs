//! Why a deployment is blocked, in events and in responses.

use greenroom_api_types::session_deployment::WaitingOn;
use greenroom_domain::deployment::{Freeze, Hold, HoldBy, WaitingOn as Domain};
use greenroom_domain::id::DeploymentId;
use jiff::Timestamp;

/// Events contain what the domain serializes, and responses what this crate does.
#[test]
fn events_and_responses_contain_the_same_blockers() {
    let deployment: DeploymentId = "dep_0190a0b0-0000-7000-8000-000000000001".parse().unwrap();
    let (stage, until) = (|| "build".to_owned(), Timestamp::UNIX_EPOCH);
    let production = || "production".to_owned();
    for blocker in [
        Domain::WorkSlot { deployment, stage: None, environment: None },
        Domain::WorkSlot { deployment, stage: Some(stage()), environment: Some(production()) },
        Domain::Freeze {
            stage: stage(),
            environment: production(),
            freeze: Freeze {
                id: "frz_0190a0b0-0000-7000-8000-000000000001".parse().unwrap(),
                name: "Holidays".to_owned(),
                until,
            },
        },
        Domain::Hold {
            stage: stage(),
            environment: production(),
            hold: Hold {
                by: HoldBy {
                    id: "usr_0190a0b0-0000-7000-8000-000000000001".parse().unwrap(),
                    name: "Ana".to_owned(),
                },
                reason: "incident".to_owned(),
                until,
            },
        },
        Domain::PipelineStopped,
        Domain::PipelineArchived,
        Domain::Concurrency,
        Domain::Runner { stage: stage(), pool: "default".to_owned() },
        Domain::Retry { stage: stage(), until },
        Domain::Approval { stage: stage(), progress: None },
        Domain::RunningSteps { stage: stage() },
        Domain::Engine,
    ] {
        let in_event = serde_json::to_value(&blocker).unwrap();
        assert_eq!(in_event, serde_json::to_value(WaitingOn::from(blocker)).unwrap());
    }
}
