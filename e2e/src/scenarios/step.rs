//! The words of `expect.json`, one struct each. The first word of this table that a step has is what it does.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::parts::runner::Backend;
use crate::scenarios::script::{RunnerSettings, one};

macro_rules! words {
    ($($word:literal $variant:ident($form:ty)),* $(,)?) => {
        #[derive(Clone, Debug)]
        pub(crate) enum Step {
            $($variant($form)),*
        }

        const WORDS: &[&str] = &[$($word),*];

        fn read(word: &str, step: Value) -> Result<Step, String> {
            match word {
                $($word => form(step).map(Step::$variant),)*
                _ => Err(format!("`{word}` is not a word")),
            }
        }
    };
}

words! {
    "start" Start(Start),
    "claim" Claim(Claim),
    "deploy" Deploy(Deploy),
    "heartbeat" Heartbeat(Heartbeat),
    "release" Release(Release),
    "cancel" Cancel(Cancel),
    "cancelStage" CancelStage(CancelStage),
    "retry" Retry(Retry),
    "cleanup" Cleanup(Cleanup),
    "force" Force(Force),
    "stop" Stop(Stop),
    "resume" Resume(Resume),
    "define" Define(Define),
    "until" Until(Until),
    "expect" Expect(Expect),
    "find" Find(Find),
    "log" Log(Log),
    "follow" Follow(Follow),
    "events" Events(Events),
    "touch" Touch(Touch),
    "startRunner" StartRunner(StartRunner),
    "kill" Kill(Kill),
    "pause" Pause(Pause),
    "continue" Continue(Continue),
    "terminate" Terminate(Terminate),
    "ended" Ended(Ended),
    "revoke" Revoke(Revoke),
    "pool" Pool(Pool),
    "down" Down(Down),
    "up" Up(Up),
    "noSteps" NoSteps(NoSteps),
    "file" File(File),
}

/// A step, and how it was written, for whoever has to find it.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) step: Step,
    pub(crate) text: Value,
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Value::deserialize(deserializer)?;
        let word = WORDS.iter().find(|word| text.get(word).is_some());
        let word =
            word.ok_or_else(|| D::Error::custom(format!("{text} has no word of {}", WORDS.join(", "))))?;
        let step = read(word, text.clone()).map_err(|error| D::Error::custom(format!("{text}: {error}")))?;
        Ok(Self { step, text })
    }
}

fn form<T: DeserializeOwned>(step: Value) -> Result<T, String> {
    serde_json::from_value(step).map_err(|error| error.to_string())
}

impl Step {
    /// The runner that it starts.
    pub(crate) fn runner(&self) -> Option<RunnerSettings> {
        match self {
            Step::StartRunner(step) => {
                let StartRunner { backend, concurrency, pool, .. } = step.clone();
                Some(RunnerSettings { backend, concurrency, pool })
            }
            _ => None,
        }
    }
}

/// A struct of a step: what is not said is `None`, what nobody knows is an error.
macro_rules! form {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "camelCase")]
        pub(crate) struct $name {
            $($(#[$field_meta])* pub(crate) $field: $type),*
        }
    };
}

form!(
    /// What an answer has to be; without this it has to be a good one.
    Answer { status: u16, #[serde(default)] is: Option<Value> }
);

form!(Commit { commit: String, branch: Option<String> });

form!(
    /// A deployment of the whole pipeline.
    Start {
        start: Commit,
        #[serde(rename = "as")]
        name: Option<String>,
        by: Option<String>,
        answer: Option<Answer>,
    }
);

form!(
    /// Claims an environment.
    Claim {
        claim: String,
        #[serde(rename = "as")]
        name: Option<String>,
        commit: Option<String>,
        /// What its first deployment is called.
        deployment: Option<String>,
        ttl_seconds: Option<i64>,
        context: Option<String>,
        queue: Option<bool>,
        by: Option<String>,
        answer: Option<Answer>,
    }
);

form!(
    /// Takes an environment, whoever holds it.
    Force {
        force: String,
        #[serde(rename = "as")]
        name: Option<String>,
        commit: Option<String>,
        deployment: Option<String>,
        ttl_seconds: Option<i64>,
        context: Option<String>,
        by: Option<String>,
        answer: Option<Answer>,
    }
);

form!(Deploy {
    deploy: String,
    commit: String,
    #[serde(rename = "as")]
    name: Option<String>,
    by: Option<String>,
    answer: Option<Answer>,
});

form!(Heartbeat { heartbeat: String, by: Option<String>, answer: Option<Answer> });
form!(Release { release: String, by: Option<String>, answer: Option<Answer> });
form!(Cancel { cancel: String, force: Option<bool>, by: Option<String>, answer: Option<Answer> });
form!(CancelStage { cancel_stage: (String, String), by: Option<String>, answer: Option<Answer> });

form!(Retry {
    retry: (String, String),
    inputs: Option<String>,
    by: Option<String>,
    answer: Option<Answer>,
});

form!(
    /// Repeats an environment's teardown that failed.
    Cleanup {
        cleanup: String,
        #[serde(rename = "as")]
        name: Option<String>,
        by: Option<String>,
        answer: Option<Answer>,
    }
);

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StopMode {
    Drain,
    Pause,
    Cancel,
}

impl StopMode {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Pause => "pause",
            Self::Cancel => "cancel",
        }
    }
}

