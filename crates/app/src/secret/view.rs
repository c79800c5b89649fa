//! Records of secrets as the API returns them.

use greenroom_api_types::secret as wire;
use greenroom_domain::id::{PipelineId, StepRunId};
use greenroom_store::secret::{DeploymentSecretRead, SecretRead, SecretRecord, SecretVersion};

pub fn secret_view(secret: SecretRecord) -> wire::Secret {
    let policy = secret.policy;
    wire::Secret {
        id: secret.id.to_string(),
        name: secret.name,
        scope: secret.scope.kind().into(),
        pipeline_id: secret.scope.pipeline().map(|pipeline| pipeline.to_string()),
        environment: secret.scope.environment().map(str::to_owned),
        description: secret.description,
        policy: wire::SecretPolicy {
            pipelines: policy.pipelines.map(|ids| ids.iter().map(PipelineId::to_string).collect()),
            environments: policy.environments,
            pools: policy.pools,
            branches: policy.branches,
            repositories: policy
                .repositories
                .map(|patterns| patterns.into_iter().map(String::from).collect()),
        },
        r#use: secret.usage.map(|usage| wire::SecretUse { kind: usage.kind.into(), host: usage.host }),
        active_version: secret.active_version,
        created_at: secret.created_at,
        created_by: secret.created_by.to_string(),
        updated_at: secret.updated_at,
        deleted_at: secret.deleted_at,
    }
}

pub fn version_view(version: SecretVersion) -> wire::SecretVersion {
    wire::SecretVersion {
        version: version.version,
        status: version.status.into(),
        bytes: version.bytes,
        created_at: version.created_at,
        created_by: version.created_by.to_string(),
        activated_at: version.activated_at,
        destroyed_at: version.destroyed_at,
    }
}

pub fn read_view(read: SecretRead) -> wire::SecretRead {
    wire::SecretRead {
        secret_id: read.secret_id.to_string(),
        version: read.version,
        deployment_id: read.deployment_id.to_string(),
        stage: read.stage,
        attempt: read.attempt,
        job_id: read.job_id.to_string(),
        step_run_id: read.step_run_id.as_ref().map(StepRunId::to_string),
        runner_id: read.runner_id.to_string(),
        at: read.read_at,
    }
}

pub fn read_of_deployment_view(read: DeploymentSecretRead) -> wire::DeploymentSecretRead {
    wire::DeploymentSecretRead {
        read: read_view(read.read),
        secret_name: read.name,
        version_status: read.version_status.into(),
    }
}
