//! Archives that runners send and fetch: what artifacts and caches have in common.

use axum::body::Body;
use greenroom_domain::id::OrganizationId;

use crate::app::App;
use crate::app::failure::{Code, Failure};

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

/// Takes an archive in under a name. `sha256` is what the runner says that it sends.
pub async fn take_in(
    app: &App,
    organization: OrganizationId,
    object: &str,
    sha256: Option<&str>,
    body: Body,
) -> Result<TakenIn, Failure> {
    app.store.announce_object(organization, object).await?;
    let (bytes, found) = app.objects.put_stream(object, body, LARGEST).await?;
    if sha256.is_some_and(|said| !said.eq_ignore_ascii_case(&found)) {
        app.store.forget_object(organization, object).await?;
        return Err(Failure::new(
            Code::InvalidRequest,
            "The archive did not arrive as it was sent: its SHA-256 is another. Send it again.",
        ));
    }
    Ok(TakenIn { bytes: i64::try_from(bytes).unwrap_or(i64::MAX), sha256: found })
}

pub async fn give_out(app: &App, object: &str, sha256: String) -> Result<Outgoing, Failure> {
    Ok(Outgoing { sha256, body: app.objects.stream(object).await? })
}
