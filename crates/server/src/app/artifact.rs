//! Artifacts: what a stage leaves to those after it, as one archive.

use axum::body::Body;
use greenroom_domain::id::ArtifactId;
use greenroom_store::artifact::Artifact;
use greenroom_store::job::JobWord;
use uuid::Uuid;

use crate::app::App;
use crate::app::failure::{Code, Failure};
use crate::app::job::gone;

/// What one stage may leave.
const LARGEST: u64 = 10 * 1024 * 1024 * 1024;

/// Takes an archive in. `sha256` is what the runner says that it sends.
pub async fn keep(app: &App, word: JobWord<'_>, sha256: Option<&str>, body: Body) -> Result<(), Failure> {
    let id = ArtifactId::from(Uuid::now_v7());
    let object = format!("artifacts/{}/{id}", word.runner.organization_id);
    let (bytes, found) = app.objects.put_stream(&object, body, LARGEST).await?;
    if sha256.is_some_and(|said| said != found) {
        return Err(Failure::new(
            Code::InvalidRequest,
            "The archive did not arrive as it was sent: its SHA-256 is another. Send it again.",
        ));
    }
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    let artifact = Artifact { id, stage: String::new(), bytes, sha256: found, object };
    if app.store.keep_artifact(word, &artifact).await? { Ok(()) } else { Err(gone()) }
}

pub async fn read(app: &App, word: JobWord<'_>, id: ArtifactId) -> Result<Body, Failure> {
    let artifact = app.store.artifact_for(word, id).await?.ok_or_else(Failure::not_found)?;
    app.objects.stream(&artifact.object).await
}
