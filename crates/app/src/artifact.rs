//! Artifacts: the files that a stage passes on to later stages, as one archive per job.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::ArtifactId;
use greenroom_store::artifact::Artifact;
use greenroom_store::job::JobCredentials;
use greenroom_store::object::artifact_name;
use greenroom_worker::objects::ByteStream;
use uuid::Uuid;

use crate::App;
use crate::archive::{self, ArchiveDownload, ArchiveUpload, KeepOutcome, StoredArchive, open_download};
use crate::failure::{Code, Failure};
use crate::job::found;
use crate::job::refusal::gone;

/// Authorizes an upload before its first byte is read. Later stages unpack artifacts over their checkout, so only a stage
/// that declares some in the definition can make one.
#[boxed_futures]
pub async fn authorize(app: &App, credentials: JobCredentials<'_>, announced: u64) -> Result<(), Failure> {
    archive::authorize(app, credentials, announced).await?;
    if app.store.declares_artifacts(credentials).await?.ok_or_else(gone)? {
        return Ok(());
    }
    Err(Failure::new(
        Code::InvalidState,
        "This job's stage declares no `artifacts`, so none are stored. Complete the job without them, or name the files in \
         the pipeline's definition.",
    ))
}

/// Stores a job's artifact. The caller must have called [`authorize`].
#[boxed_futures]
pub async fn keep(
    app: &App,
    credentials: JobCredentials<'_>,
    sha256: Option<&str>,
    body: ByteStream,
) -> Result<(), Failure> {
    let id = ArtifactId::from(Uuid::now_v7());
    let object = artifact_name(credentials.runner.organization_id, id);
    let name = object.clone();
    let upload = ArchiveUpload { object, sha256: sha256.map(str::to_owned), body };
    archive::upload(app, credentials, upload, move |app, owned, archive| async move {
        let StoredArchive { bytes, sha256 } = archive;
        let artifact = Artifact { id, stage: String::new(), bytes, sha256, object: name };
        let permission = app.store.store_artifact(owned.credentials(), &artifact).await?;
        Ok(archive::require(permission).map_or_else(KeepOutcome::Rejected, |()| KeepOutcome::Kept))
    })
    .await
}

#[boxed_futures]
pub async fn read(
    app: &App,
    credentials: JobCredentials<'_>,
    id: ArtifactId,
) -> Result<ArchiveDownload, Failure> {
    let artifact = found(app.store.artifact_for(credentials, id).await?)?;
    open_download(app, &artifact.object, artifact.sha256).await
}
