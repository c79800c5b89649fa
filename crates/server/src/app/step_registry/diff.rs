//! What has changed between two versions of a step.

use std::time::Duration;

use greenroom_api_types::step_registry::StepDiff;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::step::StepVersion;
use greenroom_store::Store;
use similar::TextDiff;

use crate::app::failure::Failure;
use crate::app::step_registry::version::StepPlace;
use crate::app::step_registry::version_view;

/// The texts are of strangers: a diff that would take longer is coarser.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

/// Compares a version with an earlier one; if none is named, with the next lower one.
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

/// Returns a unified diff with three lines of context, or an empty text if there is no difference.
fn unified_diff(old: &str, new: &str) -> String {
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(old, new);
    diff.unified_diff().context_radius(3).missing_newline_hint(false).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_unified_and_bounded() {
        assert_eq!(unified_diff("a\nb\n", "a\nb\n"), "");
        assert_eq!(unified_diff("a\nb\n", "a\nc\n"), "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert_eq!(unified_diff("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
        // Two texts with nothing in common, of the maximum size.
        let lines = |prefix: char| (0..30_000).map(|n| format!("{prefix}{n}\n")).collect::<String>();
        let diff = unified_diff(&lines('a'), &lines('b'));
        assert!(diff.contains("-a0\n") && diff.contains("+b29999\n"));
    }
}
