//! The fenced target: what the environments stand for. Steps tell it over HTTP what they do, each word with its fence; one with a
//! lower fence than any it has seen in that environment is refused. It is never cut off, so what it has heard is what happened.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::fault::clock::{Clock, Micros, SECOND};
use crate::fault::world::parse_id;
use crate::parts::say::say;

/// What a step waits between two ticks.
const TICK: Micros = SECOND / 4;
/// A step that works says so more often than this.
const SILENT: Micros = SECOND + SECOND / 2;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Saying {
    Begin,
    /// Still at work.
    Tick,
    /// The effect that a step is there for.
    Apply,
    End,
}

/// One word of a step.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) at: Micros,
    pub(crate) saying: Saying,
    pub(crate) environment: Option<String>,
    pub(crate) fence: Option<i64>,
    pub(crate) step: StepKey,
    pub(crate) job: Uuid,
    /// With which the step is about to end.
    pub(crate) code: Option<i32>,
    pub(crate) accepted: bool,
}

/// Which step of which attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StepKey {
    pub(crate) deployment: Uuid,
    pub(crate) stage: String,
    pub(crate) attempt: i32,
    pub(crate) step: String,
}

#[derive(Debug, Default)]
struct Heard {
    words: Vec<Word>,
    fences: HashMap<String, i64>,
    steps: HashMap<StepKey, Heed>,
}

/// What is known of a step while it goes on.
#[derive(Debug)]
struct Heed {
    job: Uuid,
    begun: Micros,
    last: Micros,
    ended: bool,
    /// Before this it will not have come to its end by itself.
    works_until: Micros,
}

impl Heed {
    fn is_at_work(&self, now: Micros) -> bool {
        !self.ended && now - self.last < SILENT
    }
}

#[derive(Debug)]
struct Inner {
    clock: Clock,
    heard: Mutex<Heard>,
}

pub(crate) struct Target {
    inner: Arc<Inner>,
    pub(crate) url: String,
    _serving: JoinSet<()>,
}

#[derive(Debug, Deserialize)]
struct Asked {
    word: Saying,
    environment: String,
    fence: String,
    deployment: String,
    stage: String,
    attempt: i32,
    step: String,
    job: String,
    ticks: i64,
    code: Option<i32>,
}

impl Target {
    pub(crate) async fn start(clock: Clock) -> anyhow::Result<Self> {
        let inner = Arc::new(Inner { clock, heard: Mutex::default() });
        let app = Router::new().route("/word", get(hear)).with_state(Arc::clone(&inner));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/word", listener.local_addr()?);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                say(&format!("the target has ended: {error}"));
            }
        });
        Ok(Self { inner, url, _serving: serving })
    }

    /// How many steps are at work now.
    pub(crate) fn at_work(&self) -> usize {
        let now = self.inner.clock.now();
        let heard = self.inner.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.steps.values().filter(|step| step.is_at_work(now)).count()
    }

    /// The attempts whose steps are at work now, and will be for so much longer if nobody ends them.
    pub(crate) fn at_work_for(&self, time: Micros) -> Vec<Uuid> {
        let now = self.inner.clock.now();
        let heard = self.inner.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let long = heard.steps.values().filter(|step| step.is_at_work(now) && step.works_until > now + time);
        long.map(|step| step.job).collect()
    }

    /// How many steps have begun after this moment, and ended.
    pub(crate) fn done_since(&self, moment: Micros) -> usize {
        let heard = self.inner.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.steps.values().filter(|step| step.ended && step.begun > moment).count()
    }

    pub(crate) fn words(&self) -> Vec<Word> {
        self.inner.heard.lock().unwrap_or_else(PoisonError::into_inner).words.clone()
    }
}

async fn hear(State(inner): State<Arc<Inner>>, Query(asked): Query<Asked>) -> StatusCode {
    let (Some(deployment), Some(job)) = (parse_id(&asked.deployment), parse_id(&asked.job)) else {
        return StatusCode::BAD_REQUEST;
    };
    // Outside of any environment it is `none`.
    let environment = Some(asked.environment).filter(|name| !name.is_empty() && name != "none");
    let fence: Option<i64> = asked.fence.parse().ok();
    let step = StepKey { deployment, stage: asked.stage, attempt: asked.attempt, step: asked.step };
    let mut heard = inner.heard.lock().unwrap_or_else(PoisonError::into_inner);
    // Under the lock, so that the order of the words is the order of their times.
    let at = inner.clock.now();
    let accepted = match (&environment, fence) {
        (Some(environment), Some(fence)) => {
            let highest = heard.fences.entry(environment.clone()).or_default();
            *highest = (*highest).max(fence);
            fence >= *highest
        }
        _ => true,
    };
    let works_until = at + asked.ticks * TICK;
    let heed = Heed { job, begun: at, last: at, ended: false, works_until };
    let heed = heard.steps.entry(step.clone()).or_insert(heed);
    (heed.last, heed.ended) = (at, asked.word == Saying::End);
    let (saying, code) = (asked.word, asked.code);
    heard.words.push(Word { at, saying, environment, fence, step, job, code, accepted });
    if accepted { StatusCode::NO_CONTENT } else { StatusCode::CONFLICT }
}
