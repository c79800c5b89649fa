//! How the product decides: the functions of this crate, called as the store calls them.

use greenroom_domain::cache::{CacheAccess, CacheZone, cache_access};
use greenroom_domain::definition::{Definition, Stage, parse};
use greenroom_domain::deployment::{self, BranchProof, required_proof};
use greenroom_domain::id::{PipelineId, SecretId};
use greenroom_domain::provenance::{Pool, takes_from};
use greenroom_domain::runner_pool::{Restriction, target_environment};
use greenroom_domain::secret::{self, Branch, Candidate, Place, Policy, SecretScope};
use uuid::Uuid;

use crate::space::{
    Accepts, Context, Input, Lasting, Maker, PipelineRule, Pools, Purpose, Restricted, Scope, Secret, Zone,
};

const OWN: u128 = 1;
const ANOTHER: u128 = 2;
const POOL: &str = "own";

impl Maker {
    const fn key(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Notes => "notes",
            Self::Lint => "lint",
        }
    }
}

impl Zone {
    const fn of(zone: CacheZone) -> Self {
        match zone {
            CacheZone::Protected => Self::Protected,
            CacheZone::Open => Self::Open,
            CacheZone::Session => Self::Session,
        }
    }
}

/// A pipeline whose stage `ship` is the job's.
pub struct Pipeline(Definition);

