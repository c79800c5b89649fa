//! The definitions of the pipelines.

use serde_json::{Map, Value, json};

use crate::fault::provenance::mark::{Medium, PATTERN};
use crate::fault::provenance::pipelines::{CACHES, EPHEMERAL, Pipeline, RunsIn, Stage};

/// The variable with the folder of the steps' findings.
pub(super) const LEDGER: &str = "LEDGER";
/// The first step of each job: writes all marks in the workspace and beside it, git's own folder included, and in the variables to a
/// file of the job.
const SEARCH: &str = r#"file="$LEDGER/$GREENROOM_JOB_ID"
echo "$GREENROOM_DEPLOYMENT_ID $GREENROOM_STAGE" > "$file.new"
{ grep -rhasoE 'PATTERN' . ../above || true; env | grep -aoE 'PATTERN' || true; } | sort -u >> "$file.new"
mv "$file.new" "$file"
"#;
/// The second one leaves marks.
const LEAVE: &str = r#"mark="gr-mark/$POOL/$GREENROOM_STAGE/$GREENROOM_PURPOSE/$GREENROOM_ENVIRONMENT/$GREENROOM_DEPLOYMENT_ID"
for folder in "out/$GREENROOM_STAGE:artifact" deps:cache tools:cache; do
  mkdir -p "${folder%:*}"
  echo "$mark/${folder#*:}/declared" > "${folder%:*}/mark"
done
echo "mark=$mark/output/declared" >> "$GREENROOM_OUTPUT"
"#;
/// The name of the output of each stage.
pub(super) const OUTPUT: &str = "mark";

impl Medium {
    /// Returns where honest jobs, and the declared archives of hostile ones, have their mark.
    pub(super) fn path(self, stage: &str, key: &str) -> String {
        match self {
            Self::Cache => format!("{key}/mark"),
            Self::Artifact | Self::Output => format!("out/{stage}/mark"),
        }
    }
}

impl Pipeline {
    pub(super) fn definition(&self, ledger: &str) -> String {
        let environment = match self.branches {
            [] => json!({}),
            branches => json!({ "branches": branches }),
        };
        let in_sessions = self.stages.iter().filter(|stage| stage.runs_in != RunsIn::Environment);
        let in_sessions: Vec<&str> = in_sessions.map(|stage| stage.key).collect();
        let stages = self.stages.iter().map(|stage| (stage.key.to_owned(), self.stage_definition(stage)));
        let definition = json!({
            "variables": { LEDGER: ledger },
            "environments": { self.environment: environment },
            "ephemeralEnvironments": { EPHEMERAL: { "stages": in_sessions } },
            "stages": stages.collect::<Map<_, _>>(),
        });
        definition.to_string()
    }

    fn stage_definition(&self, stage: &Stage) -> Value {
        let step = |name: &str, run: &str| json!({ "name": name, "image": "none", "run": run });
        let caches = CACHES.map(|key| json!({ "key": key, "paths": [key] }));
        let mut definition = json!({
            "needs": stage.needs,
            "runner": { "pool": stage.pool },
            "variables": { "POOL": stage.pool },
            "caches": caches,
            "steps": [step("search", &SEARCH.replace("PATTERN", PATTERN)), step("leave", LEAVE)],
        });
        let mut set = |key: &str, value: Value| {
            definition[key] = value;
        };
        match stage.runs_in {
            RunsIn::Deployment => {}
            RunsIn::Environment => set("environment", json!(self.environment)),
            RunsIn::Session => set("only", json!("ephemeral")),
        }
        let declared = stage.declared();
        if !declared.is_empty() {
            set("artifacts", json!(declared));
        }
        if !stage.accept_from.is_empty() {
            set("acceptFrom", json!(stage.accept_from));
        }
        definition
    }
}
