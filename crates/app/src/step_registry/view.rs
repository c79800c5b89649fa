//! Records of registries and steps as the API returns them.

use greenroom_api_types::step_registry as wire;
use greenroom_store::step_registry::{
    RegistryRecord, StepRecord, StepUsageRecord, StepVersionDetail, StepVersionRecord,
};

pub fn registry_view(registry: RegistryRecord) -> wire::StepRegistry {
    wire::StepRegistry {
        id: registry.id.to_string(),
        name: registry.name,
        url: registry.url,
        signers: registry.signers,
        require_signature: registry.require_signature,
        minimum_age_seconds: registry.minimum_age_seconds.into(),
        has_credential: registry.has_credential,
        status: registry.status.into(),
        synced_at: registry.synced_at,
        next_sync_at: registry.next_sync_at,
        error: registry.error,
        created_at: registry.created_at,
        created_by: registry.created_by.to_string(),
        updated_at: registry.updated_at,
        deleted_at: registry.deleted_at,
    }
}

/// Returns the part of the `ETag` for what synchronizations change.
pub fn etag_suffix(registry: &RegistryRecord) -> String {
    registry.next_sync_at.as_microsecond().to_string()
}

pub fn step_view(step: StepRecord) -> wire::RegistryStep {
    wire::RegistryStep { name: step.name, newest: version_view(step.newest), versions: step.versions }
}

pub fn version_view(version: StepVersionRecord) -> wire::RegistryStepVersion {
    let refused = version.refused;
    let yanked = match (version.yanked_at, version.yanked_by, version.yank_reason) {
        (Some(at), Some(by), Some(reason)) => {
            Some(wire::StepYank { at, by: by.to_string(), reason, refused })
        }
        _ => None,
    };
    wire::RegistryStepVersion {
        name: version.name,
        version: version.version.to_string(),
        digest: version.digest.to_string(),
        tag_object: version.tag_object,
        description: version.description,
        bytes: version.bytes.into(),
        signer: version.signer,
        seen_at: version.seen_at,
        yanked,
    }
}

pub fn version_detail_view(detail: StepVersionDetail) -> wire::RegistryStepVersionDetail {
    wire::RegistryStepVersionDetail {
        version: version_view(detail.record),
        manifest: detail.manifest,
        files: detail.files.lines().filter_map(file_view).collect(),
    }
}

/// A line has the mode, the path and the SHA-256.
fn file_view(line: &str) -> Option<wire::StepFile> {
    let (mode, rest) = line.split_once(' ')?;
    let (path, sha256) = rest.rsplit_once(' ')?;
    Some(wire::StepFile { mode: mode.to_owned(), path: path.to_owned(), sha256: sha256.to_owned() })
}

pub fn usage_view(usage: StepUsageRecord) -> wire::StepUsage {
    wire::StepUsage {
        pipeline_id: usage.pipeline.to_string(),
        pipeline: usage.pipeline_slug,
        definition_version: usage.pipeline_version,
        uses: usage.reference,
        version: usage.version.to_string(),
        digest: usage.digest.to_string(),
    }
}
