//! The vocabulary of `expect.json`, one struct per action. The first key of this table that a step contains
//! selects its action.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::scenarios::runner_settings::RunnerSettings;

macro_rules! actions {
    ($($key:literal $variant:ident($struct:ty)),* $(,)?) => {
        #[derive(Clone, Debug)]
        pub(crate) enum Step {
            $($variant($struct)),*
        }

        const ACTIONS: &[&str] = &[$($key),*];

        fn read(key: &str, step: Value) -> Result<Step, String> {
            match key {
                $($key => parse_step(step).map(Step::$variant),)*
                _ => Err(format!("`{key}` is not an action")),
            }
        }
    };
}

actions! {
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
    "member" Member(Member),
    "hold" Hold(Hold),
    "endHold" EndHold(EndHold),
    "freeze" Freeze(Freeze),
    "updateFreeze" UpdateFreeze(UpdateFreeze),
    "group" Group(Group),
    "serviceAccount" ServiceAccount(ServiceAccount),
    "approve" Approve(Approve),
    "reject" Reject(Reject),
    "withdraw" Withdraw(Withdraw),
    "override" Override(Override),
    "occupy" Occupy(Occupy),
    "tokens" Tokens(Tokens),
    "createRegistry" CreateRegistry(CreateRegistry),
    "createPipeline" CreatePipeline(CreatePipeline),
    "createSecret" CreateSecret(CreateSecret),
    "updateSecret" UpdateSecret(UpdateSecret),
    "setSecret" SetSecret(SetSecret),
    "nowhere" Nowhere(Nowhere),
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

/// A step, and its source text for error messages.
#[derive(Clone, Debug)]
pub(crate) struct ParsedStep {
    pub(crate) step: Step,
    pub(crate) text: Value,
}

impl<'de> Deserialize<'de> for ParsedStep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Value::deserialize(deserializer)?;
        let key = ACTIONS.iter().find(|key| text.get(key).is_some());
        let key = key.ok_or_else(|| {
            D::Error::custom(format!("{text} has none of the actions {}", ACTIONS.join(", ")))
        })?;
        let step = read(key, text.clone()).map_err(|error| D::Error::custom(format!("{text}: {error}")))?;
        Ok(Self { step, text })
    }
}

fn parse_step<T: DeserializeOwned>(step: Value) -> Result<T, String> {
    serde_json::from_value(step).map_err(|error| error.to_string())
}

impl Step {
    /// Returns the runner that it starts.
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

/// A struct of a step: an omitted field is `None`, an unknown one is an error.
macro_rules! step_struct {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "camelCase")]
        pub(crate) struct $name {
            $($(#[$field_meta])* pub(crate) $field: $type),*
        }
    };
}

mod approvals;
mod attacks;
mod production;
mod runners;
mod secrets;

pub(crate) use approvals::{Approve, Group, Override, Reject, ServiceAccount, Withdraw};
pub(crate) use attacks::{CreateRegistry, Occupied, Occupy, Tokens};
pub(crate) use production::{EndHold, Freeze, Hold, Member, UpdateFreeze};
pub(crate) use runners::{Continue, Ended, Kill, Pause, Pool, Revoke, StartRunner, Terminate};
pub(crate) use secrets::{CreatePipeline, CreateSecret, Nowhere, SetSecret, UpdateSecret};

step_struct!(
    /// The expected response of a call. A call without it has to succeed.
    ExpectedResponse { status: u16, #[serde(default)] is: Option<Value> }
);

step_struct!(Commit { commit: String, branch: Option<String> });

step_struct!(
    /// Starts a deployment of the whole pipeline.
    Start {
        start: Commit,
        allow_older: Option<bool>,
        #[serde(rename = "as")]
        name: Option<String>,
        by: Option<String>,
        answer: Option<ExpectedResponse>,
    }
);

step_struct!(
    /// Claims an environment.
    Claim {
        claim: String,
        #[serde(rename = "as")]
        name: Option<String>,
        commit: Option<String>,
        /// The name of its first deployment in the scenario.
        deployment: Option<String>,
        ttl_seconds: Option<i64>,
        context: Option<String>,
        queue: Option<bool>,
        by: Option<String>,
        answer: Option<ExpectedResponse>,
    }
);

step_struct!(
    /// Takes an environment by force.
    Force {
        force: String,
        #[serde(rename = "as")]
        name: Option<String>,
        commit: Option<String>,
        deployment: Option<String>,
        ttl_seconds: Option<i64>,
        context: Option<String>,
        by: Option<String>,
        answer: Option<ExpectedResponse>,
    }
);

step_struct!(Deploy {
    deploy: String,
    commit: String,
    #[serde(rename = "as")]
    name: Option<String>,
    by: Option<String>,
    answer: Option<ExpectedResponse>,
});

step_struct!(Heartbeat { heartbeat: String, by: Option<String>, answer: Option<ExpectedResponse> });
step_struct!(Release { release: String, by: Option<String>, answer: Option<ExpectedResponse> });
step_struct!(Cancel { cancel: String, force: Option<bool>, by: Option<String>, answer: Option<ExpectedResponse> });
step_struct!(CancelStage { cancel_stage: (String, String), by: Option<String>, answer: Option<ExpectedResponse> });

step_struct!(Retry {
    retry: (String, String),
    inputs: Option<String>,
    allow_older: Option<bool>,
    by: Option<String>,
    answer: Option<ExpectedResponse>,
});

step_struct!(
    /// Repeats an environment's teardown that failed.
    Cleanup {
        cleanup: String,
        #[serde(rename = "as")]
        name: Option<String>,
        by: Option<String>,
        answer: Option<ExpectedResponse>,
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
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Pause => "pause",
            Self::Cancel => "cancel",
        }
    }
}

