//! The pipelines that are deployed, each with the lasting environments `staging` and `production`. Two stages deploy
//! to each of them; in `staging`, another stage without an environment is between them.

use std::fmt::Write;

use crate::parts::containers::IMAGE;

pub(crate) const STAGING: &str = "staging";
pub(crate) const PRODUCTION: &str = "production";
pub(crate) const ENVIRONMENTS: [&str; 2] = [STAGING, PRODUCTION];
/// The first stage in `production`: a rollback repeats it.
pub(crate) const MIGRATE: &str = "migrate";
/// An environment variable that every step of a run has, and no other process.
pub(crate) const MARK: &str = "FAULT_RUN";
/// The environment in the journal of a step without one.
pub(crate) const NOWHERE: &str = "-";

/// A step appends a line to the journal when it begins, four times a second while it works, and when it ends. Each
/// line is one write to a file that is opened for appending, so lines are not mixed.
pub(crate) const NOTE: &str = r#"note() {
  printf '%s %s %s %s %s %s %s %s %s\n' "$1" "$PLACE" "$GREENROOM_DEPLOYMENT_ID" "$GREENROOM_STAGE" \
    "$GREENROOM_ATTEMPT" "$GREENROOM_STEP" "$GREENROOM_JOB_ID" "$2" "$(date +%s%6N)" >> "$JOURNAL"
}
"#;
pub(crate) const WORK: &str = r#"note began 0
left=$TICKS
while [ "$left" -gt 0 ]; do
  sleep 0.25 || true
  note works 0
  left=$((left - 1))
done
"#;
const WORK_LONG_SOMETIMES: &str = r#"case "$GREENROOM_COMMIT_ID" in
  *0) TICKS=24 ;;
esac
"#;
pub(crate) const END: &str = "note ended 0\n";

/// What is special about a deployment. It is the last digit of its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behavior {
    /// Its build takes so long that a later deployment becomes live before it.
    BuildsLong = 0,
    /// Its last stage in `staging` fails in its first attempt.
    FailsInStaging = 1,
    /// The same in `production`.
    FailsInProduction = 2,
    Plain = 3,
}

pub(crate) struct Pipeline {
    pub(crate) slug: &'static str,
    /// What the first stage in `production` needs. If it does not need `staging`, two deployments can block each
    /// other: each has the environment that the other one needs.
    migrate_needs: &'static str,
}

impl Pipeline {
    /// Returns whether two of its deployments can block each other.
    pub(crate) fn can_deadlock(&self) -> bool {
        self.migrate_needs == "build"
    }
}

pub(crate) static PIPELINES: [Pipeline; 3] = [
    Pipeline { slug: "shop", migrate_needs: "verify" },
    Pipeline { slug: "blog", migrate_needs: "verify" },
    Pipeline { slug: "wiki", migrate_needs: "build" },
];

struct Stage {
    key: &'static str,
    environment: Option<&'static str>,
    /// How many quarters of a second each of its steps takes.
    steps: &'static [u32],
    /// Fails in its first attempt if the deployment has this behavior.
    fails: Option<Behavior>,
}

const STAGES: [Stage; 6] = [
    Stage { key: "build", environment: None, steps: &[1], fails: None },
    Stage { key: "deploy", environment: Some(STAGING), steps: &[1, 1], fails: None },
    Stage { key: "inspect", environment: None, steps: &[1], fails: None },
    Stage { key: "verify", environment: Some(STAGING), steps: &[1], fails: Some(Behavior::FailsInStaging) },
    Stage { key: MIGRATE, environment: Some(PRODUCTION), steps: &[1, 1], fails: None },
    Stage {
        key: "release",
        environment: Some(PRODUCTION),
        steps: &[2],
        fails: Some(Behavior::FailsInProduction),
    },
];

/// Returns the id of a commit that no other request uses.
pub(crate) fn commit(number: usize, behavior: Behavior) -> String {
    format!("{:039x}{:x}", number + 1, behavior as u8)
}

impl Pipeline {
    /// Returns the definition as a file. `journal` is the path of the journal, `mark` identifies processes of steps.
    pub(crate) fn definition(&self, journal: &str, mark: &str) -> String {
        let mut file = format!("variables: {{ JOURNAL: \"{journal}\", {MARK}: \"{mark}\" }}\n");
        file.push_str("environments:\n");
        for name in ENVIRONMENTS {
            let _ = writeln!(file, "  {name}: {{}}");
        }
        file.push_str("stages:\n");
        let mut needs = "";
        for stage in &STAGES {
            stage.write(&mut file, self.slug, if stage.key == MIGRATE { self.migrate_needs } else { needs });
            needs = stage.key;
        }
        file
    }
}

impl Stage {
    fn write(&self, file: &mut String, pipeline: &str, needs: &str) {
        let _ = writeln!(file, "  {}:\n    needs: [{needs}]", self.key);
        if let Some(environment) = self.environment {
            let _ = writeln!(file, "    environment: {environment}");
        }
        file.push_str("    steps:\n");
        let place = format!("{pipeline} {}", self.environment.unwrap_or(NOWHERE));
        for (number, ticks) in self.steps.iter().enumerate() {
            let _ = writeln!(file, "      - name: step-{}\n        image: {IMAGE}", number + 1);
            let _ = writeln!(file, "        variables: {{ TICKS: \"{ticks}\", PLACE: \"{place}\" }}");
            file.push_str("        run: |\n");
            let before =
                if self.environment.is_none() && needs.is_empty() { WORK_LONG_SOMETIMES } else { "" };
            let after = self.fails.map_or_else(String::new, |behavior| {
                let digit = behavior as u8;
                format!(
                    "case \"$GREENROOM_COMMIT_ID-$GREENROOM_ATTEMPT\" in\n  *{digit}-1) note ended 7; exit 7 ;;\nesac\n"
                )
            });
            for line in [NOTE, before, WORK, &after, END].concat().lines() {
                let _ = writeln!(file, "          {line}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_names_its_place_and_what_it_needs() {
        let shop = PIPELINES[0].definition("/journal", "run");
        assert!(shop.contains("  migrate:\n    needs: [verify]\n    environment: production\n"), "{shop}");
        assert!(shop.contains("PLACE: \"shop -\"") && shop.contains("PLACE: \"shop staging\""), "{shop}");
        let wiki = PIPELINES[2].definition("/journal", "run");
        assert!(wiki.contains("  migrate:\n    needs: [build]\n"), "{wiki}");
    }

    #[test]
    fn no_commit_is_used_twice() {
        assert_eq!(commit(7, Behavior::Plain).len(), 40);
        assert_ne!(commit(7, Behavior::Plain), commit(8, Behavior::Plain));
        assert!(commit(7, Behavior::FailsInProduction).ends_with('2'));
    }
}
