//! The pipelines that are deployed: what their steps do, how long they take, and which fail on purpose.

use std::fmt::Write;

use crate::parts::containers::IMAGE;

/// The pool of the runner with containers; the others are in `default`.
pub(crate) const CONTAINERS: &str = "containers";
/// The pool of the runner that only sends heartbeats, and its name.
pub(crate) const HOLLOW: &str = "hollow";
/// How long the stage may take that this runner is given.
pub(crate) const HOLLOW_TIMEOUT_SECONDS: u32 = 10;
/// How many deployments of the narrow pipeline may run at once.
pub(crate) const NARROW_CONCURRENCY: usize = 2;
/// Every step of a run has it, and nobody else.
pub(crate) const MARK: &str = "FAULT_RUN";

/// A step says at the target when it begins, a few times a second that it is still at work, that it has applied its effect, and
/// how it ends. It stops as soon as the target refuses. (No `-T`: some builds of busybox crash with it.)
const SAY: &str = r#"say() {
  busybox wget -q -O /dev/null "$TARGET?word=$1&environment=${GREENROOM_ENVIRONMENT:-}&fence=${GREENROOM_FENCE:-}&deployment=$GREENROOM_DEPLOYMENT_ID&stage=$GREENROOM_STAGE&attempt=$GREENROOM_ATTEMPT&step=$GREENROOM_STEP&job=$GREENROOM_JOB_ID&ticks=$TICKS"
}
"#;
const WORK: &str = r#"say begin
left=$TICKS
while [ "$left" -gt 0 ]; do
  sleep 0.25 || true
  say tick
  left=$((left - 1))
done
say apply
"#;
/// One commit in eight, the first time that it is tried.
const FAIL_AT_TIMES: &str = r#"case "$GREENROOM_COMMIT_ID-$GREENROOM_ATTEMPT" in
  *[01]-1) say "end&code=7"; exit 7 ;;
esac
"#;
const GIVE_NUL_AT_TIMES: &str = r#"case "$GREENROOM_COMMIT_ID" in
  *[89]) printf 'version=1\0002\n' > "$GREENROOM_OUTPUT" ;;
  *) echo "version=1" > "$GREENROOM_OUTPUT" ;;
esac
"#;
const END: &str = "say \"end&code=0\"\n";
/// Some go on for longer than a lease: if their runner is gone, it is the entrypoint that has to end them.
const WORK_ON_AT_TIMES: &str = r#"case "$GREENROOM_COMMIT_ID" in
  *[2-7]) TICKS=64 ;;
esac
"#;
/// Who is asked to end takes its time.
const LINGER: &str = r#"linger() {
  left=12
  while [ "$left" -gt 0 ]; do
    sleep 0.25
    say tick
    left=$((left - 1))
  done
  exit 1
}
trap linger TERM
"#;

#[derive(Clone, Copy)]
enum Manner {
    Plain,
    /// It fails at times.
    Fails,
    /// It does not end at once when it is asked to.
    Lingers,
    /// The same, and it works for a quarter of a minute at times.
    WorksOn,
    /// It is tried twice if the platform fails.
    Tried,
    /// One commit in eight gives an output with a NUL in it.
    GivesNul,
}

struct Stage {
    key: &'static str,
    needs: &'static str,
    timeout_seconds: Option<u32>,
    /// How many quarters of a second each step takes, and in which manner.
    steps: &'static [(u32, Manner)],
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

use Manner::{Fails, GivesNul, Lingers, Plain, Tried, WorksOn};

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
                steps: &[(8, WorksOn), (1, Fails)],
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
            steps: &[(1, WorksOn), (10, Lingers), (2, Fails)],
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
            steps: &[(2, WorksOn), (6, Fails)],
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
            Stage { key: "left", needs: "", timeout_seconds: None, steps: &[(4, Tried)] },
            Stage { key: "right", needs: "", timeout_seconds: None, steps: &[(2, Plain), (2, Fails)] },
            Stage { key: "join", needs: "left, right", timeout_seconds: None, steps: &[(6, Tried)] },
        ],
    },
];

/// Those that clients leave alone: each is there for one trial.
pub(crate) static NARROW: Pipeline = Pipeline {
    slug: "narrow",
    has_repository: false,
    environments: &[],
    cleans_up: false,
    pool: "default",
    concurrency: Some(NARROW_CONCURRENCY),
    stages: &[Stage { key: "deploy", needs: "", timeout_seconds: None, steps: &[(2, GivesNul)] }],
};
pub(crate) static HOLLOW_PIPELINE: Pipeline = Pipeline {
    slug: "hollow",
    has_repository: false,
    environments: &["hollow-1"],
    cleans_up: false,
    pool: HOLLOW,
    concurrency: None,
    stages: &[Stage {
        key: "deploy",
        needs: "",
        timeout_seconds: Some(HOLLOW_TIMEOUT_SECONDS),
        steps: &[(1, Plain)],
    }],
};

impl Pipeline {
    /// As a file. `target` is where its steps report, `mark` what they are known by.
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
        for (number, (ticks, manner)) in self.steps.iter().enumerate() {
            let name = ["one", "two", "three"].get(number).copied().unwrap_or("more");
            let _ = writeln!(file, "      - name: {name}\n        image: {IMAGE}");
            let _ = writeln!(file, "        variables: {{ TICKS: \"{ticks}\" }}");
            if matches!(manner, Tried) {
                file.push_str("        retry: { attempts: 2, backoff: 1s }\n");
            }
            file.push_str("        run: |\n");
            let before = match manner {
                Lingers => LINGER.to_owned(),
                WorksOn => [LINGER, WORK_ON_AT_TIMES].concat(),
                Plain | Fails | Tried | GivesNul => String::new(),
            };
            let after = match manner {
                Fails => FAIL_AT_TIMES,
                GivesNul => GIVE_NUL_AT_TIMES,
                Plain | Lingers | WorksOn | Tried => "",
            };
            for line in [SAY, &before, WORK, after, END].concat().lines() {
                let _ = writeln!(file, "          {line}");
            }
        }
    }
}
