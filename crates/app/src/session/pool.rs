//! Claiming any free environment that has all of some labels.

use std::collections::BTreeSet;
use std::time::Duration;

use greenroom_api_types::problem::FieldProblem;
use greenroom_domain::definition::{Definition, EnvironmentTemplate, nearest};
use greenroom_domain::event::Event;
use greenroom_domain::pipeline::Pipeline;
use greenroom_domain::slug::{InvalidSlug, Slug};
use greenroom_store::Command;
use greenroom_store::environment::Environment;
use greenroom_store::environment_pool::EnvironmentPool;
use greenroom_store::pipeline::PipelineName;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::command::{CommandRequest, Interruption, Replayable};
use crate::environment::lock;
use crate::failure::{Code, Failure};
use crate::next_action::{Base, body};
use crate::session::claim::claim_locked;
use crate::session::locked::live_pipeline;
use crate::session::refusal::RefusedRequest;
use crate::session::view::{Render, SessionView};
use crate::session::waiting::{WakeReason, wait_for_event};
use crate::session::{ClaimRequest, ValidatedClaim, outcome};

const MAX_LABELS: usize = 20;
/// A refusal lists at most this many of a pool's environments or labels.
const MAX_LISTED: usize = 20;

/// A claim of any free environment of a pipeline that has all of the labels.
#[derive(Clone, Copy)]
pub struct PoolClaim<'a> {
    pub pipeline: &'a PipelineName,
    pub labels: &'a [String],
    pub claim: &'a ClaimRequest,
}

pub async fn claim<R: Replayable>(
    request: &CommandRequest<'_>,
    pool: PoolClaim<'_>,
    render: Render<R>,
) -> Result<R, Interruption> {
    attempt(request, pool, true, render).await
}

/// Claims once. Of the attempts of one request that find no free environment, only the last one is counted.
async fn attempt<R: Replayable>(
    request: &CommandRequest<'_>,
    pool: PoolClaim<'_>,
    is_last: bool,
    render: Render<R>,
) -> Result<R, Interruption> {
    let mut command = request.open().await?;
    let view = match claim_in(&mut command, pool).await {
        Err(failure) if !is_last && failure.code == Code::PoolExhausted => return Err(failure.into()),
        result => outcome::counted(result)?,
    };
    command.finish(render(request.web_urls(), view)?).await
}

/// Retries the claim until an environment of the pool is free, or the wait is over.
pub async fn claim_within<R: Replayable>(
    request: &CommandRequest<'_>,
    pool: PoolClaim<'_>,
    wait: Duration,
    render: Render<R>,
) -> Result<R, Interruption> {
    let deadline = Instant::now() + wait;
    let mut events = request.app.feed.subscribe(request.principal.organization_id);
    let mut is_last = false;
    loop {
        match attempt(request, pool, is_last, render).await {
            Err(interruption)
                if !is_last
                    && (interruption.has_code(Code::PoolExhausted) || interruption.is_transient()) => {}
            result => return result,
        }
        // Any session event can mean that an environment of the pool is free; the next attempt finds out.
        let is_relevant = |event: &Event| event.event_type.starts_with("session.");
        let reason = wait_for_event(request.app, &mut events, deadline, is_relevant).await;
        is_last = matches!(reason, WakeReason::Deadline);
    }
}

async fn claim_in(command: &mut Command, pool: PoolClaim<'_>) -> Result<SessionView, Failure> {
    let PoolClaim { pipeline: name, labels, claim } = pool;
    check_labels(labels)?;
    let validated = ValidatedClaim::new(claim)?;
    let pipeline = live_pipeline(command, name).await?;
    let pool = EnvironmentPool { pipeline: pipeline.id, labels, ttl_seconds: claim.ttl_seconds };
    if let Some(seconds) = claim.ttl_seconds.filter(|seconds| *seconds < 1) {
        return Err(Failure::field("/ttlSeconds", format!("must be 1 or more, not {seconds}")));
    }
    match command.lock_free(pool).await? {
        Some(mut locked) => claim_locked(command, &mut locked, claim, validated, 0, name).await,
        None => {
            let environments = command.pool_environments(pool.pipeline, pool.labels).await?;
            if environments.is_empty() {
                return Err(no_match(command, &pipeline, pool.labels).await?);
            }
            let principal = command.principal();
            let request = RefusedRequest { principal, role: principal.role, pipeline: name, claim };
            Err(none_free(request, pool, environments))
        }
    }
}

