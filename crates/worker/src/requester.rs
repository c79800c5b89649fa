//! Requests on behalf of organizations, and what their admins read about a failure.

use std::error::Error;

use greenroom_domain::id::OrganizationId;
use greenroom_outbound::{OrganizationNames, Purpose, Requester};
use greenroom_store::{Store, StoreError, with_db_timeout};

/// Returns the requester for one piece of work of an organization.
pub(crate) async fn requester(
    store: &Store,
    purpose: Purpose,
    organization: OrganizationId,
) -> Result<Requester, StoreError> {
    let found = with_db_timeout(store.organization(organization)).await?;
    let slug = found.map(|found| found.slug).unwrap_or_default();
    let names = OrganizationNames { id: organization.to_string(), slug };
    Ok(Requester::of_organization(purpose, names))
}

/// Returns what admins read about a failure. If that is not the reason, the log has it.
pub(crate) fn public_text(requester: &Requester, error: &(dyn Error + 'static)) -> String {
    if requester.has_used_list() {
        tracing::info!(
            error,
            purpose = requester.purpose().as_str(),
            organization = requester.organization().map(|names| names.slug.as_str()),
            "a request to a destination in --outbound-allow failed"
        );
    }
    requester.public_text(&error)
}
