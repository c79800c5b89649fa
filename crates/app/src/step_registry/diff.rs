//! What has changed between two versions of a step.

use std::time::Duration;

use greenroom_api_types::step_registry::StepDiff;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::step::StepVersion;
use greenroom_store::Store;
use similar::TextDiff;

use crate::failure::Failure;
use crate::step_registry::version::StepPlace;
use crate::step_registry::version_view;

/// The texts are of strangers: a diff that would take longer is coarser.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

/// Compares a version with an earlier one; if none is named, with the next lower one.
#[boxed_futures]
pub async fn compare(
    store: &Store,
    organization: OrganizationId,
    place: &StepPlace,
    (from, to): (Option<StepVersion>, &StepVersion),
) -> Result<StepDiff, Failure> {
    let to = place.find_version(store, organization, to).await?;
    let from = match from {
        Some(version) => {
            let found = store.step_version(organization, place.key(), &version).await?;
            Some(found.ok_or_else(|| Failure::field("from", "must be a version of this step"))?)
        }
        None => match store.step_version_before(organization, place.key(), &to.record.version).await? {
            Some(version) => store.step_version(organization, place.key(), &version).await?,
            None => None,
        },
    };
    let (old_files, old_manifest) =
        from.as_ref().map_or(("", ""), |from| (from.files.as_str(), from.manifest.as_str()));
    Ok(StepDiff {
        files: unified_diff(old_files, &to.files),
        manifest: unified_diff(old_manifest, &to.manifest),
        from: from.map(|from| version_view(from.record)),
        to: version_view(to.record),
    })
}

/// Returns a unified diff with three lines of context, or an empty text if there is no difference. Public for the
/// tests in `tests/`.
#[doc(hidden)]
pub fn unified_diff(old: &str, new: &str) -> String {
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(old, new);
    diff.unified_diff().context_radius(3).missing_newline_hint(false).to_string()
}
