//! The pipelines that are deployed: what their steps do, how long they take, and which fail on purpose.

use std::fmt::Write;

use crate::parts::containers::IMAGE;

/// The pool of the runner with containers; the others are in `default`.
pub(crate) const CONTAINERS: &str = "containers";
/// The name and the pool of the runner that only sends heartbeats.
pub(crate) const HEARTBEAT_ONLY: &str = "heartbeat-only";
/// The timeout of the stage that this runner is given.
pub(crate) const HEARTBEAT_ONLY_TIMEOUT_SECONDS: u32 = 10;
/// How many deployments of the narrow pipeline may run concurrently.
pub(crate) const NARROW_CONCURRENCY: usize = 2;
/// An environment variable that every step of a run has, and no other process.
pub(crate) const MARK: &str = "FAULT_RUN";

/// A step reports to the target when it begins, a few times a second while it works, when it has applied its
/// effect, and how it ends. It stops as soon as the target rejects a report. (No `-T`: some builds of busybox
/// crash with it.)
const REPORT: &str = r#"report() {
  busybox wget -q -O /dev/null "$TARGET?report=$1&environment=${GREENROOM_ENVIRONMENT:-}&fence=${GREENROOM_FENCE:-}&deployment=$GREENROOM_DEPLOYMENT_ID&stage=$GREENROOM_STAGE&attempt=$GREENROOM_ATTEMPT&step=$GREENROOM_STEP&job=$GREENROOM_JOB_ID&ticks=$TICKS"
}
"#;
const REPORT_WORK: &str = r#"report begin
left=$TICKS
while [ "$left" -gt 0 ]; do
  sleep 0.25 || true
  report tick
  left=$((left - 1))
done
report apply
"#;
/// One commit in eight fails, in its first attempt.
const FAIL_SOMETIMES: &str = r#"case "$GREENROOM_COMMIT_ID-$GREENROOM_ATTEMPT" in
  *[01]-1) report "end&code=7"; exit 7 ;;
esac
"#;
const OUTPUT_NUL_SOMETIMES: &str = r#"case "$GREENROOM_COMMIT_ID" in
  *[89]) printf 'version=1\0002\n' > "$GREENROOM_OUTPUT" ;;
  *) echo "version=1" > "$GREENROOM_OUTPUT" ;;
esac
"#;
const REPORT_END: &str = "report \"end&code=0\"\n";
/// Some steps take longer than a lease. If their runner is gone, the entrypoint has to end them.
const WORK_LONG_SOMETIMES: &str = r#"case "$GREENROOM_COMMIT_ID" in
  *[2-7]) TICKS=64 ;;
esac
"#;
/// Delays the end after SIGTERM.
const LINGER: &str = r#"linger() {
  left=12
  while [ "$left" -gt 0 ]; do
    sleep 0.25
    report tick
    left=$((left - 1))
  done
  exit 1
}
trap linger TERM
"#;

#[derive(Clone, Copy)]
enum StepBehavior {
    Plain,
    /// The step fails sometimes.
    Fails,
    /// The step does not end immediately on SIGTERM.
    Lingers,
    /// The same, and sometimes it works for a quarter of a minute.
    WorksLong,
    /// The stage is attempted twice if the platform fails.
    Retried,
    /// One commit in eight gives an output that contains a NUL.
    OutputsNul,
}

struct Stage {
    key: &'static str,
    needs: &'static str,
    timeout_seconds: Option<u32>,
    /// How many quarters of a second each step takes, and its behavior.
    steps: &'static [(u32, StepBehavior)],
}

pub(crate) struct Pipeline {
    pub(crate) slug: &'static str,
    pub(crate) has_repository: bool,
    pub(crate) environments: &'static [&'static str],
    cleans_up: bool,
    pool: &'static str,
    concurrency: Option<usize>,
    stages: &'static [Stage],
}

use StepBehavior::{Fails, Lingers, OutputsNul, Plain, Retried, WorksLong};