impl Pipeline {
    pub fn new(
        (target, elsewhere): (Option<Lasting>, Option<Lasting>),
        (accepts, maker): (Accepts, Maker),
    ) -> Self {
        let accepts = match accepts {
            Accepts::Nothing => String::new(),
            Accepts::TheMaker => format!("acceptFrom: [{}], ", maker.key()),
            Accepts::AnotherStage => "acceptFrom: [audit], ".to_owned(),
        };
        let named = |named: Option<Lasting>, name: &str| {
            named.map(|_| format!("environment: {name}, ")).unwrap_or_default()
        };
        let environment = |named: Option<Lasting>, name: &str| {
            let Some(Lasting { branches, has_approval }) = named else { return String::new() };
            let approval = has_approval.then(|| "approval: { roles: [maintainer] }".to_owned());
            let branches = (!branches.is_empty()).then(|| format!("branches: {branches:?}"));
            let fields: Vec<String> = approval.into_iter().chain(branches).collect();
            format!("  {name}: {{ {} }}\n", fields.join(", "))
        };
        let environments = environment(target, "production") + &environment(elsewhere, "staging");
        let environments =
            if environments.is_empty() { String::new() } else { format!("environments:\n{environments}") };
        let (ship, elsewhere) = (named(target, "production"), named(elsewhere, "staging"));
        let steps = "steps: [{ image: a, run: b }]";
        let source = format!(
            "{environments}ephemeralEnvironments: {{ qa-1: {{ stages: [build] }} }}
stages:
  build: {{ artifacts: [dist], {steps} }}
  notes: {{ {steps} }}
  lint: {{ artifacts: [report], {steps} }}
  audit: {{ {steps} }}
  ship: {{ needs: [build, notes], {accepts}{ship}caches: [{{ key: deps, paths: [deps] }}], {steps} }}
  elsewhere: {{ {elsewhere}if: branch == \"main\", {steps} }}
"
        );
        let parsed = parse(&source).map_err(|problems| format!("{source}{problems:#?}"));
        Self(parsed.unwrap())
    }

    fn ship(&self) -> &Stage {
        self.0.stage("ship").unwrap()
    }

    /// The store requires a proof only of a checkout.
    pub fn required(&self, context: &Context) -> Option<BranchProof> {
        let proof = required_proof(&self.0, purpose(context), self.ship(), context.named);
        proof.filter(|_| context.has_repository)
    }

    pub fn accepts_report(&self, context: &Context) -> bool {
        let required = self.required(context);
        context.reported.is_none_or(|branch| required.is_some_and(|proof| proof.is_met_by(branch)))
    }

    pub fn proven(&self, context: &Context) -> Option<&'static str> {
        context.reported.filter(|_| self.accepts_report(context))
    }

    fn cache_access(&self, context: &Context) -> CacheAccess {
        cache_access(&self.0, purpose(context), context.has_repository, self.proven(context))
    }

    pub fn readable_zones(&self, context: &Context) -> Vec<Zone> {
        self.cache_access(context).read.iter().copied().map(Zone::of).collect()
    }

    pub fn writable_zone(&self, context: &Context) -> Option<Zone> {
        self.cache_access(context).write.map(Zone::of)
    }

    pub fn may_store_artifact(&self, maker: Maker) -> bool {
        !self.0.stage(maker.key()).unwrap().artifacts.is_empty()
    }

    /// `zones` are those that the job reads.
    pub fn gets(&self, zones: &[Zone], pools: &Restrictions, maker: Maker, input: Input) -> bool {
        let is_needed = || self.ship().needs.iter().any(|need| need == maker.key());
        let is_possible = match input {
            Input::Artifact => is_needed() && self.may_store_artifact(maker),
            Input::Outputs => is_needed(),
            Input::Cache(zone) => zones.contains(&zone),
        };
        let own = Pool { name: POOL, restriction: &pools.own };
        let of_maker = Pool { name: pools.makers_name, restriction: &pools.makers };
        is_possible && takes_from(self.ship(), own, maker.key(), of_maker)
    }

    pub fn gets_secret(&self, context: &Context, candidate: &Candidate) -> bool {
        let ephemeral = (context.purpose != Purpose::Pipeline).then_some("qa-1");
        let environment = target_environment(purpose(context), ephemeral, self.ship().environment.as_deref());
        let branch = Branch::Proven(self.proven(context));
        let place = Place { pipeline: pipeline(OWN), environment, pool: POOL, branch };
        secret::choose(&place, [candidate]).is_ok()
    }
}

/// The restrictions of two pools.
pub struct Restrictions {
    own: Restriction,
    makers: Restriction,
    makers_name: &'static str,
}

impl Restrictions {
    pub fn of(pools: Pools) -> Self {
        let makers_name = if pools.are_the_same { POOL } else { "makers" };
        Self { own: restriction(pools.own), makers: restriction(pools.makers), makers_name }
    }
}

pub fn candidate(secret: &Secret) -> Candidate {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let scope = match secret.scope {
        Scope::Organization => SecretScope::Organization,
        Scope::Pipeline => SecretScope::Pipeline(pipeline(OWN)),
        Scope::Production => SecretScope::Environment(pipeline(OWN), "production".to_owned()),
        Scope::Template => SecretScope::Environment(pipeline(OWN), "qa-*".to_owned()),
        Scope::AnotherPipeline => SecretScope::Pipeline(pipeline(ANOTHER)),
    };
    let named_pipeline = |rule| pipeline(if rule == PipelineRule::Own { OWN } else { ANOTHER });
    let policy = Policy {
        pipelines: secret.pipelines.map(|rule| vec![named_pipeline(rule)]),
        environments: secret.environments.map(|name| names(&[name])),
        pools: secret.pools.map(|is_own| names(&[if is_own { POOL } else { "makers" }])),
        branches: secret.branches.map(names),
        repositories: None,
    };
    Candidate { id: SecretId::from(Uuid::from_u128(9)), scope, policy, usage: None }
}

fn restriction(restricted: Restricted) -> Restriction {
    let (pipelines, environments): (&[u128], Option<&[&str]>) = match restricted {
        Restricted::No => return Restriction::default(),
        Restricted::ToTwoPipelines => (&[OWN, ANOTHER], None),
        Restricted::ToPipeline => (&[OWN], None),
        Restricted::ToProduction => (&[OWN], Some(&["production"])),
        Restricted::ToProductionAndStaging => (&[OWN], Some(&["production", "staging"])),
        Restricted::ToNoEnvironment => (&[OWN], Some(&["none"])),
        Restricted::ToTemplate => (&[OWN], Some(&["pr-*"])),
        Restricted::ToWiderTemplate => (&[OWN], Some(&["p*"])),
        Restricted::ToAnotherPipeline => (&[ANOTHER], None),
    };
    let environments = environments.map(|named| named.iter().map(|name| (*name).to_owned()).collect());
    Restriction::new(Some(pipelines.iter().copied().map(pipeline).collect()), environments).unwrap()
}

fn pipeline(number: u128) -> PipelineId {
    PipelineId::from(Uuid::from_u128(number))
}

const fn purpose(context: &Context) -> deployment::Purpose {
    match context.purpose {
        Purpose::Pipeline => deployment::Purpose::Pipeline,
        Purpose::Session => deployment::Purpose::Session,
        Purpose::Teardown => deployment::Purpose::Teardown,
    }
}