form!(Stop { stop: StopMode });
form!(Resume {
    #[serde(rename = "resume", deserialize_with = "only_true")]
    _resume: ()
});
form!(
    /// Gives the pipeline another definition: a file of the scenario.
    Define { define: String }
);

form!(
    /// Waits until something is so.
    Until { until: String, is: Value, within: Option<u64> }
);
form!(
    /// Something is so now.
    Expect { expect: String, is: Value }
);
form!(
    /// Waits until there is a deployment like this one, and gives it a name.
    Find {
        find: Value,
        #[serde(rename = "as")]
        name: String,
        within: Option<u64>,
    }
);

/// A deployment, a stage, and the number of a step from 0.
pub(crate) type StepPath = (String, String, usize);

form!(
    /// A step's log, as the API gives it.
    Log {
        log: StepPath,
        /// Of which attempt; the newest if left out.
        attempt: Option<i64>,
        contains: Option<String>,
        lacks: Option<String>,
        equals: Option<String>,
        /// As text, so that it can be put in: `"{bytes}"`.
        bytes: Option<String>,
        sha256: Option<String>,
        /// As `Range` has it.
        range: Option<String>,
        after_seq: Option<u64>,
        within: Option<u64>,
    }
);

form!(
    /// Follows a log while it is written, and compares what came with what the API has in the end.
    Follow {
        follow: StepPath,
        /// Hang up after so many messages, and go on from there: `breaks` times.
        break_after: Option<usize>,
        breaks: Option<usize>,
        /// Made when the first message is there: proof that it came before the step's end.
        touch: Option<String>,
        within: Option<u64>,
    }
);

form!(
    /// Events in this order; others may stand in between.
    Events {
        events: Vec<String>,
        /// Only those about this deployment or session.
        of: Option<String>,
        within: Option<u64>,
    }
);

form!(
    /// Makes a file in the scenario's folder, for steps that wait for it.
    Touch { touch: String }
);

form!(
    /// A file that steps have written in the scenario's folder.
    File {
        file: String,
        /// All of its lines.
        lines: Option<Vec<String>>,
        /// Some of its lines, in this order.
        order: Option<Vec<String>>,
        /// Lines that are not there.
        lacks: Option<Vec<String>>,
        within: Option<u64>,
    }
);

form!(
    /// Another runner, or one that had ended again: of the same name, with the same folder and token.
    StartRunner {
        start_runner: String,
        #[serde(default)]
        backend: Backend,
        #[serde(default = "one")]
        concurrency: u32,
        pool: Option<String>,
    }
);

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Part {
    Server,
    Worker,
    Postgres,
    Temporal,
}

form!(
    /// kill -9 of a part that all scenarios have in common.
    Down {
        down: Part,
        /// With everything that it knows.
        #[serde(default)]
        lose: bool,
    }
);
form!(
    /// Starts it again.
    Up { up: Part }
);

form!(
    /// kill -9
    Kill { kill: String }
);
form!(
    /// SIGSTOP
    Pause { pause: String }
);
form!(
    /// SIGCONT
    Continue { #[serde(rename = "continue")] runner: String }
);
form!(
    /// SIGTERM
    Terminate { terminate: String }
);
form!(
    /// The runner's process ends by itself.
    Ended { ended: String, within: Option<u64> }
);
form!(Revoke { revoke: String });
form!(
    /// What the steps of a pool may reach.
    Pool { pool: String, network: String }
);
form!(
    /// No process of any step of this scenario is there any more.
    NoSteps { #[serde(rename = "noSteps", deserialize_with = "only_true")] _none: (), within: Option<u64> }
);

fn only_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    if bool::deserialize(deserializer)? {
        Ok(())
    } else {
        Err(D::Error::custom("only `true` says something here"))
    }
}
