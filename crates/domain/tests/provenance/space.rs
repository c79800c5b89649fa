//! All that the decisions can depend on, as plain values: neither the product nor the oracle is used here.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Pipeline,
    Session,
    Teardown,
}

/// A lasting environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lasting {
    /// The branches that it allows; empty if it restricts none.
    pub branches: &'static [&'static str],
    pub has_approval: bool,
}

/// A job's deployment, and the report of its checkout.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    pub purpose: Purpose,
    pub has_repository: bool,
    /// The environment `production`, which the job's stage names; `None` if it names none.
    pub target: Option<Lasting>,
    /// The environment `staging`, which another stage of the pipeline names.
    pub elsewhere: Option<Lasting>,
    /// The branch that the starter has named.
    pub named: Option<&'static str>,
    /// The branch that the runner reports.
    pub reported: Option<&'static str>,
}

pub const PURPOSES: [Purpose; 3] = [Purpose::Pipeline, Purpose::Session, Purpose::Teardown];
pub const TARGETS: [Option<Lasting>; 7] = [
    None,
    lasting(&[], false),
    lasting(&[], true),
    lasting(&["main"], false),
    lasting(&["main"], true),
    lasting(&["main", "release"], false),
    lasting(&["main", "release"], true),
];
pub const ELSEWHERE: [Option<Lasting>; 4] =
    [None, lasting(&[], false), lasting(&["main"], false), lasting(&["release"], true)];
pub const BRANCHES: [Option<&str>; 4] = [None, Some("main"), Some("release"), Some("other")];

const fn lasting(branches: &'static [&'static str], has_approval: bool) -> Option<Lasting> {
    Some(Lasting { branches, has_approval })
}

/// Calls it for every context.
pub fn for_each_context(mut check: impl FnMut(Context)) {
    for purpose in PURPOSES {
        for has_repository in [true, false] {
            for target in TARGETS {
                for elsewhere in ELSEWHERE {
                    for (named, reported) in pairs(&BRANCHES, &BRANCHES) {
                        check(Context { purpose, has_repository, target, elsewhere, named, reported });
                    }
                }
            }
        }
    }
}

pub fn pairs<A: Copy, B: Copy>(first: &[A], second: &[B]) -> impl Iterator<Item = (A, B)> {
    first.iter().flat_map(move |one| second.iter().map(move |other| (*one, *other)))
}

/// To which jobs a pool is restricted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restricted {
    /// It takes all jobs.
    No,
    ToTwoPipelines,
    ToPipeline,
    ToProduction,
    ToProductionAndStaging,
    ToNoEnvironment,
    /// `pr-*`
    ToTemplate,
    /// `p*`
    ToWiderTemplate,
    ToAnotherPipeline,
}

pub const RESTRICTIONS: [Restricted; 9] = [
    Restricted::No,
    Restricted::ToTwoPipelines,
    Restricted::ToPipeline,
    Restricted::ToProduction,
    Restricted::ToProductionAndStaging,
    Restricted::ToNoEnvironment,
    Restricted::ToTemplate,
    Restricted::ToWiderTemplate,
    Restricted::ToAnotherPipeline,
];

/// The pools of a job and of the stage that left its input.
#[derive(Clone, Copy, Debug)]
pub struct Pools {
    pub own: Restricted,
    pub makers: Restricted,
    pub are_the_same: bool,
}

pub fn pools() -> Vec<Pools> {
    let different = pairs(&RESTRICTIONS, &RESTRICTIONS).map(|(own, makers)| (own, makers, false));
    let same = RESTRICTIONS.map(|one| (one, one, true));
    let all = different.chain(same);
    all.map(|(own, makers, are_the_same)| Pools { own, makers, are_the_same }).collect()
}

/// A stage that has left something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Needed, with `artifacts`.
    Build,
    /// Needed, without `artifacts`.
    Notes,
    /// Not needed, with `artifacts`.
    Lint,
}

pub const MAKERS: [Maker; 3] = [Maker::Build, Maker::Notes, Maker::Lint];

/// The `acceptFrom` of the job's stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    Nothing,
    TheMaker,
    AnotherStage,
}

pub const ACCEPTS: [Accepts; 3] = [Accepts::Nothing, Accepts::TheMaker, Accepts::AnotherStage];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    Protected,
    Open,
    Session,
}

/// What a stage has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    Artifact,
    Outputs,
    Cache(Zone),
}

pub const INPUTS: [Input; 5] = [
    Input::Artifact,
    Input::Outputs,
    Input::Cache(Zone::Protected),
    Input::Cache(Zone::Open),
    Input::Cache(Zone::Session),
];

/// A secret: its scope and its rules.
#[derive(Clone, Copy, Debug)]
pub struct Secret {
    pub scope: Scope,
    pub pipelines: Option<PipelineRule>,
    pub environments: Option<&'static str>,
    /// Whether the rule names the pool of the job.
    pub pools: Option<bool>,
    pub branches: Option<&'static [&'static str]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Organization,
    Pipeline,
    Production,
    /// `qa-*`
    Template,
    AnotherPipeline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineRule {
    Own,
    Another,
}

pub fn secrets() -> Vec<Secret> {
    const SCOPES: [Scope; 5] =
        [Scope::Organization, Scope::Pipeline, Scope::Production, Scope::Template, Scope::AnotherPipeline];
    const BRANCH_RULES: [Option<&[&str]>; 3] = [None, Some(&["main"]), Some(&["release", "other"])];
    let mut all = Vec::new();
    for scope in SCOPES {
        for pipelines in [None, Some(PipelineRule::Own), Some(PipelineRule::Another)] {
            for environments in [None, Some("production"), Some("none"), Some("qa-*")] {
                for (pools, branches) in pairs(&[None, Some(true), Some(false)], &BRANCH_RULES) {
                    all.push(Secret { scope, pipelines, environments, pools, branches });
                }
            }
        }
    }
    all
}
