//! Jobs for the test server.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use greenroom_api_types::runner::{
    Credential, CredentialKind, CredentialRequest, CredentialResponse, Job, JobStep, Network, StepSecret,
};

/// Returns a job with these steps, given by name, which is also the id, and script.
pub fn job(steps: &[(&str, &str)]) -> Job {
    Job {
        job_id: "job_0190a0b0-0000-7000-8000-000000000001".to_owned(),
        job_token: "grj_test".to_owned(),
        lease_seconds: 30,
        heartbeat_seconds: 1,
        silence_seconds: 20,
        organization_id: "org_1".to_owned(),
        pipeline_id: "pip_1".to_owned(),
        pipeline: "storefront".to_owned(),
        deployment_id: "dep_1".to_owned(),
        stage: "build".to_owned(),
        attempt: 1,
        source: None,
        timeout_seconds: 600,
        log_limit_bytes: 64 * 1024 * 1024,
        network: Network::None,
        inputs: Vec::new(),
        artifacts: Vec::new(),
        caches: Vec::new(),
        steps: steps.iter().map(|(name, run)| step(name, run)).collect(),
        traceparent: None,
    }
}

pub fn step(name: &str, run: &str) -> JobStep {
    JobStep {
        step_run_id: name.to_owned(),
        name: name.to_owned(),
        image: "localhost/greenroom-test:1".to_owned(),
        run: run.to_owned(),
        variables: BTreeMap::from([("GREENROOM_STAGE".to_owned(), "build".to_owned())]),
        timeout_seconds: None,
        registry_step: None,
    }
}

/// Returns a secret that is a variable. Its name is `name-of-` and the variable.
pub fn secret(variable: &str, value: impl AsRef<[u8]>) -> StepSecret {
    StepSecret {
        variable: variable.to_owned(),
        name: format!("name-of-{variable}"),
        value: STANDARD.encode(value),
        file: false,
    }
}

/// Returns a secret that is a file.
pub fn secret_file(variable: &str, value: impl AsRef<[u8]>) -> StepSecret {
    StepSecret { file: true, ..secret(variable, value) }
}

/// Returns the request for a credential of a host, for any of its repositories, and its response with this value.
/// The secret's name is `name-of-` and the host.
pub fn credential(
    kind: CredentialKind,
    host: &str,
    value: impl AsRef<[u8]>,
) -> (CredentialRequest, CredentialResponse) {
    let credential = Credential { name: format!("name-of-{host}"), value: STANDARD.encode(value) };
    let response = CredentialResponse { credential: Some(credential), denied: None };
    (CredentialRequest { kind, host: host.to_owned(), repository: None }, response)
}
