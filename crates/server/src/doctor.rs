//! `greenroomd admin doctor`: whether what a daemon needs is there and set up well. It changes nothing but for an object
//! that it writes and removes.

use std::time::{Duration, SystemTime};

use anyhow::bail;
use bytes::Bytes;
use greenroom_engine::Engine;
use greenroom_keys::Keys;
use greenroom_store::Store;
use greenroom_store::system::doctor::DatabaseSettings;
use greenroom_worker::objects::Objects;
use serde_json::{Value, json};
use uuid::Uuid;

const MIN_VERSION: i32 = 150_000;
/// What one server and one worker use with their default settings.
const DEFAULT_CONNECTIONS: i32 = 50;
/// Tokens of other issuers are valid for minutes: a clock that is wrong by more makes some of them invalid.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Ok,
    /// It works, and will cause trouble.
    Warning,
    Failed,
}

/// A thing that was looked at: what it is, what was found, and what to do.
struct Finding {
    check: &'static str,
    result: Outcome,
    detail: String,
}

impl Finding {
    fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, result: Outcome::Ok, detail: detail.into() }
    }

    /// Fails, or warns, unless it is as it should be.
    fn unless(
        result: Outcome,
        is_good: bool,
        check: &'static str,
        good: &str,
        bad: impl Into<String>,
    ) -> Self {
        match is_good {
            true => Self::ok(check, good),
            false => Self { check, result, detail: bad.into() },
        }
    }
}

/// Looks at everything. `problem` is why the schema does not match, if it doesn't.
pub async fn examine(
    store: &Store,
    problem: Option<String>,
    engine: &Engine,
    objects: &anyhow::Result<Objects>,
    keys: &anyhow::Result<Keys>,
) -> anyhow::Result<Value> {
    let settings = store.database_settings().await?;
    let mut findings = database(&settings);
    findings.push(clock(&settings));
    findings.push(match problem {
        None => Finding::ok("schema", "up to date"),
        Some(problem) => Finding { check: "schema", result: Outcome::Failed, detail: problem },
    });
    findings.push(match engine.ping().await {
        Ok(()) => Finding::ok("temporal", "reachable, and has the namespace"),
        Err(error) => Finding {
            check: "temporal",
            result: Outcome::Failed,
            detail: format!("{}: see --temporal-address and --temporal-namespace", chain(&error)),
        },
    });
    findings.push(object_store(objects).await);
    findings.push(match keys {
        Err(error) => Finding { check: "secrets", result: Outcome::Failed, detail: format!("{error:#}") },
        Ok(keys) => Finding::unless(
            Outcome::Warning,
            keys.ring().is_some(),
            "secrets",
            "the master keys can be read",
            "no master keys: secrets are not available; set --secrets-key-file",
        ),
    });
    let rows: Vec<Value> = findings
        .iter()
        .map(|finding| {
            let result = match finding.result {
                Outcome::Ok => "ok",
                Outcome::Warning => "warning",
                Outcome::Failed => "failed",
            };
            json!({ "check": finding.check, "result": result, "detail": finding.detail })
        })
        .collect();
    Ok(json!({ "checks": rows }))
}

/// Fails if a result of `examine` has a failed check.
pub fn require_healthy(result: &Value) -> anyhow::Result<()> {
    let checks = result["checks"].as_array().into_iter().flatten();
    match checks.filter(|check| check["result"] == "failed").count() {
        0 => Ok(()),
        count => bail!("{count} checks have failed: `detail` has what to do"),
    }
}

fn database(settings: &DatabaseSettings) -> Vec<Finding> {
    let is_durable = settings.fsync && settings.synchronous_commit && settings.full_page_writes;
    vec![
        Finding::unless(
            Outcome::Failed,
            settings.version >= MIN_VERSION,
            "database version",
            "PostgreSQL 15 or newer",
            format!("PostgreSQL {} is older than 15: upgrade it", settings.version / 10_000),
        ),
        Finding::unless(
            Outcome::Warning,
            is_durable,
            "database durability",
            "what was committed survives a crash",
            "fsync, synchronous_commit and full_page_writes must be on: a lock that was granted could be forgotten in a crash and be \
             granted again",
        ),
        Finding::unless(
            Outcome::Warning,
            settings.max_connections >= DEFAULT_CONNECTIONS,
            "database connections",
            &format!("{} connections are possible", settings.max_connections),
            format!(
                "max_connections is {}: a server and a worker with their default settings use {DEFAULT_CONNECTIONS}",
                settings.max_connections
            ),
        ),
        Finding::unless(
            Outcome::Warning,
            !settings.is_superuser,
            "database role",
            "not a superuser",
            "the daemon's role is a superuser: give it a role of its own, docs/operations.md has the commands",
        ),
    ]
}

/// Compares this machine's clock with the database's.
#[expect(clippy::disallowed_methods, reason = "the difference between the two clocks is what is measured")]
fn clock(settings: &DatabaseSettings) -> Finding {
    let own = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let difference = (own - settings.clock).abs();
    Finding::unless(
        Outcome::Warning,
        difference <= MAX_CLOCK_DIFFERENCE.as_secs_f64(),
        "clock",
        &format!("differs from the database's by {difference:.1} s"),
        format!("differs from the database's by {difference:.0} s: synchronize both with NTP"),
    )
}

/// Writes an object, and removes it.
async fn object_store(objects: &anyhow::Result<Objects>) -> Finding {
    let failed = |detail: String| Finding { check: "object store", result: Outcome::Failed, detail };
    let objects = match objects {
        Ok(objects) => objects,
        Err(error) => return failed(format!("{error:#}")),
    };
    let name = format!("doctor/{}", Uuid::now_v7());
    if let Err(error) = objects.put(&name, Bytes::from_static(b"doctor")).await {
        return failed(format!("can't be written to: {}", chain(&error)));
    }
    match objects.remove(&name).await {
        Ok(()) => Finding::ok("object store", "can be written to"),
        Err(error) => failed(format!("nothing can be removed from it: {}", chain(&error))),
    }
}

/// Returns an error and its causes in one line.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
