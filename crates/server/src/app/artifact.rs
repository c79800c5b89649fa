//! Artifacts: what a stage leaves to those after it, as one archive. A job has one.

use axum::body::Body;
use greenroom_domain::id::ArtifactId;
use greenroom_store::artifact::Artifact;
use greenroom_store::job::JobWord;
use greenroom_store::object::artifact_name;
use uuid::Uuid;

use crate::app::App;
use crate::app::archive::{self, Kept, Outgoing, TakenIn, give_out};
use crate::app::failure::Failure;
use crate::app::job::gone;

/// After [`archive::authorize`].
pub async fn keep(app: &App, word: JobWord<'_>, sha256: Option<&str>, body: Body) -> Result<(), Failure> {
    let id = ArtifactId::from(Uuid::now_v7());
    let object = artifact_name(word.runner.organization_id, id);
    let name = object.clone();
    archive::upload(app, word, (object, sha256), body, move |app, credentials, taken| async move {
        let TakenIn { bytes, sha256 } = taken;
        let artifact = Artifact { id, stage: String::new(), bytes, sha256, object: name };
        let permission = app.store.keep_artifact(credentials.word(), &artifact).await?;
        Ok(archive::require(permission).map_or_else(Kept::Rejected, |()| Kept::Yes))
    })
    .await
}

pub async fn read(app: &App, word: JobWord<'_>, id: ArtifactId) -> Result<Outgoing, Failure> {
    let found = app.store.artifact_for(word, id).await?.ok_or_else(gone)?;
    let artifact = found.ok_or_else(Failure::not_found)?;
    give_out(app, &artifact.object, artifact.sha256).await
}
