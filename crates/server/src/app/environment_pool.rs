//! Claiming any free environment of those that have some labels.

use std::collections::BTreeSet;

use greenroom_api_types::problem::FieldProblem;
use greenroom_domain::definition::nearest;
use greenroom_domain::id::PipelineId;
use greenroom_domain::slug::{InvalidSlug, Slug};
use greenroom_store::Command;
use greenroom_store::environment::Environment;
use greenroom_store::environment_pool::Pool;
use greenroom_store::pipeline::PipelineName;
use serde_json::{Value, json};

use crate::app::environment::lock;
use crate::app::failure::{Code, Failure};
use crate::app::session::{self, Ask, Shown, Texts};

const MOST_LABELS: usize = 20;
/// A refusal shows this many of a pool's environments; the list shows all.
const SHOWN: usize = 20;

pub async fn claim(
    command: &mut Command,
    pipeline: &PipelineName,
    labels: &[String],
    ask: &Ask,
) -> Result<Shown, Failure> {
    check(labels)?;
    let texts = Texts::of(ask)?;
    let pipeline = session::live_pipeline(command, pipeline).await?;
    let pool = Pool { pipeline: pipeline.id, labels, ttl_seconds: ask.ttl_seconds };
    if let Some(seconds) = ask.ttl_seconds.filter(|seconds| *seconds < 1) {
        return Err(Failure::field("/ttlSeconds", format!("must be 1 or more, not {seconds}")));
    }
    match command.lock_free(pool).await? {
        Some(mut locked) => session::claim_locked(command, &mut locked, (ask, texts), 0).await,
        None => Err(none_free(command, pool).await?),
    }
}

fn check(labels: &[String]) -> Result<(), Failure> {
    if !(1..=MOST_LABELS).contains(&labels.len()) {
        return Err(Failure::field("/labels", format!("must have 1 to {MOST_LABELS} labels")));
    }
    let wrong = |label: &&String| matches!(label.parse::<Slug>(), Err(InvalidSlug::Shape));
    let errors: Vec<FieldProblem> = labels
        .iter()
        .enumerate()
        .filter(|(_, label)| wrong(label))
        .map(|(index, _)| FieldProblem {
            pointer: format!("/labels/{index}"),
            detail: "must be a label: small letters, digits and hyphens, beginning with a letter, 63 at most"
                .to_owned(),
            ..FieldProblem::default()
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(Failure::fields(errors)) }
}

/// Why there is none: the labels are nobody's, the lease is too long for all, or all are taken.
async fn none_free(command: &mut Command, pool: Pool<'_>) -> Result<Failure, Failure> {
    let environments = command.pool_environments(pool.pipeline, pool.labels).await?;
    if environments.is_empty() {
        return no_such(command, pool.pipeline, pool.labels).await;
    }
    let longest = environments.iter().map(|environment| environment.longest_lease_seconds).max().unwrap_or(0);
    if let Some(seconds) = pool.ttl_seconds.filter(|seconds| *seconds > longest) {
        let detail =
            format!("must be between 1 and {longest}, which the pool's longest lease is, not {seconds}");
        return Ok(Failure::field("/ttlSeconds", detail));
    }
    Ok(exhausted(pool.labels, &environments))
}

async fn no_such(command: &mut Command, pipeline: PipelineId, labels: &[String]) -> Result<Failure, Failure> {
    let all = command.pool_environments(pipeline, &[]).await?;
    let known: BTreeSet<&str> =
        all.iter().flat_map(|environment| environment.labels.iter().map(String::as_str)).collect();
    let unknown = labels.iter().find(|label| !known.contains(label.as_str()));
    let detail = match unknown {
        Some(label) => {
            let meant = nearest(label, known.iter().copied());
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
            format!("name no environment: none of this pipeline's has the label `{label}`{meant}")
        }
        None => "name no environment: none of this pipeline's has all of them. Ask for fewer".to_owned(),
    };
    let known: Vec<&str> = known.into_iter().take(SHOWN).collect();
    Ok(Failure::field("/labels", detail).with("knownLabels", json!(known)))
}

/// All are held or waited for.
fn exhausted(labels: &[String], environments: &[Environment]) -> Failure {
    let total = environments.len();
    let next = environments
        .iter()
        .filter_map(|environment| {
            environment.lock.holder.as_ref().map(|holder| (holder.expires_at, environment))
        })
        .min_by_key(|(expires_at, _)| *expires_at);
    let soonest = next.map_or_else(String::new, |(at, environment)| {
        format!(" `{}` comes free at {at} unless its lease is renewed.", environment.name)
    });
    let named: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
    let (named, plural) = (named.join(", "), if total == 1 { "environment" } else { "environments" });
    let detail = format!(
        "None of the {total} {plural} with {named} is free.{soonest} Wait with `Prefer: wait=30`, or \
         queue for one of them by name."
    );
    let shown: Vec<Value> = environments
        .iter()
        .take(SHOWN)
        .map(|environment| json!({ "envName": environment.name, "lock": lock(&environment.lock) }))
        .collect();
    Failure::new(Code::PoolExhausted, detail)
        .with("labels", json!(labels))
        .with("total", total.into())
        .with("environments", shown.into())
        .with("nextExpiresAt", json!(next.map(|(at, _)| at)))
        .with("actions", actions(environments))
}

/// What would help, for a program to follow: paths are relative to the environments'.
fn actions(environments: &[Environment]) -> Value {
    // The first has the shortest queue, and of those the earliest end.
    let queue = environments.first().map(|first| {
        let path = format!("{}/sessions", first.name);
        json!({ "action": "queue", "method": "POST", "path": path, "body": { "queue": true } })
    });
    let wait =
        json!({ "action": "wait", "method": "POST", "path": "claim", "headers": { "Prefer": "wait=30" } });
    queue.into_iter().chain([wait]).collect::<Vec<_>>().into()
}
