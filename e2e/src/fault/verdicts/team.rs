//! A team with a pipeline, whose people deploy one after the other. It plays all cases that concern no other team.

use std::sync::Arc;

use anyhow::{bail, ensure};
use greenroom_domain::failure::VerdictKind;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::fault::verdicts::case::{CaseKind, Planted};
use crate::fault::verdicts::cause::Cause;
use crate::fault::verdicts::deployment::{Change, Ended};
use crate::fault::verdicts::fixture::{PEOPLE, POOL, VerdictFixture};
use crate::fault::verdicts::plants::{ENVIRONMENTS, Script};

const GOOD_DEFINITION: &str = "good";

pub(super) struct Team {
    pub(super) fixture: Arc<VerdictFixture>,
    pub(super) pipeline: String,
    pub(super) rng: StdRng,
    pub(super) planted: Vec<Planted>,
    /// How many deployments have succeeded.
    pub(super) good: usize,
}

impl Team {
    /// Creates the pipeline, which is good in all environments.
    pub(super) async fn start(
        fixture: &Arc<VerdictFixture>,
        number: usize,
        seed: u64,
    ) -> anyhow::Result<Self> {
        let mut team = Self {
            fixture: Arc::clone(fixture),
            pipeline: format!("team-{number}"),
            rng: StdRng::seed_from_u64(seed.wrapping_mul(1_000).wrapping_add(number as u64)),
            planted: Vec::new(),
            good: 0,
        };
        fixture.create_pipeline(&team.pipeline, POOL, Script::Plain(GOOD_DEFINITION)).await?;
        for environment in ENVIRONMENTS {
            team.deploy_good(environment).await?;
        }
        Ok(team)
    }

    pub(super) async fn play(&mut self, kind: CaseKind) -> anyhow::Result<()> {
        match kind {
            CaseKind::OwnCommit | CaseKind::OwnCommitAgain => self.own_commit(kind).await,
            CaseKind::Definition => self.definition().await,
            CaseKind::FlakeRetried | CaseKind::FlakeDeployedAgain => self.flake(kind).await,
            CaseKind::BrokenBranch => self.broken_branch().await,
            CaseKind::PassedElsewhere | CaseKind::PassesElsewhere => self.elsewhere(kind).await,
            CaseKind::BrokenEnvironment => self.broken_environment().await,
            CaseKind::FirstRun => self.first_run().await,
            CaseKind::Outage | CaseKind::OutageInOnePipeline | CaseKind::Image | CaseKind::LostRunner => {
                bail!("a team can't play {kind:?} alone")
            }
        }
    }

    async fn own_commit(&mut self, kind: CaseKind) -> anyhow::Result<()> {
        let (environment, change, cause) = (self.environment(), self.change(), self.fixture.causes.next());
        self.fixture.plants.break_commit(&change.commit, &cause)?;
        for _ in 0..kind.failures() {
            let ended = self.deploy(environment, &change).await?;
            self.expect_failed(kind, VerdictKind::Yours, &cause, ended);
        }
        // Most commits are fixed before the next deployment there.
        if self.rng.random_ratio(4, 5) {
            self.deploy_good(environment).await?;
        }
        Ok(())
    }

    async fn definition(&mut self) -> anyhow::Result<()> {
        let (environment, change, cause) = (self.environment(), self.change(), self.fixture.causes.next());
        self.expect_good(&change, environment).await?;
        let name = format!("{}-{}", self.pipeline, cause.id);
        self.fixture.plants.break_definition(&name, &cause)?;
        self.fixture.change_definition(&self.pipeline, &name).await?;
        let ended = self.deploy(environment, &change).await?;
        self.expect_failed(CaseKind::Definition, VerdictKind::Yours, &cause, ended);
        self.fixture.change_definition(&self.pipeline, GOOD_DEFINITION).await?;
        self.deploy_good(environment).await
    }

    async fn flake(&mut self, kind: CaseKind) -> anyhow::Result<()> {
        let (environment, change, cause) = (self.environment(), self.change(), self.fixture.causes.next());
        self.fixture.plants.make_flaky(&change.commit, &cause)?;
        let fixture = Arc::clone(&self.fixture);
        let claim = fixture.claim(&self.pipeline, environment, change.person).await?;
        let failed = claim.deploy(&change).await?;
        let again = match kind {
            CaseKind::FlakeRetried => claim.retry(&failed.deployment).await?,
            _ => claim.deploy(&change).await?,
        };
        claim.release().await?;
        self.good += usize::from(again.status == "succeeded");
        let step = failed.step.clone().filter(|_| kind == CaseKind::FlakeRetried);
        self.expect_failed(kind, VerdictKind::Flaky, &cause, failed);
        if let Some(planted) = self.planted.last_mut() {
            planted.step = step;
        }
        Ok(())
    }

