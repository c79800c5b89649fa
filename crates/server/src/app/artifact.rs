//! Artifacts: what a stage leaves to those after it, as one archive.

use axum::body::Body;
use greenroom_domain::id::ArtifactId;
use greenroom_store::artifact::Artifact;
use greenroom_store::job::JobWord;
use greenroom_store::object::artifact_name;
use uuid::Uuid;

use crate::app::App;
use crate::app::archive::{Outgoing, TakenIn, give_out, take_in};
use crate::app::failure::Failure;
use crate::app::job::gone;

pub async fn keep(app: &App, word: JobWord<'_>, sha256: Option<&str>, body: Body) -> Result<(), Failure> {
    let organization = word.runner.organization_id;
    let id = ArtifactId::from(Uuid::now_v7());
    let object = artifact_name(organization, id);
    let TakenIn { bytes, sha256 } = take_in(app, organization, &object, sha256, body).await?;
    let artifact = Artifact { id, stage: String::new(), bytes, sha256, object };
    if app.store.keep_artifact(word, &artifact).await? { Ok(()) } else { Err(gone()) }
}

pub async fn read(app: &App, word: JobWord<'_>, id: ArtifactId) -> Result<Outgoing, Failure> {
    let found = app.store.artifact_for(word, id).await?.ok_or_else(gone)?;
    let artifact = found.ok_or_else(Failure::not_found)?;
    give_out(app, &artifact.object, artifact.sha256).await
}
