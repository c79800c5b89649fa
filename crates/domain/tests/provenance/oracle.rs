//! What the documents promise, sentence by sentence, and not what the code does: `docs/runner.md` (branches, pools),
//! `docs/pipeline-definition.md` (artifacts, caches, `acceptFrom`), `docs/secrets.md` (scopes and rules), `docs/threats.md`.

use crate::space::{
    Accepts, Context, Input, Lasting, Maker, PipelineRule, Pools, Purpose, Restricted, Scope, Secret, Zone,
};

/// "In a session a stage deploys to the session's environment, whatever environment it names itself."
const fn lasting(context: &Context) -> Option<Lasting> {
    match context.purpose {
        Purpose::Pipeline => context.target,
        Purpose::Session | Purpose::Teardown => None,
    }
}

/// The environment to which the job deploys: the session's one is `qa-1`.
pub const fn environment(context: &Context) -> &'static str {
    match (context.purpose, context.target) {
        (Purpose::Session | Purpose::Teardown, _) => "qa-1",
        (Purpose::Pipeline, Some(_)) => "production",
        (Purpose::Pipeline, None) => "none",
    }
}

/// "Without a repository nothing is proven." Else a branch is proven if the deployment names one or if the stage deploys to a
/// lasting environment.
pub fn has_to_prove(context: &Context) -> bool {
    context.has_repository && (context.named.is_some() || lasting(context).is_some())
}

/// "The commit has to be on: the named branch, if the deployment names one; one of `environments.NAME.branches`, if the stage
/// deploys to that lasting environment; any branch of the repository, if it deploys to one without `branches`." A commit that
/// has to be on two is reported with the named one. Where nothing has to be proven, nothing may be claimed.
pub fn accepts_report(context: &Context) -> bool {
    let Some(reported) = context.reported else { return true };
    if !has_to_prove(context) {
        return false;
    }
    match (context.named, lasting(context)) {
        (Some(named), _) => reported == named,
        (None, Some(Lasting { branches: [], .. })) => true,
        (None, Some(Lasting { branches, .. })) => branches.contains(&reported),
        (None, None) => false,
    }
}

pub fn proven(context: &Context) -> Option<&'static str> {
    context.reported.filter(|_| accepts_report(context))
}

/// "The checkout proves it before the first step."
pub fn may_start_steps(context: &Context) -> bool {
    !has_to_prove(context) || proven(context).is_some()
}

/// Returns the `branches` of the lasting environments to which a deployment of the pipeline can deploy. "Always without a
/// repository": none.
fn restricted_environments(context: &Context) -> Vec<&'static [&'static str]> {
    let environments = [context.target, context.elsewhere].into_iter().flatten();
    let restricted = environments.map(|one| one.branches).filter(|branches| !branches.is_empty());
    restricted.filter(|_| context.has_repository).collect()
}

/// The table of zones. "The branch that its starter names decides nothing." The first zone is preferred.
pub fn readable_zones(context: &Context) -> &'static [Zone] {
    match context.purpose {
        Purpose::Pipeline if !restricted_environments(context).is_empty() => &[Zone::Protected],
        Purpose::Pipeline => &[Zone::Protected, Zone::Open],
        Purpose::Session | Purpose::Teardown => &[Zone::Protected, Zone::Open, Zone::Session],
    }
}

pub fn writable_zone(context: &Context) -> Option<Zone> {
    if context.purpose != Purpose::Pipeline {
        return Some(Zone::Session);
    }
    let restricted = restricted_environments(context);
    if restricted.is_empty() {
        return Some(Zone::Open);
    }
    let proven = proven(context)?;
    restricted.iter().all(|branches| branches.contains(&proven)).then_some(Zone::Protected)
}

/// A job: its pipeline, and the environment to which it deploys.
type Job = (&'static str, &'static str);

/// Enough jobs to distinguish the restrictions.
const JOBS: [Job; 10] = [
    ("own", "none"),
    ("own", "production"),
    ("own", "staging"),
    ("own", "pr-1"),
    ("own", "preview"),
    ("own", "qa-1"),
    ("another", "none"),
    ("another", "production"),
    ("third", "none"),
    ("third", "production"),
];

fn takes((pipeline, environment): Job, restricted: Restricted) -> bool {
    let is_own = pipeline == "own";
    match restricted {
        Restricted::No => true,
        Restricted::ToTwoPipelines => is_own || pipeline == "another",
        Restricted::ToPipeline => is_own,
        Restricted::ToProduction => is_own && environment == "production",
        Restricted::ToProductionAndStaging => {
            is_own && (environment == "production" || environment == "staging")
        }
        Restricted::ToNoEnvironment => is_own && environment == "none",
        Restricted::ToTemplate => is_own && environment == "pr-1",
        Restricted::ToWiderTemplate => is_own && environment.starts_with('p'),
        Restricted::ToAnotherPipeline => pipeline == "another",
    }
}

/// "A restricted pool takes nothing from one that takes more jobs", that is: one that "takes a job which its own pool does not
/// take"; "or, if what the other leaves is to be trusted, write `acceptFrom`".
fn trusts(pools: Pools, accepts: Accepts) -> bool {
    let takes_more = JOBS.into_iter().any(|job| takes(job, pools.makers) && !takes(job, pools.own));
    pools.are_the_same || !takes_more || accepts == Accepts::TheMaker
}

/// Artifacts are found by "the stages which need this one"; "a stage that declares no `artifacts` can store none".
pub fn gets(context: &Context, (pools, accepts): (Pools, Accepts), maker: Maker, input: Input) -> bool {
    let is_possible = match input {
        Input::Artifact => maker == Maker::Build,
        Input::Outputs => matches!(maker, Maker::Build | Maker::Notes),
        Input::Cache(zone) => readable_zones(context).contains(&zone),
    };
    is_possible && trusts(pools, accepts)
}

pub const fn may_store_artifact(maker: Maker) -> bool {
    matches!(maker, Maker::Build | Maker::Lint)
}

/// "All rules must hold. `branches` compares the branch that the job's checkout has proven, not the one that the request for
/// the deployment names."
pub fn gets_secret(context: &Context, secret: &Secret) -> bool {
    let environment = environment(context);
    let is_in_scope = match secret.scope {
        Scope::Organization | Scope::Pipeline => true,
        Scope::Production => environment == "production",
        Scope::Template => environment == "qa-1",
        Scope::AnotherPipeline => false,
    };
    let environments = match secret.environments {
        None => true,
        Some("qa-*") => environment == "qa-1",
        Some(name) => environment == name,
    };
    let branches = secret
        .branches
        .is_none_or(|branches| proven(context).is_some_and(|branch| branches.contains(&branch)));
    let pipelines = secret.pipelines != Some(PipelineRule::Another);
    is_in_scope && environments && branches && pipelines && secret.pools != Some(false)
}
