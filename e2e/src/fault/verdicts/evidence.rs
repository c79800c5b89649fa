//! Reads what Greenroom has found out: the evidence of the planted failures, and how soon that of a long log can be read.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use greenroom_domain::failure::VerdictKind;
use jiff::Timestamp;
use serde_json::Value;
use sqlx::{Connection, PgConnection};

use crate::fault::verdicts::case::{Found, Observation, Planted};
use crate::fault::verdicts::deployment::Change;
use crate::fault::verdicts::fixture::{POOL, VerdictFixture};
use crate::fault::verdicts::plants::Script;
use crate::parts::deadline::Deadline;
use crate::parts::output::print_progress;
use crate::parts::stalls::StallDetector;

const SETTLE_TIMEOUT_SECONDS: u64 = 120;
const READ_TIMEOUT_SECONDS: u64 = 60;
const LONG_LOG_BYTES: u64 = 10_000_000;
const LONG_LOG_PIPELINE: &str = "long-log";
/// Good runs before the failure.
const GOOD_RUNS: usize = 3;
/// The first failure needs the templates of the good runs. Later ones find them stored.
const FAILURES: usize = 3;
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl VerdictFixture {
    /// Waits until all evidence is collected, and no verdict has to be decided again.
    pub(super) async fn settle(&self) -> anyhow::Result<()> {
        let mut connection = PgConnection::connect(self.parts.database_url()).await?;
        let deadline = Deadline::in_seconds(SETTLE_TIMEOUT_SECONDS);
        loop {
            let due: i64 = sqlx::query_scalar("select count(*) from failures where due_at is not null")
                .fetch_one(&mut connection)
                .await?;
            if due == 0 {
                return Ok(());
            }
            deadline.wait(|| format!("{due} failures still have to be judged")).await?;
        }
    }

    pub(super) async fn observe(&self, planted: Planted) -> anyhow::Result<Observation> {
        let mut path = format!("/deployments/{}", planted.deployment);
        if let Some(step) = &planted.step {
            path += &format!("/steps/{step}");
        }
        let evidence = self.get(&format!("{path}/evidence?lines=10")).await?;
        let found = if evidence["status"] == "ready" { found(&evidence["failures"][0]) } else { None };
        Ok(Observation { planted, found })
    }

    /// Returns the seconds from the end of a step that prints 10 MB until its evidence could be read, for some failures,
    /// without the time in which the machine stood still.
    pub(super) async fn measure_long_logs(&self) -> anyhow::Result<Vec<f64>> {
        print_progress("steps with logs of 10 MB");
        self.create_pipeline(LONG_LOG_PIPELINE, POOL, Script::Long(LONG_LOG_BYTES)).await?;
        for number in 0..GOOD_RUNS {
            let deployment = self.start_deployment(LONG_LOG_PIPELINE, &change(number)).await?;
            let ended = self.end_of(&deployment).await?;
            ensure!(ended.status == "succeeded", "a good deployment did not succeed: {ended:?}");
        }
        let stalls = StallDetector::start()?;
        let mut seconds = Vec::new();
        for number in GOOD_RUNS..GOOD_RUNS + FAILURES {
            let change = change(number);
            self.plants.break_commit(&change.commit, &self.causes.next())?;
            let deployment = self.start_deployment(LONG_LOG_PIPELINE, &change).await?;
            seconds.push(self.seconds_until_readable(&deployment, &stalls).await?);
        }
        Ok(seconds)
    }

    #[expect(clippy::disallowed_methods, reason = "PostgreSQL runs on this machine, by this very clock")]
    async fn seconds_until_readable(&self, deployment: &str, stalls: &StallDetector) -> anyhow::Result<f64> {
        let deadline = Deadline::in_seconds(READ_TIMEOUT_SECONDS);
        let path = format!("/deployments/{deployment}/evidence");
        let evidence = loop {
            let evidence = self.get(&path).await?;
            if evidence["status"] == "ready" && !evidence["failures"][0].is_null() {
                break evidence;
            }
            if evidence["failures"][0].is_null() {
                deadline.wait(|| format!("the deployment {deployment} has not failed")).await?;
            } else {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let (readable_at, now) = (Timestamp::now(), Instant::now());
        let log = &evidence["failures"][0]["log"];
        ensure!(log["bytes"].as_u64() >= Some(LONG_LOG_BYTES), "the log is too short: {log}");
        ensure!(log["baselines"].as_array().map(Vec::len) == Some(GOOD_RUNS), "not compared: {log}");
        let record = self.get(&format!("/deployments/{deployment}")).await?;
        let ended_at = record["stages"][0]["steps"][0]["endedAt"].as_str().context("the step has no end")?;
        let took = Duration::try_from(readable_at.duration_since(ended_at.parse()?)).unwrap_or_default();
        let stalled =
            now.checked_sub(took).map_or(Duration::ZERO, |ended| stalls.stalls().within(ended, now));
        let seconds = took.saturating_sub(stalled).as_secs_f64();
        Ok((seconds * 1_000.0).round() / 1_000.0)
    }
}

fn change(number: usize) -> Change {
    Change { person: 0, commit: format!("{:040x}", number + 0x1000), branch: None }
}

fn found(failure: &Value) -> Option<Found> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let verdict: VerdictKind = failure["verdict"]["kind"].as_str()?.parse().ok()?;
    let because = failure["verdict"]["because"].as_array()?.iter().filter_map(Value::as_str);
    Some(Found {
        verdict,
        because: because.collect::<Vec<_>>().join(", "),
        fingerprint: text(&failure["known"]["fingerprint"])?,
        decisive: text(&failure["decisiveLine"]["text"]).unwrap_or_default(),
    })
}
