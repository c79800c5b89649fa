//! Archives that runners send and fetch: what artifacts and caches have in common. An upload is authorized before its first
//! byte is stored, and again by the transaction that refers to the stored object. What is not kept is removed at once.

use axum::body::Body;
use greenroom_domain::id::OrganizationId;
use greenroom_store::job::{JobWord, UploadPermission};

use crate::app::App;
use crate::app::failure::{Code, Failure};
use crate::app::job::{fence_outdated, gone};
use crate::app::job_credentials::JobCredentials;
use crate::app::removal;

/// What one may have.
const LARGEST: u64 = 10 * 1024 * 1024 * 1024;

/// An archive that is in the object store; nothing refers to it yet.
pub struct TakenIn {
    pub bytes: i64,
    pub sha256: String,
}

/// An archive on its way out.
pub struct Outgoing {
    pub sha256: String,
    pub body: Body,
}

/// Whether the stored archive was kept.
pub enum Kept {
    Yes,
    /// There was one already, which is as good.
    Redundant,
    Rejected(Failure),
}

/// The check before the first byte of an archive is read. `announced` is the length that its head announces, or 0.
pub async fn authorize(app: &App, word: JobWord<'_>, announced: u64) -> Result<(), Failure> {
    require(app.store.upload_permission(word).await?)?;
    if announced > LARGEST {
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

/// Stores an archive under a name and lets `keep` refer to it. `sha256` is what the runner says that it sends. This goes on in
/// a task of its own: when the client breaks off, the request's own future may be dropped at any point, and what it had stored
/// by then would stay.
pub async fn upload<F: Future<Output = Result<Kept, Failure>> + Send + 'static>(
    app: &App,
    word: JobWord<'_>,
    (object, sha256): (String, Option<&str>),
    body: Body,
    keep: impl FnOnce(App, JobCredentials, TakenIn) -> F + Send + 'static,
) -> Result<(), Failure> {
    let memory = app.limits.upload_memory().await?;
    let (own, credentials, sha256) = (app.clone(), JobCredentials::from(word), sha256.map(str::to_owned));
    let organization = word.runner.organization_id;
    let stored = app.departures.spawn(async move {
        let _memory = memory;
        let taken = take_in(&own, organization, &object, sha256.as_deref(), body).await?;
        // If this fails, it is not known whether the object is referred to: then the list of discarded objects decides.
        match keep(own.clone(), credentials, taken).await? {
            Kept::Yes => Ok(()),
            Kept::Redundant => {
                removal::remove_now(&own, organization, &object).await;
                Ok(())
            }
            Kept::Rejected(failure) => {
                removal::remove_now(&own, organization, &object).await;
                Err(failure)
            }
        }
    });
    stored.await.map_err(Failure::internal)?
}

async fn take_in(
    app: &App,
    organization: OrganizationId,
    object: &str,
    sha256: Option<&str>,
    body: Body,
) -> Result<TakenIn, Failure> {
    app.store.announce_object(organization, object).await?;
    let taken = match app.objects.put_stream(object, body, LARGEST).await {
        Ok((_, found)) if sha256.is_some_and(|said| !said.eq_ignore_ascii_case(&found)) => Err(Failure::new(
            Code::InvalidRequest,
            "The archive did not arrive as it was sent: its SHA-256 is another. Send it again.",
        )),
        Ok((bytes, found)) => Ok(TakenIn { bytes: i64::try_from(bytes).unwrap_or(i64::MAX), sha256: found }),
        Err(failure) => Err(failure),
    };
    if taken.is_err() {
        removal::remove_now(app, organization, object).await;
    }
    taken
}

fn too_large() -> Failure {
    Failure::new(Code::BodyTooLarge, format!("An archive may have {LARGEST} bytes at most."))
}

pub async fn give_out(app: &App, object: &str, sha256: String) -> Result<Outgoing, Failure> {
    Ok(Outgoing { sha256, body: app.objects.stream(object).await? })
}
