//! Credentials that a runner itself uses for a job: to fetch the repository, or to pull images. No step gets
//! them.

use greenroom_api_types::runner::{Credential, CredentialKind, CredentialRequest, CredentialResponse};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::secret::{Usage, UsageKind};
use greenroom_store::job::JobCredentials;
use greenroom_store::secret::CredentialOutcome;

use crate::App;
use crate::failure::Failure;
use crate::job::refusal::{fence_outdated, gone};
use crate::secret::sealing::open_step_secrets;

/// Returns the credential for a host, and records that it was read. A repeated request returns the same one.
#[boxed_futures]
pub async fn read(
    app: &App,
    credentials: JobCredentials<'_>,
    request: &CredentialRequest,
) -> Result<CredentialResponse, Failure> {
    let kind = match request.kind {
        CredentialKind::Checkout => UsageKind::Checkout,
        CredentialKind::Registry => UsageKind::Registry,
    };
    let usage = Usage::new(kind, &request.host).map_err(|error| Failure::field("/host", error))?;
    let requested = request.repository.as_deref();
    let accepted = match app.store.job_credential(credentials, &usage, requested).await? {
        CredentialOutcome::Accepted(None) => return Ok(CredentialResponse::default()),
        CredentialOutcome::Accepted(Some(accepted)) => accepted,
        CredentialOutcome::Denied(detail) => {
            return Ok(CredentialResponse { credential: None, denied: Some(detail) });
        }
        CredentialOutcome::Gone => return Err(gone()),
        CredentialOutcome::FenceOutdated => return Err(fence_outdated()),
    };
    let opened = open_step_secrets(app, credentials.runner.organization_id, &accepted.secrets)?;
    accepted.commit().await?;
    let credential = opened.into_iter().next();
    let credential = credential.map(|secret| Credential { name: secret.name, value: secret.value });
    Ok(CredentialResponse { credential, denied: None })
}