fn check_labels(labels: &[String]) -> Result<(), Failure> {
    if !(1..=MAX_LABELS).contains(&labels.len()) {
        return Err(Failure::field("/labels", format!("must have 1 to {MAX_LABELS} labels")));
    }
    let is_invalid = |label: &&String| matches!(label.parse::<Slug>(), Err(InvalidSlug::Shape));
    let errors: Vec<FieldProblem> = labels
        .iter()
        .enumerate()
        .filter(|(_, label)| is_invalid(label))
        .map(|(index, _)| FieldProblem {
            pointer: format!("/labels/{index}"),
            detail: "must be a label: small letters, digits and hyphens, beginning with a letter, 63 at most"
                .to_owned(),
            ..FieldProblem::default()
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(Failure::fields(errors)) }
}

/// Returns why no environment was granted: no environment allows the lease, or all that allow it are taken.
fn none_free(
    request: RefusedRequest<'_>,
    pool: EnvironmentPool<'_>,
    mut environments: Vec<Environment>,
) -> Failure {
    let longest = environments.iter().map(|environment| environment.longest_lease_seconds).max().unwrap_or(0);
    if let Some(seconds) = pool.ttl_seconds {
        if seconds > longest {
            let detail =
                format!("must be between 1 and {longest} (the longest lease in this pool), got {seconds}");
            return Failure::field("/ttlSeconds", detail);
        }
        // An environment that does not allow the lease can't be granted, so it is not suggested either.
        environments.retain(|environment| environment.longest_lease_seconds >= seconds);
    }
    exhausted(request, pool.labels, &environments)
}

/// Returns the failure of a claim with labels that no environment has.
async fn no_match(command: &mut Command, pipeline: &Pipeline, labels: &[String]) -> Result<Failure, Failure> {
    let all = command.pool_environments(pipeline.id, &[]).await?;
    let known: BTreeSet<&str> =
        all.iter().flat_map(|environment| environment.labels.iter().map(String::as_str)).collect();
    let unknown = labels.iter().find(|label| !known.contains(label.as_str()));
    let template = match unknown {
        Some(label) => template_with(command, pipeline, label).await?,
        None => None,
    };
    let detail = match (unknown, template) {
        (Some(label), Some(pattern)) => format!(
            "name no environment: the label `{label}` is only on the template `{pattern}`, and a template's environments are \
             claimed by name, such as `{}`",
            pattern.replace('*', "1")
        ),
        (Some(label), None) => {
            let meant = nearest(label, known.iter().copied());
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
            format!("name no environment: none of this pipeline's has the label `{label}`{meant}")
        }
        (None, _) => "name no environment: none of this pipeline's has all of them. Ask for fewer".to_owned(),
    };
    let known: Vec<&str> = known.into_iter().take(MAX_LISTED).collect();
    Ok(Failure::field("/labels", detail).with("knownLabels", json!(known)))
}

/// Returns the pattern of a template that has the label.
async fn template_with(
    command: &mut Command,
    pipeline: &Pipeline,
    label: &str,
) -> Result<Option<String>, Failure> {
    let stored = command.pipeline_definition(pipeline).await?;
    let definition: Definition = serde_json::from_value(stored).map_err(Failure::internal)?;
    let mut templates = definition.environment_templates.iter();
    let with_label = templates.find(|template| template.settings.labels.iter().any(|own| own == label));
    Ok(with_label.map(EnvironmentTemplate::pattern))
}

/// Returns the failure for a pool in which all environments are held or have a queue. The first environment
/// has the shortest queue, and among those the earliest end of a lease: the text, the time and the suggested
/// request all refer to that one.
fn exhausted(request: RefusedRequest<'_>, labels: &[String], environments: &[Environment]) -> Failure {
    let total = environments.len();
    let first = environments.first();
    // An environment with a queue does not become free for this caller when its lease ends.
    let next = first.filter(|first| first.lock.queue_length == 0).and_then(|first| {
        let holder = first.lock.holder.as_ref()?;
        Some((holder.expires_at, &first.name))
    });
    let prospect = match (next, first) {
        (Some((at, name)), _) => format!(" `{name}` comes free at {at} unless its lease is renewed."),
        (None, Some(first)) => {
            format!(
                " Others wait for each of them; `{}` has the shortest queue, {}.",
                first.name,
                waiting(first)
            )
        }
        (None, None) => String::new(),
    };
    let named: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
    let (named, plural) = (named.join(", "), if total == 1 { "environment" } else { "environments" });
    let detail = format!(
        "None of the {total} {plural} with {named} is free.{prospect} Wait with `Prefer: wait=30`, or \
         queue for one of them by name."
    );
    let shown: Vec<Value> = environments
        .iter()
        .take(MAX_LISTED)
        .map(|environment| json!({ "envName": environment.name, "lock": lock(&environment.lock) }))
        .collect();
    Failure::new(Code::PoolExhausted, detail)
        .with("labels", json!(labels))
        .with("total", total.into())
        .with("environments", shown.into())
        .with("nextExpiresAt", json!(next.map(|(at, _)| at)))
        .with("actions", actions(request, labels, first))
}

fn waiting(environment: &Environment) -> String {
    match environment.lock.queue_length {
        1 => "one session".to_owned(),
        more => format!("{more} sessions"),
    }
}

/// Returns what the caller may do instead. `path` is relative to the URL path of the pipeline's environments.
fn actions(request: RefusedRequest<'_>, labels: &[String], first: Option<&Environment>) -> Value {
    let base = Base::environments(request.principal, request.pipeline);
    let queue = first.map(|first| base.queue(&format!("{}/sessions", first.name), request.claim));
    let mut body = body(request.claim);
    body.insert("labels".to_owned(), json!(labels));
    let mut wait = base.action_with("wait", "POST", "claim", body);
    wait["headers"] = json!({ "Prefer": "wait=30" });
    queue.into_iter().chain([wait]).collect::<Vec<_>>().into()
}
