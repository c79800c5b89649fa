//! Statuses of deployments, stages, attempts and steps, their reasons, and what a deployment is for and was started by.

use greenroom_domain::deployment as domain;

use crate::open_enum::open_enum;

open_enum!(
    DeploymentStatus(domain::DeploymentStatus) final domain::DeploymentStatus::FINAL,
    "The status of a deployment. `waiting`: nothing of it runs, and `waitingOn` contains why; `paused`: its pipeline was \
     stopped with `pause`; `canceling`: canceled, but a step still runs; `errored`: the platform failed, not a step; \
     `superseded`: a newer deployment of its session replaced it before it started."
);
open_enum!(
    StageStatus(domain::StageStatus) final domain::StageStatus::FINAL,
    "The status of a stage. `pending`: it waits for the stages that it needs, or for its next attempt; `waiting`: for an \
     approval; `queued`: for a runner; `errored`: the platform failed, not a step."
);
open_enum!(
    AttemptStatus(domain::JobStatus) final domain::JobStatus::FINAL,
    "The status of one attempt of a stage. `queued`: it waits for a runner; `errored`: the platform failed, not a step."
);
open_enum!(
    StepStatus(domain::StepStatus) final domain::StepStatus::FINAL,
    "The status of a step. `failed`: the step itself failed; `errored`: the platform failed; `skipped`: its attempt ended \
     before it started."
);
open_enum!(
    DeploymentReason(domain::Reason),
    "A code for the reason why a deployment, a stage or an attempt has its status."
);
open_enum!(
    DeploymentPurpose(domain::Purpose),
    "What a deployment runs. `pipeline`: all stages of the pipeline except those that clean up, and stages with \
     `only: ephemeral` are skipped; `session`: the stages that the definition lists for an ephemeral environment; \
     `teardown`: the stages that clean up an ephemeral environment after a session."
);
open_enum!(
    DeploymentTrigger(domain::Trigger),
    "What started a deployment. `session`: a commit that was deployed into a session; `api`: a request for a deployment of \
     the whole pipeline; `teardown`: the end of a session, or a repeated clean-up."
);
