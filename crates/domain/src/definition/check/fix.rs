//! Where fixes are verified.

use super::Check;
use crate::definition::diagnostic::Path;
use crate::definition::located::Located;
use crate::definition::model::{EphemeralEnvironment, FixRule};
use crate::definition::raw;

impl Check<'_> {
    /// Some environment has to have all of the labels. Those of a template are claimed by name, and do not count.
    pub(super) fn fix(
        &mut self,
        path: Path<'_>,
        fix: &Located<raw::Fix>,
        environments: &[EphemeralEnvironment],
    ) -> FixRule {
        let labels = fix.value.labels.as_deref().unwrap_or_default();
        if labels.is_empty() {
            let message =
                "`fix` needs `labels`: those of the ephemeral environments in which fixes are verified";
            self.report.error(fix.at, path, message);
        }
        let known = self.labels(path.key("labels"), labels);
        let has_all = |environment: &EphemeralEnvironment| {
            known.iter().all(|label| environment.settings.labels.contains(label))
        };
        if !labels.is_empty() && !environments.iter().any(has_all) {
            let message = "no ephemeral environment with a name of its own has all of these labels";
            self.report.error(fix.at, path.key("labels"), message);
        }
        FixRule { labels: known }
    }
}
