//! The pipelines whose stages need approvals.

use std::fmt::Write;

use crate::fault::gates::definition::{END, MARK, NOTE, NOWHERE, WORK};
use crate::parts::containers::IMAGE;

/// The groups whose members vote. Every gate needs as many approvals of each.
pub(crate) const GROUPS: [&str; 2] = ["release", "security"];
/// The slug of the pipeline that a service account deploys.
pub(crate) const MACHINE: &str = "machine";
/// The slug of the pipeline with an environment that is claimed.
pub(crate) const TRIAL: &str = "trial";
pub(crate) const TRIAL_ENVIRONMENT: &str = "qa";
/// How long the approval of [`LAPSING`] is valid.
pub(crate) const VALID_FOR_SECONDS: u64 = 3;

pub(crate) const BUILD: &str = "build";
pub(crate) const PLAIN: &str = "plain";
/// One voter tries to reject its first approval.
pub(crate) const REJECTED: &str = "rejected";
/// It fails at its first attempt, and is retried when its approval is not valid any more.
pub(crate) const LAPSING: &str = "lapsing";
/// It fails at its first attempt, and needs an approval only with the second version of the definition.
pub(crate) const LATE: &str = "late";
/// The gated stages of a pipeline.
const GATES: [&str; 4] = [PLAIN, REJECTED, LAPSING, LATE];
/// How many of them need an approval with the first version of the definition.
pub(crate) const CONCURRENT_GATES: usize = GATES.len() - 1;

/// The largest number of approvals that a rule may demand.
const MAX_COUNT: u64 = 20;
const VOTERS_PER_APPROVAL: u64 = 5;

const OUTPUT: &str = "echo \"number=$GREENROOM_ATTEMPT\" >> \"$GREENROOM_OUTPUT\"\n";
const FAIL_FIRST: &str = "case \"$GREENROOM_ATTEMPT\" in\n  1) note ended 7; exit 7 ;;\nesac\n";

/// Returns how many approvals of each group a gate needs.
pub(crate) fn approvals_per_group(voters: u64) -> u64 {
    (voters / VOTERS_PER_APPROVAL).clamp(1, MAX_COUNT)
}

/// Returns the slug of a pipeline with all [`GATES`].
pub(crate) fn slug(number: usize) -> String {
    format!("gated-{number}")
}

/// What all definitions of a run have in common.
#[derive(Clone, Debug)]
pub(crate) struct DefinitionSettings {
    /// The path of the journal.
    pub(crate) journal: String,
    /// Identifies processes of steps.
    pub(crate) mark: String,
    /// How many approvals of each group a gate needs.
    pub(crate) count: u64,
}

impl DefinitionSettings {
    /// Returns a definition with all [`GATES`]. In the first version [`LATE`] needs no approval.
    pub(crate) fn gated(&self, slug: &str, is_first_version: bool) -> String {
        let mut file = self.begin("");
        self.write_stage(&mut file, slug, (BUILD, ""), OUTPUT);
        for key in GATES {
            let approval = match key {
                LATE if is_first_version => String::new(),
                LAPSING => self.approval(&format!(", validFor: {VALID_FOR_SECONDS}s")),
                _ => self.approval(""),
            };
            let after = if [LAPSING, LATE].contains(&key) { FAIL_FIRST } else { "" };
            self.write_stage(&mut file, slug, (key, &format!("    needs: [{BUILD}]\n{approval}")), after);
        }
        file
    }

    /// Returns a definition with one gate.
    pub(crate) fn single(&self, slug: &str) -> String {
        let environments = match slug {
            TRIAL => format!("ephemeralEnvironments:\n  {TRIAL_ENVIRONMENT}: {{}}\n"),
            _ => String::new(),
        };
        let mut file = self.begin(&environments);
        self.write_stage(&mut file, slug, (PLAIN, &self.approval("")), "");
        file
    }

    fn begin(&self, environments: &str) -> String {
        let Self { journal, mark, .. } = self;
        format!("variables: {{ JOURNAL: \"{journal}\", {MARK}: \"{mark}\" }}\n{environments}stages:\n")
    }

    fn approval(&self, more: &str) -> String {
        let count = self.count;
        let rules = GROUPS.map(|group| format!("{{ groups: [{group}], count: {count} }}"));
        format!("    approval: {{ rules: [{}], timeout: 15m{more} }}\n", rules.join(", "))
    }

    fn write_stage(&self, file: &mut String, slug: &str, (key, settings): (&str, &str), after: &str) {
        let _ = write!(file, "  {key}:\n{settings}    steps:\n");
        let _ = writeln!(file, "      - name: step-1\n        image: {IMAGE}");
        let _ = writeln!(file, "        variables: {{ TICKS: \"1\", PLACE: \"{slug} {NOWHERE}\" }}");
        file.push_str("        run: |\n");
        for line in [NOTE, WORK, after, END].concat().lines() {
            let _ = writeln!(file, "          {line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_second_version_gates_every_stage() {
        let settings =
            DefinitionSettings { journal: "/journal".to_owned(), mark: "run".to_owned(), count: 8 };
        let count = |text: &str| text.matches("approval: {").count();
        let first = settings.gated("gated-1", true);
        assert_eq!((count(&first), count(&settings.gated("gated-1", false))), (3, 4));
        assert!(first.contains("{ groups: [security], count: 8 }], timeout: 15m, validFor: 3s }"), "{first}");
        assert!(settings.single(TRIAL).contains("ephemeralEnvironments:\n  qa: {}\n"));
        assert_eq!(count(&settings.single(MACHINE)), 1);
    }

    #[test]
    fn voters_can_meet_both_rules() {
        for voters in [10, 40, 200] {
            assert!(2 * approvals_per_group(voters) <= voters / 2, "{voters}");
        }
        assert_eq!(approvals_per_group(1_000), 20);
    }
}
