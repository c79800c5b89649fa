//! The files by which failures are planted. Every step looks for them: a commit, a definition, an environment or a service
//! is broken while there is a file for it, whose text the step then prints.

use std::path::PathBuf;

use serde_json::json;

use crate::corpus::noise::Noise;
use crate::fault::verdicts::cause::Cause;

/// Steps print one of this many texts of noise.
pub(super) const NOISES: u64 = 24;
pub(super) const ENVIRONMENTS: [&str; 3] = ["qa-1", "qa-2", "qa-3"];
pub(super) const STAGE: &str = "deploy";
const FOLDERS: [&str; 8] =
    ["noise", "clean-up", "commits", "definitions", "environments", "outages", "flakes", "began"];

/// Prints noise, what was planted if there is something, and the output of a clean-up.
const SCRIPT: &str = r#"id=$(printf %s "$GREENROOM_DEPLOYMENT_ID" | tail -c 8)
number=$(( 0x$(printf %s "$id" | tail -c 2) + 7 * GREENROOM_ATTEMPT ))
fail() {
  sed -e "s/@N@/$number/g" -e "s/@H@/$id/g" -e "s/@T@/$(date +%T)/g" "$1"
  cat "$PLANTS/clean-up/$((number % NOISES))"
  exit 1
}
cat "$PLANTS/noise/$((number % NOISES))"
environment="$PLANTS/environments/$PIPELINE.${GREENROOM_ENVIRONMENT:-none}"
for planted in "$PLANTS/definitions/$DEFINITION" "$PLANTS/commits/$GREENROOM_COMMIT_ID" "$PLANTS"/outages/* \
  "$environment" "$environment.$GREENROOM_COMMIT_ID"; do
  if test -f "$planted"; then fail "$planted"; fi
done
flake="$PLANTS/flakes/$GREENROOM_COMMIT_ID"
if mv "$flake" "$flake.past" 2>/dev/null; then fail "$flake.past"; fi
cat "$PLANTS/clean-up/$((number % NOISES))"
"#;
/// Does not end before its runner is killed.
const HANG: &str = r#"cat "$PLANTS/noise/0"
touch "$PLANTS/began/$GREENROOM_DEPLOYMENT_ID"
sleep 300
"#;
/// Its image has the failure.
const IMAGE: &str = r#"echo "$PIPELINE starts"
if test -n "${FAILURE:-}"; then echo "$FAILURE"; exit 1; fi
"#;
/// Prints 10 MB of noise. The order of its parts differs in each run.
const LONG: &str = r#"number=$(( 0x$(printf %s "$GREENROOM_DEPLOYMENT_ID" | tail -c 2) ))
left=PARTS
while [ "$left" -gt 0 ]; do
  cat "$PLANTS/noise/$(( (number + left) % NOISES ))"
  left=$((left - 1))
done
if test -f "$PLANTS/commits/$GREENROOM_COMMIT_ID"; then cat "$PLANTS/commits/$GREENROOM_COMMIT_ID"; exit 1; fi
"#;

/// What a step does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Script<'a> {
    /// The name of the definition, which can be broken.
    Plain(&'a str),
    Hang,
    /// The name of the image, which can be broken.
    Image(&'a str),
    /// Prints a log of this many bytes.
    Long(u64),
}

pub(super) struct Plants {
    folder: PathBuf,
    noise_bytes: u64,
}

impl Plants {
    pub(super) fn make(folder: PathBuf) -> anyhow::Result<Self> {
        for part in FOLDERS {
            std::fs::create_dir_all(folder.join(part))?;
        }
        let mut noise_bytes = 0;
        for number in 0..NOISES {
            let (build, mut clean_up) = (Noise::new(number + 1).build(), Noise::new(number + 1 + NOISES));
            noise_bytes += build.len() as u64;
            std::fs::write(folder.join(format!("noise/{number}")), build)?;
            std::fs::write(folder.join(format!("clean-up/{number}")), clean_up.clean_up())?;
        }
        Ok(Self { folder, noise_bytes })
    }

    pub(super) fn break_commit(&self, commit: &str, cause: &Cause) -> anyhow::Result<()> {
        self.write(&format!("commits/{commit}"), cause)
    }

    /// The commit fails once.
    pub(super) fn make_flaky(&self, commit: &str, cause: &Cause) -> anyhow::Result<()> {
        self.write(&format!("flakes/{commit}"), cause)
    }

    pub(super) fn break_definition(&self, name: &str, cause: &Cause) -> anyhow::Result<()> {
        self.write(&format!("definitions/{name}"), cause)
    }

    /// Breaks an environment, or breaks it for one commit, so that the next one fails with another error.
    pub(super) fn break_environment(
        &self,
        (pipeline, environment): (&str, &str),
        commit: Option<&str>,
        cause: &Cause,
    ) -> anyhow::Result<()> {
        let commit = commit.map(|commit| format!(".{commit}")).unwrap_or_default();
        self.write(&format!("environments/{pipeline}.{environment}{commit}"), cause)
    }

    pub(super) fn repair_environment(&self, pipeline: &str, environment: &str) -> anyhow::Result<()> {
        Ok(std::fs::remove_file(self.folder.join(format!("environments/{pipeline}.{environment}")))?)
    }

    pub(super) fn begin_outage(&self, cause: &Cause) -> anyhow::Result<()> {
        self.write(&format!("outages/{}", cause.id), cause)
    }

    pub(super) fn end_outage(&self, cause: &Cause) -> anyhow::Result<()> {
        Ok(std::fs::remove_file(self.folder.join(format!("outages/{}", cause.id)))?)
    }

    /// Returns whether the step of a deployment hangs.
    pub(super) fn hangs(&self, deployment: &str) -> bool {
        self.folder.join("began").join(deployment).exists()
    }

    fn write(&self, name: &str, cause: &Cause) -> anyhow::Result<()> {
        Ok(std::fs::write(self.folder.join(name), &cause.text)?)
    }

    /// Returns the definition of a pipeline with one step.
    pub(super) fn definition(&self, pipeline: &str, pool: &str, script: Script<'_>) -> String {
        let text = match script {
            Script::Plain(_) => SCRIPT.to_owned(),
            Script::Hang => HANG.to_owned(),
            Script::Image(_) => IMAGE.to_owned(),
            Script::Long(bytes) => {
                let parts = (bytes * NOISES).div_ceil(self.noise_bytes.max(1));
                LONG.replace("PARTS", &parts.to_string())
            }
        };
        let name = if let Script::Plain(name) = script { name } else { "none" };
        let variables = json!({
            "PLANTS": self.folder.display().to_string(),
            "NOISES": NOISES.to_string(),
            "PIPELINE": pipeline,
            "DEFINITION": name,
        });
        let image = if let Script::Image(image) = script { image } else { "alpine:3" };
        let step = json!({ "name": "roll out", "image": image, "run": text });
        let environments: serde_json::Map<_, _> =
            ENVIRONMENTS.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        json!({
            "runner": { "pool": pool },
            "variables": variables,
            "ephemeralEnvironments": environments,
            "stages": { STAGE: { "steps": [step], "timeout": "10m" } },
        })
        .to_string()
    }
}