pub(crate) static PIPELINES: [Pipeline; 4] = [
    Pipeline {
        slug: "shop",
        has_repository: true,
        environments: &["qa-1", "qa-2"],
        cleans_up: true,
        pool: "default",
        concurrency: None,
        stages: &[
            Stage { key: "build", needs: "", timeout_seconds: None, steps: &[(2, Plain)] },
            Stage {
                key: "deploy",
                needs: "build",
                timeout_seconds: None,
                steps: &[(8, WorksLong), (1, Fails)],
            },
        ],
    },
    Pipeline {
        slug: "lab",
        has_repository: false,
        environments: &["lab-1", "lab-2"],
        cleans_up: false,
        pool: "default",
        concurrency: None,
        stages: &[Stage {
            key: "deploy",
            needs: "",
            timeout_seconds: None,
            steps: &[(1, WorksLong), (10, Lingers), (2, Fails)],
        }],
    },
    Pipeline {
        slug: "boxes",
        has_repository: false,
        environments: &["box-1"],
        cleans_up: true,
        pool: CONTAINERS,
        concurrency: None,
        stages: &[Stage {
            key: "deploy",
            needs: "",
            timeout_seconds: None,
            steps: &[(2, WorksLong), (6, Fails)],
        }],
    },
    Pipeline {
        slug: "wide",
        has_repository: false,
        environments: &[],
        cleans_up: false,
        pool: "default",
        concurrency: None,
        stages: &[
            Stage { key: "left", needs: "", timeout_seconds: None, steps: &[(4, Retried)] },
            Stage { key: "right", needs: "", timeout_seconds: None, steps: &[(2, Plain), (2, Fails)] },
            Stage { key: "join", needs: "left, right", timeout_seconds: None, steps: &[(6, Retried)] },
        ],
    },
];

/// Pipelines that ordinary clients do not use: each is reserved for one trial.
pub(crate) static NARROW: Pipeline = Pipeline {
    slug: "narrow",
    has_repository: false,
    environments: &[],
    cleans_up: false,
    pool: "default",
    concurrency: Some(NARROW_CONCURRENCY),
    stages: &[Stage { key: "deploy", needs: "", timeout_seconds: None, steps: &[(2, OutputsNul)] }],
};
pub(crate) static HEARTBEAT_ONLY_PIPELINE: Pipeline = Pipeline {
    slug: "heartbeat-only",
    has_repository: false,
    environments: &["heartbeat-only-1"],
    cleans_up: false,
    pool: HEARTBEAT_ONLY,
    concurrency: None,
    stages: &[Stage {
        key: "deploy",
        needs: "",
        timeout_seconds: Some(HEARTBEAT_ONLY_TIMEOUT_SECONDS),
        steps: &[(1, Plain)],
    }],
};

impl Pipeline {
    /// Returns the definition as a file. `target` is the address that steps report to, `mark` identifies
    /// their processes.
    pub(crate) fn definition(&self, target: &str, mark: &str) -> String {
        let mut file = format!("variables: {{ TARGET: \"{target}\", {MARK}: \"{mark}\" }}\n");
        let _ = writeln!(file, "runner: {{ pool: {} }}", self.pool);
        if let Some(concurrency) = self.concurrency {
            let _ = writeln!(file, "concurrency: {concurrency}");
        }
        let clean_up = if self.cleans_up { ", onRelease: [remove]" } else { "" };
        if !self.environments.is_empty() {
            file.push_str("ephemeralEnvironments:\n");
        }
        for name in self.environments {
            let _ = writeln!(file, "  {name}: {{ lease: {{ default: 20s, max: 10m }}{clean_up} }}");
        }
        file.push_str("stages:\n");
        for stage in self.stages {
            stage.write(&mut file);
        }
        if self.cleans_up {
            Stage { key: "remove", needs: "", timeout_seconds: None, steps: &[(3, Plain)] }.write(&mut file);
        }
        file
    }
}

impl Stage {
    fn write(&self, file: &mut String) {
        let _ = writeln!(file, "  {}:\n    needs: [{}]", self.key, self.needs);
        if let Some(seconds) = self.timeout_seconds {
            let _ = writeln!(file, "    timeout: {seconds}s");
        }
        file.push_str("    steps:\n");
        for (number, (ticks, behavior)) in self.steps.iter().enumerate() {
            let name = ["one", "two", "three"].get(number).copied().unwrap_or("more");
            let _ = writeln!(file, "      - name: {name}\n        image: {IMAGE}");
            let _ = writeln!(file, "        variables: {{ TICKS: \"{ticks}\" }}");
            if matches!(behavior, Retried) {
                file.push_str("        retry: { attempts: 2, backoff: 1s }\n");
            }
            file.push_str("        run: |\n");
            let before = match behavior {
                Lingers => LINGER.to_owned(),
                WorksLong => [LINGER, WORK_LONG_SOMETIMES].concat(),
                Plain | Fails | Retried | OutputsNul => String::new(),
            };
            let after = match behavior {
                Fails => FAIL_SOMETIMES,
                OutputsNul => OUTPUT_NUL_SOMETIMES,
                Plain | Lingers | WorksLong | Retried => "",
            };
            for line in [REPORT, &before, REPORT_WORK, after, REPORT_END].concat().lines() {
                let _ = writeln!(file, "          {line}");
            }
        }
    }
}
