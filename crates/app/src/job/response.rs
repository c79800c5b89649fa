//! A job as its runner receives it.

use std::collections::BTreeMap;
use std::time::Duration;

use greenroom_api_types::runner::{
    Artifact as Input, Cache, Job, JobRegistryStep, JobStep, MustBeOn, Source, Submodules,
};
use greenroom_domain::definition::{self, Definition, LockedManifest, NO_ENVIRONMENT, Step, StepWork};
use greenroom_domain::deployment::variables_of;
use greenroom_domain::id::JobId;
use greenroom_domain::token::TokenSecret;
use greenroom_store::artifact::Artifact;
use greenroom_store::job::{AssignedStep, JobAssignment, RunnerPrincipal};

use crate::App;

/// The largest log of one step.
pub const MAX_LOG_BYTES: u64 = 1024 * 1024 * 1024 + 64 * 1024 * 1024;

/// Returns the job as its runner receives it.
pub fn job_response(
    app: &App,
    runner: &RunnerPrincipal,
    (job, secret): (JobId, &TokenSecret),
    of: JobAssignment,
    traceparent: Option<String>,
) -> Job {
    let environment = of.environment.as_ref().map(|environment| environment.name.as_str());
    let stage = of.definition.stage(&of.stage);
    let shared = stage.map(|stage| variables_of(&of.definition, environment, stage)).unwrap_or_default();
    let platform = platform_variables(runner, job, &of);
    let definitions = stage.map(|stage| stage.steps.as_slice()).unwrap_or_default();
    let steps = of
        .steps
        .iter()
        .zip(definitions)
        .map(|(assigned, step)| step_of(assigned, (&of.definition, step), &shared, &platform))
        .collect();
    Job {
        job_id: job.to_string(),
        job_token: secret.reveal().to_owned(),
        lease_seconds: whole_seconds(app.job_timing.lease),
        heartbeat_seconds: whole_seconds(app.job_timing.heartbeat).max(1),
        silence_seconds: whole_seconds(app.job_timing.silence),
        organization_id: runner.organization_id.to_string(),
        pipeline_id: of.pipeline_id.to_string(),
        pipeline: of.pipeline_slug.clone(),
        deployment_id: of.deployment_id.to_string(),
        stage: of.stage.clone(),
        attempt: of.attempt,
        source: of.repository.map(|repository| Source {
            repository,
            commit_id: of.commit_id.clone(),
            must_be_on: of.proof.map(|proof| MustBeOn { branch: proof.branch, any_of: proof.any_of }),
            submodules: stage
                .filter(|stage| !stage.submodules.is_empty())
                .map(|stage| Submodules { hosts: stage.submodules.clone() }),
        }),
        timeout_seconds: of.timeout_seconds,
        log_limit_bytes: MAX_LOG_BYTES,
        network: of.network.into(),
        inputs: of.artifacts.into_iter().map(|artifact| input(&of.definition, artifact)).collect(),
        artifacts: stage.map(|stage| stage.artifacts.clone()).unwrap_or_default(),
        caches: stage.map(|stage| stage.caches.iter().map(cache).collect()).unwrap_or_default(),
        steps,
        traceparent,
    }
}

/// Returns a configured time for a runner. One that is too long for the field is sent as the longest that
/// fits: the server decides when a lease ends.
pub fn whole_seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX)
}

fn input(definition: &Definition, artifact: Artifact) -> Input {
    let producer = definition.stage(&artifact.stage);
    Input {
        artifact_id: artifact.id.to_string(),
        paths: producer.map(|stage| stage.artifacts.clone()).unwrap_or_default(),
        stage: artifact.stage,
        size: artifact.bytes,
        sha256: artifact.sha256,
    }
}

fn cache(cache: &definition::Cache) -> Cache {
    Cache { key: cache.key.clone(), paths: cache.paths.clone() }
}

fn step_of(
    assigned: &AssignedStep,
    (definition, step): (&Definition, &Step),
    shared: &BTreeMap<String, String>,
    platform: &BTreeMap<String, String>,
) -> JobStep {
    let mut variables = shared.clone();
    variables.extend(step.variables.clone());
    let (image, run, registry_step) = match &step.work {
        StepWork::Script { image, run } => (image.clone(), run.clone(), None),
        StepWork::Registry { uses, with } => match definition.locked_step(uses) {
            Some(LockedManifest { step, manifest }) => {
                variables.extend(manifest.input_variables(with));
                let registry_step = JobRegistryStep {
                    uses: uses.to_string(),
                    version: step.version.to_string(),
                    digest: step.digest.to_string(),
                    inputs: manifest.inputs_document(with),
                };
                (manifest.image.clone(), manifest.run.clone(), Some(registry_step))
            }
            // The plan ends the stages of such definitions as `errored`, so they have no jobs.
            None => (String::new(), "exit 1".to_owned(), None),
        },
    };
    variables.extend(platform.clone());
    variables.insert("GREENROOM_STEP".to_owned(), assigned.name.clone());
    JobStep {
        step_run_id: assigned.id.to_string(),
        name: assigned.name.clone(),
        image,
        run,
        variables,
        timeout_seconds: step.timeout_seconds,
        registry_step,
    }
}

fn platform_variables(runner: &RunnerPrincipal, job: JobId, of: &JobAssignment) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    let mut set = |name: &str, value: String| variables.insert(format!("GREENROOM_{name}"), value);
    set("ORGANIZATION_ID", runner.organization_id.to_string());
    set("PIPELINE", of.pipeline_slug.clone());
    set("PIPELINE_ID", of.pipeline_id.to_string());
    set("DEPLOYMENT_ID", of.deployment_id.to_string());
    set("JOB_ID", job.to_string());
    set("STAGE", of.stage.clone());
    set("ATTEMPT", of.attempt.to_string());
    set("COMMIT_ID", of.commit_id.clone());
    set("PURPOSE", of.purpose.to_string());
    // The variable is never empty, so that a script can't mistake an empty value for a name.
    let lasting = || of.definition.stage(&of.stage)?.environment.as_deref();
    let lasting = || lasting().and_then(|name| of.definition.environment(name));
    let (environment, url) = match &of.environment {
        Some(environment) => (environment.name.as_str(), environment.url.as_deref()),
        None => lasting().map_or((NO_ENVIRONMENT, None), |lasting| (&lasting.name, lasting.url.as_deref())),
    };
    set("ENVIRONMENT", environment.to_owned());
    if let Some(url) = url {
        set("ENVIRONMENT_URL", url.to_owned());
    }
    if let Some(fence) = of.fence {
        set("FENCE", fence.to_string());
    }
    if let Some(session) = of.session_id {
        set("SESSION_ID", greenroom_domain::id::SessionId::from(session).to_string());
    }
    for (stage, values) in &of.outputs {
        let stage = stage.to_uppercase().replace('-', "_");
        for (name, value) in values {
            set(&format!("OUTPUT_{stage}_{name}"), value.clone());
        }
    }
    variables
}
