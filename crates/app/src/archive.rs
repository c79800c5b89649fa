//! Archives that runners upload and download: the common part of artifacts and caches. An upload is
//! authorized before its first byte is stored, and again in the transaction that makes a record refer to the
//! stored object. An object that no record refers to is removed immediately.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;
use greenroom_store::job::{JobCredentials, UploadPermission};
use greenroom_worker::objects::{ByteStream, StoredObject};

use crate::App;
use crate::failure::{Code, Failure};
use crate::job::credentials::OwnedJobCredentials;
use crate::job::refusal::{fence_outdated, gone};
use crate::live::object_gc;

const MAX_ARCHIVE_BYTES: u64 = 10 * 1024 * 1024 * 1024;

/// An archive that is in the object store; nothing refers to it yet.
pub struct StoredArchive {
    pub bytes: u64,
    pub sha256: String,
}

/// An archive that is being sent to a runner.
pub struct ArchiveDownload {
    pub sha256: String,
    pub body: ByteStream,
}

/// Whether a record refers to the stored archive now.
pub enum KeepOutcome {
    Kept,
    /// There is one already, and it stays.
    Redundant,
    Rejected(Failure),
}

/// Authorizes an upload before its first byte is read. `announced` is its `Content-Length`, or 0.
#[boxed_futures]
pub async fn authorize(app: &App, credentials: JobCredentials<'_>, announced: u64) -> Result<(), Failure> {
    require(app.store.upload_permission(credentials).await?)?;
    if announced > MAX_ARCHIVE_BYTES {
        return Err(too_large());
    }
    Ok(())
}

pub fn require(permission: UploadPermission) -> Result<(), Failure> {
    match permission {
        UploadPermission::Granted => Ok(()),
        UploadPermission::Gone => Err(gone()),
        UploadPermission::FenceOutdated => Err(fence_outdated()),
    }
}

/// An archive that a runner uploads.
pub struct ArchiveUpload {
    /// The name of its object.
    pub object: String,
    /// The digest that the runner has announced.
    pub sha256: Option<String>,
    pub body: ByteStream,
}

/// Stores an archive; `keep` then makes a record refer to it. The upload runs in a detached task: when the client disconnects, the
/// request's future may be dropped at any point, which would leave an unreferenced object.
pub async fn upload<F: Future<Output = Result<KeepOutcome, Failure>> + Send + 'static>(
    app: &App,
    credentials: JobCredentials<'_>,
    ArchiveUpload { object, sha256, body }: ArchiveUpload,
    keep: impl FnOnce(App, OwnedJobCredentials, StoredArchive) -> F + Send + 'static,
) -> Result<(), Failure> {
    let memory = app.limits.upload_memory().await?;
    let organization = credentials.runner.organization_id;
    let own = app.clone();
    let credentials = OwnedJobCredentials::from(credentials);
    let stored = app.detached_tasks.spawn(async move {
        let _memory = memory;
        let stored = store_archive(&own, organization, &object, sha256.as_deref(), body).await?;
        // If this fails, it is unknown whether a record refers to the object. Garbage collection decides
        // then.
        match keep(own.clone(), credentials, stored).await? {
            KeepOutcome::Kept => Ok(()),
            KeepOutcome::Redundant => {
                object_gc::remove_now(&own, organization, &object).await;
                Ok(())
            }
            KeepOutcome::Rejected(failure) => {
                object_gc::remove_now(&own, organization, &object).await;
                Err(failure)
            }
        }
    });
    stored.await.map_err(Failure::internal)?
}

async fn store_archive(
    app: &App,
    organization: OrganizationId,
    object: &str,
    sha256: Option<&str>,
    body: ByteStream,
) -> Result<StoredArchive, Failure> {
    app.store.register_object(organization, object).await?;
    let stored = match app.objects.put_stream(object, body, MAX_ARCHIVE_BYTES).await {
        Ok(stored) if sha256.is_some_and(|announced| !announced.eq_ignore_ascii_case(&stored.sha256)) => {
            Err(Failure::new(
                Code::InvalidRequest,
                "The archive did not arrive as it was sent: its SHA-256 is another. Send it again.",
            ))
        }
        Ok(StoredObject { bytes, sha256 }) => Ok(StoredArchive { bytes, sha256 }),
        Err(error) => Err(error.into()),
    };
    if stored.is_err() {
        object_gc::remove_now(app, organization, object).await;
    }
    stored
}

fn too_large() -> Failure {
    Failure::new(Code::BodyTooLarge, format!("An archive may have {MAX_ARCHIVE_BYTES} bytes at most."))
}

#[boxed_futures]
pub async fn open_download(app: &App, object: &str, sha256: String) -> Result<ArchiveDownload, Failure> {
    Ok(ArchiveDownload { sha256, body: app.objects.stream(object).await? })
}
