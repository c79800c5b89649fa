//! The pipelines that are deployed: what their steps do, how long they take, and which fail on purpose.

use std::fmt::Write;

use crate::parts::containers::IMAGE;

/// The pool of the runner with containers; the others are in `default`.
pub(crate) const CONTAINERS: &str = "containers";
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
}

struct Stage {
    key: &'static str,
    needs: &'static str,
    /// How many quarters of a second each step takes, and in which manner.
    steps: &'static [(u32, Manner)],
}

pub(crate) struct Pipeline {
    pub(crate) slug: &'static str,
    pub(crate) has_repository: bool,
    pub(crate) environments: &'static [&'static str],
    cleans_up: bool,
    pool: &'static str,
    stages: &'static [Stage],
}

use Manner::{Fails, Lingers, Plain, Tried, WorksOn};

pub(crate) static PIPELINES: [Pipeline; 4] = [
    Pipeline {
        slug: "shop",
        has_repository: true,
        environments: &["qa-1", "qa-2"],
        cleans_up: true,
        pool: "default",
        stages: &[
            Stage { key: "build", needs: "", steps: &[(2, Plain)] },
            Stage { key: "deploy", needs: "build", steps: &[(8, WorksOn), (1, Fails)] },
        ],
    },
    Pipeline {
        slug: "lab",
        has_repository: false,
        environments: &["lab-1", "lab-2"],
        cleans_up: false,
        pool: "default",
        stages: &[Stage { key: "deploy", needs: "", steps: &[(1, WorksOn), (10, Lingers), (2, Fails)] }],
    },
    Pipeline {
        slug: "boxes",
        has_repository: false,
        environments: &["box-1"],
        cleans_up: true,
        pool: CONTAINERS,
        stages: &[Stage { key: "deploy", needs: "", steps: &[(2, WorksOn), (6, Fails)] }],
    },
    Pipeline {
        slug: "wide",
        has_repository: false,
        environments: &[],
        cleans_up: false,
        pool: "default",
        stages: &[
            Stage { key: "left", needs: "", steps: &[(4, Tried)] },
            Stage { key: "right", needs: "", steps: &[(2, Plain), (2, Fails)] },
            Stage { key: "join", needs: "left, right", steps: &[(6, Tried)] },
        ],
    },
];

impl Pipeline {
    /// As a file. `target` is where its steps report, `mark` what they are known by.
    pub(crate) fn definition(&self, target: &str, mark: &str) -> String {
        let mut file = format!("variables: {{ TARGET: \"{target}\", {MARK}: \"{mark}\" }}\n");
        let _ = writeln!(file, "runner: {{ pool: {} }}", self.pool);
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
            Stage { key: "remove", needs: "", steps: &[(3, Plain)] }.write(&mut file);
        }
        file
    }
}

impl Stage {
    fn write(&self, file: &mut String) {
        let _ = writeln!(file, "  {}:\n    needs: [{}]\n    steps:", self.key, self.needs);
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
                Plain | Fails | Tried => String::new(),
            };
            let fail = if matches!(manner, Fails) { FAIL_AT_TIMES } else { "" };
            for line in [SAY, &before, WORK, fail, END].concat().lines() {
                let _ = writeln!(file, "          {line}");
            }
        }
    }
}