    async fn broken_branch(&mut self) -> anyhow::Result<()> {
        let cause = self.fixture.causes.next();
        let people = self.people();
        for (number, (person, environment)) in people.into_iter().zip(ENVIRONMENTS).enumerate() {
            let branch = Some(format!("release-{}", cause.id));
            let change = Change { person, branch, ..self.change() };
            self.fixture.plants.break_commit(&change.commit, &cause)?;
            let ended = self.deploy(environment, &change).await?;
            let expected = if number == 0 { VerdictKind::Yours } else { VerdictKind::NotOnlyYou };
            self.expect_failed(CaseKind::BrokenBranch, expected, &cause, ended);
        }
        for environment in ENVIRONMENTS {
            self.deploy_good(environment).await?;
        }
        Ok(())
    }

    async fn elsewhere(&mut self, kind: CaseKind) -> anyhow::Result<()> {
        let (change, cause) = (self.change(), self.fixture.causes.next());
        let (broken, other) = self.two_environments();
        if kind == CaseKind::PassedElsewhere {
            self.expect_good(&change, other).await?;
        }
        self.fixture.plants.break_environment((&self.pipeline, broken), None, &cause)?;
        let ended = self.deploy(broken, &change).await?;
        self.expect_failed(kind, VerdictKind::Environment, &cause, ended);
        if kind == CaseKind::PassesElsewhere {
            self.expect_good(&change, other).await?;
        }
        self.fixture.plants.repair_environment(&self.pipeline, broken)?;
        self.deploy_good(broken).await
    }

    async fn broken_environment(&mut self) -> anyhow::Result<()> {
        let (broken, other) = self.two_environments();
        let kind = CaseKind::BrokenEnvironment;
        let people = self.people();
        for (number, person) in people.into_iter().take(kind.failures()).enumerate() {
            let (change, cause) = (Change { person, ..self.change() }, self.fixture.causes.next());
            let place = (self.pipeline.as_str(), broken);
            self.fixture.plants.break_environment(place, Some(&change.commit), &cause)?;
            let ended = self.deploy(broken, &change).await?;
            self.expect_failed(kind, VerdictKind::Environment, &cause, ended);
            if number + 1 < kind.failures() {
                self.expect_good(&change, other).await?;
            }
        }
        self.deploy_good(broken).await
    }

    async fn first_run(&mut self) -> anyhow::Result<()> {
        let (environment, change, cause) = (self.environment(), self.change(), self.fixture.causes.next());
        let pipeline = format!("new-{}", cause.id);
        self.fixture.create_pipeline(&pipeline, POOL, Script::Plain(GOOD_DEFINITION)).await?;
        self.fixture.plants.break_commit(&change.commit, &cause)?;
        let ended = self.fixture.deploy(&pipeline, environment, &change).await?;
        self.expect_failed(CaseKind::FirstRun, VerdictKind::Unknown, &cause, ended);
        Ok(())
    }

    pub(super) async fn deploy(&self, environment: &str, change: &Change) -> anyhow::Result<Ended> {
        self.fixture.deploy(&self.pipeline, environment, change).await
    }

    /// Deploys a new commit that is good.
    pub(super) async fn deploy_good(&mut self, environment: &str) -> anyhow::Result<()> {
        let change = self.change();
        self.expect_good(&change, environment).await
    }

    async fn expect_good(&mut self, change: &Change, environment: &str) -> anyhow::Result<()> {
        let ended = self.deploy(environment, change).await?;
        ensure!(ended.status == "succeeded", "a good deployment did not succeed: {ended:?}");
        self.good += 1;
        Ok(())
    }

    /// Keeps a failure. What has ended in another way, such as by a timeout, was not planted.
    pub(super) fn expect_failed(
        &mut self,
        kind: CaseKind,
        expected: VerdictKind,
        cause: &Cause,
        ended: Ended,
    ) {
        if ended.status == "failed" {
            let deployment = ended.deployment;
            self.planted.push(Planted { kind, expected, cause: cause.id, deployment, step: None });
        }
    }

    /// Returns a new commit of a random person, on a new branch.
    pub(super) fn change(&mut self) -> Change {
        let commit: String = (0..5).map(|_| format!("{:08x}", self.rng.random::<u32>())).collect();
        let person = self.rng.random_range(0..PEOPLE);
        let branch = self.rng.random_ratio(2, 3).then(|| format!("feature-{commit}"));
        Change { person, commit, branch }
    }

    /// Returns all people in a random order.
    pub(super) fn people(&mut self) -> Vec<usize> {
        let mut people: Vec<usize> = (0..PEOPLE).collect();
        people.shuffle(&mut self.rng);
        people
    }

    fn environment(&mut self) -> &'static str {
        ENVIRONMENTS[self.rng.random_range(0..ENVIRONMENTS.len())]
    }

    fn two_environments(&mut self) -> (&'static str, &'static str) {
        let first = self.rng.random_range(0..ENVIRONMENTS.len());
        (ENVIRONMENTS[first], ENVIRONMENTS[(first + 1) % ENVIRONMENTS.len()])
    }
}