step_struct!(Stop { stop: StopMode });
step_struct!(Resume {
    #[serde(rename = "resume", deserialize_with = "only_true")]
    _resume: ()
});
step_struct!(
    /// Replaces the pipeline's definition with a file of the scenario.
    Define { define: String }
);

step_struct!(
    /// Waits until a condition holds.
    Until { until: String, is: Value, within: Option<u64> }
);
step_struct!(
    /// Checks a condition that has to hold now.
    Expect { expect: String, is: Value }
);
step_struct!(
    /// Waits until there is a deployment like this one, and gives it a name.
    Find {
        find: Value,
        #[serde(rename = "as")]
        name: String,
        within: Option<u64>,
    }
);

/// A deployment, a stage, and the number of a step, starting at 0.
pub(crate) type StepPath = (String, String, usize);

step_struct!(
    /// Checks a step's log as the API returns it.
    Log {
        log: StepPath,
        /// The number of the attempt; the newest if omitted.
        attempt: Option<i64>,
        contains: Option<String>,
        lacks: Option<String>,
        equals: Option<String>,
        /// The length of the log. It is a text, so that it can be a placeholder: `"{bytes}"`.
        bytes: Option<String>,
        sha256: Option<String>,
        /// The range of bytes to read, in the format of the header `Range`.
        range: Option<String>,
        after_seq: Option<u64>,
        within: Option<u64>,
    }
);

step_struct!(
    /// Follows a log while it is written, and compares the received bytes with the API's log at the end.
    Follow {
        follow: StepPath,
        /// Disconnects after this many messages and resumes. This is repeated `breaks` times.
        break_after: Option<usize>,
        breaks: Option<usize>,
        /// A file to create when the first message arrives. A step that waits for it proves that the message
        /// arrived before the step's end.
        touch: Option<String>,
        within: Option<u64>,
    }
);

step_struct!(
    /// Waits for events in this order. Other events may be in between.
    Events {
        events: Vec<String>,
        /// Considers only events about this deployment or session.
        of: Option<String>,
        within: Option<u64>,
    }
);

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TouchPlace {
    #[default]
    Folder,
    Workspaces,
}

step_struct!(
    /// Creates a file for steps that wait for it, in the scenario's folder or in the workspaces of running jobs.
    Touch {
        touch: String,
        #[serde(default, rename = "in")]
        place: TouchPlace,
    }
);

step_struct!(
    /// Checks a file that steps have written to the scenario's folder.
    File {
        file: String,
        /// All lines of the file.
        lines: Option<Vec<String>>,
        /// Some lines of the file, in this order.
        order: Option<Vec<String>>,
        /// Lines that the file must not contain.
        lacks: Option<Vec<String>>,
        within: Option<u64>,
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

step_struct!(
    /// Sends SIGKILL to a part that all scenarios share.
    Down {
        down: Part,
        /// Whether the part's data is deleted too.
        #[serde(default)]
        lose: bool,
    }
);
step_struct!(
    /// Starts a shared part again.
    Up {
        up: Part,
        /// Whether a server starts without the master key of secrets.
        #[serde(default)]
        without_key: bool,
    }
);

step_struct!(
    /// Waits until no process of any step of this scenario is left.
    NoSteps { #[serde(rename = "noSteps", deserialize_with = "only_true")] _none: (), within: Option<u64> }
);

fn only_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    if bool::deserialize(deserializer)? {
        Ok(())
    } else {
        Err(D::Error::custom("only `true` is allowed here"))
    }
}
